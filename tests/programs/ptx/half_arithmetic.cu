// Half precision: arithmetic, comparisons, conversions and functions of __half and __half2.
#include <cuda_fp16.h>

#include "../check.h"

static float to_float(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
static uint16_t to_half(double x) { return __half_as_ushort(__double2half(x)); }
static bool nan16(uint16_t h) { return (h & 0x7fff) > 0x7c00; }
static void expect_half(const char* what, size_t i, uint16_t expected, uint16_t actual) {
    if (!(nan16(expected) && nan16(actual))) expect_equal(what, i, expected, actual);
}

// Each operation is done in double on the host and rounded once.
#define OPS(X)                                                                                \
    X("add", __hadd(a, b), A + B) X("sub", __hsub(a, b), A - B) X("mul", __hmul(a, b), A * B) \
    X("fma", __hfma(a, b, c), std::fma(A, B, C)) X("div", __hdiv(a, b), double(float(A) / float(B))) \
    X("neg", __hneg(a), -A) X("abs", __habs(a), std::fabs(A))                                 \
    X("add.sat", __hadd_sat(a, b), sat(A + B)) X("fma.sat", __hfma_sat(a, b, c), sat(std::fma(A, B, C))) \
    X("fma.relu", __hfma_relu(a, b, c), relu(std::fma(A, B, C)))                              \
    X("max", __hmax(a, b), std::fmax(A, B)) X("min", __hmin(a, b), std::fmin(A, B))           \
    X("max nan", __hmax_nan(a, b), A != A || B != B ? NAN : std::fmax(A, B))                  \
    X("sqrt", hsqrt(a), double(std::sqrt(float(A)))) X("floor", hfloor(a), std::floor(A))     \
    X("rint", hrint(a), std::rint(A)) X("trunc", htrunc(a), std::trunc(A)) X("ceil", hceil(a), std::ceil(A)) \
    X("chain", __hsub_rn(__hmul_rn(a + b, c), a), R(R(R(A + B) * C) - A))                     \
    X("compare", __float2half(float((a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b))), \
      (A < B) + 2 * (A <= B) + 4 * (A == B) + 8 * (A != B) + 16 * (A > B))                    \
    X("unordered", __float2half(float(__hltu(a, b) + 2 * __hisnan(a) + 4 * (__hisinf(a) != 0))), \
      !(A >= B) + 2 * (A != A) + 4 * std::isinf(A))                                           \
    X("to int", __int2half_rn(__half2int_rz(c)), C == C ? std::trunc(C) : 0.0)                \
    X("from int", __int2half_rn(int(i) * 37 - 9000), double(i * 37 - 9000))                   \
    X("from float rz", __float2half_rz(__half2float(a) * 1.0009765f), toward_zero(float(A) * 1.0009765f))

static double sat(double x) { return x != x ? 0 : x < 0 ? 0 : x > 1 ? 1 : x; }
static double relu(double x) { return x < 0 ? 0 : x; }
static double R(double x) { return to_float(to_half(x)); }
static double toward_zero(float x) {
    uint16_t h = to_half(x);
    if (std::fabs(to_float(h)) > std::fabs(x) && !std::isinf(x)) h--;  // one step back to zero
    return to_float(h);
}

__global__ void run(const uint16_t* in, uint16_t* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (i >= n) return;
    __half a = __ushort_as_half(in[i]), b = __ushort_as_half(in[i + 1]), c = __ushort_as_half(in[i + 2]);
#define DEVICE(name, device, host) out[k++ * n + i] = __half_as_ushort(device);
    OPS(DEVICE)
}

// Two at a time; lanes of a pair take part independently.
__global__ void pairs(const __half2* in, __half2* out, unsigned* masks, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 a = in[i], b = in[i + 1];
    out[5 * i] = __hfma2(a, b, a);
    out[5 * i + 1] = __hmul2(__hadd2(a, b), __hsub2(a, b));
    out[5 * i + 2] = __lowhigh2highlow(__hmax2(a, __hneg2(b)));
    out[5 * i + 3] = __halves2half2(__high2half(a), __low2half(b));
    out[5 * i + 4] = __hsub2(__hge2(a, b), __hne2(a, b));
    masks[i] = __hlt2_mask(a, b) ^ (__hbeq2(a, b) ? 0x80000000u : 0);
}

int main() {
    const int n = 620, ops = 24;
    Random random(16);
    std::vector<uint16_t> in = {0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7bff, 0x7bff, 1, 1, 0x8001, 0x03ff, 0x0400, 0x3555, 0x3e00, 0x4100};
    while (in.size() < n + 2) in.push_back(random.below(3) ? to_half(random.range(-8, 8)) : uint16_t(random.u32()));
    Buffer<uint16_t> din(in), dout(n * ops);
    run<<<(n + 59) / 60, 60>>>(din, dout, n);
    auto got = dout.host();
    for (int i = 0; i < n; i++) {
        double A = to_float(in[i]), B = to_float(in[i + 1]), C = to_float(in[i + 2]);
        int k = 0;
#define HOST(name, device, host) {                                                           \
        uint16_t e_ = to_half(host), g_ = got[k++ * n + i];                                  \
        if ((e_ & 0x7fff) || (g_ & 0x7fff)) expect_half(name, i, e_, g_); }
        OPS(HOST)
        if (k != ops) mismatch("number of operations", 0, ops, k);
    }

    std::vector<__half2> values(n + 1);
    for (auto& v : values) v = __floats2half2_rn(float(random.range(-4, 4)), float(random.range(-4, 4)));
    for (int i = 5; i < n; i += 9) values[i] = values[i - 1];
    Buffer<__half2> dv(values), dp(5 * n);
    Buffer<unsigned> dm(n);
    pairs<<<(n + 63) / 64, 64>>>(dv, dp, dm, n);
    auto p = dp.host();
    auto m = dm.host();
    for (int i = 0; i < n; i++) {
        double a[2] = {__low2float(values[i]), __high2float(values[i])}, b[2] = {__low2float(values[i + 1]), __high2float(values[i + 1])};
        unsigned mask = (a[0] < b[0] ? 0xffffu : 0) | (a[1] < b[1] ? 0xffff0000u : 0);
        expect_equal("mask", i, mask ^ (a[0] == b[0] && a[1] == b[1] ? 0x80000000u : 0), m[i]);
        double swapped[2] = {std::fmax(a[1], -b[1]), std::fmax(a[0], -b[0])}, mixed[2] = {a[1], b[0]};
        for (int h = 0; h < 2; h++) {
            double e[5] = {std::fma(a[h], b[h], a[h]), R(a[h] + b[h]) * R(a[h] - b[h]), swapped[h], mixed[h], double(a[h] >= b[h]) - (a[h] != b[h])};
            for (int k = 0; k < 5; k++) {
                expect_equal("half2", 10 * i + 2 * k + h, float(R(e[k])), h ? __high2float(p[5 * i + k]) : __low2float(p[5 * i + k]));
            }
        }
    }
    return passed();
}
