// Normalising rows. layer_*: mean and variance by two trees, by Welford's updates and a tree, by his updates and shuffles,
// and by a warp for each row; blocks of 1024. rms_*: a thread for each row, in a block of its own; 256 threads with shuffles.
// SIZES are rows and columns.
#include "common.h"

constexpr int kThreads = 1024, kWarps = kThreads / 32;
constexpr float kEpsilon = 1e-5f;

__global__ void layer_trees(const float* in, const float* gamma, const float* beta, float* out, int rows, int columns) {
    __shared__ float sums[kThreads], squares[kThreads];
    const int row = blockIdx.x, thread = threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = thread; i < columns; i += blockDim.x) sum += in[row * columns + i];
    sums[thread] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (thread < half) sums[thread] += sums[thread + half];
        __syncthreads();
    }
    const float mean = sums[0] / columns;
    __syncthreads();
    float square = 0.0f;
    for (int i = thread; i < columns; i += blockDim.x) {
        const float apart = in[row * columns + i] - mean;
        square += apart * apart;
    }
    squares[thread] = square;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (thread < half) squares[thread] += squares[thread + half];
        __syncthreads();
    }
    const float variance = squares[0] / columns;
    __syncthreads();
    const float scale = rsqrtf(variance + kEpsilon);
    for (int i = thread; i < columns; i += blockDim.x)
        out[row * columns + i] = (in[row * columns + i] - mean) * scale * gamma[i] + beta[i];
}

struct Moments {
    float mean, squares, count;

    __device__ void add(float value) {
        count += 1.0f;
        const float apart = value - mean;
        mean += apart / count;
        squares += apart * (value - mean);
    }
};

__device__ __forceinline__ Moments together(Moments a, Moments b) {
    const float count = a.count + b.count;
    if (count == 0.0f) return {0.0f, 0.0f, 0.0f};
    const float apart = b.mean - a.mean;
    return {a.mean + apart * b.count / count, a.squares + b.squares + apart * apart * a.count * b.count / count, count};
}

__device__ __forceinline__ Moments of_warp(Moments mine) {
    for (int d = 16; d > 0; d /= 2)
        mine = together(mine, {__shfl_down_sync(0xffffffffu, mine.mean, d), __shfl_down_sync(0xffffffffu, mine.squares, d),
                               __shfl_down_sync(0xffffffffu, mine.count, d)});
    return mine;
}

__global__ void layer_updates(const float* in, const float* gamma, const float* beta, float* out, int rows, int columns) {
    __shared__ Moments shared[kThreads];
    const int row = blockIdx.x, thread = threadIdx.x;
    if (row >= rows) return;
    Moments mine = {0.0f, 0.0f, 0.0f};
    for (int i = thread; i < columns; i += blockDim.x) mine.add(in[row * columns + i]);
    shared[thread] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (thread < half) shared[thread] = together(shared[thread], shared[thread + half]);
        __syncthreads();
    }
    mine = shared[0];
    const float scale = rsqrtf(mine.squares / columns + kEpsilon);
    __syncthreads();
    for (int i = thread; i < columns; i += blockDim.x)
        out[row * columns + i] = (in[row * columns + i] - mine.mean) * scale * gamma[i] + beta[i];
}

__global__ void layer_shuffles(const float* in, const float* gamma, const float* beta, float* out, int rows, int columns) {
    extern __shared__ Moments parts[];
    const int row = blockIdx.x, thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    if (row >= rows) return;
    Moments mine = {0.0f, 0.0f, 0.0f};
    for (int i = thread; i < columns; i += blockDim.x) mine.add(in[row * columns + i]);
    mine = of_warp(mine);
    if (lane == 0) parts[warp] = mine;
    __syncthreads();
    mine = thread < blockDim.x / 32 ? parts[lane] : Moments{0.0f, 0.0f, 0.0f};
    if (warp == 0) mine = of_warp(mine);
    if (thread == 0) parts[0] = mine;
    __syncthreads();
    mine = parts[0];
    const float scale = rsqrtf(mine.squares / columns + kEpsilon);
    for (int i = thread; i < columns; i += blockDim.x)
        out[row * columns + i] = (in[row * columns + i] - mine.mean) * scale * gamma[i] + beta[i];
}

__global__ void layer_warps(const float* in, const float* gamma, const float* beta, float* out, int rows, int columns) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    Moments mine = {0.0f, 0.0f, 0.0f};
    for (int i = lane; i < columns; i += 32) mine.add(in[row * columns + i]);
    mine = of_warp(mine);
    const float mean = __shfl_sync(0xffffffffu, mine.mean, 0), squares = __shfl_sync(0xffffffffu, mine.squares, 0);
    const float scale = rsqrtf(squares / columns + kEpsilon);
    for (int i = lane; i < columns; i += 32)
        out[row * columns + i] = (in[row * columns + i] - mean) * scale * gamma[i] + beta[i];
}

__global__ void rms_thread(const float* in, const float* gamma, float* out, int rows, int columns, float epsilon) {
    const int row = blockIdx.x;
    if (row >= rows) return;
    const float* from = in + row * columns;
    float* to = out + row * columns;
    float squares = 0.0f;
    for (int i = 0; i < columns; ++i) squares += from[i] * from[i];
    const float scale = rsqrtf(squares / columns + epsilon);
    for (int i = 0; i < columns; ++i) to[i] = from[i] * scale * gamma[i];
}

__global__ void rms_shuffles(const float* in, const float* gamma, float* out, int rows, int columns, float epsilon) {
    extern __shared__ float sums[];
    const int row = blockIdx.x;
    if (row >= rows) return;
    const float* from = in + row * columns;
    float* to = out + row * columns;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += from[i] * from[i];
    for (int d = warpSize / 2; d > 0; d /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, d);
    const int warp = threadIdx.x / warpSize, lane = threadIdx.x % warpSize, warps = blockDim.x / warpSize;
    if (lane == 0) sums[warp] = squares;
    __syncthreads();
    if (warp == 0) {
        squares = lane < warps ? sums[lane] : 0.0f;
        for (int d = warpSize / 2; d > 0; d /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, d);
    }
    if (threadIdx.x == 0) sums[0] = rsqrtf(squares / columns + epsilon);
    __syncthreads();
    const float scale = sums[0];
    for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = from[i] * scale * gamma[i];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {128, 4096}, {5, 2080});
    const int rows = static_cast<int>(run.size(0)), columns = static_cast<int>(run.size(1));
    chain::Array<float> in(size_t(rows) * columns), out(size_t(rows) * columns), gamma(columns), beta(columns);
    std::vector<float> layers, means;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        gamma.fill([](size_t i) { return 1.0f + 0.1f * chain::pattern(i, 2); });
        beta.fill([](size_t i) { return 0.1f * chain::pattern(i, 3); });
        for (int row = 0; row < rows; ++row) {
            const float* values = &in.host[size_t(row) * columns];
            double sum = 0.0, squares = 0.0, apart = 0.0;
            for (int i = 0; i < columns; ++i) sum += values[i], squares += double(values[i]) * values[i];
            const double mean = sum / columns;
            for (int i = 0; i < columns; ++i) apart += (values[i] - mean) * (values[i] - mean);
            for (int i = 0; i < columns; ++i) {
                layers.push_back(float((values[i] - mean) / std::sqrt(apart / columns + kEpsilon)) * gamma.host[i] +
                                 beta.host[i]);
                means.push_back(float(values[i] / std::sqrt(squares / columns + kEpsilon)) * gamma.host[i]);
            }
        }
    }
    auto is_layer = [&] { return chain::close(out, layers, 1e-4); };
    auto is_mean = [&] { return chain::close(out, means, 1e-4); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    run.variant("layer_trees", [&] { layer_trees<<<rows, kThreads>>>(in, gamma, beta, out, rows, columns); }, is_layer, prepare);
    run.variant("layer_updates", [&] { layer_updates<<<rows, kThreads>>>(in, gamma, beta, out, rows, columns); }, is_layer, prepare);
    run.variant("layer_shuffles", [&] {
        layer_shuffles<<<rows, kThreads, kWarps * sizeof(Moments)>>>(in, gamma, beta, out, rows, columns);
    }, is_layer, prepare);
    run.variant("layer_warps", [&] {
        layer_warps<<<chain::ceil_div(rows, kWarps), kThreads>>>(in, gamma, beta, out, rows, columns);
    }, is_layer, prepare);
    run.variant("rms_thread", [&] { rms_thread<<<rows, 1>>>(in, gamma, out, rows, columns, kEpsilon); }, is_mean, prepare);
    run.variant("rms_shuffles", [&] {
        rms_shuffles<<<rows, 256, (256 / 32 + 1) * sizeof(float)>>>(in, gamma, out, rows, columns, kEpsilon);
    }, is_mean, prepare);
    return run.finish();
}
