// Headers and helpers that are seldom named: constants, divisors, bits, the allocator, borrowed tensors, switches.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/detail/IntegerDivider.cuh>
#include <ATen/native/cuda/KernelUtils.cuh>
#include <ATen/native/cuda/LaunchUtils.h>
#include <ATen/native/cuda/thread_constants.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/Load.h>
#include <c10/util/MathConstants.h>
#include <c10/util/MaybeOwned.h>
#include <c10/util/bit_cast.h>
#include <c10/util/copysign.h>
#include <torch/extension.h>

__global__ void wave(const float* x, const float* bias, float* y, float* scratch,
                     at::cuda::detail::IntDivider<unsigned> columns, int n) {
    CUDA_KERNEL_ASSERT_MSG(n > 0, "nothing to do");
    CUDA_KERNEL_LOOP(i, n) {
        const auto place = columns.divmod(i);
        float value = c10::load(x + i) * c10::pi<float>;
        if (at::_isnan(value)) value = c10::bit_cast<float>(0u);
        scratch[i] = c10::copysign(value, bias ? bias[place.mod] : 1.0f);
        y[i] = scratch[i] + c10::frac_sqrt_2<float> * place.div;
    }
}

torch::Tensor forward(torch::Tensor x, const std::optional<torch::Tensor>& bias_, int64_t dim) {
    if (at::globalContext().deterministicAlgorithms()) at::globalContext().alertNotDeterministic("wave");
    dim = c10::maybe_wrap_dim(dim, x.dim());
    c10::MaybeOwned<at::Tensor> held = at::borrow_from_optional_tensor(bias_);
    const at::Tensor& bias = *held;
    x = x.swapaxes(dim, -1).contiguous();
    TORCH_CHECK(x.unfold(-1, 1, 1).dim() == x.dim() + 1, "unfold adds a dimension");
    auto y = torch::empty_like(x);
    const auto stream = at::cuda::getCurrentCUDAStream();
    auto scratch = c10::cuda::CUDACachingAllocator::get()->allocate(x.nbytes());
    auto more = at::cuda::getCUDADeviceAllocator()->allocate(16);
    void* raw = c10::cuda::CUDACachingAllocator::raw_alloc_with_stream(16, stream);
    const int threads = std::min(at::native::lastPow2(x.numel()), num_threads());
    wave<<<at::ceil_div<int64_t>(x.numel(), threads), threads, 0, stream>>>(
        x.data_ptr<float>(), bias.defined() ? bias.data_ptr<float>() : nullptr, y.data_ptr<float>(),
        static_cast<float*>(scratch.get()), at::cuda::detail::IntDivider<unsigned>(x.size(-1)), x.numel());
    c10::cuda::CUDACachingAllocator::raw_delete(raw);
    return y.swapdims(dim, -1);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
