// Random numbers on the device; the header may come from NVIDIA's wheel.
#include <curand_kernel.h>
#include <torch/extension.h>

__global__ void draw(float *out, unsigned long long seed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    curandStatePhilox4_32_10_t counted;
    curand_init(seed, i, 0, &counted);
    curandState shifted;
    curand_init(seed, i, 0, &shifted);
    out[i] = curand_uniform(&counted) + curand_normal(&shifted);
}

torch::Tensor forward(torch::Tensor x) {
    auto out = torch::empty_like(x);
    draw<<<(x.numel() + 255) / 256, 256>>>(out.data_ptr<float>(), 7, x.numel());
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
