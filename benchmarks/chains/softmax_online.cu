// Softmax of the rows of a matrix with a running maximum and sum: a thread per row, and a block per row that combines
// its threads in shared memory or by shuffles. SIZES are rows and columns; blocks of 256 threads.
#include "common.h"

constexpr int kThreads = 256;
constexpr unsigned kAll = 0xffffffffu;

// Adds an element to the maximum and to the sum of exponentials relative to it.
__device__ void add(float& maximum, float& sum, float value) {
    float next = fmaxf(maximum, value);
    sum = sum * expf(maximum - next) + expf(value - next);
    maximum = next;
}

// Joins two such pairs.
__device__ void join(float& maximum, float& sum, float other_maximum, float other_sum) {
    float next = fmaxf(maximum, other_maximum);
    sum = sum * expf(maximum - next) + other_sum * expf(other_maximum - next);
    maximum = next;
}

__global__ void thread_per_row(const float* in, float* out, size_t columns, size_t n) {
    size_t start = (blockIdx.x * blockDim.x + threadIdx.x) * columns;
    if (start < n) {
        float maximum = in[start], sum = 1.0f;
        for (int i = 1; i < columns; ++i) add(maximum, sum, in[start + i]);
        for (int i = 0; i < columns; ++i) out[start + i] = expf(in[start + i] - maximum) / sum;
    }
}

// What a thread of a block gathers of the row.
__device__ void gather(const float* in, size_t columns, float& maximum, float& sum) {
    size_t row = blockIdx.x, tid = threadIdx.x, threads = blockDim.x, steps = (columns + threads - 1) / threads;
    maximum = in[row * columns + tid];
    sum = 1.0f;
    for (int i = 1; i < steps; ++i) {
        int index = row * columns + i * threads + tid;
        if (index < (row + 1) * columns) add(maximum, sum, in[index]);
    }
}

__device__ void scatter(const float* in, float* out, size_t columns, const float& maximum, const float& sum) {
    size_t row = blockIdx.x, tid = threadIdx.x, threads = blockDim.x, steps = (columns + threads - 1) / threads;
    for (int i = 0; i < steps; ++i) {
        int index = row * columns + i * threads + tid;
        if (index < (row + 1) * columns) out[index] = expf(in[index] - maximum) / sum;
    }
}

__global__ void block_per_row(const float* in, float* out, size_t columns, size_t n) {
    extern __shared__ float pairs[];
    size_t tid = threadIdx.x, threads = blockDim.x;
    float maximum, sum;
    gather(in, columns, maximum, sum);
    pairs[tid] = maximum;
    pairs[tid + threads] = sum;
    __syncthreads();
    // The upper end of what is left is joined to its lower end, outside in.
    int length = min(threads, columns);
    while (length > 1) {
        int old = length;
        length = (length + 1) / 2;
        if (tid < length && old - tid - 1 > tid)
            join(pairs[tid], pairs[tid + threads], pairs[old - tid - 1], pairs[old - tid - 1 + threads]);
        __syncthreads();
    }
    scatter(in, out, columns, pairs[0], pairs[threads]);
}

__device__ void join_warp(float& maximum, float& sum) {
    for (int distance = 16; distance > 0; distance >>= 1) {
        float other_maximum = __shfl_down_sync(kAll, maximum, distance), other_sum = __shfl_down_sync(kAll, sum, distance);
        join(maximum, sum, other_maximum, other_sum);
    }
}

__global__ void shuffled(const float* in, float* out, size_t columns, size_t n) {
    extern __shared__ float pairs[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float maximum, sum;
    gather(in, columns, maximum, sum);
    join_warp(maximum, sum);
    if (lane == 0) {
        pairs[2 * warp] = maximum;
        pairs[2 * warp + 1] = sum;
    }
    __syncthreads();
    maximum = -3.402823466e38f;
    sum = 0.0f;
    if (lane < blockDim.x / 32) {
        maximum = pairs[2 * lane];
        sum = pairs[2 * lane + 1];
    }
    join_warp(maximum, sum);
    maximum = __shfl_sync(kAll, maximum, 0);
    sum = __shfl_sync(kAll, sum, 0);
    scatter(in, out, columns, maximum, sum);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1024, 65536}, {20, 1000});
    const size_t rows = run.size(0), columns = run.size(1), n = rows * columns;
    chain::Array<float> in(n), out(n);
    std::vector<float> expected(run.verify ? n : 0);
    if (run.verify) {
        in.fill([](size_t i) { return 5 * chain::pattern(i, 1); });
        for (size_t row = 0; row < rows; ++row) {
            double sum = 0.0;
            for (size_t i = 0; i < columns; ++i) sum += std::exp(double(in.host[row * columns + i]));
            for (size_t i = 0; i < columns; ++i) expected[row * columns + i] = float(std::exp(double(in.host[row * columns + i])) / sum);
        }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, expected, 1e-5, 1e-6); };
    run.variant("thread_per_row", [&] { thread_per_row<<<chain::ceil_div(rows, kThreads), kThreads>>>(in, out, columns, n); }, check, prepare);
    run.variant("block_per_row", [&] { block_per_row<<<rows, kThreads, kThreads * 2 * sizeof(float)>>>(in, out, columns, n); }, check, prepare);
    run.variant("shuffled", [&] { shuffled<<<rows, kThreads, kThreads / 32 * 2 * sizeof(float)>>>(in, out, columns, n); }, check, prepare);
    return run.finish();
}
