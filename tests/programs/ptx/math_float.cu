// Single-precision math library against double precision, with the error bounds of the CUDA guide.
#include "../check.h"

#pragma nv_diag_suppress 177, 550  // most functions leave y unused

// name, expression for the device, the same in double on the host, low, high, allowed ulps
#define OPS(X)                                                          \
    X("expf", expf(x), std::exp(X_), -100, 90, 2)                       \
    X("exp2f", exp2f(x), std::exp2(X_), -149, 128, 2)                   \
    X("exp10f", exp10f(x), std::pow(10.0, X_), -44, 38, 2)              \
    X("expm1f", expm1f(x), std::expm1(X_), -5, 80, 1)                   \
    X("logf", logf(x), std::log(X_), 1e-30, 1e5, 1)                     \
    X("log2f", log2f(x), std::log2(X_), 1e-6, 100, 1)                   \
    X("log10f", log10f(x), std::log10(X_), 1e-6, 1e6, 2)                \
    X("log1pf", log1pf(x), std::log1p(X_), -0.99, 50, 1)                \
    X("sinf", sinf(x), std::sin(X_), -50, 50, 2)                        \
    X("cosf", cosf(x), std::cos(X_), -50, 50, 2)                        \
    X("tanf", tanf(x), std::tan(X_), -10, 10, 4)                        \
    X("asinf", asinf(x), std::asin(X_), -1, 1, 2)                       \
    X("acosf", acosf(x), std::acos(X_), -1, 1, 2)                       \
    X("atanf", atanf(x), std::atan(X_), -30, 30, 2)                     \
    X("atan2f", atan2f(x, y), std::atan2(X_, Y_), -3, 3, 3)             \
    X("sinhf", sinhf(x), std::sinh(X_), -80, 80, 3)                     \
    X("coshf", coshf(x), std::cosh(X_), -80, 80, 2)                     \
    X("tanhf", tanhf(x), std::tanh(X_), -8, 8, 2)                       \
    X("asinhf", asinhf(x), std::asinh(X_), -100, 100, 3)                \
    X("acoshf", acoshf(x), std::acosh(X_), 1, 100, 4)                   \
    X("atanhf", atanhf(x), std::atanh(X_), -0.999, 0.999, 3)            \
    X("powf", powf(x, y), std::pow(X_, Y_), 0.01, 10, 8)                \
    X("powf neg", powf(-x, 3.0f), std::pow(-X_, 3.0), 0.1, 50, 8)       \
    X("cbrtf", cbrtf(x), std::cbrt(X_), -1000, 1000, 1)                 \
    X("rcbrtf", rcbrtf(x), 1 / std::cbrt(X_), 0.001, 1000, 2)           \
    X("rsqrtf", rsqrtf(x), 1 / std::sqrt(X_), 1e-6, 1e6, 2)             \
    X("hypotf", hypotf(x, y), std::hypot(X_, Y_), -100, 100, 3)         \
    X("rhypotf", rhypotf(x, y), 1 / std::hypot(X_, Y_), 1, 100, 2)      \
    X("norm3df", norm3df(x, y, 2.0f), std::sqrt(X_ * X_ + Y_ * Y_ + 4), -9, 9, 3) \
    X("fmodf", fmodf(x, y), std::fmod(X_, Y_), -1000, 1000, 0)          \
    X("remainderf", remainderf(x, y), std::remainder(X_, Y_), -1000, 1000, 0) \
    X("sinpif", sinpif(x), std::sin(M_PI * std::remainder(X_, 2.0)), -3.9, 3.9, 2) \
    X("cospif", cospif(x), std::cos(M_PI * std::remainder(X_, 2.0)), -3.9, 3.9, 2)

__global__ void run(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* at = in + i;
    float* to = out + i;
#define DEVICE(name, device, host, low, high, ulps) { float x = at[0], y = at[n]; *to = device; at += 2 * n; to += n; }
    OPS(DEVICE)
}

__global__ void pairs(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sincosf(in[i], &out[4 * i], &out[4 * i + 1]);
    sincospif(in[i], &out[4 * i + 2], &out[4 * i + 3]);
}

int main() {
    const int n = 96;
    Random random(10);
    std::vector<float> in;
    int ops = 0;
#define INPUT(name, device, host, low, high, ulps)                                          \
    for (int i = 0; i < 2 * n; i++) in.push_back(float(random.range(low, high)));           \
    in[in.size() - 2 * n] = float(low), in[in.size() - n - 1] = float(high), ops++;
    OPS(INPUT)
    Buffer<float> din(in), dout(ops * n);
    run<<<(n + 31) / 32, 32>>>(din, dout, n);
    auto got = dout.host();
    size_t k = 0;
#define HOST(name, device, host, low, high, ulps)                                           \
    for (int i = 0; i < n; i++) {                                                           \
        double X_ = in[2 * n * k + i], Y_ = in[2 * n * k + n + i];                          \
        (void)Y_;                                                                           \
        double e_ = host;                                                                   \
        /* sin and friends next to a zero: the double reference itself is off by 1e-16 */   \
        if (std::fabs(e_) < 1e-12 && std::fabs(got[k * n + i]) < 1e-12) continue;           \
        expect_ulp(name, i, e_, got[k * n + i], ulps + 0.01);                               \
    }                                                                                       \
    k++;
    OPS(HOST)

    std::vector<float> angles(n);
    for (float& x : angles) x = float(random.range(-20, 20));
    Buffer<float> da(angles), dp(4 * n);
    pairs<<<3, 33>>>(da, dp, n);
    auto p = dp.host();
    for (int i = 0; i < n; i++) {
        double x = angles[i], reduced = std::remainder(x, 2.0) * M_PI;
        expect_ulp("sincosf", 2 * i, std::sin(x), p[4 * i], 2);
        expect_ulp("sincosf", 2 * i + 1, std::cos(x), p[4 * i + 1], 2);
        expect_ulp("sincospif", 2 * i, std::sin(reduced), p[4 * i + 2], 2);
        expect_ulp("sincospif", 2 * i + 1, std::cos(reduced), p[4 * i + 3], 2);
    }
    return passed();
}
