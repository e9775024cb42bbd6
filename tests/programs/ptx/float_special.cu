// NaN, infinities, signed zeros: comparisons, min/max, classification, rounding to integer, saturation.
#include <cfloat>

#include "../check.h"

__device__ float saturate_fma(float a, float b) { float r; asm("fma.rn.sat.f32 %0, %1, %2, 0f3E800000;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ float nan_max(float a, float b) { float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ float nan_min(float a, float b) { float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ int unordered(float a, float b) {
    int r;
    asm("{.reg .pred p, q, s, t;\n\tsetp.ltu.f32 p, %1, %2;\n\tsetp.nan.f32 q, %1, %2;\n\tsetp.num.f32 s, %1, %2;\n\t"
        "setp.neu.f32 t, %1, %2;\n\tselp.s32 %0, 1, 0, p;\n\t@q add.s32 %0, %0, 2;\n\t@s add.s32 %0, %0, 4;\n\t@t add.s32 %0, %0, 8;}"
        : "=r"(r) : "f"(a), "f"(b));
    return r;
}
__device__ int tested(float a) {
    int r;
    asm("{.reg .pred p;\n\tmov.s32 %0, 0;\n\ttestp.finite.f32 p, %1;\n\t@p add.s32 %0, %0, 1;\n\ttestp.infinite.f32 p, %1;\n\t@p add.s32 %0, %0, 2;\n\t"
        "testp.number.f32 p, %1;\n\t@p add.s32 %0, %0, 4;\n\ttestp.notanumber.f32 p, %1;\n\t@p add.s32 %0, %0, 8;\n\t"
        "testp.normal.f32 p, %1;\n\t@p add.s32 %0, %0, 16;\n\ttestp.subnormal.f32 p, %1;\n\t@p add.s32 %0, %0, 32;}" : "=r"(r) : "f"(a));
    return r;
}
static float saturated(float x) { return x != x ? 0.0f : x < 0 ? 0.0f : x > 1 ? 1.0f : x; }
// Smallest or largest of two numbers, -0 below +0; a NaN loses.
static float lesser(float a, float b) { return a != a ? b : b != b ? a : a < b || (a == b && std::signbit(a)) ? a : b; }
static float greater(float a, float b) { return a != a ? b : b != b ? a : a > b || (a == b && std::signbit(b)) ? a : b; }

#define OPS(X)                                                                                     \
    X("fminf", fminf(a, b), lesser(a, b)) X("fmaxf", fmaxf(a, b), greater(a, b))                   \
    X("min.NaN", nan_min(a, b), a != a || b != b ? NAN : lesser(a, b))                             \
    X("max.NaN", nan_max(a, b), a != a || b != b ? NAN : greater(a, b))                            \
    X("saturate", __saturatef(a) + 0.0f, saturated(a) + 0.0f)                                                    \
    X("fma.sat", saturate_fma(a, b) + 0.0f, saturated(std::fma(a, b, 0.25f)) + 0.0f)                             \
    X("compare", (a < b) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b) + 16 * (a == b) + 32 * (a != b), \
      (a < b) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b) + 16 * (a == b) + 32 * (a != b))         \
    X("not compare", !(a < b) + 2 * !(a <= b) + 4 * !(a > b) + 8 * !(a >= b), !(a < b) + 2 * !(a <= b) + 4 * !(a > b) + 8 * !(a >= b)) \
    X("unordered", unordered(a, b), (!(a >= b)) + 2 * (a != a || b != b) + 4 * (a == a && b == b) + 8 * (!(a == b))) \
    X("classify", isnan(a) + 2 * isinf(a) + 4 * isfinite(a) + 8 * bool(signbit(a)),                \
      std::isnan(a) + 2 * std::isinf(a) + 4 * std::isfinite(a) + 8 * std::signbit(a))              \
    X("testp", tested(a), std::isfinite(a) + 2 * std::isinf(a) + 4 * !std::isnan(a) + 8 * std::isnan(a) + 16 * std::isnormal(a) + 32 * (std::fpclassify(a) == FP_SUBNORMAL)) \
    X("copysign", copysignf(a, b), std::copysign(a, b)) X("abs", fabsf(a), std::fabs(a))           \
    X("fdim", fdimf(a, b), std::fdim(a, b))                                                        \
    X("floor", floorf(a), std::floor(a)) X("ceil", ceilf(a), std::ceil(a))                         \
    X("trunc", truncf(a), std::trunc(a)) X("rint", rintf(a), std::rint(a))                         \
    X("round", roundf(a), std::round(a)) X("nearbyint", nearbyintf(a), std::nearbyint(a))          \
    X("add", a + b, a + b) X("div", a / b, a / b) X("sqrt", sqrtf(a), std::sqrt(a))                \
    X("nextafter", nextafterf(a, b), std::nextafter(a, b))                                         \
    X("ldexp", ldexpf(a, 3), std::ldexp(a, 3)) X("ilogb", a == a && a != 0 && fabsf(a) <= FLT_MAX ? ilogbf(a) : 0, \
                                                 a == a && a != 0 && std::fabs(a) <= FLT_MAX ? std::ilogb(a) : 0) \
    X("logb", logbf(a), std::logb(a)) X("fma", fmaf(a, b, a), std::fma(a, b, a))

__global__ void run(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, count = n * n;
    if (i >= count) return;
    float a = in[i / n], b = in[i % n];
    int k = 0;
#define DEVICE(name, device, host) out[k++ * count + i] = float(device);
    OPS(DEVICE)
}

__global__ void split(const float* in, float* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    int exponent = 0;
    float whole = 0;
    out[4 * i] = frexpf(in[i], &exponent);
    out[4 * i + 1] = float(exponent);
    out[4 * i + 2] = modff(in[i], &whole);
    out[4 * i + 3] = whole;
}

int main() {
    const float inf = INFINITY;
    std::vector<float> in = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -0.5f, 1.5f, 2.5f, -2.5f, 3.499999f, 8388607.5f, -8388608.5f, 16777216.0f, inf, -inf,
                             NAN, -NAN, FLT_MAX, -FLT_MAX, FLT_MIN, 0x1p-149f, -0x1p-149f, 0x1.fffffep-1f, 0.49999997f, -0.49999997f, 1e10f, 0.25f};
    const int n = int(in.size()), count = n * n, ops = 28;
    Buffer<float> din(in), dout(count * ops);
    run<<<(count + 127) / 128, 128>>>(din, dout, n);
    auto got = dout.host();
    for (int i = 0; i < count; i++) {
        float a = in[i / n], b = in[i % n];
        int k = 0;
#define HOST(name, device, host) expect_equal(name, i, float(host), got[k++ * count + i]);
        OPS(HOST)
        if (k != ops) mismatch("number of operations", 0, ops, k);
    }

    Buffer<float> parts(4 * n);
    split<<<1, 45>>>(din, parts, n);
    auto p = parts.host();
    for (int i = 0; i < n; i++) {
        int exponent = 0;
        float whole = 0, fraction = std::frexp(in[i], &exponent);
        expect_equal("frexp", i, fraction, p[4 * i]);
        if (std::isfinite(in[i])) expect_equal("frexp exponent", i, float(exponent), p[4 * i + 1]);
        expect_equal("modf", i, std::modf(in[i], &whole), p[4 * i + 2]);
        expect_equal("modf whole", i, whole, p[4 * i + 3]);
    }
    return passed();
}
