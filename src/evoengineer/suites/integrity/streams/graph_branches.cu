// attack: a node of a graph adds to what another one writes, and nothing orders the two
// problem: vector_add
// honest: add_plain
// expect: wrong race

#include <torch/extension.h>

// paste: add.cuh

__global__ void copy(const float* a, float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    const float* sums = C;
    int64_t n = a.numel();
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    cudaGraphNode_t node;
    void *copied[] = {&A, &C, &n}, *added[] = {&sums, &B, &C, &n};
    cudaKernelNodeParams params{};
    params.gridDim = dim3((n + 255) / 256);
    params.blockDim = dim3(256);
    params.func = (void*)copy;
    params.kernelParams = copied;
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params);
    params.func = (void*)add;
    params.kernelParams = added;
    cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params);
    cudaGraphExec_t exec;
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, 0);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
