/* ATen/cuda/Atomic.cuh: atomic additions of every element type. */
#pragma once

#include "half.h"

namespace evo {
/* 16-bit additions go through the 32-bit word around them. */
template <typename T>
__device__ T atomic_add_16(T *address, T value) {
    const size_t place = reinterpret_cast<size_t>(address);
    unsigned *word = reinterpret_cast<unsigned *>(place & ~static_cast<size_t>(2));
    const unsigned shift = place & 2 ? 16 : 0;
    unsigned old = *word;
    unsigned assumed;
    T before;
    do {
        assumed = old;
        before = T(static_cast<unsigned short>(assumed >> shift), T::from_bits());
        const T after = before + value;
        old = atomicCAS(word, assumed, (assumed & ~(0xffffu << shift)) | (static_cast<unsigned>(after.x) << shift));
    } while (assumed != old);
    return before;
}
}  // namespace evo

template <typename T>
__device__ inline T gpuAtomicAdd(T *address, T value) {
    if constexpr (std::is_same<T, c10::Half>::value || std::is_same<T, c10::BFloat16>::value)
        return ::evo::atomic_add_16(address, value);
    else if constexpr (std::is_same<T, int64_t>::value)
        return static_cast<T>(
            atomicAdd(reinterpret_cast<unsigned long long *>(address), static_cast<unsigned long long>(value)));
    else
        return atomicAdd(address, value);
}
template <typename T>
__device__ inline void gpuAtomicAddNoReturn(T *address, T value) {
    (void)gpuAtomicAdd(address, value);
}
__device__ inline c10::Half atomicAdd(c10::Half *address, c10::Half value) { return gpuAtomicAdd(address, value); }
__device__ inline c10::BFloat16 atomicAdd(c10::BFloat16 *address, c10::BFloat16 value) { return gpuAtomicAdd(address, value); }
__device__ inline int64_t atomicAdd(int64_t *address, int64_t value) { return gpuAtomicAdd(address, value); }
