// The sum of two arrays in blocks of 256 threads: an element or four per thread, by as many threads as that takes or by
// 144 blocks that walk over the arrays, one to four vectors at a time. SIZE is the number of elements, a multiple of 4.
#include "common.h"

constexpr int kThreads = 256, kWalkers = 144;

template <class V>
__device__ V add(V a, V b);
template <>
__device__ float add(float a, float b) { return a + b; }
template <>
__device__ float4 add(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

template <class V>
__global__ void each(const V* a, const V* b, V* c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = add(a[i], b[i]);
}

template <class V, int kAtOnce>
__global__ void walk(const V* a, const V* b, V* c, int n) {
    const int stride = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (kAtOnce - 1) * stride < n; i += kAtOnce * stride) {
        V x[kAtOnce], y[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
            x[k] = a[i + k * stride];
            y[k] = b[i + k * stride];
        }
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) c[i + k * stride] = add(x[k], y[k]);
    }
    for (; i < n; i += stride) c[i] = add(a[i], b[i]);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {100000000}, {200004});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> a(n), b(n), c(n);
    std::vector<float> expected;
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        for (int i = 0; i < n; ++i) expected.push_back(a.host[i] + b.host[i]);
    }
    auto check = [&] { return chain::close(c, expected, 1e-6); };
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto* a4 = reinterpret_cast<float4*>(a.data);
    auto* b4 = reinterpret_cast<float4*>(b.data);
    auto* c4 = reinterpret_cast<float4*>(c.data);
    run.variant("each", [&] { each<float><<<chain::ceil_div(n, kThreads), kThreads>>>(a, b, c, n); }, check, prepare);
    run.variant("walk", [&] { walk<float, 1><<<kWalkers, kThreads>>>(a, b, c, n); }, check, prepare);
    run.variant("vectors", [&] { each<float4><<<chain::ceil_div(n / 4, kThreads), kThreads>>>(a4, b4, c4, n / 4); }, check, prepare);
    run.variant("walk_vectors", [&] { walk<float4, 1><<<kWalkers, kThreads>>>(a4, b4, c4, n / 4); }, check, prepare);
    run.variant("walk_vectors_2", [&] { walk<float4, 2><<<kWalkers, kThreads>>>(a4, b4, c4, n / 4); }, check, prepare);
    run.variant("walk_vectors_4", [&] { walk<float4, 4><<<kWalkers, kThreads>>>(a4, b4, c4, n / 4); }, check, prepare);
    return run.finish();
}
