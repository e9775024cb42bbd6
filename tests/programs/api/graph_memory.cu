// Allocation inside graphs: cudaMallocAsync captured, and explicit allocation and free nodes.
#include "check.h"

__global__ void fill(int* data, int value) { data[threadIdx.x] = value + threadIdx.x; }

int main() {
    int* out;
    CHECK(cudaMalloc(&out, 32 * sizeof(int)));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    int* scratch;
    CHECK(cudaMallocAsync(&scratch, 32 * sizeof(int), stream));
    fill<<<1, 32, 0, stream>>>(scratch, 100);
    CHECK(cudaMemcpyAsync(out, scratch, 32 * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaFreeAsync(scratch, stream));
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph));
    int h[32];
    for (int round = 0; round < 3; round++) {
        CHECK(cudaMemset(out, 0, sizeof(h)));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(h, out, sizeof(h), cudaMemcpyDeviceToHost));
        for (int i = 0; i < 32; i++) EXPECT_EQ(h[i], 100 + i);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));

    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams alloc = {};
    alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    alloc.poolProps.location.id = 0;
    alloc.bytesize = 32 * sizeof(int);
    cudaGraphNode_t allocate, kernel, copy, release;
    CHECK(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &alloc));
    EXPECT(alloc.dptr != nullptr);
    int* inside = static_cast<int*>(alloc.dptr);
    int value = 7;
    void* args[] = {&inside, &value};
    cudaKernelNodeParams params = {};
    params.func = (void*)fill;
    params.gridDim = dim3(1);
    params.blockDim = dim3(32);
    params.kernelParams = args;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &allocate, 1, &params));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, out, inside, sizeof(h), cudaMemcpyDeviceToDevice));
    CHECK(cudaGraphAddMemFreeNode(&release, graph, &copy, 1, inside));
    CHECK(cudaGraphInstantiate(&exec, graph));
    for (int round = 0; round < 2; round++) {
        CHECK(cudaMemset(out, 0, sizeof(h)));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(h, out, sizeof(h), cudaMemcpyDeviceToHost));
        for (int i = 0; i < 32; i++) EXPECT_EQ(h[i], 7 + i);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(out));
    return pass();
}
