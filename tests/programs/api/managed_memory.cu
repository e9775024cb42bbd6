// Managed memory: host writes, kernel, synchronise, host reads; linked structures; hints.
#include "check.h"

struct Node {
    int value;
    Node* next;
};

__global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

__global__ void walk(Node* list, int* sum) {
    for (Node* node = list; node; node = node->next) {
        *sum += node->value;
        node->value = -node->value;
    }
}

int main() {
    const int n = 3000;
    float *x, *y;
    CHECK(cudaMallocManaged(&x, n * sizeof(float)));
    CHECK(cudaMallocManaged((void**)&y, n * sizeof(float), cudaMemAttachGlobal));
    for (int i = 0; i < n; i++) x[i] = float(i), y[i] = 1;
    int device;
    CHECK(cudaGetDevice(&device));
    cudaMemLocation gpu = {cudaMemLocationTypeDevice, device}, cpu = {cudaMemLocationTypeHost, 0};
    CHECK(cudaMemAdvise(x, n * sizeof(float), cudaMemAdviseSetReadMostly, gpu));
    CHECK(cudaMemAdvise(y, n * sizeof(float), cudaMemAdviseSetPreferredLocation, gpu));
    CHECK(cudaMemPrefetchAsync(x, n * sizeof(float), gpu, 0, nullptr));
    CHECK(cudaMemPrefetchAsync(y, n * sizeof(float), gpu, 0));
    int answer = -9;
    CHECK(cudaMemRangeGetAttribute(&answer, sizeof(int), cudaMemRangeAttributeReadMostly, x, n * sizeof(float)));
    EXPECT_EQ(answer, 1);
    CHECK(cudaMemRangeGetAttribute(&answer, sizeof(int), cudaMemRangeAttributeReadMostly, y, n * sizeof(float)));
    EXPECT_EQ(answer, 0);
    CHECK(cudaMemRangeGetAttribute(&answer, sizeof(int), cudaMemRangeAttributePreferredLocation, y, sizeof(float)));
    EXPECT_EQ(answer, 0);
    CHECK(cudaMemRangeGetAttribute(&answer, sizeof(int), cudaMemRangeAttributePreferredLocation, x, sizeof(float)));
    EXPECT_EQ(answer, cudaInvalidDeviceId);
    CHECK(cudaMemRangeGetAttribute(&answer, sizeof(int), cudaMemRangeAttributeLastPrefetchLocation, x, sizeof(float)));
    EXPECT_EQ(answer, 0);
    for (int round = 1; round <= 3; round++) {
        saxpy<<<(n + 255) / 256, 256>>>(2.0f, x, y, n);
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < n; i++) EXPECT_EQ(y[i], 1 + 2.0f * i * round);
    }
    CHECK(cudaMemPrefetchAsync(y, n * sizeof(float), cpu, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(y[10], 61.0f);

    // Pointers inside managed memory mean the same on both sides.
    Node* nodes;
    int* sum;
    CHECK(cudaMallocManaged(&nodes, 50 * sizeof(Node)));
    CHECK(cudaMallocManaged(&sum, sizeof(int)));
    *sum = 0;
    for (int i = 0; i < 50; i++) nodes[i] = {i + 1, i + 7 < 50 ? &nodes[i + 7] : nullptr};
    walk<<<1, 1>>>(nodes, sum);
    CHECK(cudaDeviceSynchronize());
    int wanted = 0;
    for (int i = 0; i < 50; i += 7) wanted += i + 1;
    EXPECT_EQ(*sum, wanted);
    EXPECT_EQ(nodes[7].value, -8);
    EXPECT_EQ(nodes[8].value, 9);

    // Ordinary copies and memset accept managed pointers.
    std::vector<float> copy(n);
    CHECK(cudaMemcpy(copy.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT_EQ(copy[n - 1], y[n - 1]);
    CHECK(cudaMemset(x, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(x[n - 1], 0.0f);
    CHECK(cudaMemcpy(x, y, n * sizeof(float), cudaMemcpyDefault));
    EXPECT_EQ(x[n - 1], y[n - 1]);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamAttachMemAsync(stream, x, 0, cudaMemAttachSingle));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFree(nodes));
    CHECK(cudaFree(sum));
    return pass();
}
