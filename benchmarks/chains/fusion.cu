// Elementwise operations on long vectors in one kernel, or in several that leave their results between them in memory:
// a sum (and a copy of it), a product plus a number, and max(0, factor a + b). Floats or halves, an element per thread,
// blocks of 256. SIZE is the number of elements.
#include <cuda_fp16.h>

#include "common.h"

constexpr int kThreads = 256;
constexpr float kFactor = 0.01f;

__device__ float sum_of(float a, float b) { return a + b; }
__device__ __half sum_of(__half a, __half b) { return __hadd(a, b); }
__device__ float product_of(float a, float b) { return a * b; }
__device__ __half product_of(__half a, __half b) { return __hmul(a, b); }
__device__ float fused_of(float a, float b, float c) { return a * b + c; }
__device__ __half fused_of(__half a, __half b, __half c) { return __hfma(a, b, c); }
__device__ float positive(float a) { return fmaxf(0.0f, a); }
__device__ __half positive(__half a) { return __hmax(a, __float2half(0.0f)); }
template <class T> __device__ T typed(float value) { return value; }
template <> __device__ __half typed<__half>(float value) { return __float2half(value); }

template <class T>
__global__ void add(const T* a, const T* b, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sum_of(a[i], b[i]);
}

template <class T>
__global__ void copy(const T* in, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

template <class T>
__global__ void multiply(const T* a, const T* b, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = product_of(a[i], b[i]);
}

template <class T>
__global__ void multiply_add(const T* a, const T* b, const T* c, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = fused_of(a[i], b[i], c[i]);
}

template <class T>
__global__ void scale(float factor, const T* in, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = product_of(typed<T>(factor), in[i]);
}

template <class T>
__global__ void relu(const T* in, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = positive(in[i]);
}

template <class T>
__global__ void scale_add_relu(float factor, const T* a, const T* b, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = positive(fused_of(typed<T>(factor), a[i], b[i]));
}

template <class T>
void variants(chain::Run& run, int n, const std::string& suffix, double tolerance) {
    chain::Array<T> a(n), b(n), c(n), between(n), second(n), out(n);
    std::vector<float> sums, fused, activated;
    if (run.verify) {
        a.fill([](size_t i) { return T(chain::pattern(i, 1)); });
        b.fill([](size_t i) { return T(chain::pattern(i, 2)); });
        c.fill([](size_t i) { return T(chain::pattern(i, 3)); });
        for (int i = 0; i < n; ++i) {
            const float x = float(a.host[i]), y = float(b.host[i]), z = float(c.host[i]);
            sums.push_back(x + y);
            fused.push_back(x * y + z);
            activated.push_back(std::fmax(0.0f, kFactor * x + y));
        }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&](const std::vector<float>& expected) { return [&] { return chain::close(out, expected, tolerance); }; };
    const int blocks = chain::ceil_div(n, kThreads);
    run.variant(("add_unfused" + suffix).c_str(), [&] {
        add<T><<<blocks, kThreads>>>(a, b, between, n);
        copy<T><<<blocks, kThreads>>>(between, out, n);
    }, check(sums), prepare);
    run.variant(("add_fused" + suffix).c_str(), [&] { add<T><<<blocks, kThreads>>>(a, b, out, n); }, check(sums), prepare);
    run.variant(("fma_unfused" + suffix).c_str(), [&] {
        multiply<T><<<blocks, kThreads>>>(a, b, between, n);
        add<T><<<blocks, kThreads>>>(between, c, out, n);
    }, check(fused), prepare);
    run.variant(("fma_fused" + suffix).c_str(), [&] { multiply_add<T><<<blocks, kThreads>>>(a, b, c, out, n); }, check(fused), prepare);
    run.variant(("relu_unfused" + suffix).c_str(), [&] {
        scale<T><<<blocks, kThreads>>>(kFactor, a, between, n);
        add<T><<<blocks, kThreads>>>(between, b, second, n);
        relu<T><<<blocks, kThreads>>>(second, out, n);
    }, check(activated), prepare);
    run.variant(("relu_fused" + suffix).c_str(), [&] { scale_add_relu<T><<<blocks, kThreads>>>(kFactor, a, b, out, n); }, check(activated), prepare);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {102400000}, {5000});
    const int n = static_cast<int>(run.size(0));
    variants<float>(run, n, "", 1e-6);
    variants<__half>(run, n, "_half", 2e-3);
    return run.finish();
}
