// Changing an executable graph: node parameters one by one, and a whole graph of the same shape.
#include "check.h"

__global__ void fill(int* data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void negate(int* data) { data[threadIdx.x] = -data[threadIdx.x]; }

static cudaGraph_t record(cudaStream_t stream, int* d, int value, int launches) {
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < launches; i++) fill<<<1, 32, 0, stream>>>(d, value + i);
    negate<<<1, 32, 0, stream>>>(d);
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

int main() {
    int *d, h[64];
    CHECK(cudaMalloc(&d, sizeof(h)));
    CHECK(cudaMemset(d, 0, sizeof(h)));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    auto run = [&](cudaGraphExec_t exec) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaMemcpyAsync(h, d, sizeof(h), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
    };

    // A graph of one kernel node; change its grid and arguments in place.
    cudaGraph_t graph;
    cudaGraphNode_t node;
    CHECK(cudaGraphCreate(&graph, 0));
    int value = 3;
    void* args[] = {&d, &value};
    cudaKernelNodeParams params = {};
    params.func = (void*)fill;
    params.gridDim = dim3(1);
    params.blockDim = dim3(32);
    params.kernelParams = args;
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph));
    run(exec);
    EXPECT_EQ(h[31], 3);
    EXPECT_EQ(h[32], 0);
    value = 44;
    run(exec);
    EXPECT_EQ(h[31], 3);  // captured by value
    params.gridDim = dim3(2);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    run(exec);
    EXPECT_EQ(h[31], 44);
    EXPECT_EQ(h[63], 44);
    // A second instance of the unchanged graph still has the first parameters.
    cudaGraphExec_t fresh;
    CHECK(cudaGraphInstantiate(&fresh, graph));
    run(fresh);
    EXPECT_EQ(h[31], 3);
    EXPECT_EQ(h[32], 44);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphExecDestroy(fresh));
    CHECK(cudaGraphDestroy(graph));

    // Whole-graph update: same shape works, another shape is refused.
    cudaGraph_t first = record(stream, d, 100, 1), second = record(stream, d, 200, 1), longer = record(stream, d, 300, 2);
    CHECK(cudaGraphInstantiate(&exec, first));
    run(exec);
    EXPECT_EQ(h[0], -100);
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, second, &info));
    EXPECT(info.result == cudaGraphExecUpdateSuccess);
    run(exec);
    EXPECT_EQ(h[0], -200);
    EXPECT_ERROR(cudaGraphExecUpdate(exec, longer, &info), cudaErrorGraphExecUpdateFailure);
    EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged);
    run(exec);
    EXPECT_EQ(h[0], -200);
    CHECK(cudaGraphExecDestroy(exec));
    for (cudaGraph_t g : {first, second, longer}) CHECK(cudaGraphDestroy(g));

    // Copies: new source in an executable graph.
    int source[2][32];
    for (int i = 0; i < 32; i++) source[0][i] = i, source[1][i] = 1000 + i;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, d, source[0], 128, cudaMemcpyHostToDevice));
    CHECK(cudaGraphInstantiate(&exec, graph));
    run(exec);
    EXPECT_EQ(h[31], 31);
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, node, d, source[1], 128, cudaMemcpyHostToDevice));
    run(exec);
    EXPECT_EQ(h[31], 1031);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));

    // Events: another one in an executable graph.
    cudaEvent_t before, after;
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    CHECK(cudaEventRecord(before, stream));
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t record, wait;
    CHECK(cudaGraphAddEventRecordNode(&record, graph, nullptr, 0, before));
    CHECK(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, before));
    CHECK(cudaGraphInstantiate(&exec, graph));
    CHECK(cudaGraphExecEventRecordNodeSetEvent(exec, record, after));
    CHECK(cudaGraphExecEventWaitNodeSetEvent(exec, wait, after));
    EXPECT_ERROR(cudaGraphExecEventWaitNodeSetEvent(exec, record, after), cudaErrorInvalidValue);
    run(exec);
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, before, after));
    EXPECT(milliseconds >= 0);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(d));
    return pass();
}
