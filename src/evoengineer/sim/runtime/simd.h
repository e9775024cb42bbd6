// What the arithmetic operations share: vector code for several processors in one library, and
// scopes that change the processor's floating-point modes.
//
// A function marked VECTOR_CLONES is compiled twice, for any x86-64 and for processors with AVX2,
// FMA and F16C; the loader picks one. Contraction of a*b+c is off everywhere (pragma in the files
// that compute), so both give the same bits.
#pragma once
#include <immintrin.h>

#include <cstdint>

#define VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#define ALWAYS_INLINE inline __attribute__((always_inline))

// Compiled kernels may run with flush-to-zero and denormals-are-zero set, which is a property of
// some f32 instructions only. Within this scope denormals count.
class KeepDenormals {
public:
    KeepDenormals() : saved_(_mm_getcsr()) {
        if (saved_ & kFlags) _mm_setcsr(saved_ & ~kFlags);
        asm volatile("" ::: "memory");
    }
    ~KeepDenormals() {
        asm volatile("" ::: "memory");
        if (saved_ & kFlags) _mm_setcsr(saved_);
    }
    KeepDenormals(const KeepDenormals&) = delete;
    KeepDenormals& operator=(const KeepDenormals&) = delete;

private:
    static constexpr unsigned kFlags = 0x8040;
    unsigned saved_;
};

// Within this scope arithmetic rounds as said (see Rounding in half.h). Operands must be loaded and
// results stored inside it: the barriers keep the compiler from moving the arithmetic out.
class RoundingScope {
public:
    explicit RoundingScope(uint32_t rounding) : saved_(_mm_getcsr()) {
        static constexpr unsigned kControl[4] = {0x0000, 0x6000, 0x2000, 0x4000};
        _mm_setcsr((saved_ & ~0x6000u) | kControl[rounding & 3]);
        asm volatile("" ::: "memory");
    }
    ~RoundingScope() {
        asm volatile("" ::: "memory");
        _mm_setcsr(saved_);
    }
    RoundingScope(const RoundingScope&) = delete;
    RoundingScope& operator=(const RoundingScope&) = delete;

private:
    unsigned saved_;
};
