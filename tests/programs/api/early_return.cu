// Threads that have returned do not hold up __syncthreads(): a barrier counts the threads still there.
#include "check.h"

__global__ void reverse_prefix(int* data, int n) {
    __shared__ int tile[256];
    int i = threadIdx.x;
    if (i >= n) return;
    tile[i] = data[i];
    __syncthreads();
    data[i] = tile[n - 1 - i];
}

// Whole warps leave one after the other, each after one more barrier.
__global__ void leave_in_turn(int* arrived) {
    int warp = threadIdx.x / 32;
    for (int round = 0; round <= warp; round++) {
        if (threadIdx.x % 32 == 0) atomicAdd(&arrived[round], 1);
        __syncthreads();
    }
}

int main() {
    int* d;
    int h[256];
    CHECK(cudaMalloc(&d, sizeof(h)));
    for (int n : {1, 31, 33, 100, 200, 256}) {
        for (int i = 0; i < 256; i++) h[i] = i;
        CHECK(cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice));
        reverse_prefix<<<1, 256>>>(d, n);
        CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost));
        for (int i = 0; i < 256; i++) EXPECT_EQ(h[i], i < n ? n - 1 - i : i);
    }
    CHECK(cudaMemset(d, 0, sizeof(h)));
    leave_in_turn<<<1, 256>>>(d);
    CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++) EXPECT_EQ(h[i], 8 - i);
    CHECK(cudaFree(d));
    return pass();
}
