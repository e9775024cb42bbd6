// Double-precision math library against long double, with the error bounds of the CUDA guide.
#include "../check.h"

#pragma nv_diag_suppress 177, 550  // most functions leave y unused

typedef long double L;
#define OPS(X)                                                              \
    X("exp", exp(x), std::exp(X_), -700, 700, 1)                            \
    X("exp2", exp2(x), std::exp2(X_), -1000, 1000, 1)                       \
    X("expm1", expm1(x), std::expm1(X_), -3, 300, 1)                        \
    X("log", log(x), std::log(X_), 1e-200, 1e9, 1)                          \
    X("log2", log2(x), std::log2(X_), 1e-6, 100, 1)                         \
    X("log10", log10(x), std::log10(X_), 1e-6, 1e6, 1)                      \
    X("log1p", log1p(x), std::log1p(X_), -0.99, 50, 1)                      \
    X("sin", sin(x), std::sin(X_), -50, 50, 2)                              \
    X("cos", cos(x), std::cos(X_), -50, 50, 2)                              \
    X("tan", tan(x), std::tan(X_), -10, 10, 2)                              \
    X("asin", asin(x), std::asin(X_), -1, 1, 2)                             \
    X("acos", acos(x), std::acos(X_), -1, 1, 2)                             \
    X("atan", atan(x), std::atan(X_), -30, 30, 2)                           \
    X("atan2", atan2(x, y), std::atan2(X_, Y_), -3, 3, 2)                   \
    X("sinh", sinh(x), std::sinh(X_), -300, 300, 2)                         \
    X("cosh", cosh(x), std::cosh(X_), -300, 300, 1)                         \
    X("tanh", tanh(x), std::tanh(X_), -8, 8, 2)                             \
    X("asinh", asinh(x), std::asinh(X_), -100, 100, 3)                      \
    X("acosh", acosh(x), std::acosh(X_), 1, 100, 3)                         \
    X("atanh", atanh(x), std::atanh(X_), -0.999, 0.999, 2)                  \
    X("pow", pow(x, y), std::pow(X_, Y_), 0.01, 30, 2)                      \
    X("pow neg", pow(-x, 5.0), std::pow(-X_, 5.0L), 0.1, 50, 2)             \
    X("cbrt", cbrt(x), std::cbrt(X_), -1000, 1000, 1)                       \
    X("rsqrt", rsqrt(x), 1 / std::sqrt(X_), 1e-6, 1e6, 1)                   \
    X("hypot", hypot(x, y), std::hypot(X_, Y_), -100, 100, 2)               \
    X("fmod", fmod(x, y), std::fmod(X_, Y_), -1000, 1000, 0)                \
    X("remainder", remainder(x, y), std::remainder(X_, Y_), -1000, 1000, 0) \
    X("sinpi", sinpi(x), std::sin(M_PIl * X_), -0.5, 0.5, 2)                \
    X("cospi", cospi(x), std::cos(M_PIl * X_), -0.4, 0.4, 2)

__global__ void run(const double* in, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double* at = in + i;
    double* to = out + i;
#define DEVICE(name, device, host, low, high, ulps) { double x = at[0], y = at[n]; *to = device; at += 2 * n; to += n; }
    OPS(DEVICE)
}

__global__ void pairs(const double* in, double* out, int* quotients, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sincos(in[i], &out[3 * i], &out[3 * i + 1]);
    out[3 * i + 2] = remquo(in[i], 1.75, &quotients[i]);
}

int main() {
    const int n = 64;
    Random random(11);
    std::vector<double> in;
    int ops = 0;
#define INPUT(name, device, host, low, high, ulps)                                          \
    for (int i = 0; i < 2 * n; i++) in.push_back(random.range(low, high));                  \
    in[in.size() - 2 * n] = low, in[in.size() - n - 1] = high, ops++;
    OPS(INPUT)
    Buffer<double> din(in), dout(ops * n);
    run<<<(n + 31) / 32, 32>>>(din, dout, n);
    auto got = dout.host();
    size_t k = 0;
#define HOST(name, device, host, low, high, ulps)                                           \
    for (int i = 0; i < n; i++) {                                                           \
        L X_ = in[2 * n * k + i], Y_ = in[2 * n * k + n + i];                               \
        (void)Y_;                                                                           \
        expect_ulp(name, i, host, got[k * n + i], ulps + 0.01);                             \
    }                                                                                       \
    k++;
    OPS(HOST)

    std::vector<double> angles(n);
    for (double& x : angles) x = random.range(-200, 200);
    Buffer<double> da(angles), dp(3 * n);
    Buffer<int> dq(n);
    pairs<<<2, 40>>>(da, dp, dq, n);
    auto p = dp.host();
    auto q = dq.host();
    for (int i = 0; i < n; i++) {
        int quotient = 0;
        double remainder = std::remquo(angles[i], 1.75, &quotient);
        expect_ulp("sincos", 2 * i, std::sin((L)angles[i]), p[3 * i], 2);
        expect_ulp("sincos", 2 * i + 1, std::cos((L)angles[i]), p[3 * i + 1], 2);
        expect_equal("remquo", i, remainder, p[3 * i + 2]);
        expect_equal("remquo quotient", i, quotient & 7, q[i] & 7);
    }
    return passed();
}
