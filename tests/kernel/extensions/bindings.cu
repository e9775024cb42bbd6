// A file with bindings for a test script: in-place functions made by macros, information printed before it throws,
// and arithmetic on half and bfloat16 by operators, which such projects switch on.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <float.h>
#include <torch/extension.h>
#include <torch/types.h>

#define AS_TEXT(name) #name
#define DEFINE(name) m.def(AS_TEXT(name), &name, AS_TEXT(name));
#define PAIR(value) (reinterpret_cast<half2 *>(&(value))[0])
#define BPAIR(value) (reinterpret_cast<__nv_bfloat162 *>(&(value))[0])
#define REQUIRE_DTYPE(tensor, type)                                      \
    if (((tensor).options().dtype() != (type))) {                        \
        std::cout << "Tensor: " << (tensor).options() << std::endl;      \
        throw std::runtime_error("values must be " #type);               \
    }

__device__ __forceinline__ half hard_swish(half x) {
    const half three = __float2half(3.0f);
    if (x >= three) return x;
    return x <= -three ? __float2half(0.0f) : x * (x + three) / __float2half(6.0f);
}

template <const int kWidth = 32>
__device__ __forceinline__ half warp_sum(half value) {
#pragma unroll
    for (int mask = kWidth >> 1; mask >= 1; mask >>= 1) value += __shfl_xor_sync(0xffffffff, value, mask);
    return value;
}

__global__ void swish_f16_kernel(half *x, half *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    half one = __float2half(1.0f), v = i < n ? x[i] : one;
    v = __hmin(__hmax(v, __float2half(-9.7f)), __float2half(11.0f));
    half total = warp_sum(v);
    if (i < n) y[i] = hard_swish(v) + one / (one + hexp(-v)) + total;
}

__global__ void swish_f16x2_kernel(half *x, half *y, int n) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 1 >= n) return;
    half2 pair = PAIR(x[i]);
    half scale = 2.0f;
    pair.x = pair.x > pair.y ? pair.x * scale : hard_swish(pair.x);
    PAIR(y[i]) = pair * pair + __h2div(pair, pair + pair);
}

__global__ void bf16_kernel(__nv_bfloat16 *x, __nv_bfloat16 *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i + 1 < n) BPAIR(y[2 * i]) = BPAIR(x[2 * i]) * BPAIR(x[2 * i]);
    __nv_fp8_e4m3 small(static_cast<float>(x[0]));
    if (i == 0 && y[0] > x[0]) y[0] = -x[0] + __float2bfloat16(static_cast<float>(small));
}

template <typename T>
__global__ void any_kernel(const T *x, T *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T v = x[i] * x[i] + static_cast<T>(1);
    if (v == x[0] || v >= x[i]) v -= x[i];
    y[i] = v > static_cast<T>(0) ? v : static_cast<T>(static_cast<float>(v) * 2.0f);
}

void swish_f16(torch::Tensor x, torch::Tensor y) {
    REQUIRE_DTYPE(x, torch::kHalf)
    REQUIRE_DTYPE(y, (torch::kHalf))
    const int n = x.numel();
    bool aligned = reinterpret_cast<uintptr_t>(x.data_ptr()) % 4 == 0 && n % 2 == 0;
    auto *from = reinterpret_cast<half *>(x.data_ptr()), *to = reinterpret_cast<half *>(y.data_ptr());
    if (aligned)
        swish_f16x2_kernel<<<(n + 511) / 512, 256>>>(from, to, n);
    else
        swish_f16_kernel<<<(n + 255) / 256, 256>>>(from, to, n);
}

void square_bf16(torch::Tensor x, torch::Tensor y) {
    REQUIRE_DTYPE(x, torch::kBFloat16)
    bf16_kernel<<<1, 256>>>(
        reinterpret_cast<__nv_bfloat16 *>(x.data_ptr()), reinterpret_cast<__nv_bfloat16 *>(y.data_ptr()), x.numel());
    std::cerr << x.sizes() << x.strides() << x.device() << x.layout() << at::Scalar(1.5) << torch::kCUDA << "\n";
}

void any_type(torch::Tensor x, torch::Tensor y) {
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "any_type", [&] {
        any_kernel<scalar_t><<<1, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
    });
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    DEFINE(swish_f16)
    DEFINE(square_bf16)
    DEFINE(any_type)
}
