/* The 16-bit and 8-bit floating point types of tensors; arithmetic goes through float. */
#pragma once

#include <limits>

#include "config.h"
#include "dtype.h"

namespace evo {
float float_of_half(uint16_t bits);
uint16_t half_of_float(float value);
float float_of_float8(uint8_t bits, int mantissa);
uint8_t float8_of_float(float value, int mantissa);
}  // namespace evo

namespace c10 {

struct alignas(2) Half {
    unsigned short x;
    struct from_bits_t {};
    static constexpr C10_HOST_DEVICE from_bits_t from_bits() { return from_bits_t(); }

    Half() = default;
    constexpr C10_HOST_DEVICE Half(unsigned short bits, from_bits_t) : x(bits) {}
    C10_HOST_DEVICE Half(float value) {
#ifdef __CUDA_ARCH__
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(value));
#else
        x = ::evo::half_of_float(value);
#endif
    }
    C10_HOST_DEVICE operator float() const {
#ifdef __CUDA_ARCH__
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x));
        return value;
#else
        return ::evo::float_of_half(x);
#endif
    }
#ifdef __CUDA_FP16_TYPES_EXIST__
    C10_HOST_DEVICE Half(const __half &value) { x = *reinterpret_cast<const unsigned short *>(&value); }
    C10_HOST_DEVICE operator __half() const { return *reinterpret_cast<const __half *>(&x); }
#endif
};

struct alignas(2) BFloat16 {
    unsigned short x;
    struct from_bits_t {};
    static constexpr C10_HOST_DEVICE from_bits_t from_bits() { return from_bits_t(); }

    BFloat16() = default;
    constexpr C10_HOST_DEVICE BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
    C10_HOST_DEVICE BFloat16(float value) {
        union {
            float number;
            uint32_t bits;
        };
        number = value;
        if (value != value)
            x = 0x7FC0;
        else
            x = static_cast<unsigned short>((bits + ((bits >> 16) & 1) + 0x7FFF) >> 16);
    }
    C10_HOST_DEVICE operator float() const {
        union {
            uint32_t bits;
            float number;
        };
        bits = static_cast<uint32_t>(x) << 16;
        return number;
    }
#ifdef __CUDA_BF16_TYPES_EXIST__
    C10_HOST_DEVICE BFloat16(const __nv_bfloat16 &value) { x = *reinterpret_cast<const unsigned short *>(&value); }
    explicit C10_HOST_DEVICE operator __nv_bfloat16() const { return *reinterpret_cast<const __nv_bfloat16 *>(&x); }
#endif
};

#define EVO_FLOAT16_OPERATORS(T)                                                                                   \
    C10_HOST_DEVICE inline T operator+(T a, T b) { return static_cast<float>(a) + static_cast<float>(b); }         \
    C10_HOST_DEVICE inline T operator-(T a, T b) { return static_cast<float>(a) - static_cast<float>(b); }         \
    C10_HOST_DEVICE inline T operator*(T a, T b) { return static_cast<float>(a) * static_cast<float>(b); }         \
    C10_HOST_DEVICE inline T operator/(T a, T b) { return static_cast<float>(a) / static_cast<float>(b); }         \
    C10_HOST_DEVICE inline T operator-(T a) { return -static_cast<float>(a); }                                     \
    C10_HOST_DEVICE inline T &operator+=(T &a, T b) { return a = a + b; }                                          \
    C10_HOST_DEVICE inline T &operator-=(T &a, T b) { return a = a - b; }                                          \
    C10_HOST_DEVICE inline T &operator*=(T &a, T b) { return a = a * b; }                                          \
    C10_HOST_DEVICE inline T &operator/=(T &a, T b) { return a = a / b; }                                          \
    C10_HOST_DEVICE inline float &operator+=(float &a, T b) { return a += static_cast<float>(b); }                 \
    C10_HOST_DEVICE inline float &operator-=(float &a, T b) { return a -= static_cast<float>(b); }                 \
    C10_HOST_DEVICE inline float &operator*=(float &a, T b) { return a *= static_cast<float>(b); }                 \
    C10_HOST_DEVICE inline float &operator/=(float &a, T b) { return a /= static_cast<float>(b); }                 \
    EVO_MIXED_OPERATORS(T, float, float)                                                                           \
    EVO_MIXED_OPERATORS(T, double, double)                                                                         \
    EVO_MIXED_OPERATORS(T, int, T)                                                                                 \
    EVO_MIXED_OPERATORS(T, int64_t, T)
#define EVO_MIXED_OPERATORS(T, U, R)                                                                               \
    C10_HOST_DEVICE inline R operator+(T a, U b) { return static_cast<R>(a) + static_cast<R>(b); }                 \
    C10_HOST_DEVICE inline R operator-(T a, U b) { return static_cast<R>(a) - static_cast<R>(b); }                 \
    C10_HOST_DEVICE inline R operator*(T a, U b) { return static_cast<R>(a) * static_cast<R>(b); }                 \
    C10_HOST_DEVICE inline R operator/(T a, U b) { return static_cast<R>(a) / static_cast<R>(b); }                 \
    C10_HOST_DEVICE inline R operator+(U a, T b) { return static_cast<R>(a) + static_cast<R>(b); }                 \
    C10_HOST_DEVICE inline R operator-(U a, T b) { return static_cast<R>(a) - static_cast<R>(b); }                 \
    C10_HOST_DEVICE inline R operator*(U a, T b) { return static_cast<R>(a) * static_cast<R>(b); }                 \
    C10_HOST_DEVICE inline R operator/(U a, T b) { return static_cast<R>(a) / static_cast<R>(b); }
EVO_FLOAT16_OPERATORS(Half)
EVO_FLOAT16_OPERATORS(BFloat16)
#ifdef __CUDACC__
__device__ inline Half __ldg(const Half *place) {
    return Half(::__ldg(reinterpret_cast<const unsigned short *>(place)), Half::from_bits());
}
__device__ inline BFloat16 __ldg(const BFloat16 *place) {
    return BFloat16(::__ldg(reinterpret_cast<const unsigned short *>(place)), BFloat16::from_bits());
}
#endif
/* By name: with operators on __half switched on, either conversion would do, and none would be chosen. */
#define EVO_COMPARISON(A, B, R, sign)                                                                              \
    C10_HOST_DEVICE inline bool operator sign(A a, B b) { return static_cast<R>(a) sign static_cast<R>(b); }
#define EVO_COMPARISONS(A, B, R)                                                                                   \
    EVO_COMPARISON(A, B, R, <)                                                                                     \
    EVO_COMPARISON(A, B, R, >)                                                                                     \
    EVO_COMPARISON(A, B, R, <=)                                                                                    \
    EVO_COMPARISON(A, B, R, >=)                                                                                    \
    EVO_COMPARISON(A, B, R, ==)                                                                                    \
    EVO_COMPARISON(A, B, R, !=)
#define EVO_ALL_COMPARISONS(T)                                                                                     \
    EVO_COMPARISONS(T, T, float)                                                                                   \
    EVO_COMPARISONS(T, float, float)                                                                               \
    EVO_COMPARISONS(float, T, float)                                                                               \
    EVO_COMPARISONS(T, double, double)                                                                             \
    EVO_COMPARISONS(double, T, double)                                                                             \
    EVO_COMPARISONS(T, int, float)                                                                                 \
    EVO_COMPARISONS(int, T, float)                                                                                 \
    EVO_COMPARISONS(T, int64_t, double)                                                                            \
    EVO_COMPARISONS(int64_t, T, double)
EVO_ALL_COMPARISONS(Half)
EVO_ALL_COMPARISONS(BFloat16)

#define EVO_FLOAT8(name, mantissa)                                                                                 \
    struct alignas(1) name {                                                                                       \
        uint8_t x;                                                                                                 \
        name() = default;                                                                                          \
        explicit name(float value) : x(::evo::float8_of_float(value, mantissa)) {}                                 \
        operator float() const { return ::evo::float_of_float8(x, mantissa); }                                     \
    };
EVO_FLOAT8(Float8_e5m2, 2)
EVO_FLOAT8(Float8_e4m3fn, 3)

}  // namespace c10

namespace std {
#define EVO_LIMITS(T, digits_, lowest_bits, least_bits, max_bits, infinity_bits, nan_bits, epsilon_bits)            \
    template <>                                                                                                    \
    class numeric_limits<T> {                                                                                      \
      public:                                                                                                      \
        static constexpr bool is_specialized = true;                                                               \
        static constexpr bool is_signed = true;                                                                    \
        static constexpr bool is_integer = false;                                                                  \
        static constexpr bool is_exact = false;                                                                    \
        static constexpr bool has_infinity = true;                                                                 \
        static constexpr bool has_quiet_NaN = true;                                                                \
        static constexpr int digits = digits_;                                                                     \
        static constexpr C10_HOST_DEVICE T lowest() { return T(lowest_bits, T::from_bits()); }                     \
        static constexpr C10_HOST_DEVICE T min() { return T(least_bits, T::from_bits()); }                         \
        static constexpr C10_HOST_DEVICE T max() { return T(max_bits, T::from_bits()); }                           \
        static constexpr C10_HOST_DEVICE T infinity() { return T(infinity_bits, T::from_bits()); }                 \
        static constexpr C10_HOST_DEVICE T quiet_NaN() { return T(nan_bits, T::from_bits()); }                     \
        static constexpr C10_HOST_DEVICE T epsilon() { return T(epsilon_bits, T::from_bits()); }                   \
    };
EVO_LIMITS(c10::Half, 11, 0xFBFF, 0x0400, 0x7BFF, 0x7C00, 0x7E00, 0x1400)
EVO_LIMITS(c10::BFloat16, 8, 0xFF7F, 0x0080, 0x7F7F, 0x7F80, 0x7FC0, 0x3C00)
#undef EVO_LIMITS
}  // namespace std
