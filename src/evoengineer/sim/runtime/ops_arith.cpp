// Arithmetic and conversions that LLVM has no instruction for: directed rounding, fused f16 and bf16
// multiply-add, fp8 and tf32 conversion. All on 32 lanes; d may be one of the operands.
#include <cmath>
#include <cstring>

#pragma GCC optimize("O3", "fp-contract=off")

#include "abi.h"
#include "halves.h"
#include "half.h"
#include "vec.h"

namespace {

enum Operation : uint32_t { kAdd = 0, kMul = 1, kFma = 2, kDiv = 3, kSqrt = 4, kRcp = 5, kSub = 6 };
enum HalfFlags : uint32_t { kFtz = 1, kSat = 2, kRelu = 4 };

template <class T>
ALWAYS_INLINE T fused(T a, T b, T c) {
    if constexpr (sizeof(T) == 4) return __builtin_fmaf(a, b, c);
    else return __builtin_fma(a, b, c);
}

template <class T>
ALWAYS_INLINE void arith(uint32_t op, uint32_t rounding, T* d, const T* a, const T* b, const T* c) {
    const RoundingScope scope(rounding);
    switch (op) {
        case kAdd: for (uint32_t i = 0; i < kLanes; i++) d[i] = a[i] + b[i]; break;
        case kMul: for (uint32_t i = 0; i < kLanes; i++) d[i] = a[i] * b[i]; break;
        case kFma: for (uint32_t i = 0; i < kLanes; i++) d[i] = fused(a[i], b[i], c[i]); break;
        case kDiv: for (uint32_t i = 0; i < kLanes; i++) d[i] = a[i] / b[i]; break;
        case kSqrt: for (uint32_t i = 0; i < kLanes; i++) d[i] = std::sqrt(a[i]); break;
        case kRcp: for (uint32_t i = 0; i < kLanes; i++) d[i] = T(1) / a[i]; break;
        case kSub: for (uint32_t i = 0; i < kLanes; i++) d[i] = a[i] - b[i]; break;
        default: break;
    }
}

// a * b + c for factors whose product is exact. If anything was cut off the sum, its last bit is made
// odd ("round to odd"), so that rounding it once more to a format with fewer bits is correct.
template <class V, class Bits>
ALWAYS_INLINE V make_odd(const V& sum, const V& error) {
    const Bits bits = (Bits)sum;
    // Towards the error: away from zero if it has the sum's sign, else the next smaller magnitude.
    const Bits step = ((Bits)error ^ bits) >> (sizeof(sum[0]) * 8 - 1) | 1;
    const Bits even = (bits & 1) - 1;
    const Bits inexact = (Bits)((error < 0) | (error > 0));  // false if the sum is not finite
    return (V)(bits + (step & even & inexact));
}

template <class V, class Bits>
ALWAYS_INLINE V multiply_add_odd(const V& a, const V& b, const V& c) {
    const V product = a * b, sum = product + c, back = sum - product;
    return make_odd<V, Bits>(sum, (product - (sum - back)) + (c - back));
}

// Denormals of both formats have a zero exponent field.
ALWAYS_INLINE uint16_t flush(uint16_t h, uint32_t exponent_mask) {
    return (h & exponent_mask) == 0 ? uint16_t(h & 0x8000) : h;
}

ALWAYS_INLINE uint16_t finish_half(uint16_t h, uint32_t flags, uint32_t exponent_mask, uint16_t one) {
    const bool nan = (h & 0x7fff) > exponent_mask, negative = h & 0x8000;
    if (flags & kFtz) h = flush(h, exponent_mask);
    if (flags & kSat) h = nan || negative ? 0 : (h > one ? one : h);
    if (flags & kRelu) h = nan ? 0x7fff : (negative ? 0 : h);
    return h;
}

ALWAYS_INLINE V4d bf16_lanes(const uint16_t* h) {
    return widen((V4f)(__builtin_convertvector(load<V4h>(h), V4u) << 16));
}

// Products of halves are exact in f32.
ALWAYS_INLINE void fma_f16(uint16_t* d, const uint16_t* a, const uint16_t* b, const uint16_t* c) {
    alignas(64) float x[kLanes], y[kLanes], z[kLanes];
    halves_to_floats(a, x, kLanes);
    halves_to_floats(b, y, kLanes);
    halves_to_floats(c, z, kLanes);
    for (uint32_t i = 0; i < kLanes; i += 8)
        store(x + i, multiply_add_odd<V8f, V8i>(load<V8f>(x + i), load<V8f>(y + i), load<V8f>(z + i)));
    floats_to_halves(x, d, kLanes);
}

// Products of bfloat16 may leave the range of f32; the sum is brought down in two steps.
ALWAYS_INLINE void fma_bf16(uint16_t* d, const uint16_t* a, const uint16_t* b, const uint16_t* c) {
    for (uint32_t i = 0; i < kLanes; i += 4) {
        const V4d sum = multiply_add_odd<V4d, V4l>(bf16_lanes(a + i), bf16_lanes(b + i), bf16_lanes(c + i));
        const V4f single = narrow(sum);
        const V4u bits = (V4u)make_odd<V4f, V4i>(single, narrow(sum - widen(single)));
        const V4u rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
        store(d + i, __builtin_convertvector(single != single ? splat<V4u>(0x7fffu) : rounded, V4h));
    }
}

template <bool bf16>
ALWAYS_INLINE void fma_half(uint16_t* d, const uint16_t* a, const uint16_t* b, const uint16_t* c, uint32_t flags) {
    constexpr uint32_t exponent_mask = bf16 ? 0x7f80 : 0x7c00;
    const KeepDenormals scope;
    alignas(64) uint16_t x[kLanes], y[kLanes], z[kLanes];
    if (flags & kFtz) {
        for (uint32_t i = 0; i < kLanes; i++) x[i] = flush(a[i], exponent_mask);
        for (uint32_t i = 0; i < kLanes; i++) y[i] = flush(b[i], exponent_mask);
        for (uint32_t i = 0; i < kLanes; i++) z[i] = flush(c[i], exponent_mask);
        a = x, b = y, c = z;
    }
    if (bf16) fma_bf16(d, a, b, c);
    else fma_f16(d, a, b, c);
    constexpr uint16_t one = bf16 ? 0x3f80 : 0x3c00;
    if (flags) for (uint32_t i = 0; i < kLanes; i++) d[i] = finish_half(d[i], flags, exponent_mask, one);
}

ALWAYS_INLINE float relu_f32(float x, uint32_t relu) { return relu && x <= 0.0f ? 0.0f : x; }

ALWAYS_INLINE uint16_t relu_f16(uint16_t h, uint32_t relu) {
    return finish_half(h, relu ? uint32_t(kRelu) : 0u, 0x7c00, 0);
}

template <uint8_t (*convert)(float)>
ALWAYS_INLINE uint16_t pack(float high, float low, uint32_t relu) {
    return uint16_t(convert(relu_f32(high, relu)) << 8 | convert(relu_f32(low, relu)));
}

}  // namespace

extern "C" {

VECTOR_CLONES void rt_arith_f32(uint32_t op, uint32_t rounding, float* d, const float* a, const float* b,
                                const float* c) {
    arith(op, rounding, d, a, b, c);
}
VECTOR_CLONES void rt_arith_f64(uint32_t op, uint32_t rounding, double* d, const double* a, const double* b,
                                const double* c) {
    const KeepDenormals denormals;  // .ftz does not exist for f64
    arith(op, rounding, d, a, b, c);
}

void rt_round_f64_f32(uint32_t rounding, float* d, const double* a) {
    const RoundingScope scope(rounding);
    for (uint32_t i = 0; i < kLanes; i++) d[i] = float(a[i]);
}
void rt_round_f32_f16(uint32_t rounding, uint16_t* d, const float* a) {
    for (uint32_t i = 0; i < kLanes; i++) d[i] = f64_to_f16(a[i], rounding);
}
void rt_round_f32_bf16(uint32_t rounding, uint16_t* d, const float* a) {
    for (uint32_t i = 0; i < kLanes; i++) d[i] = f32_to_bf16(a[i], rounding);
}
void rt_round_f64_f16(uint32_t rounding, uint16_t* d, const double* a) {
    for (uint32_t i = 0; i < kLanes; i++) d[i] = f64_to_f16(a[i], rounding);
}
void rt_round_f64_bf16(uint32_t rounding, uint16_t* d, const double* a) {
    for (uint32_t i = 0; i < kLanes; i++) d[i] = f64_to_bf16(a[i], rounding);
}

void rt_i64_f32(uint32_t rounding, uint32_t is_unsigned, float* d, const int64_t* a) {
    const RoundingScope scope(rounding);
    if (is_unsigned) for (uint32_t i = 0; i < kLanes; i++) d[i] = float(uint64_t(a[i]));
    else for (uint32_t i = 0; i < kLanes; i++) d[i] = float(a[i]);
}
void rt_i64_f64(uint32_t rounding, uint32_t is_unsigned, double* d, const int64_t* a) {
    const RoundingScope scope(rounding);
    if (is_unsigned) for (uint32_t i = 0; i < kLanes; i++) d[i] = double(uint64_t(a[i]));
    else for (uint32_t i = 0; i < kLanes; i++) d[i] = double(a[i]);
}

VECTOR_CLONES void rt_fma_f16(uint16_t* d, const uint16_t* a, const uint16_t* b, const uint16_t* c, uint32_t flags) {
    fma_half<false>(d, a, b, c, flags);
}
VECTOR_CLONES void rt_fma_bf16(uint16_t* d, const uint16_t* a, const uint16_t* b, const uint16_t* c, uint32_t flags) {
    fma_half<true>(d, a, b, c, flags);
}

void rt_cvt_f32_e4m3x2(uint16_t* d, const float* high, const float* low, uint32_t relu) {
    for (uint32_t i = 0; i < kLanes; i++) d[i] = pack<f32_to_e4m3>(high[i], low[i], relu);
}
void rt_cvt_f32_e5m2x2(uint16_t* d, const float* high, const float* low, uint32_t relu) {
    for (uint32_t i = 0; i < kLanes; i++) d[i] = pack<f32_to_e5m2>(high[i], low[i], relu);
}
void rt_cvt_f16x2_e4m3x2(uint16_t* d, const uint32_t* a, uint32_t relu) {
    for (uint32_t i = 0; i < kLanes; i++)
        d[i] = pack<f32_to_e4m3>(f16_to_f32(uint16_t(a[i] >> 16)), f16_to_f32(uint16_t(a[i])), relu);
}
void rt_cvt_f16x2_e5m2x2(uint16_t* d, const uint32_t* a, uint32_t relu) {
    for (uint32_t i = 0; i < kLanes; i++)
        d[i] = pack<f32_to_e5m2>(f16_to_f32(uint16_t(a[i] >> 16)), f16_to_f32(uint16_t(a[i])), relu);
}
void rt_cvt_e4m3x2_f16x2(uint32_t* d, const uint16_t* a, uint32_t relu) {
    for (uint32_t i = 0; i < kLanes; i++)
        d[i] = uint32_t(relu_f16(e4m3_to_f16(uint8_t(a[i] >> 8)), relu)) << 16 |
               relu_f16(e4m3_to_f16(uint8_t(a[i])), relu);
}
void rt_cvt_e5m2x2_f16x2(uint32_t* d, const uint16_t* a, uint32_t relu) {
    for (uint32_t i = 0; i < kLanes; i++)
        d[i] = uint32_t(relu_f16(e5m2_to_f16(uint8_t(a[i] >> 8)), relu)) << 16 |
               relu_f16(e5m2_to_f16(uint8_t(a[i])), relu);
}

// mode: 0 nearest, ties away from zero (rna); 1 nearest even (rn); 2 towards zero (rz).
void rt_cvt_f32_tf32(uint32_t* d, const float* a, uint32_t mode) {
    for (uint32_t i = 0; i < kLanes; i++) {
        const uint32_t bits = float_bits(a[i]), magnitude = bits & 0x7fffffff;
        const uint32_t up = mode == 0 ? 0x1000u : mode == 1 ? 0xfffu + (bits >> 13 & 1) : 0u;
        const uint32_t rounded = (magnitude + up) & ~0x1fffu;
        d[i] = magnitude > 0x7f800000u ? 0x7fffffffu
                                       : (bits & 0x80000000u) | (magnitude == 0x7f800000u ? magnitude : rounded);
    }
}

}  // extern "C"
