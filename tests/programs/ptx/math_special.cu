// Special functions: erf and its relatives, gamma, Bessel, normal distribution, in both precisions.
#include "../check.h"

#define OPS(X)                                                                        \
    X("erf", erf(x), erff(x), std::erf(X_), -4, 4, 2, 2)                              \
    X("erfc", erfc(x), erfcf(x), std::erfc(X_), -4, 8, 5, 5)                          \
    X("erfcx", erfcx(x), erfcxf(x), std::exp(X_ * X_) * std::erfc(X_), 0, 8, 5, 5)    \
    X("erfinv", erf(erfinv(x)), erff(erfinvf(x)), X_, -0.9, 0.9, 8, 8) \
    X("normcdf", normcdf(x), normcdff(x), 0.5L * std::erfc(-X_ * M_SQRT1_2l), -5, 5, 6, 6) \
    X("tgamma", tgamma(x), tgammaf(x), std::tgamma(X_), 0.5, 12, 10, 6)               \
    X("lgamma", lgamma(x), lgammaf(x), std::lgamma(X_), 3, 50, 4, 6)

template <class T>
__global__ void run(const T* in, T* out, int n);

template <>
__global__ void run<double>(const double* in, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (i >= n) return;
#define DEVICE(name, device, single, host, low, high, ulps, ulpsf) { double x = in[k * n + i]; out[k++ * n + i] = device; }
    OPS(DEVICE)
}

template <>
__global__ void run<float>(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (i >= n) return;
#define SINGLE(name, device, single, host, low, high, ulps, ulpsf) { float x = in[k * n + i]; out[k++ * n + i] = single; }
    OPS(SINGLE)
}

// Bessel functions have zeros: absolute error. The argument decides between two very different paths.
__global__ void bessel(const double* in, double* out, float* outf, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = in[i], *o = out + 5 * i;
    o[0] = j0(x), o[1] = j1(x), o[2] = jn(3, x), o[3] = y0(x), o[4] = y1(x);
    float xf = float(x), *f = outf + 4 * i;
    f[0] = j0f(xf), f[1] = j1f(xf), f[2] = y0f(xf), f[3] = y1f(xf);
}

int main() {
    const int n = 70, ops = 7;
    Random random(12);
    std::vector<double> in;
    std::vector<float> inf;
#define INPUT(name, device, single, host, low, high, ulps, ulpsf) \
    for (int i = 0; i < n; i++) in.push_back(random.range(low, high)), inf.push_back(float(in.back()));
    OPS(INPUT)
    Buffer<double> din(in), dout(ops * n);
    Buffer<float> dinf(inf), doutf(ops * n);
    run<double><<<3, 24>>>(din, dout, n);
    run<float><<<2, 35>>>(dinf, doutf, n);
    auto got = dout.host();
    auto gotf = doutf.host();
    int k = 0;
#define HOST(name, device, single, host, low, high, ulps, ulpsf)              \
    for (int i = 0; i < n; i++) {                                             \
        long double X_ = in[k * n + i];                                       \
        expect_ulp(name, i, host, got[k * n + i], ulps + 0.1);                \
        X_ = inf[k * n + i];                                                  \
        expect_ulp(name "f", i, host, gotf[k * n + i], ulpsf + 0.1);          \
    }                                                                         \
    k++;
    OPS(HOST)

    std::vector<double> x(n);
    for (int i = 0; i < n; i++) x[i] = float(random.range(0.05, i % 2 ? 7 : 60));
    Buffer<double> dx(x), db(5 * n);
    Buffer<float> dbf(4 * n);
    bessel<<<1, 96>>>(dx, db, dbf, n);
    auto b = db.host();
    auto bf = dbf.host();
    for (int i = 0; i < n; i++) {
        double e[5] = {::j0(x[i]), ::j1(x[i]), ::jn(3, x[i]), ::y0(x[i]), ::y1(x[i])};
        for (int j = 0; j < 5; j++) expect_near("bessel", 5 * i + j, e[j], b[5 * i + j], 1e-14, 1e-11);
        double f[4] = {e[0], e[1], e[3], e[4]};
        for (int j = 0; j < 4; j++) expect_near("besself", 4 * i + j, f[j], bf[4 * i + j], 2e-6, 2.5e-6);
    }
    return passed();
}
