/* ATen/NumericUtils.h and ATen/cuda/NumericLimits.cuh: at::_isnan, at::numeric_limits. */
#pragma once

#include <limits>

#include "half.h"

namespace at {
template <typename T>
C10_HOST_DEVICE inline bool _isnan(T value) {
    if constexpr (std::is_integral<T>::value)
        return false;
    else
        return value != value;
}
template <typename T>
C10_HOST_DEVICE inline bool _isinf(T value) {
    if constexpr (std::is_integral<T>::value)
        return false;
    else
        return static_cast<float>(value) == std::numeric_limits<float>::infinity() ||
               static_cast<float>(value) == -std::numeric_limits<float>::infinity();
}
template <typename T>
struct numeric_limits {
    static C10_HOST_DEVICE constexpr T lowest() { return std::numeric_limits<T>::lowest(); }
    static C10_HOST_DEVICE constexpr T max() { return std::numeric_limits<T>::max(); }
    static C10_HOST_DEVICE constexpr T lower_bound() {
        return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : lowest();
    }
    static C10_HOST_DEVICE constexpr T upper_bound() {
        return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : max();
    }
};
}  // namespace at
