// attack: each block waits for the block after it, which a card starts later
// problem: vector_add
// honest: add_plain
// expect: timed_out crashed dishonest race

#include <torch/extension.h>

__global__ void add_backwards(const float* a, const float* b, float* c, int64_t n, int* done) {
    if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x)
        while (atomicAdd(&done[blockIdx.x + 1], 0) == 0) {}
    __syncthreads();
    for (int64_t i = int64_t(blockIdx.x) * 1024 + threadIdx.x; i < n; i += int64_t(gridDim.x) * 1024) c[i] = a[i] + b[i];
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(&done[blockIdx.x], 1);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    int64_t blocks = (n + 1023) / 1024 < 256 ? (n + 1023) / 1024 : 256;
    auto done = torch::zeros({blocks}, a.options().dtype(torch::kInt32));
    add_backwards<<<blocks, 1024>>>(A, B, C, n, done.data_ptr<int>());
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
