/* ATen/cuda/detail/KernelUtils.h: grid-stride loops and the number of blocks for them. */
#pragma once

#include "torch.h"

#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                                                    \
    int64_t evo_next_##i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;                            \
    for (index_type i = evo_next_##i; evo_next_##i < (n); evo_next_##i += blockDim.x * gridDim.x, i = evo_next_##i)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)

namespace at {
namespace cuda {
namespace detail {
constexpr int CUDA_NUM_THREADS = 1024;
inline int GET_BLOCKS(int64_t count, int64_t threads = CUDA_NUM_THREADS) {
    TORCH_CHECK(count > 0, "CUDA kernel launch blocks must be positive, but got N=", count);
    return static_cast<int>((count + threads - 1) / threads);
}
}  // namespace detail
}  // namespace cuda
}  // namespace at
