// Float and double to integers of every width in four rounding modes, with saturation, and back.
#include <cfenv>
#include <cfloat>

#include "../check.h"

// What cvt does: round, clamp to the range; NaN becomes 0, or the smallest value for 64-bit results
// and for double operands.
template <class I, class F>
static I converted(F x, int mode) {
    bool wide = sizeof(I) == 8 || sizeof(F) == 8;
    if (x != x) return !wide ? I(0) : I(uint64_t(1) << (8 * sizeof(I) - 1));
    fesetround(mode);
    volatile F v = x;
    volatile F r = std::nearbyint(F(v));
    fesetround(FE_TONEAREST);
    if (r <= F(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
    if (r >= std::ldexp(F(1), std::numeric_limits<I>::digits)) return std::numeric_limits<I>::max();
    return I(r);
}

#define TO_INT(X, m, p, fe)                                                                                      \
    X(__float2int_##m(f), (converted<int32_t>(f, fe))) X(__float2uint_##m(f), (converted<uint32_t>(f, fe)))       \
    X(__float2ll_##m(f), (converted<int64_t>(f, fe))) X(__float2ull_##m(f), (converted<uint64_t>(f, fe)))         \
    X(__double2int_##m(d), (converted<int32_t>(d, fe))) X(__double2uint_##m(d), (converted<uint32_t>(d, fe)))     \
    X(__double2ll_##m(d), (converted<int64_t>(d, fe))) X(__double2ull_##m(d), (converted<uint64_t>(d, fe)))       \
    X(narrow<short>(f, [](float v, int& r) { asm("{.reg .s16 t;\n\tcvt." #p ".s16.f32 t, %1;\n\tcvt.s32.s16 %0, t;}" : "=r"(r) : "f"(v)); }), \
      (converted<int16_t>(f, fe)))                                                                                \
    X(narrow<signed char>(f, [](float v, int& r) { asm("cvt." #p ".s8.f32 %0, %1;" : "=r"(r) : "f"(v)); }),       \
      (converted<int8_t>(f, fe)))                                                                                 \
    X(narrow<unsigned char>(f, [](float v, int& r) { asm("cvt." #p ".u8.f32 %0, %1;" : "=r"(r) : "f"(v)); }),     \
      (converted<uint8_t>(f, fe)))

template <class T, class F>
__device__ T narrow(float f, F convert) { int r; convert(f, r); return T(r); }

#define ALL(X) TO_INT(X, rn, rni, FE_TONEAREST) TO_INT(X, rz, rzi, FE_TOWARDZERO) TO_INT(X, ru, rpi, FE_UPWARD) TO_INT(X, rd, rmi, FE_DOWNWARD)

__global__ void to_int(const float* fs, const double* ds, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (i >= n) return;
    float f = fs[i];
    double d = ds[i];
#define DEVICE(device, host) out[k++ * n + i] = (long long)(device);
    ALL(DEVICE)
}

#define FROM(X, m, fe)                                                                                  \
    X(__int2float_##m(int(v)), (from<float>(int32_t(v), fe))) X(__uint2float_##m(unsigned(v)), (from<float>(uint32_t(v), fe))) \
    X(__ll2float_##m(v), (from<float>(int64_t(v), fe))) X(__ull2float_##m((unsigned long long)v), (from<float>(uint64_t(v), fe))) \
    X(__ll2double_##m(v), (from<double>(int64_t(v), fe))) X(__ull2double_##m((unsigned long long)v), (from<double>(uint64_t(v), fe)))
#define FROM_ALL(X) FROM(X, rn, FE_TONEAREST) FROM(X, rz, FE_TOWARDZERO) FROM(X, ru, FE_UPWARD) FROM(X, rd, FE_DOWNWARD) \
    X(__int2double_rn(int(v)), double(int32_t(v))) X(__uint2double_rn(unsigned(v)), double(uint32_t(v)))            \
    X(float(short(v)), float(int16_t(v))) X(float((unsigned char)v), float(uint8_t(v))) X(double((signed char)v), double(int8_t(v))) \
    X(__double2float_rz(double(v)), (narrowed(double(int64_t(v)), FE_TOWARDZERO))) X(__double2float_ru(double(v)), (narrowed(double(int64_t(v)), FE_UPWARD)))

// Correct rounding from the exact integer: compares the neighbours in long double, which holds all 64 bits.
template <class F, class I>
static double from(I v, int mode) {
    long double exact = (long double)v;
    F r = F(exact);
    if (mode == FE_DOWNWARD || (mode == FE_TOWARDZERO && v > 0)) { if ((long double)r > exact) r = std::nextafter(r, -std::numeric_limits<F>::infinity()); }
    if (mode == FE_UPWARD || (mode == FE_TOWARDZERO && !(v > 0))) { if ((long double)r < exact) r = std::nextafter(r, std::numeric_limits<F>::infinity()); }
    return double(r);
}
static double narrowed(double d, int mode) {
    float r = float(d);
    if (mode == FE_UPWARD && r < d) r = std::nextafter(r, INFINITY);
    if (mode == FE_TOWARDZERO && std::fabs(r) > std::fabs(d)) r = std::nextafter(r, 0.0f);
    return double(r);
}

__global__ void from_int(const long long* in, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (i >= n) return;
    long long v = in[i];
#define DEVICE_FROM(device, host) out[k++ * n + i] = double(device);
    FROM_ALL(DEVICE_FROM)
}

int main() {
    const int n = 420, ops = 44, back = 31;
    Random random(20);
    std::vector<float> singles = {0.0f, -0.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 127.5f, 128.0f, -128.5f, 255.5f, 256.0f, 32767.5f, -32768.5f, 65535.5f, 2147483648.0f, -2147483648.0f,
                            2147483520.0f, 4294967296.0f, 9.3e18f, -9.3e18f, 1.9e19f, INFINITY, -INFINITY, NAN, 1e-40f, -1e-40f, 0.49999997f};
    std::vector<double> doubles = {2147483647.0, 2147483647.5, -2147483648.5, 4294967295.5, 9.2233720368547758e18, 1.8446744073709552e19, 4503599627370497.5, 0x1p-1074, -0x1p-1074, NAN, INFINITY, -INFINITY};
    while (singles.size() < n) singles.push_back(float(random.range(-1, 1)) * std::exp2(float(random.below(68))));
    while (doubles.size() < n) doubles.push_back(random.range(-1, 1) * std::exp2(double(random.below(68))));
    Buffer<float> df(singles);
    Buffer<double> dd(doubles);
    Buffer<long long> out(n * ops);
    to_int<<<(n + 69) / 70, 70>>>(df, dd, out, n);
    auto got = out.host();
    for (int i = 0; i < n; i++) {
        float f = singles[i];
        double d = doubles[i];
        int k = 0;
#define HOST(device, host) expect_equal(#host, i, (long long)host, got[k++ * n + i]);
        ALL(HOST)
        if (k != ops) mismatch("number of operations", 0, ops, k);
    }

    std::vector<long long> values = {0, 1, -1, 16777217, -16777217, 16777219, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, (1ll << 53) + 1, (1ll << 62) + 1, -((1ll << 53) + 3)};
    while (values.size() < n) values.push_back((long long)(random.u64()) >> random.below(60));
    Buffer<long long> dv(values);
    Buffer<double> fo(n * back);
    from_int<<<(n + 31) / 32, 32>>>(dv, fo, n);
    auto g = fo.host();
    for (int i = 0; i < n; i++) {
        long long v = values[i];
        int k = 0;
#define HOST_FROM(device, host) expect_equal(#host, i, double(host), g[k++ * n + i]);
        FROM_ALL(HOST_FROM)
        if (k != back) mismatch("number of operations", 0, back, k);
    }
    return passed();
}
