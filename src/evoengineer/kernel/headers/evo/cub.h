/* Names of CUB that CUDA 13 dropped in favour of cuda::std's; kernels written for CUDA 12 name them. */
#pragma once

#include <cub/version.cuh>

#if CUB_VERSION >= 300000
namespace cub {
struct Sum {
    template <typename A, typename B>
    __host__ __device__ __forceinline__ constexpr auto operator()(const A &a, const B &b) const {
        return a + b;
    }
};
struct Difference {
    template <typename A, typename B>
    __host__ __device__ __forceinline__ constexpr auto operator()(const A &a, const B &b) const {
        return a - b;
    }
};
struct Max {
    template <typename T>
    __host__ __device__ __forceinline__ constexpr T operator()(const T &a, const T &b) const {
        return a < b ? b : a;
    }
};
struct Min {
    template <typename T>
    __host__ __device__ __forceinline__ constexpr T operator()(const T &a, const T &b) const {
        return b < a ? b : a;
    }
};
struct Equality {
    template <typename A, typename B>
    __host__ __device__ __forceinline__ constexpr bool operator()(const A &a, const B &b) const {
        return a == b;
    }
};
__device__ __forceinline__ unsigned LaneId() {
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
}  // namespace cub
#endif
