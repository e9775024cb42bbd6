// Counts kernel launches of the candidate: the loader finds these functions of the program before those of libcudart.
//
// The candidate shares this process and could reach libcudart in another way, or this counter: a call without a
// launch is a finding, a call with one is no proof. (On the simulated GPU the device's own process counts.)
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "launches.h"

namespace {

uint64_t count = 0;

template <class F>
F* next(const char* name) {
    return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

uint64_t launches() { return count; }

extern "C" {

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
    static auto* real = next<decltype(cudaLaunchKernel)>("cudaLaunchKernel");
    count++;
    return real(function, grid, block, arguments, shared, stream);
}

// What the stubs of CUDA 13's nvcc call.
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
    static auto* real = next<decltype(__cudaLaunchKernel)>("__cudaLaunchKernel");
    count++;
    return real(kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                        cudaStream_t stream) {
    static auto* real = next<decltype(cudaLaunchCooperativeKernel)>("cudaLaunchCooperativeKernel");
    count++;
    return real(function, grid, block, arguments, shared, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
    static auto* real = next<decltype(cudaLaunchKernelExC)>("cudaLaunchKernelExC");
    count++;
    return real(config, function, arguments);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    static auto* real = next<decltype(cudaGraphLaunch)>("cudaGraphLaunch");
    count++;
    return real(graph, stream);
}

}  // extern "C"
