/* ATen/native/cuda/block_reduce.cuh: sums, maxima and reductions of one's own over a warp and over a block. */
#pragma once

#include "device_utils.h"
#include "numeric.h"

template <typename T>
__device__ __forceinline__ T max_propagate_nan(T a, T b) {
    return at::_isnan(a) || a > b ? a : b;
}

namespace at {
namespace native {
namespace cuda_utils {

constexpr int kCUDABlockReduceNumThreads = 512;
constexpr int kCUDABlockReduceMaxThreads() { return C10_WARP_SIZE * C10_WARP_SIZE; }

struct Block1D {
    static __device__ __forceinline__ int Tid() { return threadIdx.x; }
    static __device__ __forceinline__ int Warps() { return blockDim.x / C10_WARP_SIZE; }
};
struct Block2D {
    static __device__ __forceinline__ int Tid() { return threadIdx.x + threadIdx.y * blockDim.x; }
    static __device__ __forceinline__ int Warps() { return blockDim.x * blockDim.y / C10_WARP_SIZE; }
};

/* Lane 0 has the result; `op` has combine and warp_shfl_down. */
template <typename T, typename Op>
__device__ __forceinline__ T WarpReduce(T value, const Op &op) {
#pragma unroll
    for (int lanes = C10_WARP_SIZE / 2; lanes > 0; lanes /= 2) value = op.combine(value, op.warp_shfl_down(value, lanes));
    return value;
}

/* Thread 0 has the result; `shared` has room for one value of each warp. */
template <typename T, typename Op, typename Block = Block1D>
__device__ __forceinline__ T BlockReduce(T value, const Op &op, const T &identity, T *shared) {
    const int thread = Block::Tid(), lane = thread % C10_WARP_SIZE, warp = thread / C10_WARP_SIZE;
    value = WarpReduce(value, op);
    __syncthreads(); /* an earlier reduction may still be read */
    if (lane == 0) shared[warp] = value;
    __syncthreads();
    value = thread < Block::Warps() ? shared[lane] : identity;
    return warp == 0 ? WarpReduce(value, op) : value;
}

template <typename T>
struct SumOfLanes {
    __device__ __forceinline__ T combine(T a, T b) const { return a + b; }
    __device__ __forceinline__ T warp_shfl_down(T value, int lanes) const { return WARP_SHFL_DOWN(value, lanes); }
};
template <typename T>
struct MaximumOfLanes {
    __device__ __forceinline__ T combine(T a, T b) const { return max_propagate_nan(a, b); }
    __device__ __forceinline__ T warp_shfl_down(T value, int lanes) const { return WARP_SHFL_DOWN(value, lanes); }
};

template <typename T>
__device__ __forceinline__ T WarpReduceSum(T value) {
    return WarpReduce(value, SumOfLanes<T>());
}
template <typename T>
__device__ __forceinline__ T WarpReduceMax(T value) {
    return WarpReduce(value, MaximumOfLanes<T>());
}
template <typename T, typename Block = Block1D>
__device__ __forceinline__ T BlockReduceSum(T value, T *shared) {
    return BlockReduce<T, SumOfLanes<T>, Block>(value, SumOfLanes<T>(), T(0), shared);
}
template <typename T, typename Block = Block1D>
__device__ __forceinline__ T BlockReduceMax(T value, T *shared) {
    return BlockReduce<T, MaximumOfLanes<T>, Block>(value, MaximumOfLanes<T>(), std::numeric_limits<T>::lowest(), shared);
}

}  // namespace cuda_utils
}  // namespace native
}  // namespace at
