// Graphs built by hand: kernel, memcpy, memset, host, empty and child nodes with dependencies.
#include "check.h"

__global__ void add(int* data, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += value;
}

struct Report {
    const int* data;
    int sum, calls;
};

void CUDART_CB summarise(void* pointer) {
    Report* report = static_cast<Report*>(pointer);
    report->sum = 0;
    for (int i = 0; i < 100; i++) report->sum += report->data[i];
    report->calls++;
}

int main() {
    int n = 100, seven = 7, thirty = 30;
    int *d, *e;
    int *in, *out;
    CHECK(cudaMallocHost(&in, 400));
    CHECK(cudaMallocHost(&out, 400));
    CHECK(cudaMalloc(&d, 400));
    CHECK(cudaMalloc(&e, 400));
    for (int i = 0; i < n; i++) in[i] = i;

    cudaGraph_t graph, child;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphCreate(&child, 0));

    cudaGraphNode_t up, clear, first, copy, inner, down, host, empty;
    CHECK(cudaGraphAddMemcpyNode1D(&up, graph, nullptr, 0, d, in, 400, cudaMemcpyHostToDevice));
    cudaMemsetParams memset_params = {};
    memset_params.dst = e;
    memset_params.value = 0x01010101;
    memset_params.elementSize = 4;
    memset_params.width = 100;
    memset_params.height = 1;
    CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &memset_params));
    void* args[] = {&d, &n, &seven};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void*)add;
    kernel.gridDim = dim3(2);
    kernel.blockDim = dim3(64);
    kernel.kernelParams = args;
    CHECK(cudaGraphAddKernelNode(&first, graph, &up, 1, &kernel));
    // Overwrite the first half of e with the first half of d, by a pitched copy.
    cudaMemcpy3DParms halves = {};
    halves.srcPtr = make_cudaPitchedPtr(d, 400, 400, 1);
    halves.dstPtr = make_cudaPitchedPtr(e, 400, 400, 1);
    halves.extent = make_cudaExtent(200, 1, 1);
    halves.kind = cudaMemcpyDeviceToDevice;
    cudaGraphNode_t both[] = {first, clear};
    CHECK(cudaGraphAddMemcpyNode(&copy, graph, both, 2, &halves));
    // The child graph adds 30 to e.
    void* child_args[] = {&e, &n, &thirty};
    kernel.kernelParams = child_args;
    cudaGraphNode_t inside;
    CHECK(cudaGraphAddKernelNode(&inside, child, nullptr, 0, &kernel));
    CHECK(cudaGraphAddChildGraphNode(&inner, graph, &copy, 1, child));
    CHECK(cudaGraphAddMemcpyNode1D(&down, graph, &inner, 1, out, e, 400, cudaMemcpyDeviceToHost));
    Report report = {out, 0, 0};
    cudaHostNodeParams host_params = {summarise, &report};
    CHECK(cudaGraphAddHostNode(&host, graph, nullptr, 0, &host_params));
    CHECK(cudaGraphAddDependencies(graph, &down, &host, nullptr, 1));
    CHECK(cudaGraphAddEmptyNode(&empty, graph, &host, 1));

    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    EXPECT_EQ(count, 8u);
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(first, &type));
    EXPECT(type == cudaGraphNodeTypeKernel);
    CHECK(cudaGraphNodeGetType(clear, &type));
    EXPECT(type == cudaGraphNodeTypeMemset);
    CHECK(cudaGraphNodeGetType(host, &type));
    EXPECT(type == cudaGraphNodeTypeHost);
    CHECK(cudaGraphNodeGetType(inner, &type));
    EXPECT(type == cudaGraphNodeTypeGraph);
    cudaKernelNodeParams read = {};
    CHECK(cudaGraphKernelNodeGetParams(first, &read));
    EXPECT(read.gridDim.x == 2 && read.blockDim.x == 64);

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (int round = 1; round <= 2; round++) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        int sum = 0;
        for (int i = 0; i < n; i++) {
            int wanted = (i < 50 ? i + 7 : 0x01010101) + 30;
            EXPECT_EQ(out[i], wanted);
            sum += wanted;
        }
        EXPECT_EQ(report.sum, sum);
        EXPECT_EQ(report.calls, round);
    }

    // A clone is independent of its original.
    cudaGraph_t clone;
    CHECK(cudaGraphClone(&clone, graph));
    cudaGraphNode_t twin;
    CHECK(cudaGraphNodeFindInClone(&twin, first, clone));
    int seventy = 70;
    void* other_args[] = {&d, &n, &seventy};
    kernel.kernelParams = other_args;
    CHECK(cudaGraphKernelNodeSetParams(twin, &kernel));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(child));
    cudaGraphExec_t second;
    CHECK(cudaGraphInstantiate(&second, clone));
    CHECK(cudaGraphLaunch(second, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT_EQ(out[10], 10 + 70 + 30);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT_EQ(out[10], 10 + 7 + 30);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphExecDestroy(second));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaStreamDestroy(stream));
    return pass();
}
