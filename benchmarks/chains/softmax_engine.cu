// Softmax of the rows of a matrix: a thread per row, a block of 256 threads per row in three passes, and in two with a
// maximum and a sum that are corrected as they go. SIZES are rows and columns.
#include <cfloat>

#include "common.h"

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned kAll = 0xffffffffu;

__global__ void thread_per_row(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    in += size_t(row) * columns;
    out += size_t(row) * columns;
    float top = -FLT_MAX, sum = 0.0f;
    for (int i = 0; i < columns; ++i) top = fmaxf(top, in[i]);
    for (int i = 0; i < columns; ++i) sum += expf(in[i] - top);
    const float scale = 1.0f / sum;
    for (int i = 0; i < columns; ++i) out[i] = expf(in[i] - top) * scale;
}

struct Highest {
    static constexpr float kNone = -FLT_MAX;
    __device__ static float join(float a, float b) { return fmaxf(a, b); }
};

struct Total {
    static constexpr float kNone = 0.0f;
    __device__ static float join(float a, float b) { return a + b; }
};

template <class Kind>
__device__ float of_warp(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance >>= 1)
        value = Kind::join(value, __shfl_xor_sync(kAll, value, distance));
    return value;
}

// `parts` has a place for every warp, and one for the result.
template <class Kind>
__device__ float of_block(float value, float* parts) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = of_warp<Kind>(value);
    if (lane == 0) parts[warp] = value;
    __syncthreads();
    value = threadIdx.x < kWarps ? parts[threadIdx.x] : Kind::kNone;
    if (warp == 0) {
        value = of_warp<Kind>(value);
        if (lane == 0) parts[kWarps] = value;
    }
    __syncthreads();
    return parts[kWarps];
}

__global__ __launch_bounds__(kThreads) void three_passes(const float* __restrict__ in, float* __restrict__ out,
                                                         int columns) {
    __shared__ float parts[kWarps + 1];
    in += size_t(blockIdx.x) * columns;
    out += size_t(blockIdx.x) * columns;
    float own = -FLT_MAX;
    for (int i = threadIdx.x; i < columns; i += kThreads) own = fmaxf(own, in[i]);
    const float top = of_block<Highest>(own, parts);
    own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += kThreads) own += expf(in[i] - top);
    const float scale = 1.0f / of_block<Total>(own, parts);
    for (int i = threadIdx.x; i < columns; i += kThreads) out[i] = expf(in[i] - top) * scale;
}

__device__ void join(float& top, float& sum, float other_top, float other_sum) {
    const float higher = fmaxf(top, other_top);
    sum = sum * expf(top - higher) + other_sum * expf(other_top - higher);
    top = higher;
}

__device__ void join_warp(float& top, float& sum) {
#pragma unroll
    for (int distance = 16; distance > 0; distance >>= 1) {
        const float other_top = __shfl_xor_sync(kAll, top, distance), other_sum = __shfl_xor_sync(kAll, sum, distance);
        join(top, sum, other_top, other_sum);
    }
}

__global__ __launch_bounds__(kThreads) void two_passes(const float* __restrict__ in, float* __restrict__ out,
                                                       int columns) {
    __shared__ float tops[kWarps + 1], sums[kWarps + 1];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    in += size_t(blockIdx.x) * columns;
    out += size_t(blockIdx.x) * columns;
    float top = -FLT_MAX, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += kThreads) join(top, sum, in[i], 1.0f);
    join_warp(top, sum);
    if (lane == 0) {
        tops[warp] = top;
        sums[warp] = sum;
    }
    __syncthreads();
    top = threadIdx.x < kWarps ? tops[threadIdx.x] : -FLT_MAX;
    sum = threadIdx.x < kWarps ? sums[threadIdx.x] : 0.0f;
    if (warp == 0) {
        join_warp(top, sum);
        if (lane == 0) {
            tops[kWarps] = top;
            sums[kWarps] = sum;
        }
    }
    __syncthreads();
    top = tops[kWarps];
    const float scale = 1.0f / sums[kWarps];
    for (int i = threadIdx.x; i < columns; i += kThreads) out[i] = expf(in[i] - top) * scale;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1024, 1024}, {300, 700});
    const int rows = static_cast<int>(run.size(0)), columns = static_cast<int>(run.size(1));
    const size_t n = size_t(rows) * columns;
    chain::Array<float> in(n), out(n);
    std::vector<double> expected;
    if (run.verify) {
        in.fill([](size_t i) { return 3.0f * chain::pattern(i, 1); });
        expected.resize(n);
        for (int r = 0; r < rows; ++r) {
            double sum = 0.0;
            for (int i = 0; i < columns; ++i) sum += std::exp(double(in.host[size_t(r) * columns + i]));
            for (int i = 0; i < columns; ++i)
                expected[size_t(r) * columns + i] = std::exp(double(in.host[size_t(r) * columns + i])) / sum;
        }
    }
    auto check = [&] { return chain::close(out, expected, 1e-5); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    run.variant("thread_per_row",
                [&] { thread_per_row<<<chain::ceil_div(rows, kThreads), kThreads>>>(in, out, rows, columns); }, check, prepare);
    run.variant("three_passes", [&] { three_passes<<<rows, kThreads>>>(in, out, columns); }, check, prepare);
    run.variant("two_passes", [&] { two_passes<<<rows, kThreads>>>(in, out, columns); }, check, prepare);
    return run.finish();
}
