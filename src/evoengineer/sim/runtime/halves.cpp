// Arrays of halves to floats and back. See half.h for the conversions of single values.
#include "halves.h"

#include <immintrin.h>

#include "half.h"

namespace {

const bool kHasF16C = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");

__attribute__((target("avx,f16c"))) void expand_f16c(const uint16_t* from, float* to, uint32_t count) {
    for (uint32_t i = 0; i < count; i += 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
    }
}

__attribute__((target("avx,f16c"))) void narrow_f16c(const float* from, uint16_t* to, uint32_t count) {
    const __m128i nan = _mm_set1_epi16(0x7fff), infinity = _mm_set1_epi16(0x7c00);
    for (uint32_t i = 0; i < count; i += 8) {
        const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        // The canonical NaN of the GPU is 0x7fff.
        const __m128i is_nan = _mm_cmpgt_epi16(_mm_and_si128(halves, nan), infinity);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm_blendv_epi8(halves, nan, is_nan));
    }
}

}  // namespace

void halves_to_floats(const uint16_t* from, float* to, uint32_t count) {
    const uint32_t whole = kHasF16C ? count & ~7u : 0;
    if (whole != 0) expand_f16c(from, to, whole);
    for (uint32_t i = whole; i < count; i++) to[i] = f16_to_f32(from[i]);
}

void floats_to_halves(const float* from, uint16_t* to, uint32_t count) {
    const uint32_t whole = kHasF16C ? count & ~7u : 0;
    if (whole != 0) narrow_f16c(from, to, whole);
    for (uint32_t i = whole; i < count; i++) to[i] = f32_to_f16(from[i]);
}
