// Kernels of blocks that meet at barriers again and again, for barriers.py.
#include <cfloat>

// A product of n x n matrices by shared tiles, a result for each thread.
template <int kTile> __device__ void tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float as[kTile][kTile], bs[kTile][kTile];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * kTile + ty, column = blockIdx.x * kTile + tx;
    float sum = 0.0f;
    for (int tile = 0; tile < n; tile += kTile) {
        as[ty][tx] = a[row * n + tile + tx];
        bs[ty][tx] = b[(tile + ty) * n + column];
        __syncthreads();
        for (int k = 0; k < kTile; ++k) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void tiled_32(const float* a, const float* b, float* c, int n) { tiled<32>(a, b, c, n); }
extern "C" __global__ void tiled_16(const float* a, const float* b, float* c, int n) { tiled<16>(a, b, c, n); }

// The same with 4 x 4 results for each thread: tiles of 64 x 64, 256 threads.
extern "C" __global__ void register_tile(const float* a, const float* b, float* c, int n) {
    __shared__ float as[16][64], bs[16][64];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < n; k0 += 16) {
        for (int i = 0; i < 64; i += 16) {
            as[tx][ty + i] = a[(row + ty + i) * n + k0 + tx];
            bs[ty][tx + i] = b[(k0 + ty) * n + column + tx + i];
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sum[i][j] += as[k][ty + 16 * i] * bs[k][tx + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) c[(row + ty + 16 * i) * n + column + tx + 16 * j] = sum[i][j];
}

// Halves the number of threads that take part until one is left.
template <class Combine> __device__ float reduced(float value, float* scratch, Combine combine) {
    scratch[threadIdx.x] = value;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) scratch[threadIdx.x] = combine(scratch[threadIdx.x], scratch[threadIdx.x + half]);
    }
    __syncthreads();
    float all = scratch[0];
    __syncthreads();
    return all;
}

// Each row of n columns by a block of 256 threads.
extern "C" __global__ void softmax(const float* in, const float*, float* out, int n) {
    __shared__ float scratch[256];
    const float* row = in + (size_t)blockIdx.x * n;
    float highest = -FLT_MAX, sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) highest = fmaxf(highest, row[i]);
    highest = reduced(highest, scratch, [](float x, float y) { return fmaxf(x, y); });
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - highest);
    sum = reduced(sum, scratch, [](float x, float y) { return x + y; });
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[(size_t)blockIdx.x * n + i] = expf(row[i] - highest) / sum;
}

// Sums up to each element, in steps of 1, 2, 4 … through two buffers; 1024 elements to a block.
extern "C" __global__ void scan(const float* in, const float*, float* out, int) {
    __shared__ float buffers[2][1024];
    int i = threadIdx.x, at = blockIdx.x * 1024 + i, from = 0;
    buffers[0][i] = in[at];
    __syncthreads();
    for (int step = 1; step < 1024; step *= 2) {
        float value = buffers[from][i];
        if (i >= step) value += buffers[from][i - step];
        from ^= 1;
        buffers[from][i] = value;
        __syncthreads();
    }
    out[at] = buffers[from][i];
}
