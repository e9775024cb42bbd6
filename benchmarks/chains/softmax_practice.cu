// Softmax of rows: trees in shared memory over three walks, one walk for the largest and the sum together, shuffles within
// the block, and a warp for each row. Blocks of 1024 threads; SIZES are rows and columns.
#include "common.h"

constexpr int kThreads = 1024, kWarps = kThreads / 32;

__global__ void trees(const float* in, float* out, int rows, int columns) {
    __shared__ float shared[kThreads];
    const int row = blockIdx.x, thread = threadIdx.x;
    if (row >= rows) return;
    float largest = -INFINITY;
    for (int i = thread; i < columns; i += blockDim.x) largest = fmaxf(largest, in[row * columns + i]);
    shared[thread] = largest;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (thread < half) shared[thread] = fmaxf(shared[thread], shared[thread + half]);
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = thread; i < columns; i += blockDim.x) sum += expf(in[row * columns + i] - largest);
    shared[thread] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (thread < half) shared[thread] += shared[thread + half];
        __syncthreads();
    }
    sum = shared[0];
    __syncthreads();
    for (int i = thread; i < columns; i += blockDim.x)
        out[row * columns + i] = expf(in[row * columns + i] - largest) / sum;
}

__global__ void one_walk(const float* in, float* out, int rows, int columns) {
    __shared__ float largests[kThreads], sums[kThreads];
    const int row = blockIdx.x, thread = threadIdx.x;
    if (row >= rows) return;
    float largest = -INFINITY, sum = 0.0f;
    for (int i = thread; i < columns; i += blockDim.x) {
        const float value = in[row * columns + i], both = fmaxf(largest, value);
        sum = sum * expf(largest - both) + expf(value - both);
        largest = both;
    }
    largests[thread] = largest;
    sums[thread] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (thread < half) {
            const float both = fmaxf(largests[thread], largests[thread + half]);
            sums[thread] = sums[thread] * expf(largests[thread] - both) +
                           sums[thread + half] * expf(largests[thread + half] - both);
            largests[thread] = both;
        }
        __syncthreads();
    }
    largest = largests[0];
    sum = sums[0];
    __syncthreads();
    for (int i = thread; i < columns; i += blockDim.x)
        out[row * columns + i] = expf(in[row * columns + i] - largest) / sum;
}

__device__ float largest_of_warp(float value) {
    for (int d = 16; d > 0; d /= 2) value = fmaxf(value, __shfl_down_sync(0xffffffffu, value, d));
    return value;
}

__device__ float sum_of_warp(float value) {
    for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(0xffffffffu, value, d);
    return value;
}

__global__ void shuffles(const float* in, float* out, int rows, int columns) {
    extern __shared__ float shared[];
    const int row = blockIdx.x, thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    if (row >= rows) return;
    float largest = -INFINITY;
    for (int i = thread; i < columns; i += blockDim.x) largest = fmaxf(largest, in[row * columns + i]);
    largest = largest_of_warp(largest);
    if (lane == 0) shared[warp] = largest;
    __syncthreads();
    largest = thread < blockDim.x / 32 ? shared[lane] : -INFINITY;
    if (warp == 0) largest = largest_of_warp(largest);
    if (thread == 0) shared[0] = largest;
    __syncthreads();
    largest = shared[0];
    float sum = 0.0f;
    for (int i = thread; i < columns; i += blockDim.x) sum += __expf(in[row * columns + i] - largest);
    sum = sum_of_warp(sum);
    __syncthreads();
    if (lane == 0) shared[warp] = sum;
    __syncthreads();
    sum = thread < blockDim.x / 32 ? shared[lane] : 0.0f;
    if (warp == 0) sum = sum_of_warp(sum);
    if (thread == 0) shared[0] = sum;
    __syncthreads();
    sum = shared[0];
    for (int i = thread; i < columns; i += blockDim.x)
        out[row * columns + i] = __expf(in[row * columns + i] - largest) / sum;
}

__global__ void warp_per_row(const float* in, float* out, int rows, int columns) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float largest = -INFINITY;
    for (int i = lane; i < columns; i += 32) largest = fmaxf(largest, in[row * columns + i]);
    largest = __shfl_sync(0xffffffffu, largest_of_warp(largest), 0);
    float sum = 0.0f;
    for (int i = lane; i < columns; i += 32) sum += __expf(in[row * columns + i] - largest);
    sum = __shfl_sync(0xffffffffu, sum_of_warp(sum), 0);
    for (int i = lane; i < columns; i += 32)
        out[row * columns + i] = __expf(in[row * columns + i] - largest) / sum;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {128, 4096}, {5, 2100});
    const int rows = static_cast<int>(run.size(0)), columns = static_cast<int>(run.size(1));
    chain::Array<float> in(size_t(rows) * columns), out(size_t(rows) * columns);
    std::vector<float> expected;
    if (run.verify) {
        in.fill([](size_t i) { return 4.0f * chain::pattern(i, 1); });
        for (int row = 0; row < rows; ++row) {
            const float* values = &in.host[size_t(row) * columns];
            float largest = -INFINITY, sum = 0.0f;
            for (int i = 0; i < columns; ++i) largest = std::fmax(largest, values[i]);
            for (int i = 0; i < columns; ++i) sum += std::exp(values[i] - largest);
            for (int i = 0; i < columns; ++i) expected.push_back(std::exp(values[i] - largest) / sum);
        }
    }
    auto check = [&] { return chain::close(out, expected, 1e-4, 1e-2); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    const size_t bytes = kWarps * sizeof(float);
    run.variant("trees", [&] { trees<<<rows, kThreads, bytes>>>(in, out, rows, columns); }, check, prepare);
    run.variant("one_walk", [&] { one_walk<<<rows, kThreads, bytes>>>(in, out, rows, columns); }, check, prepare);
    run.variant("shuffles", [&] { shuffles<<<rows, kThreads, bytes>>>(in, out, rows, columns); }, check, prepare);
    run.variant("warp_per_row", [&] {
        warp_per_row<<<chain::ceil_div(rows, kWarps), kThreads>>>(in, out, rows, columns);
    }, check, prepare);
    return run.finish();
}
