// Older and looser style: deprecated names, THC headers, what torch brings along without an include.
#include <torch/types.h>
#include <torch/extension.h>
#include <ATen/ATen.h>
#include <THC/THCAtomics.cuh>
#include "device_launch_parameters.h"

using namespace torch;

#define CHECK_CUDA(x) AT_ASSERTM(x.type().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) AT_CHECK(x.is_contiguous(), #x " must be contiguous")
#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char* file, int line) {
    if (code != cudaSuccess) { fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line); exit(code); }
}

template <typename scalar_t>
__global__ void scatter_kernel(const scalar_t* __restrict__ x, const long* __restrict__ index, scalar_t* __restrict__ y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(n > 0);
    if (i < n) atomicAdd(y + index[i], x[i]);
}
__global__ void fill(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = FLT_MAX * 0 + M_PI; if (n < 0) printf("%d\n", n); }

at::Tensor forward(at::Tensor x, at::Tensor index, const int size) {
    CHECK_CUDA(x); CHECK_CONTIGUOUS(x);
    at::Tensor y = at::zeros({size}, x.type());
    AT_DISPATCH_FLOATING_TYPES(x.type(), "scatter", ([&] {
        scatter_kernel<scalar_t><<<(x.numel() + 511) / 512, 512>>>(x.data<scalar_t>(), index.data<long>(), y.data<scalar_t>(), x.numel());
    }));
    gpuErrchk(cudaPeekAtLastError());
    cudaThreadSynchronize();
    return y;
}
Tensor filled(Tensor x) {
    Tensor y = at::empty({x.size(0), 4}, x.options().dtype(at::kFloat));
    std::vector<Tensor> all{x, y};
    std::function<int(int)> twice = [](int v) { return 2 * v; };
    std::unordered_map<std::string, int> cache;
    static std::mutex lock;
    std::lock_guard<std::mutex> held(lock);
    auto owner = std::make_unique<float[]>(4);
    cache["a"] = std::accumulate(y.sizes().begin(), y.sizes().end(), 1, std::multiplies<int64_t>());
    std::sort(owner.get(), owner.get() + 4);
    std::cout << "filled " << y.sizes() << y.dtype() << x.device() << y << std::endl;
    std::stringstream text; text << std::numeric_limits<float>::max() << INT_MAX;
    fill<<<1, twice(16)>>>(all[1].data_ptr<float>(), y.numel());
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "scatter add (CUDA)");
    m.def("filled", &filled, pybind11::arg("x"), pybind11::return_value_policy::move);
}
