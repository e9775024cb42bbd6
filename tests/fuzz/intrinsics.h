// CUDA's integer and floating-point intrinsics and vector types in plain C++, for the emulation.
// Each follows the PTX manual's definition of the instruction behind it.
#pragma once
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

// ---- vector types ----

#define EMU_VECTOR2(name, type) \
    struct alignas(2 * sizeof(type)) name { type x, y; };  \
    inline name make_##name(type x, type y) { return {x, y}; }
#define EMU_VECTOR4(name, type, align) \
    struct alignas(align) name { type x, y, z, w; };       \
    inline name make_##name(type x, type y, type z, type w) { return {x, y, z, w}; }
EMU_VECTOR2(int2, int) EMU_VECTOR2(uint2, unsigned) EMU_VECTOR2(float2, float) EMU_VECTOR2(double2, double)
EMU_VECTOR2(short2, short) EMU_VECTOR2(ushort2, unsigned short) EMU_VECTOR2(ulonglong2, unsigned long long)
EMU_VECTOR2(longlong2, long long) EMU_VECTOR2(char2, signed char) EMU_VECTOR2(uchar2, unsigned char)
EMU_VECTOR4(int4, int, 16) EMU_VECTOR4(uint4, unsigned, 16) EMU_VECTOR4(float4, float, 16)
EMU_VECTOR4(short4, short, 8) EMU_VECTOR4(ushort4, unsigned short, 8)
EMU_VECTOR4(char4, signed char, 4) EMU_VECTOR4(uchar4, unsigned char, 4)

// ---- bits ----

inline int __float_as_int(float v) { int r; std::memcpy(&r, &v, 4); return r; }
inline unsigned __float_as_uint(float v) { unsigned r; std::memcpy(&r, &v, 4); return r; }
inline float __int_as_float(int v) { float r; std::memcpy(&r, &v, 4); return r; }
inline float __uint_as_float(unsigned v) { float r; std::memcpy(&r, &v, 4); return r; }
inline long long __double_as_longlong(double v) { long long r; std::memcpy(&r, &v, 8); return r; }
inline double __longlong_as_double(long long v) { double r; std::memcpy(&r, &v, 8); return r; }
inline int __double2hiint(double v) { return (int)((unsigned long long)__double_as_longlong(v) >> 32); }
inline int __double2loint(double v) { return (int)(unsigned)(unsigned long long)__double_as_longlong(v); }
inline double __hiloint2double(int hi, int lo) {
    return __longlong_as_double((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo));
}

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz((unsigned)v); }
inline int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll((unsigned long long)v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned long long __brevll(unsigned long long v) {
    unsigned long long r = 0;
    for (int i = 0; i < 64; ++i) r |= (v >> i & 1ull) << (63 - i);
    return r;
}
inline unsigned __brev(unsigned v) { return (unsigned)(__brevll(v) >> 32); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i)
        result |= (unsigned)(both >> (8 * (selector >> (4 * i) & 7u)) & 0xffu) << (8 * i);
    return result;
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
    return (unsigned)((((unsigned long long)hi << 32 | lo) << (s & 31u)) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (s & 31u));
}
inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned s) {
    return s >= 32 ? lo : __funnelshift_l(lo, hi, s);
}
inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned s) {
    return s >= 32 ? hi : __funnelshift_r(lo, hi, s);
}

// ---- integer arithmetic ----

inline int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline int __mul24(int a, int b) {
    unsigned x = (unsigned)((int)((unsigned)a << 8) >> 8), y = (unsigned)((int)((unsigned)b << 8) >> 8);
    return (int)(x * y);
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline unsigned __sad(int a, int b, unsigned c) {
    return (a < b ? (unsigned)b - (unsigned)a : (unsigned)a - (unsigned)b) + c;
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
inline int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
inline int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
inline int __dp4a(int a, int b, int c) {
    unsigned sum = (unsigned)c;
    for (int i = 0; i < 32; i += 8) sum += (unsigned)((int)(int8_t)(a >> i) * (int)(int8_t)(b >> i));
    return (int)sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 32; i += 8) c += (a >> i & 0xffu) * (b >> i & 0xffu);
    return c;
}
#define EMU_MINMAX(type)                                     \
    inline type min(type a, type b) { return a < b ? a : b; } \
    inline type max(type a, type b) { return a > b ? a : b; }
EMU_MINMAX(int) EMU_MINMAX(unsigned) EMU_MINMAX(long long) EMU_MINMAX(unsigned long long)

// ---- floating point: min and max as PTX has them (-0 < +0, a number beats NaN) ----

namespace emu {
template <class T> T smaller(T a, T b) {
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
}
template <class T> T larger(T a, T b) {
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
}

// Runs an operation under a rounding mode; volatile keeps the compiler from doing it beforehand.
template <class T, class F> T __attribute__((noinline)) rounded(int mode, F operation) {
    int before = std::fegetround();
    std::fesetround(mode);
    volatile T result = operation();
    std::fesetround(before);
    return result;
}

// Float to integer: saturates; NaN gives 0 between 32-bit types, else the top bit.
template <class To, class From> To __attribute__((noinline)) to_integer(int mode, From value) {
    if (value != value) {
        if (sizeof(From) == 4 && sizeof(To) == 4) return 0;
        return (To)(1ull << (8 * sizeof(To) - 1));
    }
    int before = std::fegetround();
    std::fesetround(mode);
    volatile From input = value;
    volatile From whole = std::nearbyint(input);
    std::fesetround(before);
    long double wide = (long double)whole;
    if (wide <= (long double)std::numeric_limits<To>::min()) return std::numeric_limits<To>::min();
    if (wide >= (long double)std::numeric_limits<To>::max()) return std::numeric_limits<To>::max();
    return (To)wide;
}
}  // namespace emu

inline float emu_fminf(float a, float b) { return emu::smaller(a, b); }
inline float emu_fmaxf(float a, float b) { return emu::larger(a, b); }
inline double emu_fmin(double a, double b) { return emu::smaller(a, b); }
inline double emu_fmax(double a, double b) { return emu::larger(a, b); }
#define fminf emu_fminf
#define fmaxf emu_fmaxf
#define fmin emu_fmin
#define fmax emu_fmax

#define EMU_MODES(X) X(rn, FE_TONEAREST) X(rz, FE_TOWARDZERO) X(ru, FE_UPWARD) X(rd, FE_DOWNWARD)
#define EMU_ARITHMETIC(suffix, mode)                                                                     \
    inline float __fadd_##suffix(float a, float b) { volatile float x = a, y = b; return emu::rounded<float>(mode, [&] { return x + y; }); } \
    inline float __fsub_##suffix(float a, float b) { volatile float x = a, y = b; return emu::rounded<float>(mode, [&] { return x - y; }); } \
    inline float __fmul_##suffix(float a, float b) { volatile float x = a, y = b; return emu::rounded<float>(mode, [&] { return x * y; }); } \
    inline float __fdiv_##suffix(float a, float b) { volatile float x = a, y = b; return emu::rounded<float>(mode, [&] { return x / y; }); } \
    inline float __fsqrt_##suffix(float a) { volatile float x = a; return emu::rounded<float>(mode, [&] { return std::sqrt((float)x); }); } \
    inline float __frcp_##suffix(float a) { volatile float x = a; return emu::rounded<float>(mode, [&] { return 1.0f / x; }); } \
    inline float __fmaf_##suffix(float a, float b, float c) { volatile float x = a, y = b, z = c; return emu::rounded<float>(mode, [&] { return std::fma((float)x, (float)y, (float)z); }); } \
    inline double __dadd_##suffix(double a, double b) { volatile double x = a, y = b; return emu::rounded<double>(mode, [&] { return x + y; }); } \
    inline double __dsub_##suffix(double a, double b) { volatile double x = a, y = b; return emu::rounded<double>(mode, [&] { return x - y; }); } \
    inline double __dmul_##suffix(double a, double b) { volatile double x = a, y = b; return emu::rounded<double>(mode, [&] { return x * y; }); } \
    inline double __ddiv_##suffix(double a, double b) { volatile double x = a, y = b; return emu::rounded<double>(mode, [&] { return x / y; }); } \
    inline double __dsqrt_##suffix(double a) { volatile double x = a; return emu::rounded<double>(mode, [&] { return std::sqrt((double)x); }); } \
    inline double __fma_##suffix(double a, double b, double c) { volatile double x = a, y = b, z = c; return emu::rounded<double>(mode, [&] { return std::fma((double)x, (double)y, (double)z); }); } \
    inline float __double2float_##suffix(double a) { volatile double x = a; return emu::rounded<float>(mode, [&] { return (float)x; }); } \
    inline float __int2float_##suffix(int a) { volatile int x = a; return emu::rounded<float>(mode, [&] { return (float)x; }); } \
    inline float __uint2float_##suffix(unsigned a) { volatile long long x = a; return emu::rounded<float>(mode, [&] { return (float)x; }); } \
    inline float __ll2float_##suffix(long long a) { volatile long long x = a; return emu::rounded<float>(mode, [&] { return (float)x; }); } \
    inline float __ull2float_##suffix(unsigned long long a) { volatile unsigned long long x = a; return emu::rounded<float>(mode, [&] { return (float)(long double)x; }); } \
    inline double __ll2double_##suffix(long long a) { volatile long long x = a; return emu::rounded<double>(mode, [&] { return (double)x; }); } \
    inline double __ull2double_##suffix(unsigned long long a) { volatile unsigned long long x = a; return emu::rounded<double>(mode, [&] { return (double)(long double)x; }); } \
    inline int __float2int_##suffix(float a) { return emu::to_integer<int>(mode, a); }                   \
    inline unsigned __float2uint_##suffix(float a) { return emu::to_integer<unsigned>(mode, a); }        \
    inline long long __float2ll_##suffix(float a) { return emu::to_integer<long long>(mode, a); }        \
    inline unsigned long long __float2ull_##suffix(float a) { return emu::to_integer<unsigned long long>(mode, a); } \
    inline int __double2int_##suffix(double a) { return emu::to_integer<int>(mode, a); }                 \
    inline unsigned __double2uint_##suffix(double a) { return emu::to_integer<unsigned>(mode, a); }      \
    inline long long __double2ll_##suffix(double a) { return emu::to_integer<long long>(mode, a); }      \
    inline unsigned long long __double2ull_##suffix(double a) { return emu::to_integer<unsigned long long>(mode, a); }
EMU_MODES(EMU_ARITHMETIC)

inline float __saturatef(float a) { return a != a ? 0.0f : a <= 0.0f ? 0.0f : a >= 1.0f ? 1.0f : a; }
