// 16-bit types: PyTorch's, CUDA's, and both together.
#include <torch/extension.h>
#include <ATen/AccumulateType.h>
#include <ATen/OpMathType.h>
#include <ATen/cuda/Atomic.cuh>
#include <c10/util/Half.h>
#include <c10/util/BFloat16.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename scalar_t>
__global__ void rms_norm(const scalar_t* __restrict__ x, const scalar_t* __restrict__ w, scalar_t* __restrict__ y, int columns, float eps) {
    using acc_t = at::acc_type<scalar_t, true>;
    __shared__ acc_t partial[32];
    const scalar_t* row = x + blockIdx.x * columns;
    acc_t sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) { acc_t v = static_cast<acc_t>(row[i]); sum += v * v; }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) { for (int k = 1; k < blockDim.x / 32; ++k) partial[0] += partial[k]; }
    __syncthreads();
    const acc_t scale = rsqrt(partial[0] / columns + static_cast<acc_t>(eps));
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        y[blockIdx.x * columns + i] = static_cast<scalar_t>(static_cast<acc_t>(row[i]) * scale) * w[i];
}

__global__ void add_half2(const __half2* a, const __half2* b, __half2* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = __hadd2(a[i], b[i]);
}
__global__ void mul_half(const half* a, const half* b, half* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = __float2half(__half2float(a[i]) * __half2float(b[i]));
}
__global__ void to_bf16(const float* a, __nv_bfloat16* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = __float2bfloat16(a[i]);
}
template <typename T>
__global__ void mixed(const T* x, T* y, int n, T limit) {
    using opmath_t = at::opmath_type<T>;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T v = x[i];
    T w = v + T(1) - v * v / T(2);
    w += v; w *= T(0.5f); w = -w;
    opmath_t f = static_cast<opmath_t>(w) + 1.0f * v;
    if (v > limit || v == T(0) || w < v) f = 2 * v + v * 3.0f;
    y[i] = f > opmath_t(0) ? static_cast<T>(f) : std::numeric_limits<T>::lowest();
}
template <typename T>
__global__ void histogram(const int64_t* index, const T* value, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) gpuAtomicAdd(&out[index[i]], value[i]);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor w, double eps) {
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "rms_norm", [&] {
        rms_norm<scalar_t><<<x.size(0), 256>>>(x.data_ptr<scalar_t>(), w.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.size(1), eps);
    });
    return y;
}
torch::Tensor add(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.scalar_type() == at::ScalarType::Half && b.scalar_type() == torch::kFloat16);
    auto c = torch::empty_like(a);
    const int n = a.numel();
    if (n % 2 == 0)
        add_half2<<<(n / 2 + 255) / 256, 256>>>(reinterpret_cast<const __half2*>(a.data_ptr<at::Half>()),
                                                reinterpret_cast<const __half2*>(b.data_ptr<at::Half>()),
                                                reinterpret_cast<__half2*>(c.data_ptr<at::Half>()), n / 2);
    else
        mul_half<<<(n + 255) / 256, 256>>>((const half*)a.data_ptr(), (const half*)b.data_ptr(), (half*)c.data_ptr(), n);
    return c;
}
torch::Tensor bf16(torch::Tensor a) {
    auto c = torch::empty(a.sizes(), a.options().dtype(torch::kBFloat16));
    to_bf16<<<1, 256>>>(a.data_ptr<float>(), reinterpret_cast<__nv_bfloat16*>(c.data_ptr<at::BFloat16>()), a.numel());
    return c;
}
torch::Tensor mixed_forward(torch::Tensor x, float limit) {
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "mixed", ([&] {
        mixed<scalar_t><<<1, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel(), static_cast<scalar_t>(limit));
        histogram<scalar_t><<<1, 256>>>(nullptr, x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), 0);
    }));
    return y;
}
double host_half(double v) {
    at::Half h = static_cast<float>(v);
    c10::BFloat16 b = static_cast<float>(v);
    __half cuda = h;
    at::Half back = cuda;
    return static_cast<double>(back) + static_cast<double>(static_cast<float>(b) - static_cast<float>(b));
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, py::arg("x"), py::arg("w"), py::arg("eps") = 1e-6);
    m.def("add", &add); m.def("bf16", &bf16); m.def("mixed", &mixed_forward); m.def("host_half", &host_half);
}
