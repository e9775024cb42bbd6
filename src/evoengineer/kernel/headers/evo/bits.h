/* c10/util/bit_cast.h, Load.h and copysign.h; ATen/native/cuda/thread_constants.h and LaunchUtils.h. */
#pragma once

#include "torch.h"

namespace c10 {
template <typename To, typename From>
C10_HOST_DEVICE inline To bit_cast(const From &from) {
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}
template <typename T>
C10_HOST_DEVICE inline T load(const T *place) {
    return *place;
}
C10_HOST_DEVICE inline float copysign(float size, float sign) { return ::copysignf(size, sign); }
C10_HOST_DEVICE inline double copysign(double size, double sign) { return ::copysign(size, sign); }
}  // namespace c10

constexpr int num_threads() { return C10_WARP_SIZE * 4; }
constexpr int thread_work_size() { return 4; }
constexpr int block_work_size() { return thread_work_size() * num_threads(); }

namespace at {
namespace native {
inline int lastPow2(unsigned n) {
    int power = 1;
    while (n >>= 1) power <<= 1;
    return power;
}
}  // namespace native
}  // namespace at
