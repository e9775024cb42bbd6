#include <torch/extension.h>

__global__ void vector_add(const float* a, const float* b, float* sum, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < size) sum[i] = a[i] + b[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.is_cuda() && b.is_cuda(), "a and b must be on the GPU");
    TORCH_CHECK(a.scalar_type() == torch::kFloat32 && b.scalar_type() == torch::kFloat32, "a and b must be float32");
    TORCH_CHECK(a.sizes() == b.sizes(), "a and b must have the same shape");
    a = a.contiguous();
    b = b.contiguous();
    auto sum = torch::empty_like(a);
    int64_t size = a.numel();
    const int threads = 256;
    vector_add<<<(size + threads - 1) / threads, threads>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), sum.data_ptr<float>(), size);
    return sum;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Sum of two vectors");
}
