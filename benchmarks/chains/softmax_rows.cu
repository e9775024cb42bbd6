// Softmax of the rows of a matrix, by a thread each, or a block of 256 threads: maximum and sum by trees in shared memory,
// by shuffles, and both in one pass. SIZES are rows and columns.
#include <cfloat>

#include "common.h"

constexpr int kThreads = 256;
constexpr unsigned kAll = 0xffffffffu;

template <class F>
__device__ float tree(float own, float* shared, F join) {
    shared[threadIdx.x] = own;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    const float result = shared[0];
    __syncthreads();
    return result;
}

template <class F>
__device__ float shuffles(float own, float neutral, F join) {
    __shared__ float of_warps[32], result;
    for (int distance = 16; distance > 0; distance /= 2) own = join(own, __shfl_down_sync(kAll, own, distance));
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = own;
    __syncthreads();
    own = threadIdx.x < blockDim.x / 32 ? of_warps[threadIdx.x] : neutral;
    if (threadIdx.x < 32)
        for (int distance = 16; distance > 0; distance /= 2) own = join(own, __shfl_down_sync(kAll, own, distance));
    if (threadIdx.x == 0) result = own;
    __syncthreads();
    return result;
}

__device__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ float added(float a, float b) { return a + b; }

template <bool kShuffles>
__global__ void three_passes(const float* __restrict__ in, float* __restrict__ out, int columns) {
    __shared__ float shared[kThreads];
    in += size_t(blockIdx.x) * columns;
    out += size_t(blockIdx.x) * columns;
    float top = -FLT_MAX;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) top = fmaxf(top, in[i]);
    top = kShuffles ? shuffles(top, -FLT_MAX, larger) : tree(top, shared, larger);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(in[i] - top);
    sum = kShuffles ? shuffles(sum, 0.0f, added) : tree(sum, shared, added);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = expf(in[i] - top) / sum;
}

__device__ void fold(float& top, float& sum, float other, float other_sum) {
    const float most = fmaxf(top, other);
    sum = sum * expf(top - most) + other_sum * expf(other - most);
    top = most;
}

__global__ void online(const float* __restrict__ in, float* __restrict__ out, int columns) {
    __shared__ float tops[32], sums[32], block_top, block_sum;
    in += size_t(blockIdx.x) * columns;
    out += size_t(blockIdx.x) * columns;
    float top = -FLT_MAX, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) fold(top, sum, in[i], 1.0f);
    auto warp = [&] {
        for (int distance = 16; distance > 0; distance /= 2) {
            const float other = __shfl_down_sync(kAll, top, distance), part = __shfl_down_sync(kAll, sum, distance);
            fold(top, sum, other, part);
        }
    };
    warp();
    if (threadIdx.x % 32 == 0) {
        tops[threadIdx.x / 32] = top;
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    top = threadIdx.x < blockDim.x / 32 ? tops[threadIdx.x] : -FLT_MAX;
    sum = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0.0f;
    if (threadIdx.x < 32) warp();
    if (threadIdx.x == 0) {
        block_top = top;
        block_sum = sum;
    }
    __syncthreads();
    top = block_top;
    sum = block_sum;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = expf(in[i] - top) / sum;
}

__global__ void thread_per_row(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    in += size_t(row) * columns;
    out += size_t(row) * columns;
    float top = -FLT_MAX, sum = 0.0f;
    for (int i = 0; i < columns; ++i) top = fmaxf(top, in[i]);
    for (int i = 0; i < columns; ++i) sum += out[i] = expf(in[i] - top);
    for (int i = 0; i < columns; ++i) out[i] /= sum;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096, 1024}, {5, 300});
    const int rows = static_cast<int>(run.size(0)), columns = static_cast<int>(run.size(1));
    const size_t n = size_t(rows) * columns;
    chain::Array<float> in(n), out(n);
    std::vector<double> expected;
    if (run.verify) {
        in.fill([](size_t i) { return 3.0f * chain::pattern(i, 1); });
        expected.resize(n);
        for (int r = 0; r < rows; ++r) {
            double sum = 0.0;
            for (int i = 0; i < columns; ++i) sum += std::exp(static_cast<double>(in.host[size_t(r) * columns + i]));
            for (int i = 0; i < columns; ++i)
                expected[size_t(r) * columns + i] = std::exp(static_cast<double>(in.host[size_t(r) * columns + i])) / sum;
        }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, expected, 1e-5); };
    run.variant("thread_per_row",
                [&] { thread_per_row<<<chain::ceil_div(rows, kThreads), kThreads>>>(in, out, rows, columns); }, check, prepare);
    run.variant("trees", [&] { three_passes<false><<<rows, kThreads>>>(in, out, columns); }, check, prepare);
    run.variant("shuffles", [&] { three_passes<true><<<rows, kThreads>>>(in, out, columns); }, check, prepare);
    run.variant("online", [&] { online<<<rows, kThreads>>>(in, out, columns); }, check, prepare);
    return run.finish();
}
