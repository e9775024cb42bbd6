// bfloat16: arithmetic, comparisons, conversions and packed pairs.
#include <cuda_bf16.h>

#include "../check.h"

static double value(uint16_t bits) { return bits_as<float>(uint32_t(bits) << 16); }
// Rounds to nearest even on the 16 high bits of the float.
static uint16_t rounded(double x) {
    float f = float(x);
    uint32_t u = bits_as<uint32_t>(f);
    if (f != f) return 0x7fff;
    return uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static bool nan16(uint16_t h) { return (h & 0x7fff) > 0x7f80; }
static void expect_bf16(const char* what, size_t i, uint16_t expected, uint16_t actual) {
    if (!(nan16(expected) && nan16(actual))) expect_equal(what, i, expected, actual);
}
static double R(double x) { return value(rounded(x)); }

#define OPS(X)                                                                                \
    X("add", __hadd(a, b), A + B) X("sub", __hsub(a, b), A - B) X("mul", __hmul(a, b), A * B) \
    X("fma", __hfma(a, b, c), std::fma(A, B, C)) X("div", __hdiv(a, b), A / B)                \
    X("neg", __hneg(a), -A) X("abs", __habs(a), std::fabs(A))                                 \
    X("max", __hmax(a, b), std::fmax(A, B)) X("min", __hmin(a, b), std::fmin(A, B))           \
    X("fma.relu", __hfma_relu(a, b, c), std::fmax(0.0, std::fma(A, B, C)))                    \
    X("sqrt", hsqrt(__habs(a)), std::sqrt(std::fabs(A)))                                      \
    X("floor", hfloor(a), std::floor(A)) X("rint", hrint(a), std::rint(A))                    \
    X("chain", __hsub_rn(__hmul_rn(a + b, c), a), R(R(A + B) * C) - A)                        \
    X("compare", __float2bfloat16(float((a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b))), \
      (A < B) + 2 * (A <= B) + 4 * (A == B) + 8 * (A != B) + 16 * (A > B))                    \
    X("to int", __int2bfloat16_rn(__bfloat162int_rz(a)), std::trunc(A))                       \
    X("from float rn", __float2bfloat16_rn(__bfloat162float(a) * 1.234567f), float(A) * 1.234567f) \
    X("from float rz", __float2bfloat16_rz(__bfloat162float(a) * 1.234567f),                  \
      bits_as<float>(bits_as<uint32_t>(float(A) * 1.234567f) & 0xffff0000u))

__global__ void run(const uint16_t* in, uint16_t* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (i >= n) return;
    __nv_bfloat16 a = __ushort_as_bfloat16(in[i]), b = __ushort_as_bfloat16(in[i + 1]), c = __ushort_as_bfloat16(in[i + 2]);
#define DEVICE(name, device, host) out[k++ * n + i] = __bfloat16_as_ushort(device);
    OPS(DEVICE)
}

__global__ void pairs(const float2* in, __nv_bfloat162* out, float2* back, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat162 a = __float22bfloat162_rn(in[i]), b = __float22bfloat162_rn(in[i + 1]);
    out[2 * i] = __hfma2(a, b, a);
    out[2 * i + 1] = __hmax2(a, b);
    back[i] = __bfloat1622float2(__hmul2(a, b));
}

int main() {
    const int n = 480, ops = 18;
    Random random(18);
    std::vector<uint16_t> in = {0, 0x8000, 0x3f80, 0xbf80, 0x7f7f, 0x3f81, 0x4049, 0x3eab, 0x4000, 0xc000};
    while (in.size() < n + 2) in.push_back(rounded(random.range(-100, 100)));
    Buffer<uint16_t> din(in), dout(n * ops);
    run<<<(n + 89) / 90, 90>>>(din, dout, n);
    auto got = dout.host();
    for (int i = 0; i < n; i++) {
        double A = value(in[i]), B = value(in[i + 1]), C = value(in[i + 2]);
        int k = 0;
#define HOST(name, device, host) {                                                           \
        uint16_t e_ = rounded(host), g_ = got[k++ * n + i];                                  \
        bool skip_ = strcmp(name, "to int") == 0 && std::fabs(A) > 2e9;                      \
        if (!skip_ && ((e_ & 0x7fff) || (g_ & 0x7fff))) expect_bf16(name, i, e_, g_); }
        OPS(HOST)
        if (k != ops) mismatch("number of operations", 0, ops, k);
    }

    std::vector<float2> values(n + 1);
    for (auto& v : values) v = make_float2(float(random.range(-4, 4)), float(random.range(-4, 4)));
    Buffer<float2> dv(values), df(n);
    Buffer<__nv_bfloat162> dp(2 * n);
    pairs<<<(n + 63) / 64, 64>>>(dv, dp, df, n);
    auto p = dp.host();
    auto f = df.host();
    for (int i = 0; i < n; i++) {
        double ax = R(values[i].x), ay = R(values[i].y), bx = R(values[i + 1].x), by = R(values[i + 1].y);
        expect_equal("bf16x2 fma", 2 * i, R(std::fma(ax, bx, ax)), double(__low2float(p[2 * i])));
        expect_equal("bf16x2 fma", 2 * i + 1, R(std::fma(ay, by, ay)), double(__high2float(p[2 * i])));
        expect_equal("bf16x2 max", 2 * i, std::fmax(ax, bx), double(__low2float(p[2 * i + 1])));
        expect_equal("bf16x2 max", 2 * i + 1, std::fmax(ay, by), double(__high2float(p[2 * i + 1])));
        expect_equal("bf16x2 mul", 2 * i, float(R(ax * bx)), f[i].x);
        expect_equal("bf16x2 mul", 2 * i + 1, float(R(ay * by)), f[i].y);
    }
    return passed();
}
