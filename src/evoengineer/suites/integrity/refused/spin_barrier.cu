// attack: a barrier among all blocks of the grid, more than fit on the card at once
// problem: vector_add
// honest: add_plain
// expect: timed_out crashed dishonest race

#include <torch/extension.h>

__global__ void add_after_all(const float* a, const float* b, float* c, int64_t n, int* arrived) {
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {}
    }
    __syncthreads();
    for (int64_t i = int64_t(blockIdx.x) * 1024 + threadIdx.x; i < n; i += int64_t(gridDim.x) * 1024) c[i] = a[i] + b[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    auto arrived = torch::zeros({1}, a.options().dtype(torch::kInt32));
    int64_t blocks = (n + 1023) / 1024;
    add_after_all<<<blocks < 256 ? blocks : 256, 1024>>>(A, B, C, n, arrived.data_ptr<int>());
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
