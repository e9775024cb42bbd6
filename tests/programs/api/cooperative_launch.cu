// cudaLaunchCooperativeKernel with a grid barrier; a grid that cannot be resident is refused.
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

// Prefix sums by doubling: every step needs all of the step before.
__global__ void scan(int* a, int* b, int n) {
    cg::grid_group grid = cg::this_grid();
    int i = int(grid.thread_rank());
    for (int step = 1; step < n; step *= 2) {
        if (i < n) b[i] = a[i] + (i >= step ? a[i - step] : 0);
        grid.sync();
        int* swap = a;
        a = b;
        b = swap;
    }
}

int main() {
    const int n = 1000, threads = 128, blocks = (n + threads - 1) / threads;
    std::vector<int> h(n);
    for (int i = 0; i < n; i++) h[i] = i % 13 - 4;
    int *a, *b, size = n;
    CHECK(cudaMalloc(&a, n * sizeof(int)));
    CHECK(cudaMalloc(&b, n * sizeof(int)));
    CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    void* args[] = {&a, &b, &size};
    CHECK(cudaLaunchCooperativeKernel((const void*)scan, dim3(blocks), dim3(threads), args, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
    std::vector<int> out(n);
    CHECK(cudaMemcpy(out.data(), a, n * sizeof(int), cudaMemcpyDeviceToHost));  // ten steps: back in a
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += h[i];
        EXPECT_EQ(out[i], sum);
    }

    // The same by launch attribute.
    CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, scan, a, b, n));
    std::vector<int> again(n);
    CHECK(cudaMemcpy(again.data(), a, n * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(again == out);

    int per_sm = 0, sms = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, scan, threads, 0));
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    EXPECT_ERROR(
        cudaLaunchCooperativeKernel((const void*)scan, dim3(per_sm * sms + 1), dim3(threads), args, 0, nullptr),
        cudaErrorCooperativeLaunchTooLarge);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    return pass();
}
