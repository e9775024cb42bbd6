// attack: the result's deleter launches the kernel
// problem: vector_add
// honest: add_plain
// expect: wrong dishonest crashed

#include <torch/extension.h>

// paste: add.cuh

__global__ void nothing() {}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    float* own;
    cudaMalloc(&own, n * sizeof(float));
    c = torch::from_blob(own, {n}, [=](void*) { launch_add(A, B, own, n); cudaDeviceSynchronize(); }, a.options());
    nothing<<<1, 32>>>();
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
