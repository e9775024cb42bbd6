// Headers of the toolkit that kernels include beside PyTorch's, and the helpers of at::cuda.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cub/cub.cuh>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <mma.h>
#include <torch/extension.h>

namespace cg = cooperative_groups;

__global__ void staged_sum(const float *x, float *out) {
    __shared__ __align__(16) float tile[128];
    __pipeline_memcpy_async(&tile[threadIdx.x * 4], x + threadIdx.x * 4, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    auto block = cg::this_thread_block();
    block.sync();
    auto warp = cg::tiled_partition<32>(block);
    float sum = cg::reduce(warp, tile[threadIdx.x], cg::plus<float>());
    using Reduce = cub::BlockReduce<float, 32>;
    __shared__ typename Reduce::TempStorage room;
    float largest = Reduce(room).Reduce(sum, cub::Max());
    cg::memcpy_async(block, tile, x, sizeof(float) * 32);
    cg::wait(block);
    if (warp.thread_rank() == 0) out[0] = sum + largest + tile[0];
}

__global__ void product(const half *a, const half *b, float *c) {
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> left;
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::col_major> right;
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum;
    nvcuda::wmma::fill_fragment(sum, 0.0f);
    nvcuda::wmma::load_matrix_sync(left, a, 16);
    nvcuda::wmma::load_matrix_sync(right, b, 16);
    nvcuda::wmma::mma_sync(sum, left, right, sum);
    nvcuda::wmma::store_matrix_sync(c, sum, 16, nvcuda::wmma::mem_row_major);
}

torch::Tensor forward(torch::Tensor x) {
    const at::cuda::OptionalCUDAGuard guard(device_of(x));
    const c10::cuda::CUDAGuard other(x.device());
    auto options = torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCUDA, x.get_device());
    auto out = torch::empty({256}, options);
    TORCH_CHECK(at::cuda::getNumGPUs() > 0 && !at::cuda::canDeviceAccessPeer(0, 0), "no GPU");
    TORCH_CHECK(at::cuda::getCurrentDeviceProperties()->warpSize == at::cuda::warp_size(), "warps");
    TORCH_CHECK(at::cuda::getDeviceProperties(0)->multiProcessorCount > 0, "no SM");
    cudaStream_t stream = at::cuda::getCurrentCUDAStream(x.get_device()).stream();
    staged_sum<<<1, 32, 0, stream>>>(x.data_ptr<float>(), out.data_ptr<float>());
    if (x.scalar_type() == torch::kHalf) {
        const auto *data = reinterpret_cast<const half *>(x.data_ptr<at::Half>());
        product<<<1, 32, 0, stream>>>(data, data, out.data_ptr<float>());
    }
    AT_CUDA_CHECK(cudaGetLastError());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
