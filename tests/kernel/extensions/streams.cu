// Streams, guards, events, device properties.
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/Exceptions.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAMathCompat.h>
#include <ATen/cuda/detail/KernelUtils.h>
#include <ATen/cuda/DeviceUtils.cuh>

C10_LAUNCH_BOUNDS_1(256)
__global__ void work(float* x, int n) { CUDA_KERNEL_LOOP(i, n) { x[i] = c10::cuda::compat::tanh(x[i]) + WARP_SHFL_XOR(x[i], 1); } }

torch::Tensor forward(torch::Tensor x) {
    const at::cuda::OptionalCUDAGuard device_guard(device_of(x));
    at::cuda::CUDAGuard guard(x.device());
    c10::cuda::CUDAGuard by_index(x.get_device());
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    auto other = c10::cuda::getCurrentCUDAStream(x.device().index());
    const int sms = at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
    cudaDeviceProp* p = at::cuda::getDeviceProperties(0);
    TORCH_CHECK(p->warpSize == at::cuda::warp_size());
    auto y = x.clone();
    work<<<at::cuda::detail::GET_BLOCKS(y.numel(), 256), 256, 0, stream>>>(y.data_ptr<float>(), y.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    work<<<sms, 256, 0, other>>>(y.data_ptr<float>(), y.numel());
    work<<<sms, 256, 0, other.stream()>>>(y.mutable_data_ptr<float>(), y.numel());
    AT_CUDA_CHECK(cudaStreamSynchronize(stream));
    C10_CUDA_CHECK(cudaGetLastError());
    return y;
}
torch::Tensor parallel(torch::Tensor x) {
    auto side = at::cuda::getStreamFromPool(/*isHighPriority=*/false, x.device().index());
    at::cuda::CUDAEvent ready;
    ready.record(at::cuda::getCurrentCUDAStream());
    {
        c10::cuda::CUDAStreamGuard guard(side);
        ready.block(side);
        work<<<at::ceil_div((int)x.numel(), 256), 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), x.numel());
    }
    side.synchronize();
    void* memory = c10::cuda::CUDACachingAllocator::raw_alloc(1024);
    c10::cuda::CUDACachingAllocator::raw_delete(memory);
    torch::cuda::synchronize();
    cudaStream_t own[2];
    for (int i = 0; i < 2; ++i) { cudaStreamCreate(&own[i]); work<<<1, 32, 0, own[i]>>>(x.data_ptr<float>(), 32); cudaStreamDestroy(own[i]); }
    return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); m.def("parallel", &parallel); }
