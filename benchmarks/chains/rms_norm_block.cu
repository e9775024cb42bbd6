// RMS normalisation of rows of 4096 floats, a block of 512 threads per row. The row is read twice or kept in shared
// memory, the squares are summed in shared memory or by shuffles, numbers move singly or by four. SIZE is the number
// of rows.
#include "common.h"

constexpr int kColumns = 4096, kThreads = 512, kWarps = kThreads / 32;
constexpr float kEpsilon = 1e-5f;
constexpr unsigned kAll = 0xffffffffu;

__device__ float squares(float x) { return x * x; }
__device__ float squares(float4 x) { return x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w; }
__device__ float scaled(float x, float factor, float w) { return x * factor * w; }
__device__ float4 scaled(float4 x, float factor, float4 w) {
    return make_float4(x.x * factor * w.x, x.y * factor * w.y, x.z * factor * w.z, x.w * factor * w.w);
}

__device__ float warp_sum(float sum) {
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(kAll, sum, distance);
    return sum;
}

// Numbers of type T (float or float4). kKeep: the row stays in shared memory. kShuffles: warps sum by shuffles.
template <class T, bool kKeep, bool kShuffles>
__global__ void normalise(const T* x, const T* weight, T* y) {
    constexpr int kCount = kColumns * sizeof(float) / sizeof(T);
    __shared__ float sums[kThreads];
    __shared__ T kept[kKeep ? kCount : 1];
    __shared__ float warp_sums[32], factor;
    const int thread = threadIdx.x, first = blockIdx.x * kCount;
    float sum = 0.0f;
    for (int i = thread; i < kCount; i += kThreads) {
        const T value = x[first + i];
        if (kKeep) kept[i] = value;
        sum += squares(value);
    }
    sums[thread] = sum;
    __syncthreads();
    if (kShuffles) {
        sum = warp_sum(sums[thread]);
        if (thread % 32 == 0) warp_sums[thread / 32] = sum;
        __syncthreads();
        if (thread < 32) {
            warp_sums[thread] = warp_sum(thread < kWarps ? warp_sums[thread] : 0.0f);
            if (thread == 0) factor = rsqrtf(warp_sums[0] / kColumns + kEpsilon);
        }
    } else {
        for (int active = kThreads / 2; active > 0; active /= 2) {
            if (thread < active) sums[thread] += sums[thread + active];
            __syncthreads();
        }
        if (thread == 0) factor = rsqrtf(sums[0] / kColumns + kEpsilon);
    }
    __syncthreads();
    for (int i = thread; i < kCount; i += kThreads)
        y[first + i] = scaled(kKeep ? kept[i] : x[first + i], factor, weight[i]);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 18}, {3});
    const int rows = static_cast<int>(run.size(0));
    chain::Array<float> x(size_t(rows) * kColumns), y(size_t(rows) * kColumns), weight(kColumns);
    std::vector<float> expected(run.verify ? x.count : 0);
    if (run.verify) {
        x.fill([](size_t i) { return chain::pattern(i, 1); });
        weight.fill([](size_t i) { return chain::pattern(i, 2); });
        for (int row = 0; row < rows; ++row) {
            const float* in = x.host.data() + size_t(row) * kColumns;
            double sum = 0.0;
            for (int i = 0; i < kColumns; ++i) sum += double(in[i]) * in[i];
            for (int i = 0; i < kColumns; ++i)
                expected[size_t(row) * kColumns + i] = float(in[i] / std::sqrt(sum / kColumns + kEpsilon) * weight.host[i]);
        }
    }
    auto prepare = [&] { if (run.verify) chain::poison(y); };
    auto check = [&] { return chain::close(y, expected, 1e-5); };
    auto vectors = [](chain::Array<float>& array) { return reinterpret_cast<float4*>(array.data); };
    run.variant("read_twice", [&] { normalise<float, false, false><<<rows, kThreads>>>(x, weight, y); }, check, prepare);
    run.variant("kept", [&] { normalise<float, true, false><<<rows, kThreads>>>(x, weight, y); }, check, prepare);
    run.variant("kept_shuffles", [&] { normalise<float, true, true><<<rows, kThreads>>>(x, weight, y); }, check, prepare);
    run.variant("kept_vectors", [&] { normalise<float4, true, false><<<rows, kThreads>>>(vectors(x), vectors(weight), vectors(y)); }, check, prepare);
    run.variant("kept_vectors_shuffles", [&] { normalise<float4, true, true><<<rows, kThreads>>>(vectors(x), vectors(weight), vectors(y)); }, check, prepare);
    return run.finish();
}
