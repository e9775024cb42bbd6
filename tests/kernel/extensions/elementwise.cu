// Activations in the styles that models write: plain, grid-stride, vectorised, with check macros of their own.
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <math.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)
#define CUDA_OK(call) do { cudaError_t e = (call); TORCH_CHECK(e == cudaSuccess, "CUDA: ", cudaGetErrorString(e)); } while (0)

namespace {
constexpr int kThreads = 256;
inline int blocks(int64_t n) { return static_cast<int>((n + kThreads - 1) / kThreads); }
}

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = fmaxf(x[i], 0.f);
}

__device__ __forceinline__ float gelu(float v) { return 0.5f * v * (1.0f + erff(v * 0.70710678f)); }

__global__ void gelu_vec4(const float4* __restrict__ x, float4* __restrict__ y, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    float4 v = __ldg(x + i);
    v.x = gelu(v.x); v.y = gelu(v.y); v.z = gelu(v.z); v.w = gelu(v.w);
    y[i] = v;
}

template <typename T, int UNROLL>
__global__ void swish_kernel(const T* x, T* y, const int n) {
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL;
    #pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        int i = base + k;
        if (i < n) { T v = x[i]; y[i] = v / (T(1) + exp(-v)); }
    }
}

struct HardTanh { float lo, hi; __device__ float operator()(float v) const { return min(max(v, lo), hi); } };

template <class Op>
__global__ void map_kernel(const float* x, float* y, int n, Op op) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = op(x[i]);
}

torch::Tensor relu(torch::Tensor x) {
    CHECK_INPUT(x);
    auto y = torch::empty_like(x);
    relu_kernel<<<std::min(blocks(x.numel()), 1024), kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    CUDA_OK(cudaGetLastError());
    return y;
}

at::Tensor gelu_forward(const at::Tensor& x) {
    TORCH_CHECK(x.device().is_cuda(), "x must be on ", torch::kCUDA, " but is on ", x.device());
    TORCH_CHECK(x.dtype() == torch::kFloat32, "float32 expected, got ", x.dtype());
    auto in = x.contiguous();
    auto y = at::empty(in.sizes(), in.options());
    const int n = in.numel();
    if (n % 4 == 0)
        gelu_vec4<<<(n / 4 + 255) / 256, 256>>>(reinterpret_cast<const float4*>(in.data_ptr<float>()),
                                                reinterpret_cast<float4*>(y.data_ptr<float>()), n / 4);
    else
        map_kernel<<<(n + 255) / 256, 256>>>(in.data_ptr<float>(), y.data_ptr<float>(), n, HardTanh{-1.f, 1.f});
    return y;
}

torch::Tensor swish(torch::Tensor x) {
    auto out = torch::zeros_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "swish", ([&] {
        swish_kernel<scalar_t, 4><<<dim3((x.numel() + 1023) / 1024), dim3(256)>>>(
            x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), static_cast<int>(x.numel()));
    }));
    return out;
}

void clamp_out(torch::Tensor& out, const torch::Tensor& x, float lo, float hi) {
    TORCH_CHECK_EQ(out.numel(), x.numel());
    TORCH_CHECK(lo <= hi);
    map_kernel<<<blocks(x.numel()), kThreads, 0>>>(x.data_ptr<float>(), out.data_ptr<float>(), (int)x.numel(), HardTanh{lo, hi});
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.doc() = "activations";
    m.def("forward", &relu, "ReLU (CUDA)");
    m.def("gelu", &gelu_forward);
    m.def("swish", swish, "Swish", py::arg("x"));
    m.def("clamp_out", &clamp_out, py::arg("out"), py::arg("x"), py::arg("lo") = -1.0f, py::arg("hi") = 1.0f);
}
