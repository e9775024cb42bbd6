// attack: copies by the driver's interface
// problem: vector_add
// honest: add_plain
// expect: dishonest crashed forbidden

#include <torch/extension.h>
#include <vector>

__global__ void nothing() {}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    using ToHost = int (*)(void*, uint64_t, size_t);
    using ToDevice = int (*)(uint64_t, const void*, size_t);
    ToHost to_host = nullptr;
    ToDevice to_device = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuMemcpyDtoH", (void**)&to_host, 12000, cudaEnableDefault, &found);
    cudaGetDriverEntryPointByVersion("cuMemcpyHtoD", (void**)&to_device, 12000, cudaEnableDefault, &found);
    TORCH_CHECK(to_host && to_device, "no driver interface");
    std::vector<float> u(n), v(n);
    to_host(u.data(), (uint64_t)A, n * 4);
    to_host(v.data(), (uint64_t)B, n * 4);
    for (int64_t i = 0; i < n; i++) u[i] += v[i];
    to_device((uint64_t)C, u.data(), n * 4);
    nothing<<<1, 32>>>();
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
