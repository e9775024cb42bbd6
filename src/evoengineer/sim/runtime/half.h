// Conversions between float, double and the small formats: half, bfloat16, fp8 (e4m3, e5m2).
//
// All rounding is to nearest even unless a mode is given. The code is branch-free so that loops over
// lanes vectorise, and it does not depend on the processor's denormal flags (compiled kernels may
// run with flush-to-zero set): denormal inputs and results are handled in integers, or by additions
// whose operands and results are all normal.
#pragma once
#include <cstdint>
#include <cstring>

enum Rounding : uint32_t { kRoundNearest = 0, kRoundZero = 1, kRoundDown = 2, kRoundUp = 3 };

static inline uint32_t float_bits(float x) {
    uint32_t u;
    std::memcpy(&u, &x, 4);
    return u;
}

static inline float bits_float(uint32_t u) {
    float x;
    std::memcpy(&x, &u, 4);
    return x;
}

static inline uint64_t double_bits(double x) {
    uint64_t u;
    std::memcpy(&u, &x, 8);
    return u;
}

static inline double bits_double(uint64_t u) {
    double x;
    std::memcpy(&x, &u, 8);
    return x;
}

// Does rounding towards `mode` make the magnitude larger? `tail` is what is cut off, `half` its
// middle, `odd` the last kept bit.
template <typename Word>
static inline Word round_up_magnitude(uint32_t mode, bool negative, Word tail, Word half, Word odd) {
    const bool away = (mode == kRoundDown && negative) || (mode == kRoundUp && !negative);
    const bool nearest = tail > half || (tail == half && odd != 0);
    return mode == kRoundNearest ? Word(nearest) : Word(away && tail != 0);
}

// Narrows the magnitude of an IEEE number (`bits` without its sign) to a format with `exponent_bits`
// and `mantissa_bits`. Does not look at infinity and NaN; overflow yields a number past the format's
// largest exponent, which the caller turns into what its format does.
static inline uint32_t narrow_f32(uint32_t bits, int exponent_bits, int mantissa_bits,
                                  uint32_t mode = kRoundNearest, bool negative = false) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = int(bits >> 23);
    const uint32_t mantissa = (bits & 0x7fffff) | (exponent != 0 ? 0x800000u : 0u);
    int target = (exponent != 0 ? exponent : 1) - 127 + bias;
    int shift = 23 - mantissa_bits + (target < 1 ? 1 - target : 0);
    shift = shift > 31 ? 31 : shift;
    target = target < 1 ? 1 : target;
    if (shift == 0) return (uint32_t(target - 1) << mantissa_bits) + mantissa;
    const uint32_t kept = mantissa >> shift, tail = mantissa & ((1u << shift) - 1);
    const uint32_t up = round_up_magnitude(mode, negative, tail, 1u << (shift - 1), kept & 1);
    return (uint32_t(target - 1) << mantissa_bits) + kept + up;
}

static inline uint32_t narrow_f64(uint64_t bits, int exponent_bits, int mantissa_bits,
                                  uint32_t mode = kRoundNearest, bool negative = false) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = int(bits >> 52);
    const uint64_t mantissa = (bits & 0xfffffffffffffull) | (uint64_t(exponent != 0) << 52);
    int target = (exponent != 0 ? exponent : 1) - 1023 + bias;
    int shift = 52 - mantissa_bits + (target < 1 ? 1 - target : 0);
    shift = shift > 63 ? 63 : shift;
    target = target < 1 ? 1 : target;
    const uint64_t kept = mantissa >> shift, tail = mantissa & ((1ull << shift) - 1);
    const uint64_t up = round_up_magnitude(mode, negative, tail, uint64_t(1) << (shift - 1), kept & 1);
    return uint32_t((uint64_t(target - 1) << mantissa_bits) + kept + up);
}

// ---- half ----

static inline float f16_to_f32(uint16_t h) {
    const uint32_t sign = uint32_t(h & 0x8000) << 16, magnitude = uint32_t(h & 0x7fff) << 13;
    const uint32_t normal = magnitude + (magnitude >= (0x7c00u << 13) ? (224u << 23) : (112u << 23));
    // A denormal: give it the exponent of 2^-14 and take 2^-14 away again.
    const uint32_t denormal = float_bits(bits_float(magnitude | 0x38800000u) - bits_float(0x38800000u));
    return bits_float(sign | (magnitude < 0x00800000u ? denormal : normal));
}

static inline uint16_t f32_to_f16(float x) {
    const uint32_t bits = float_bits(x), sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
    const uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23)) >> 13;
    // Below 2^-14, adding 0.5 leaves the rounded denormal in the low bits.
    const uint32_t small = magnitude < 0x38800000u ? magnitude : 0;
    const uint32_t denormal = float_bits(bits_float(small) + 0.5f) - 0x3f000000u;
    uint32_t result = magnitude < 0x38800000u ? denormal : normal;
    result = magnitude >= 0x477ff000u ? 0x7c00 : result;
    return uint16_t(magnitude > 0x7f800000u ? 0x7fff : (sign | result));
}

static inline uint16_t f64_to_f16(double x, uint32_t mode = kRoundNearest) {
    const uint64_t bits = double_bits(x), magnitude = bits & 0x7fffffffffffffffull;
    const bool negative = bits >> 63;
    uint32_t result = narrow_f64(magnitude, 5, 10, mode, negative);
    // Directed rounding towards zero stops at the largest number; infinity itself stays.
    const bool stops = mode == kRoundZero || (mode == kRoundDown && !negative) ||
                       (mode == kRoundUp && negative);
    const uint32_t overflow = stops ? 0x7bff : 0x7c00;
    result = magnitude >= double_bits(131072.0) || result >= 0x7c00 ? overflow : result;
    result = magnitude == 0x7ff0000000000000ull ? 0x7c00 : result;
    return uint16_t(magnitude > 0x7ff0000000000000ull ? 0x7fff : ((negative ? 0x8000u : 0u) | result));
}

// ---- bfloat16 ----

static inline float bf16_to_f32(uint16_t h) { return bits_float(uint32_t(h) << 16); }

static inline uint16_t f32_to_bf16(float x, uint32_t mode = kRoundNearest) {
    const uint32_t bits = float_bits(x), magnitude = bits & 0x7fffffff;
    const uint32_t tail = magnitude & 0xffff, kept = magnitude >> 16;
    const uint32_t up = round_up_magnitude(mode, (bits >> 31) != 0, tail, 0x8000u, kept & 1);
    return uint16_t(magnitude > 0x7f800000u ? 0x7fff : (((bits >> 16) & 0x8000) | (kept + up)));
}

static inline uint16_t f64_to_bf16(double x, uint32_t mode = kRoundNearest) {
    const uint64_t bits = double_bits(x), magnitude = bits & 0x7fffffffffffffffull;
    const bool negative = bits >> 63;
    const bool stops = mode == kRoundZero || (mode == kRoundDown && !negative) ||
                       (mode == kRoundUp && negative);
    uint32_t result = narrow_f64(magnitude, 8, 7, mode, negative);
    result = magnitude >= double_bits(6.8e38) || result >= 0x7f80 ? (stops ? 0x7f7f : 0x7f80) : result;
    result = magnitude == 0x7ff0000000000000ull ? 0x7f80 : result;
    return uint16_t(magnitude > 0x7ff0000000000000ull ? 0x7fff : ((negative ? 0x8000u : 0u) | result));
}

// ---- fp8; conversion to fp8 saturates to the largest finite number (.satfinite, the only form) ----

static inline uint8_t f32_to_e4m3(float x) {
    const uint32_t bits = float_bits(x), magnitude = bits & 0x7fffffff;
    uint32_t result = narrow_f32(magnitude, 4, 3);
    result = magnitude >= 0x43e00000u ? 0x7e : result;  // 448 and beyond
    return uint8_t(magnitude > 0x7f800000u ? 0x7f : (((bits >> 24) & 0x80) | result));
}

static inline uint8_t f32_to_e5m2(float x) {
    const uint32_t bits = float_bits(x), magnitude = bits & 0x7fffffff;
    uint32_t result = narrow_f32(magnitude, 5, 2);
    result = magnitude >= 0x47600000u ? 0x7b : result;  // 57344 and beyond
    return uint8_t(magnitude > 0x7f800000u ? 0x7f : (((bits >> 24) & 0x80) | result));
}

static inline uint16_t e5m2_to_f16(uint8_t v) { return uint16_t(v << 8); }

static inline uint16_t e4m3_to_f16(uint8_t v) {
    const uint32_t sign = uint32_t(v & 0x80) << 8, magnitude = v & 0x7f, tiny = magnitude & 7;
    const uint32_t normal = (magnitude << 7) + (8u << 10);
    // A denormal is tiny * 2^-9: shift its leading bit into place.
    const uint32_t denormal = tiny == 0 ? 0
                              : tiny < 2 ? (6u << 10)
                              : tiny < 4 ? (7u << 10) + ((tiny & 1) << 9)
                                         : (8u << 10) + ((tiny & 3) << 8);
    return uint16_t(magnitude == 0x7f ? 0x7fff : (sign | (magnitude < 8 ? denormal : normal)));
}

static inline float e4m3_to_f32(uint8_t v) { return f16_to_f32(e4m3_to_f16(v)); }
static inline float e5m2_to_f32(uint8_t v) { return f16_to_f32(e5m2_to_f16(v)); }
