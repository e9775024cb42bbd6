// Operators of a library that Python imports: Python.h first, an empty module, a dispatch of one's own; loops by irange.
#include <Python.h>
#include <torch/all.h>
#include <torch/library.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

namespace ops {
template <typename T>
__device__ __forceinline__ T silu(const T& x) { return static_cast<T>(static_cast<float>(x) / (1.0f + expf(-static_cast<float>(x)))); }

template <typename scalar_t, scalar_t (*ACTIVATION)(const scalar_t&)>
__global__ void gate_kernel(scalar_t* __restrict__ out, const scalar_t* __restrict__ input, const int width) {
    const int64_t row = blockIdx.x;
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
        out[row * width + i] = ACTIVATION(input[row * 2 * width + i]) * input[(row * 2 + 1) * width + i];
    }
}
}  // namespace ops

#define CASES(...) \
    AT_DISPATCH_CASE(at::ScalarType::Float, __VA_ARGS__) AT_DISPATCH_CASE(at::ScalarType::Half, __VA_ARGS__) \
    AT_DISPATCH_CASE(at::ScalarType::BFloat16, __VA_ARGS__)
#define DISPATCH_OF_OURS(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, CASES(__VA_ARGS__))

void gate(torch::Tensor& out, const torch::Tensor& input) {
    int64_t rows = 1;
    for (const auto dim : c10::irange(input.dim() - 1)) rows *= input.size(dim);
    TORCH_CHECK(input.is_cuda(), "on the GPU, please, not ", input.toString());
    const at::cuda::OptionalCUDAGuard guard(device_of(input));
    const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    const int width = out.size(-1);
    DISPATCH_OF_OURS(input.scalar_type(), "gate", [&] {
        ops::gate_kernel<scalar_t, ops::silu<scalar_t>><<<rows, std::min(width, 1024), 0, stream>>>(
            out.data_ptr<scalar_t>(), input.data_ptr<scalar_t>(), width);
    });
}

TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) {
    m.def("gate(Tensor! out, Tensor input) -> ()");
    m.impl("gate", torch::kCUDA, &gate);
}

#define JOINED_(A, B) A##B
#define JOINED(A, B) JOINED_(A, B)
#define TEXT_(A) #A
#define TEXT(A) TEXT_(A)
#define MODULE(NAME) \
    PyMODINIT_FUNC JOINED(PyInit_, NAME)() { \
        static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, TEXT(NAME), nullptr, 0, nullptr}; \
        return PyModule_Create(&module); \
    }
MODULE(TORCH_EXTENSION_NAME)
