// Several host threads use the device at once, each with its own stream, memory and last error.
#include "check.h"

#include <atomic>
#include <thread>

__global__ void iterate(unsigned* data, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = data[i];
    for (int r = 0; r < rounds; r++) v = v * 1664525u + 1013904223u;
    data[i] = v;
}

static std::atomic<int> finished{0};

static void work(int number) {
    const int n = 256 + 37 * number;
    CHECK(cudaSetDevice(0));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    unsigned* d;
    std::vector<unsigned> h(n), out(n);
    CHECK(cudaMalloc(&d, n * sizeof(unsigned)));
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < n; i++) h[i] = i * 7 + number;
        CHECK(cudaMemcpyAsync(d, h.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice, stream));
        iterate<<<(n + 63) / 64, 64, 0, stream>>>(d, n, number + round);
        CHECK(cudaMemcpyAsync(out.data(), d, n * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < n; i++) {
            unsigned v = h[i];
            for (int r = 0; r < number + round; r++) v = v * 1664525u + 1013904223u;
            EXPECT_EQ(out[i], v);
        }
    }
    // A launch error belongs to the thread that made it.
    if (number == 0) {
        iterate<<<1, 5000, 0, stream>>>(d, n, 1);
        EXPECT_EQ(int(cudaGetLastError()), int(cudaErrorInvalidConfiguration));
    } else {
        CHECK(cudaGetLastError());
    }
    // The per-thread default stream.
    CHECK(cudaMemsetAsync(d, number, n * sizeof(unsigned), cudaStreamPerThread));
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(cudaMemcpy(out.data(), d, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    EXPECT_EQ(out[n - 1], number * 0x01010101u);
    CHECK(cudaFree(d));
    CHECK(cudaStreamDestroy(stream));
    finished++;
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(finished.load(), 4);
    CHECK(cudaDeviceSynchronize());
    return pass();
}
