// Runs of plain arithmetic on vectors of 32 floats, from a table (codegen/runs.py).
#include <immintrin.h>

#include <cstdint>

#pragma GCC optimize("O3", "fp-contract=off")

#include "abi.h"

namespace {

enum Operation : uint32_t { kFma = 0, kAdd = 1, kSub = 2, kMul = 3, kUndefined = 4 };

constexpr uint32_t kFloats = 32;

// Where the result and the operands of an operation lie in the file: 16 bits of the word each, in bytes. As vectors are
// 128 bytes, the lowest bits are free for the code.
template <class T>
T* at(uint8_t* file, uint64_t word, uint32_t number) {
    return reinterpret_cast<T*>(file + (word >> 16 * number & 0xff80));
}

// For any processor that the target says; all give the same bits.
#define CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))

CLONES void run_anywhere(uint8_t* file, const uint64_t* table, uint32_t count) {
    for (const uint64_t* word = table; word < table + count; word++) {
        float* d = at<float>(file, *word, 0);
        const float *a = at<float>(file, *word, 1), *b = at<float>(file, *word, 2), *c = at<float>(file, *word, 3);
        switch (*word & 0x7f) {
            case kFma:
#pragma GCC ivdep
                for (uint32_t i = 0; i < kFloats; i++) d[i] = __builtin_fmaf(a[i], b[i], c[i]);
                break;
            case kAdd:
#pragma GCC ivdep
                for (uint32_t i = 0; i < kFloats; i++) d[i] = a[i] + b[i];
                break;
            case kSub:
#pragma GCC ivdep
                for (uint32_t i = 0; i < kFloats; i++) d[i] = a[i] - b[i];
                break;
            case kUndefined: {
                uint32_t* to = at<uint32_t>(file, *word, 0);
                const uint32_t *x = at<uint32_t>(file, *word, 1), *y = at<uint32_t>(file, *word, 2),
                               *z = at<uint32_t>(file, *word, 3);
#pragma GCC ivdep
                for (uint32_t i = 0; i < kFloats; i++) to[i] = x[i] | y[i] | z[i] ? ~0u : 0u;
                break;
            }
            default:
#pragma GCC ivdep
                for (uint32_t i = 0; i < kFloats; i++) d[i] = a[i] * b[i];
                break;
        }
    }
}

// All ones where one of them has a bit.
__attribute__((target("avx512f"))) inline __m512 any_bits(__m512 a, __m512 b, __m512 c) {
    const __m512i some = _mm512_ternarylogic_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b), _mm512_castps_si512(c), 0xfe);
    return _mm512_castsi512_ps(_mm512_maskz_set1_epi32(_mm512_test_epi32_mask(some, some), -1));
}

// With registers of 16 floats. Tiles multiply one value with a row of others: it is loaded once.
__attribute__((target("avx512f"))) void run_wide(uint8_t* file, const uint64_t* table, uint32_t count) {
    uint64_t held = ~0ull;
    __m512 low = _mm512_setzero_ps(), high = low;
    for (const uint64_t* word = table; word < table + count; word++) {
        const uint64_t w = *word;
        if ((w >> 16 & 0xffff) != held) {
            held = w >> 16 & 0xffff;
            low = _mm512_load_ps(file + held);
            high = _mm512_load_ps(file + held + 64);
        }
        const uint64_t to = w & 0xff80;
        const uint8_t *b = file + (w >> 32 & 0xffff), *c = file + (w >> 48);
        __m512 x = _mm512_load_ps(b), y = _mm512_load_ps(b + 64);
        switch (w & 0x7f) {
            case kFma:
                x = _mm512_fmadd_ps(low, x, _mm512_load_ps(c));
                y = _mm512_fmadd_ps(high, y, _mm512_load_ps(c + 64));
                break;
            case kAdd:
                x = _mm512_add_ps(low, x);
                y = _mm512_add_ps(high, y);
                break;
            case kSub:
                x = _mm512_sub_ps(low, x);
                y = _mm512_sub_ps(high, y);
                break;
            case kUndefined:
                x = any_bits(low, x, _mm512_load_ps(c));
                y = any_bits(high, y, _mm512_load_ps(c + 64));
                break;
            default:
                x = _mm512_mul_ps(low, x);
                y = _mm512_mul_ps(high, y);
                break;
        }
        _mm512_store_ps(file + to, x);
        _mm512_store_ps(file + to + 64, y);
        if (to == held) held = ~0ull;
    }
}

}  // namespace

extern "C" {

// `count` operations of the table, one after the other. The result may be an operand's vector.
void rt_run(uint8_t* file, const uint64_t* table, uint32_t count) {
    static const bool wide = __builtin_cpu_supports("avx512f");
    if (wide) run_wide(file, table, count);
    else run_anywhere(file, table, count);
}

// Copies vectors: `offsets` are to, from, to, from …, in bytes. Only the lanes of the mask change.
CLONES void rt_move(uint8_t* to, const uint8_t* from, const int32_t* offsets, uint32_t count, uint32_t mask) {
    for (uint32_t j = 0; j < count; j++) {
        uint32_t* d = reinterpret_cast<uint32_t*>(to + offsets[2 * j]);
        const uint32_t* s = reinterpret_cast<const uint32_t*>(from + offsets[2 * j + 1]);
        if (mask == ~0u) {
#pragma GCC ivdep
            for (uint32_t i = 0; i < kFloats; i++) d[i] = s[i];
        } else {
#pragma GCC ivdep
            for (uint32_t i = 0; i < kFloats; i++) d[i] = mask >> i & 1 ? s[i] : d[i];
        }
    }
}

}  // extern "C"
