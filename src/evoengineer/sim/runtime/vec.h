// Vectors of 8 lanes (GCC vector extension) for code that must not be left to the auto-vectoriser.
// The operators work lane by lane; `condition ? a : b` selects; a cast reinterprets the bits.
#pragma once
#include <cstdint>
#include <cstring>

#include "simd.h"

// Vectors go between always-inlined functions only (as references: GCC has a note on passing them by
// value), so the warning about their ABI is moot.
#pragma GCC diagnostic ignored "-Wpsabi"

typedef float V8f __attribute__((vector_size(32)));
typedef int32_t V8i __attribute__((vector_size(32)));
typedef uint32_t V8u __attribute__((vector_size(32)));
typedef double V8d __attribute__((vector_size(64)));
typedef int64_t V8l __attribute__((vector_size(64)));
typedef uint16_t V8h __attribute__((vector_size(16)));
// Half as wide: comparisons of 64-byte vectors are taken apart lane by lane without AVX-512.
typedef float V4f __attribute__((vector_size(16)));
typedef int32_t V4i __attribute__((vector_size(16)));
typedef uint32_t V4u __attribute__((vector_size(16)));
typedef uint16_t V4h __attribute__((vector_size(8)));
typedef double V4d __attribute__((vector_size(32)));
typedef int64_t V4l __attribute__((vector_size(32)));

template <class V>
ALWAYS_INLINE V load(const void* from) {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
template <class V>
ALWAYS_INLINE void store(void* to, const V& v) {
    std::memcpy(to, &v, sizeof v);
}
template <class V, class T>
ALWAYS_INLINE V splat(T x) {
    return V{} + x;
}
ALWAYS_INLINE V8d widen(const V8f& x) { return __builtin_convertvector(x, V8d); }
ALWAYS_INLINE V4d widen(const V4f& x) { return __builtin_convertvector(x, V4d); }
ALWAYS_INLINE V8f narrow(const V8d& x) { return __builtin_convertvector(x, V8f); }
ALWAYS_INLINE V4f narrow(const V4d& x) { return __builtin_convertvector(x, V4f); }
