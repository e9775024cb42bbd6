// Stream capture: kernels, copies and memsets are recorded, not run; the graph replays many times.
#include "check.h"

__global__ void add(int* data, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += value;
}
__global__ void accumulate(int* total, const int* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, data[i]);
}

int main() {
    const int n = 300;
    std::vector<int> in(n), out(n, -1);
    for (int i = 0; i < n; i++) in[i] = i;
    int *d, *total;
    CHECK(cudaMalloc(&d, n * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof(int)));
    CHECK(cudaMemset(d, 0, n * sizeof(int)));
    CHECK(cudaMemset(total, 0, sizeof(int)));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));

    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    CHECK(cudaMemcpyAsync(d, in.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream));
    int by = 5;
    add<<<(n + 63) / 64, 64, 0, stream>>>(d, n, by);
    by = 1000;  // parameters were captured by value
    accumulate<<<(n + 63) / 64, 64, 0, stream>>>(total, d, n);
    CHECK(cudaMemsetAsync(d, 0, 4, stream));
    CHECK(cudaMemcpyAsync(out.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    EXPECT(graph != nullptr);
    CHECK(cudaStreamSynchronize(stream));
    EXPECT_EQ(out[0], -1);  // nothing ran

    size_t nodes = 0, edges = 0, roots = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT_EQ(nodes, 5u);
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    EXPECT_EQ(edges, 4u);
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    EXPECT_EQ(roots, 1u);

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));  // the executable graph does not need it
    int sum = 0;
    for (int round = 1; round <= 4; round++) {
        for (int i = 0; i < n; i++) in[i] = i * round;  // the captured copy reads it at each launch
        CHECK(cudaGraphUpload(exec, stream));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT_EQ(out[0], 0);
        for (int i = 1; i < n; i++) EXPECT_EQ(out[i], i * round + 5);
        for (int i = 0; i < n; i++) sum += i * round + 5;
        int found;
        CHECK(cudaMemcpy(&found, total, sizeof(int), cudaMemcpyDeviceToHost));
        EXPECT_EQ(found, sum);
    }
    // In another stream, several in a row, mixed with ordinary work.
    cudaStream_t other;
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaMemsetAsync(total, 0, sizeof(int), other));
    for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(exec, other));
    int found;
    CHECK(cudaMemcpyAsync(&found, total, sizeof(int), cudaMemcpyDeviceToHost, other));
    CHECK(cudaStreamSynchronize(other));
    EXPECT_EQ(found, 3 * (4 * n * (n - 1) / 2 + 5 * n));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaFree(d));
    CHECK(cudaFree(total));
    return pass();
}
