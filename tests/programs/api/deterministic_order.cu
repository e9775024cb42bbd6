// Results that depend on the order of blocks (float atomics, tickets, device printf) are the same on
// every run and with every number of worker threads. The test compares the output byte for byte.
#include "check.h"

__device__ float total;
__device__ unsigned tickets;

__global__ void sum(const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&total, in[i]);
}

__global__ void draw(unsigned* order) {
    if (threadIdx.x == 0) order[atomicAdd(&tickets, 1u)] = blockIdx.x;
}

__global__ void speak() {
    if (threadIdx.x % 40 == 0) printf("block %d thread %d\n", blockIdx.x, threadIdx.x);
}

__global__ void mix(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = data[i];
    for (int k = 0; k < 50 + i % 7; k++) v = __sinf(v) * 1.7f + __expf(-v);
    data[i] = v;
}

int main() {
    const int n = 5000;
    std::vector<float> h(n);
    unsigned state = 1;
    for (float& v : h) {
        state = state * 1664525u + 1013904223u;
        v = float(state) / 4294967296.0f * 100 - 20;
    }
    float* d;
    CHECK(cudaMalloc(&d, n * sizeof(float)));
    CHECK(cudaMemcpy(d, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    sum<<<(n + 127) / 128, 128>>>(d, n);
    unsigned bits;
    CHECK(cudaMemcpyFromSymbol(&bits, total, sizeof(bits)));
    printf("sum %08x\n", bits);
    unsigned *order, back[24];
    CHECK(cudaMalloc(&order, sizeof(back)));
    draw<<<24, 64>>>(order);
    CHECK(cudaMemcpy(back, order, sizeof(back), cudaMemcpyDeviceToHost));
    for (unsigned block : back) printf("%u ", block);
    printf("\n");
    fflush(stdout);
    speak<<<6, 96>>>();
    CHECK(cudaDeviceSynchronize());
    mix<<<(n + 63) / 64, 64>>>(d, n);
    CHECK(cudaMemcpy(h.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost));
    unsigned hash = 2166136261u;
    for (const float& v : h) {
        memcpy(&bits, &v, 4);
        hash = (hash ^ bits) * 16777619u;
    }
    printf("hash %08x\n", hash);
    CHECK(cudaFree(d));
    CHECK(cudaFree(order));
    return pass();
}
