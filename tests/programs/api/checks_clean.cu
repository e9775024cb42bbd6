// Correct programs stay silent under all checks: reductions, tiles, warp-synchronous code, atomics,
// double buffering, padding in structs, memory initialised by copies, memsets and kernels.
// args: --check race,init,sync
#include "check.h"

struct Padded {
    char tag;
    double value;
};

__global__ void reduce(const float* in, float* out, int n) {
    __shared__ float tile[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    tile[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 64; step >= 32; step /= 2) {
        if (t < step) tile[t] += tile[t + step];
        __syncthreads();
    }
    if (t < 32) {
        float v = tile[t];
        for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
        if (t == 0) atomicAdd(out, v);
    }
}

__global__ void warp_exchange(int* data) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncwarp();
    int v = tile[t ^ 1];
    __syncwarp();
    tile[t ^ 1] = v * 2;
    __syncwarp();
    data[t] = tile[t];
}

__global__ void histogram(const int* in, int* out, int n) {
    __shared__ int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[in[i] & 7], 1);
    __syncthreads();
    if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}

__global__ void jacobi(float* data, int rounds) {
    __shared__ float buffers[2][66];
    int t = threadIdx.x + 1;
    buffers[0][t] = data[t - 1];
    if (t == 1) buffers[0][0] = buffers[0][65] = buffers[1][0] = buffers[1][65] = 0;
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        buffers[(r + 1) % 2][t] = (buffers[r % 2][t - 1] + buffers[r % 2][t + 1]) / 2;
        __syncthreads();
    }
    data[t - 1] = buffers[rounds % 2][t];
}

__global__ void copy_structs(const Padded* in, Padded* out) {
    Padded p = in[threadIdx.x];
    p.value += p.tag;
    out[threadIdx.x] = p;
}

// Producer and consumer warps meet at named barriers only.
__global__ void pipeline(int* out) {
    __shared__ int slot[32];
    int lane = threadIdx.x % 32;
    for (int round = 0; round < 4; round++) {
        if (threadIdx.x < 32) {
            slot[lane] = round * 100 + lane;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[round * 32 + lane] = slot[31 - lane];
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
}

int main() {
    const int n = 1000;
    std::vector<float> h(n, 0.5f);
    float *in, *sum, total;
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMalloc(&sum, sizeof(float)));
    CHECK(cudaMemcpy(in, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(sum, 0, sizeof(float)));
    reduce<<<(n + 127) / 128, 128>>>(in, sum, n);
    CHECK(cudaMemcpy(&total, sum, sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT_EQ(total, 500.0f);

    int *data, *bins, counts[8];
    CHECK(cudaMallocManaged(&data, 64 * sizeof(int)));
    for (int i = 0; i < 64; i++) data[i] = i;  // written by the host
    warp_exchange<<<1, 64>>>(data);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) EXPECT_EQ(data[i], 2 * i);
    CHECK(cudaMalloc(&bins, 8 * sizeof(int)));
    histogram<<<1, 96>>>(data, bins, 64);
    CHECK(cudaMemcpy(counts, bins, sizeof(counts), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++) EXPECT_EQ(counts[i], i % 2 ? 0 : 16);

    float line[64];
    for (int i = 0; i < 64; i++) line[i] = i == 31 ? 1024.0f : 0.0f;
    CHECK(cudaMemcpy(in, line, sizeof(line), cudaMemcpyHostToDevice));
    jacobi<<<1, 64>>>(in, 3);
    CHECK(cudaMemcpy(line, in, sizeof(line), cudaMemcpyDeviceToHost));
    EXPECT_EQ(line[28], 128.0f);
    EXPECT_EQ(line[30], 384.0f);
    EXPECT_EQ(line[31], 0.0f);

    Padded structs[32], *from, *to;
    for (int i = 0; i < 32; i++) structs[i] = {char(i), i * 0.5};
    CHECK(cudaMalloc(&from, sizeof(structs)));
    CHECK(cudaMalloc(&to, sizeof(structs)));
    CHECK(cudaMemcpy(from, structs, sizeof(structs), cudaMemcpyHostToDevice));
    copy_structs<<<1, 32>>>(from, to);
    CHECK(cudaMemcpy(structs, to, sizeof(structs), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) EXPECT_EQ(structs[i].value, i * 1.5);

    int *out, rounds[128];
    CHECK(cudaMalloc(&out, sizeof(rounds)));
    pipeline<<<1, 64>>>(out);
    CHECK(cudaMemcpy(rounds, out, sizeof(rounds), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 128; i++) EXPECT_EQ(rounds[i], i / 32 * 100 + 31 - i % 32);
    return pass();
}
