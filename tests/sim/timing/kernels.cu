// Kernels whose counters can be computed by hand (test_profiles.py).
#include <cuda_fp16.h>

extern "C" {

__global__ void copy(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}

__global__ void copy4(const float4* in, float4* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}

__global__ void strided(const float* in, float* out, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[size_t(i) * stride];
}

__global__ void neighbours(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 32;
    out[i] = in[i - 1] + in[i] + in[i + 1];
}

__global__ void shifted(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i + 1];
}

__global__ void conflicts(float* out, int stride) {
    __shared__ float tile[4096];
    int lane = threadIdx.x;
    volatile float* there = tile;
    there[lane * stride % 4096] = float(lane);
    out[lane] = there[lane * stride % 4096];
}

__global__ void tiles(const float* in, float* out, int stride) {  // from barrier to barrier, with conflicts
    extern __shared__ float tile[];
    float sum = 0.0f;
    for (int k = 0; k < 16; k++) {
        tile[threadIdx.x] = in[(blockIdx.x * 16 + k) * 256 + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 8; j++) sum += tile[(threadIdx.x * stride + j) & 255];
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

__global__ void some_lanes(float* data, int lanes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x % 32 < lanes) {
        float x = data[i];
        for (int k = 0; k < 1000; k++) x = x * 1.5f + 0.25f;
        data[i] = x;
    }
}

__global__ void multiply_add(float* data, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = data[i];
    for (int k = 0; k < rounds; k++) x = x * 1.5f + 0.25f;
    data[i] = x;
}

__global__ void row_of_matrix(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

__global__ void count_all(int* counter) { atomicAdd(counter + (threadIdx.x & 0), int(threadIdx.x) + 1); }

__global__ void count_by_lane(int* counters) { atomicAdd(counters + (threadIdx.x * 7 & 31), 1); }

__global__ void count_there(int* counters, const int* where) { atomicAdd(counters + where[threadIdx.x], 1); }
__global__ void add_there(float* sums, const int* where) { atomicAdd(sums + where[threadIdx.x], 1.0f); }

__global__ void ticks(long long* out) {
    long long start = clock64();
    out[0] = start;
    out[1] = clock64();
}

__constant__ float table[64];

__global__ void constants(float* out, int stride) {  // one word for all lanes, or one for each
    float sum = 0.0f;
    for (int i = 0; i < 32; i++) sum += table[(i + stride * threadIdx.x) & 63];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Whole passes of the grid over `in`, then over `out`.
__global__ void passes(const float* in, float* out, int n, int reads, int writes) {
    int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    float sum = 0.0f;
    for (int pass = 0; pass < reads; pass++)
        for (int i = first; i < n; i += step) sum += in[i];
    for (int pass = 0; pass < writes; pass++)
        for (int i = first; i < n; i += step) out[i] = sum;
}

// Each block goes over a stretch of its own as often as it is told to, in place.
__global__ void in_place(float* data, int each, int times) {
    float* own = data + size_t(blockIdx.x) * each;
    for (int pass = 0; pass < times; pass++)
        for (int i = threadIdx.x; i < each; i += blockDim.x) own[i] += 1.0f;
}

// All blocks meet before they go on, or do not.
__global__ void meeting(float* data, unsigned* arrived, int rounds, int meet) {
    if (meet && threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        while (atomicAdd(arrived, 0u) < gridDim.x) {}
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = data[i];
    for (int k = 0; k < rounds; k++) value = value * 0.5f + 1.0f;
    data[i] = value;
}

__global__ void gather(const float* in, const int* where, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[where[i]];
}

__global__ void tiny(const float* in, float* out) {
    int i = blockIdx.x * 32 + threadIdx.x;
    out[i] = in[i];
}

// The same two elements of a block's, as far apart as it is told.
__global__ void apart(const float* in, float* out, int distance) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + in[i + distance];
}

__global__ void half_there(__half* sums, const int* where) { atomicAdd(sums + where[threadIdx.x], __half(1)); }
__global__ void halves_there(__half2* sums, const int* where) { atomicAdd(sums + where[threadIdx.x], __half2(1, 1)); }
__global__ void half_by_lane(__half* sums) { atomicAdd(sums + threadIdx.x, __half(1)); }
__global__ void halves_by_lane(__half2* sums) { atomicAdd(sums + threadIdx.x, __half2(1, 1)); }

__global__ void add_in_block(float* out, const int* where, int rounds) {  // a loop of compare-and-swap
    __shared__ float sums[1024];
    sums[threadIdx.x] = 0.0f;
    __syncthreads();
    for (int k = 0; k < rounds; k++) atomicAdd(sums + where[threadIdx.x], 1.5f);
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = sums[threadIdx.x];
}

__device__ __forceinline__ void count_in_block(int* out, const int* where, int rounds, bool ones) {
    __shared__ int counts[1024];
    counts[threadIdx.x] = 0;
    __syncthreads();
    const int there = where[threadIdx.x];
    for (int k = 0; k < rounds; k++) atomicAdd(counts + there, ones ? 1 : k + int(threadIdx.x));
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = counts[threadIdx.x];
}
__global__ void ones_in_block(int* out, const int* where, int rounds) { count_in_block(out, where, rounds, true); }
__global__ void values_in_block(int* out, const int* where, int rounds) { count_in_block(out, where, rounds, false); }

__global__ void greatest(unsigned* most, unsigned step) {  // a loop of the program's own
    unsigned old = *most, mine = old + step;
    while (true) {
        const unsigned found = atomicCAS(most, old, mine);
        if (found == old) break;
        old = found;
        mine = found + step;
    }
}

__global__ void single_halves(__half* data, int rounds, __half a, __half b) {
    __half x[8];
    for (int j = 0; j < 8; j++) x[j] = data[threadIdx.x + 32 * j];
    for (int k = 0; k < rounds; k++)
        for (int j = 0; j < 8; j++) x[j] = __hfma(x[j], a, b);
    for (int j = 0; j < 8; j++) data[threadIdx.x + 32 * j] = x[j];
}

__global__ void walks(const float* in, float* out, int each) {  // a thread goes through its own lines
    const float* own = in + (size_t(blockIdx.x) * blockDim.x + threadIdx.x) * each;
    float sum = 0.0f;
    for (int k = 0; k < each; k++) sum += own[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void stripes(float* out, size_t pitch) {  // 32 bytes in each of 32 rows; those beside them are another row's of blocks
    out[(size_t(blockIdx.x) * 32 + threadIdx.y) * pitch + blockIdx.y * 8 + threadIdx.x] = 1.0f;
}

__global__ void half_multiply_add(__half2* data, int rounds) {
    __half2 a[8];
    for (int j = 0; j < 8; j++) a[j] = data[threadIdx.x + 32 * j];
    for (int k = 0; k < rounds; k++)
        for (int j = 0; j < 8; j++) a[j] = __hfma2_relu(a[j], a[j], a[(j + 1) & 7]);
    for (int j = 0; j < 8; j++) data[threadIdx.x + 32 * j] = a[j];
}

// Every lane walks along a row of its own: as many lines as lanes in each load, all of them in L1 after the first.
__global__ void rows_apart(const float* in, float* out, int rounds) {
    const float* row = in + (threadIdx.x & 31) * 256;
    float sum[4] = {};
    for (int k = 0; k < rounds; k++)
        for (int j = 0; j < 4; j++) sum[j] += row[(k + 8 * j) & 255];
    for (int j = 0; j < 4; j++) out[(blockIdx.x * blockDim.x + threadIdx.x) * 4 + j] = sum[j];
}

// A transpose by blocks in one row: each goes down a part of a column, the next block goes on from there.
__global__ void down_columns(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i % n * n + i / n];
}

__global__ void fill(float* out) {
    extern __shared__ float unused[];
    out[blockIdx.x * blockDim.x + threadIdx.x] = 0.25f;
}

// Shared loads and nothing else to speak of.
__global__ void lines_apart(const float* in, float* out, int n) {  // a line for each lane, round and round
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[(32ll * i) % n];
}

__global__ void keeps(const float* in, float* out, int each) {  // in an array of its own that has no place in registers
    float kept[512];
    for (int i = threadIdx.x; i < each; i += blockDim.x) kept[i] = in[blockIdx.x * each + i];
    __syncthreads();
    for (int i = threadIdx.x; i < each; i += blockDim.x) out[blockIdx.x * each + i] = kept[i] + 1.0f;
}

__global__ void banks(float* out, int stride, int rounds) {
    __shared__ float tile[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) tile[i] = float(i);
    __syncthreads();
    float sum[8] = {};
    for (int k = 0; k < rounds; k++)
        for (int j = 0; j < 8; j++) sum[j] += tile[((threadIdx.x & 31) * stride + 37 * k + 131 * j) & 2047];
    for (int j = 0; j < 8; j++) out[(blockIdx.x * blockDim.x + threadIdx.x) * 8 + j] = sum[j];
}

}

// Blocks that wait for a flag which nobody sets, after some work each.
extern "C" __global__ void waits_for_ever(volatile int* flag, float* out, int rounds) {
    float v = threadIdx.x;
    for (int i = 0; i < rounds; i++) v = v * 1.5f + out[i % 32];
    while (*flag == 0) {}
    out[threadIdx.x] = v;
}

// The first lane of each warp looks into shared memory, the others into global memory.
extern "C" __global__ void mixed_spaces(const float* in, float* out) {
    __shared__ float nothing;
    if (threadIdx.x == 0) nothing = 0.0f;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = *(threadIdx.x % 32 ? (const volatile float*)in + i : &nothing);
}

// Each block first touches a word of each of many allocations, then copies.
extern "C" __global__ void many_allocations(const float* in, float* out, const unsigned long long* others, int count) {
    float sum = 0.0f;
    for (int k = threadIdx.x; k < count; k += blockDim.x) sum += *(volatile float*)others[k];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + sum;
}
