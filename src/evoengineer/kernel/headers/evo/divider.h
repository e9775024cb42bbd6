/* ATen/cuda/detail/IntegerDivider.cuh: a divisor that is kept, with quotient and remainder at once. */
#pragma once

#include "config.h"

namespace at {
namespace cuda {
namespace detail {
template <typename Value>
struct DivMod {
    Value div, mod;
    C10_HOST_DEVICE DivMod(Value div, Value mod) : div(div), mod(mod) {}
};

template <typename Value>
struct IntDivider {
    IntDivider() = default;
    IntDivider(Value divisor) : divisor(divisor) {}
    C10_HOST_DEVICE Value div(Value n) const { return n / divisor; }
    C10_HOST_DEVICE Value mod(Value n) const { return n % divisor; }
    C10_HOST_DEVICE DivMod<Value> divmod(Value n) const { return DivMod<Value>(n / divisor, n % divisor); }
    Value divisor;
};

/* 32 bits by the upper half of a product: a reciprocal of 33 bits, of which the first is always set. */
template <>
struct IntDivider<unsigned> {
    IntDivider() = default;
    IntDivider(unsigned divisor) : divisor(divisor) {
        for (shift = 0; shift < 32 && (1ull << shift) < divisor; ++shift) {
        }
        m1 = static_cast<unsigned>(((1ull << 32) * ((1ull << shift) - divisor)) / divisor + 1);
    }
    C10_HOST_DEVICE unsigned div(unsigned n) const {
#ifdef __CUDA_ARCH__
        return (__umulhi(n, m1) + n) >> shift;
#else
        return static_cast<unsigned>(((static_cast<uint64_t>(n) * m1 >> 32) + n) >> shift);
#endif
    }
    C10_HOST_DEVICE unsigned mod(unsigned n) const { return n - div(n) * divisor; }
    C10_HOST_DEVICE DivMod<unsigned> divmod(unsigned n) const {
        const unsigned quotient = div(n);
        return DivMod<unsigned>(quotient, n - quotient * divisor);
    }
    unsigned divisor, m1, shift;
};
}  // namespace detail
}  // namespace cuda
}  // namespace at
