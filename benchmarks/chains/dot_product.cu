// The sum of the products of two vectors, products and sum in one kernel or in two: an atomic addition per element,
// or per block of 256 after a sum in shared memory. Floats, or halves whose products are added as floats. Every
// variant first sets the result to zero. SIZE is the number of elements.
#include <cuda_fp16.h>

#include "common.h"

constexpr int kThreads = 256;

__device__ float product_of(float a, float b) { return a * b; }
__device__ __half product_of(__half a, __half b) { return __hmul(a, b); }
__device__ float wide(float a) { return a; }
__device__ float wide(__half a) { return __half2float(a); }

template <class T>
__global__ void multiply(const T* a, const T* b, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = product_of(a[i], b[i]);
}

__global__ void add_each(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, in[i]);
}

__global__ void multiply_add_each(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, a[i] * b[i]);
}

__device__ void add_block(float* values, float* out) {
    __syncthreads();
    for (int distance = blockDim.x / 2; distance > 0; distance >>= 1) {
        if (threadIdx.x < distance) values[threadIdx.x] += values[threadIdx.x + distance];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, values[0]);
}

template <class T>
__global__ void add_blocks(const T* in, float* out, int n) {
    __shared__ float values[kThreads];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    values[threadIdx.x] = i < n ? wide(in[i]) : 0.0f;
    add_block(values, out);
}

template <class T>
__global__ void multiply_add_blocks(const T* a, const T* b, float* out, int n) {
    __shared__ float values[kThreads];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    values[threadIdx.x] = i < n ? wide(product_of(a[i], b[i])) : 0.0f;
    add_block(values, out);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {10240000}, {5000});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> a(n), b(n), products(n), result(1);
    chain::Array<__half> half_a(n), half_b(n), half_products(n);
    std::vector<double> expected(1), expected_half(1);
    if (run.verify) {
        a.fill([](size_t i) { return 1.0f + chain::pattern(i, 1); });
        b.fill([](size_t i) { return 1.0f + chain::pattern(i, 2); });
        half_a.fill([&](size_t i) { return __float2half(a.host[i]); });
        half_b.fill([&](size_t i) { return __float2half(b.host[i]); });
        for (int i = 0; i < n; ++i) {
            expected[0] += double(a.host[i]) * b.host[i];
            expected_half[0] += double(float(half_a.host[i])) * float(half_b.host[i]);
        }
    }
    auto prepare = [&] { if (run.verify) chain::poison(result); };
    auto check = [&] { return chain::close(result, expected, 1e-4); };
    auto check_half = [&] { return chain::close(result, expected_half, 1e-3); };
    const int blocks = chain::ceil_div(n, kThreads);
    auto zero = [&] { CHECK(cudaMemset(result.data, 0, sizeof(float))); };
    run.variant("elements_unfused", [&] {
        zero();
        multiply<float><<<blocks, kThreads>>>(a, b, products, n);
        add_each<<<blocks, kThreads>>>(products, result, n);
    }, check, prepare);
    run.variant("elements_fused", [&] {
        zero();
        multiply_add_each<<<blocks, kThreads>>>(a, b, result, n);
    }, check, prepare);
    run.variant("blocks_unfused", [&] {
        zero();
        multiply<float><<<blocks, kThreads>>>(a, b, products, n);
        add_blocks<float><<<blocks, kThreads>>>(products, result, n);
    }, check, prepare);
    run.variant("blocks_fused", [&] {
        zero();
        multiply_add_blocks<float><<<blocks, kThreads>>>(a, b, result, n);
    }, check, prepare);
    run.variant("blocks_unfused_half", [&] {
        zero();
        multiply<__half><<<blocks, kThreads>>>(half_a, half_b, half_products, n);
        add_blocks<__half><<<blocks, kThreads>>>(half_products, result, n);
    }, check_half, prepare);
    run.variant("blocks_fused_half", [&] {
        zero();
        multiply_add_blocks<__half><<<blocks, kThreads>>>(half_a, half_b, result, n);
    }, check_half, prepare);
    return run.finish();
}
