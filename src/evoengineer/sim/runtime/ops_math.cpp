// Approximate functions of the special function unit, on all 32 lanes: ex2, lg2, sin, cos, tanh and
// the f64 seeds rcp and rsqrt. Results stay within the errors that PTX documents; they are not the bits of a GPU. Where a
// GPU is so far off that a result can be wrong for it, so are we: tanh has 11 bits, and sin and cos are of turns that
// were rounded to f32, which loses what large arguments have behind the point. The others are good to 2^-23.
//
// f32 functions follow the processor's flush-to-zero flags, which are set when a program is compiled
// with -ftz=true: their scaling is done by multiplications that flush where the GPU would.
#include <cmath>
#include <cstring>

#pragma GCC optimize("O3", "fp-contract=off")

#include "abi.h"
#include "halves.h"
#include "half.h"
#include "vec.h"

namespace {

// NaN passes.
ALWAYS_INLINE V8f clamp(const V8f& x, float low, float high) {
    const V8f capped = x > high ? splat<V8f>(high) : x;
    return capped < low ? splat<V8f>(low) : capped;
}

// 2^x: split x into an integer and a rest within [-1/2, 1/2]. Exact for integers.
ALWAYS_INLINE V8f exp2_of(const V8f& any) {
    const V8f x = clamp(any, -151.0f, 129.0f);
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    const V8f rounded = x + magic;
    const V8i whole = (V8i)rounded - 0x4b400000;
    const V8f f = x - (rounded - magic);
    V8f p = f * 0.00015353360f + 0.0013398874f;
    p = p * f + 0.0096184373f;
    p = p * f + 0.055503324f;
    p = p * f + 0.24022648f;
    p = p * f + 0.69314720f;
    p = p * f + 1.0f;
    // In two factors, so that denormal results come out right and 2^128 overflows.
    const V8i first = whole >> 1, second = whole - first;
    // Results that vanish get a factor of zero: an underflow would cost a processor assist.
    const V8i scale = ((second + 127) << 23) & ((x > -150.0f) | (x != x));
    return p * (V8f)((first + 127) << 23) * (V8f)scale;
}

// log2 x = e + log2(1 + t), 1 + t within [sqrt 1/2, sqrt 2].
ALWAYS_INLINE V8f log2_of(const V8f& x) {
    const V8i tiny = x < 1.17549435e-38f;
    const V8f scaled = tiny ? x * 8388608.0f : x;
    const V8i exponent = ((V8i)scaled - 0x3f3504f3) >> 23;
    const V8f t = (V8f)((V8i)scaled - (exponent << 23)) - 1.0f;
    V8f p = t * -0.10994805516f + 0.18617414051f;
    p = p * t - 0.19106297524f;
    p = p * t + 0.20460077097f;
    p = p * t - 0.23961739440f;
    p = p * t + 0.28856739952f;
    p = p * t - 0.36069664951f;
    p = p * t + 0.48089824123f;
    p = p * t - 0.72134735150f;
    p = p * t + 1.44269504083f;
    V8f result = __builtin_convertvector(exponent + (tiny & -23), V8f) + t * p;
    result = scaled < 0.0f ? splat<V8f>(NAN) : result;
    result = scaled == 0.0f ? splat<V8f>(-INFINITY) : result;
    result = x == INFINITY ? x : result;
    return x != x ? x : result;
}

constexpr float kLargestReduced = 1073741824.0f;  // 2^30; the reduction below is good up to here
constexpr float kTurn = 0.15915494f;              // 1 / 2 pi
constexpr double kRadians = 6.283185307179586;

// sin(x + quarters * pi/2) for |x| < 2^30.
ALWAYS_INLINE V8f sin_of(const V8f& x, int64_t quarters) {
    const double magic = 6755399441055744.0;  // 1.5 * 2^52
    const V8d wide = widen(x * kTurn) * kRadians;
    const V8d rounded = wide * 0.63661977236758134308 + magic;
    const V8d count = rounded - magic;
    const V8l quadrant = (V8l)rounded + quarters;
    V8d r = wide - count * 1.5707963267341256142;  // the first 33 bits of pi/2 …
    r = r - count * 6.0771005065061922e-11;        // … and the rest
    const V8d square = r * r;
    V8d s = square * 2.7165908323451085e-06 - 0.00019839120032353287;
    s = s * square + 0.008333328508702026;
    s = s * square - 0.16666666628756163;
    s = (s * square + 1.0) * r;
    V8d c = square * 2.4371563426184886e-05 - 0.0013886528013150406;
    c = c * square + 0.04166661369599817;
    c = c * square - 0.4999999958384178;
    c = c * square + 1.0;
    const V8l odd = (V8l)(quadrant << 63) >> 63;
    const V8l value = ((V8l)c & odd) | ((V8l)s & ~odd);
    return narrow((V8d)(value ^ ((quadrant & 2) << 62)));
}

ALWAYS_INLINE void sincos(float* d, const float* a, int64_t quarters) {
    alignas(64) float source[kLanes];
    std::memcpy(source, a, sizeof source);
    for (uint32_t i = 0; i < kLanes; i += 8) store(d + i, sin_of(load<V8f>(source + i), quarters));
    for (uint32_t i = 0; i < kLanes; i++)  // also infinity and NaN
        if (__builtin_expect(!(std::fabs(source[i]) < kLargestReduced), 0))
            d[i] = float(quarters ? std::cos(source[i] * kTurn * kRadians) : std::sin(source[i] * kTurn * kRadians));
}

// tanh x = (e - 1) / (e + 1), e = 2^(2x / ln 2); near zero its series.
ALWAYS_INLINE V8f tanh_of(const V8f& x) {
    const V8d y = widen(clamp(x, -20.0f, 20.0f)) * 2.8853900817779268147;
    const double magic = 6755399441055744.0;
    const V8d rounded = y + magic, f = y - (rounded - magic);
    V8d p = f * 1.5196154247131078e-05 + 0.0001546675652025027;
    p = p * f + 0.001333393506632915;
    p = p * f + 0.009618038131303868;
    p = p * f + 0.05550410365976652;
    p = p * f + 0.24022651066567682;
    p = p * f + 0.6931471807045364;
    p = p * f + 1.0;
    const V8d e = (V8d)((V8l)p + ((V8l)rounded << 52));
    const V8f small = x * (1.0f - x * x * 0.33333334f);
    const V8f result = narrow((e - 1.0) / (e + 1.0));
    const V8i near = (V8f)((V8i)x & 0x7fffffff) < 0.0078125f;
    const V8f exact = near ? small : result;
    const V8f rounded_off = (V8f)(((V8i)exact + 0x1000) & ~0x1fff);  // to 11 bits
    return x != x ? x : rounded_off;
}

// Upper 32 bits only, as .approx.ftz.f64 reads and writes them; denormals count as zero.
ALWAYS_INLINE double upper_half(double x) {
    const uint64_t bits = double_bits(x) & 0xffffffff00000000ull;
    const bool denormal = (bits & 0x7ff0000000000000ull) == 0;
    return bits_double(denormal ? bits & 0x8000000000000000ull : bits);
}

ALWAYS_INLINE void through_f32(uint16_t* d, const uint16_t* a, bool bf16, void (*function)(float*, const float*)) {
    alignas(64) float wide[kLanes];
    if (bf16) for (uint32_t i = 0; i < kLanes; i++) wide[i] = bf16_to_f32(a[i]);
    else halves_to_floats(a, wide, kLanes);
    function(wide, wide);
    if (bf16) for (uint32_t i = 0; i < kLanes; i++) d[i] = f32_to_bf16(wide[i]);
    else floats_to_halves(wide, d, kLanes);
}

}  // namespace

extern "C" {

VECTOR_CLONES void rt_ex2_f32(float* d, const float* a) {
    for (uint32_t i = 0; i < kLanes; i += 8) store(d + i, exp2_of(load<V8f>(a + i)));
}
VECTOR_CLONES void rt_lg2_f32(float* d, const float* a) {
    for (uint32_t i = 0; i < kLanes; i += 8) store(d + i, log2_of(load<V8f>(a + i)));
}
VECTOR_CLONES void rt_sin_f32(float* d, const float* a) { sincos(d, a, 0); }
VECTOR_CLONES void rt_cos_f32(float* d, const float* a) { sincos(d, a, 1); }
VECTOR_CLONES void rt_tanh_f32(float* d, const float* a) {
    for (uint32_t i = 0; i < kLanes; i += 8) store(d + i, tanh_of(load<V8f>(a + i)));
}

void rt_ex2_f16(uint16_t* d, const uint16_t* a) { through_f32(d, a, false, rt_ex2_f32); }
void rt_ex2_bf16(uint16_t* d, const uint16_t* a) { through_f32(d, a, true, rt_ex2_f32); }
void rt_tanh_f16(uint16_t* d, const uint16_t* a) { through_f32(d, a, false, rt_tanh_f32); }
void rt_tanh_bf16(uint16_t* d, const uint16_t* a) { through_f32(d, a, true, rt_tanh_f32); }

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: starting values for Newton steps.
void rt_rcp_approx_f64(double* d, const double* a) {
    const KeepDenormals scope;
    for (uint32_t i = 0; i < kLanes; i++) d[i] = upper_half(1.0 / upper_half(a[i]));
}
void rt_rsqrt_approx_f64(double* d, const double* a) {
    const KeepDenormals scope;
    for (uint32_t i = 0; i < kLanes; i++) d[i] = upper_half(1.0 / std::sqrt(upper_half(a[i])));
}
// rsqrt.approx.f64: all bits, denormals count.
void rt_rsqrt_f64(double* d, const double* a) {
    const KeepDenormals scope;
    for (uint32_t i = 0; i < kLanes; i++) d[i] = 1.0 / std::sqrt(a[i]);
}

}  // extern "C"
