/* ATen/native/cuda/MemoryAccess.cuh: several elements in one access, where a pointer's alignment allows it. */
#pragma once

#include "torch.h"

namespace at {
namespace native {
namespace memory {

template <typename scalar_t, int vec_size>
struct alignas(sizeof(scalar_t) * vec_size) aligned_vector {
    scalar_t val[vec_size];
};

template <int vec_size, typename scalar_t>
__device__ __forceinline__ aligned_vector<scalar_t, vec_size> load_vector(const scalar_t *base, uint32_t offset) {
    return reinterpret_cast<const aligned_vector<scalar_t, vec_size> *>(base)[offset];
}

/* 8, 4, 2 or 1 elements. */
template <typename scalar_t>
C10_HOST_DEVICE inline int can_vectorize_up_to(const char *pointer) {
    const auto address = reinterpret_cast<uint64_t>(pointer);
    for (int count = 8; count > 1; count /= 2)
        if (address % (sizeof(scalar_t) * count) == 0) return count;
    return 1;
}

}  // namespace memory
}  // namespace native
}  // namespace at
