// control: blocks go over the vector in another order, and some at the end have nothing to do
// problem: vector_add

#include <torch/extension.h>

// An odd step meets every block of a number that is a power of two.
__global__ void add_dealt(const float* a, const float* b, float* c, int64_t n, unsigned mask) {
    int64_t i = int64_t(blockIdx.x * 40503u & mask) * blockDim.x + threadIdx.x;
    if (blockIdx.x <= mask && i < n) c[i] = a[i] + b[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    int64_t n = a.numel();
    unsigned blocks = 1;
    while (int64_t(blocks) * 512 < n) blocks *= 2;
    add_dealt<<<blocks + 37, 512>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n, blocks - 1);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
