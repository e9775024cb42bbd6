// Rows of a matrix divided by their root mean square: a thread per row, or a block per row with a tree, with vectors and
// shuffles, with 32 elements per thread, in tiles of 128, and with 64 elements per thread as vectors. SIZES are rows and
// columns, a multiple of 4; at most 8192 columns.
#include "common.h"

constexpr int kThreads = 256, kWarps = kThreads / 32, kTile = 128;
constexpr float kEpsilon = 1e-6f;

__global__ void basic(const float* in, float* out, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < columns; ++i) {
        const float value = in[row * columns + i];
        sum += value * value;
    }
    const float root = sqrtf(sum / columns + kEpsilon);
    for (int i = 0; i < columns; ++i) out[row * columns + i] = in[row * columns + i] / root;
}

// Half of the sums added to the other, until one is left.
__device__ void fold(float* sums) {
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
}

__global__ void tree(const float* in, float* out, int rows, int columns) {
    extern __shared__ float sums[];
    __shared__ float root;
    const int row = blockIdx.x, thread = threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = thread; i < columns; i += blockDim.x) {
        const float value = in[row * columns + i];
        sum += value * value;
    }
    sums[thread] = sum;
    __syncthreads();
    fold(sums);
    if (thread == 0) root = sqrtf(sums[0] / columns + kEpsilon);
    __syncthreads();
    for (int i = thread; i < columns; i += blockDim.x) out[row * columns + i] = in[row * columns + i] / root;
}

__device__ float squares(float4 v, float sum) {
    sum += v.x * v.x;
    sum += v.y * v.y;
    sum += v.z * v.z;
    sum += v.w * v.w;
    return sum;
}

__device__ float4 divided(float4 v, float root) { return make_float4(v.x / root, v.y / root, v.z / root, v.w / root); }

__global__ void shuffles(const float* in, float* out, int rows, int columns) {
    extern __shared__ float sums[];
    const int row = blockIdx.x, thread = threadIdx.x;
    if (row >= rows) return;
    in += row * columns;
    out += row * columns;
    float sum = 0.0f;
    for (int i = thread * 4; i + 3 < columns; i += blockDim.x * 4)
        sum = squares(*reinterpret_cast<const float4*>(&in[i]), sum);
    for (int i = thread + columns / 4 * 4; i < columns; i += blockDim.x) sum += in[i] * in[i];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (thread % 32 == 0) sums[thread / 32] = sum;
    __syncthreads();
    if (thread == 0) {
        float all = 0.0f;
        for (int warp = 0; warp < (blockDim.x + 31) / 32; ++warp) all += sums[warp];
        sums[0] = sqrtf(all / columns + kEpsilon);
    }
    __syncthreads();
    const float root = sums[0];
    for (int i = thread * 4; i + 3 < columns; i += blockDim.x * 4)
        *reinterpret_cast<float4*>(&out[i]) = divided(*reinterpret_cast<const float4*>(&in[i]), root);
    for (int i = thread + columns / 4 * 4; i < columns; i += blockDim.x) out[i] = in[i] / root;
}

__global__ void several(const float* in, float* out, int rows, int columns) {
    constexpr int kEach = 32;
    __shared__ float sums[kThreads], root;
    const int row = blockIdx.x, thread = threadIdx.x;
    if (row >= rows) return;
    in += row * columns;
    out += row * columns;
    float sum = 0.0f;
    int i = thread;
#pragma unroll 8
    for (int j = 0; j < kEach; ++j, i += blockDim.x)
        if (i < columns) {
            const float value = in[i];
            sum += value * value;
        }
    sums[thread] = sum;
    __syncthreads();
    fold(sums);
    if (thread == 0) root = sqrtf(sums[0] / columns + kEpsilon);
    __syncthreads();
    i = thread;
#pragma unroll 8
    for (int j = 0; j < kEach; ++j, i += blockDim.x)
        if (i < columns) out[i] = in[i] / root;
}

__global__ void tiles(const float* in, float* out, int rows, int columns) {
    __shared__ float sums[kTile], tile[kTile + 1], root;
    const int row = blockIdx.x, thread = threadIdx.x;
    if (row >= rows) return;
    in += row * columns;
    out += row * columns;
    float sum = 0.0f;
    for (int first = 0; first < columns; first += kTile) {
        if (first + thread < columns) {
            const float value = in[first + thread];
            tile[thread] = value;
            sum += value * value;
        }
        __syncthreads();
    }
    sums[thread] = sum;
    __syncthreads();
    fold(sums);
    if (thread == 0) root = sqrtf(sums[0] / columns + kEpsilon);
    __syncthreads();
    for (int first = 0; first < columns; first += kTile)
        if (first + thread < columns) out[first + thread] = in[first + thread] / root;
}

__global__ void vectors(const float* in, float* out, int rows, int columns) {
    constexpr int kEach = 16;
    __shared__ float sums[kThreads + 1], root;
    const int row = blockIdx.x, thread = threadIdx.x, fours = columns / 4;
    if (row >= rows) return;
    in += row * columns;
    out += row * columns;
    float sum = 0.0f;
    int i = thread;
#pragma unroll 4
    for (int j = 0; j < kEach; ++j, i += blockDim.x)
        if (i < fours) sum = squares(reinterpret_cast<const float4*>(in)[i], sum);
    for (int rest = fours * 4 + thread; rest < columns; rest += blockDim.x) sum += in[rest] * in[rest];
    sums[thread] = sum;
    __syncthreads();
    if (thread < 128) sums[thread] += sums[thread + 128];
    __syncthreads();
    if (thread < 64) sums[thread] += sums[thread + 64];
    __syncthreads();
    if (thread < 32) {
        volatile float* own = sums;
        own[thread] += own[thread + 32];
        own[thread] += own[thread + 16];
        own[thread] += own[thread + 8];
        own[thread] += own[thread + 4];
        own[thread] += own[thread + 2];
        own[thread] += own[thread + 1];
    }
    if (thread == 0) root = sqrtf(sums[0] / columns + kEpsilon);
    __syncthreads();
    i = thread;
#pragma unroll 4
    for (int j = 0; j < kEach; ++j, i += blockDim.x)
        if (i < fours) reinterpret_cast<float4*>(out)[i] = divided(reinterpret_cast<const float4*>(in)[i], root);
    for (int rest = fours * 4 + thread; rest < columns; rest += blockDim.x) out[rest] = in[rest] / root;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192, 8192}, {70, 1032});
    const int rows = static_cast<int>(run.size(0)), columns = static_cast<int>(run.size(1));
    chain::Array<float> in(size_t(rows) * columns), out(size_t(rows) * columns);
    std::vector<float> expected;
    if (run.verify) {
        in.fill([](size_t i) { return 1.5f + chain::pattern(i, 1); });
        for (int row = 0; row < rows; ++row) {
            double sum = 0.0;
            for (int i = 0; i < columns; ++i) sum += double(in.host[row * columns + i]) * in.host[row * columns + i];
            const double root = std::sqrt(sum / columns + kEpsilon);
            for (int i = 0; i < columns; ++i) expected.push_back(float(in.host[row * columns + i] / root));
        }
    }
    auto check = [&] { return chain::close(out, expected, 1e-4); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    const size_t bytes = kThreads * sizeof(float), few = kWarps * sizeof(float);
    const int blocks = chain::ceil_div(rows, kThreads);
    run.variant("basic", [&] { basic<<<blocks, kThreads>>>(in, out, rows, columns); }, check, prepare);
    run.variant("tree", [&] { tree<<<rows, kThreads, bytes>>>(in, out, rows, columns); }, check, prepare);
    run.variant("shuffles", [&] { shuffles<<<rows, kThreads, few>>>(in, out, rows, columns); }, check, prepare);
    run.variant("several", [&] { several<<<rows, kThreads>>>(in, out, rows, columns); }, check, prepare);
    run.variant("tiles", [&] { tiles<<<rows, kTile>>>(in, out, rows, columns); }, check, prepare);
    run.variant("vectors", [&] { vectors<<<rows, kThreads>>>(in, out, rows, columns); }, check, prepare);
    return run.finish();
}
