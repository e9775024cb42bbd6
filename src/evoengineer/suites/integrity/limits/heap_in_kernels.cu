// attack: a kernel allocates all that it gets and touches every page of it
// problem: vector_add
// honest: add_plain
// expect: timed_out

#include <torch/extension.h>

// paste: add.cuh

__global__ void eat() {
    while (char* piece = static_cast<char*>(malloc(1 << 20)))
        for (int i = 0; i < 1 << 20; i += 4096) piece[i] = 1;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    float* result = c.data_ptr<float>();
    launch_add(a.data_ptr<float>(), b.data_ptr<float>(), result, a.numel());
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, size_t(20) << 30);
    eat<<<1, 32>>>();
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
