// attack: copies through a __device__ variable
// problem: vector_add
// honest: add_plain
// expect: dishonest

#include <torch/extension.h>
#include <vector>

__device__ float space[1 << 23];

__global__ void to_symbol(const float* a, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < n) space[i] = a[i];
}
__global__ void from_symbol(float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < n) c[i] = space[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    std::vector<float> u(n), v(n);
    to_symbol<<<(n + 255) / 256, 256>>>(A, n);
    cudaMemcpyFromSymbol(u.data(), space, n * 4);
    to_symbol<<<(n + 255) / 256, 256>>>(B, n);
    cudaMemcpyFromSymbol(v.data(), space, n * 4);
    for (int64_t i = 0; i < n; i++) u[i] += v[i];
    cudaMemcpyToSymbol(space, u.data(), n * 4);
    from_symbol<<<(n + 255) / 256, 256>>>(C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
