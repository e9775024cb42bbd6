// nvcc: -ftz=true -prec-div=false -prec-sqrt=false
// Compiled with -ftz=true: denormal operands and results of single precision become zero, doubles
// keep theirs; division and square root become approximate ones.
#include <cfloat>

#include "../check.h"

static float flush(float x) { return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x; }

#define EXACT(X)                                                                   \
    X("add", a + b, flush(flush(a) + flush(b)))                                    \
    X("sub", a - b, flush(flush(a) - flush(b)))                                    \
    X("mul", a * b, flush(flush(a) * flush(b)))                                    \
    X("fma", fmaf(a, b, a), flush(std::fma(flush(a), flush(b), flush(a))))         \
    X("compare", a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : 0.5f, flush(a) > 0 ? 1.0f : flush(a) < 0 ? -1.0f : 0.5f) \
    X("floor", floorf(a), std::floor(flush(a)))                                    \
    X("trunc of half", truncf(a + 0.5f), std::trunc(flush(flush(a) + 0.5f)))       \
    X("from double", float(double(b) * 0.25), flush(float(double(flush(b)) * 0.25))) \
    X("to int", float(int(ceilf(a))), std::ceil(flush(a)))

__global__ void exact(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = in[i], b = in[i + 1];
    int k = 0;
#define DEVICE(name, device, host) out[k++ * n + i] = device;
    EXACT(DEVICE)
}

__global__ void approximate(const float* in, float* quotient, float* root, float* inverse, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    quotient[i] = in[i] / in[i + 1];
    root[i] = sqrtf(fabsf(in[i]));
    inverse[i] = 1.0f / in[i];
}

__global__ void doubles(const double* in, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 0.5 + in[i + 1];
}

int main() {
    const int n = 300;
    Random random(8);
    std::vector<float> in = {0.0f, -0.0f, FLT_MIN, -FLT_MIN, 0x1p-149f, -0x1p-149f, 0x1.fffffcp-127f, 0x1p-127f, 1.0f, 0x1p-127f};
    while (in.size() < n + 1) {
        float x = bits_as<float>(random.u32() & 0x81ffffffu);
        in.push_back(random.below(3) ? x : float(random.range(-3, 3)));
    }
    Buffer<float> din(in), dout(n * 9);
    exact<<<(n + 63) / 64, 64>>>(din, dout, n);
    auto got = dout.host();
    for (int i = 0; i < n; i++) {
        float a = in[i], b = in[i + 1];
        int k = 0;
#define HOST(name, device, host) {                                       \
        float e_ = host, g_ = got[k++ * n + i];                          \
        if (!(e_ == 0 && g_ == 0)) expect_equal(name, i, e_, g_); }
        EXACT(HOST)
    }

    std::vector<float> normal(n + 1);
    for (float& x : normal) x = float(random.range(0.25, 8)) * (random.below(2) ? 1 : -1);
    Buffer<float> dn(normal), q(n), r(n), v(n);
    approximate<<<(n + 63) / 64, 64>>>(dn, q, r, v, n);
    auto hq = q.host(), hr = r.host(), hv = v.host();
    for (int i = 0; i < n; i++) {
        expect_ulp("approximate quotient", i, (long double)normal[i] / normal[i + 1], hq[i], 2.5);
        expect_near("approximate root", i, std::sqrt(std::fabs((double)normal[i])), hr[i], 0x1p-22);
        expect_ulp("approximate reciprocal", i, 1.0L / normal[i], hv[i], 1.5);
    }

    std::vector<double> tiny(n + 1);
    for (double& x : tiny) x = bits_as<double>(random.u64() & 0x800fffffffffffffull);
    Buffer<double> dt(tiny), dd(n);
    doubles<<<(n + 63) / 64, 64>>>(dt, dd, n);
    auto hd = dd.host();
    for (int i = 0; i < n; i++) expect_equal("double denormal", i, std::fma(tiny[i], 0.5, tiny[i + 1]), hd[i]);
    return passed();
}
