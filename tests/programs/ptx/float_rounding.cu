// Single-precision arithmetic in the four rounding modes, and approximate division and roots.
#include <cfenv>
#include <cfloat>

#include "../check.h"

#define MODES(X) X(rn, FE_TONEAREST) X(rz, FE_TOWARDZERO) X(ru, FE_UPWARD) X(rd, FE_DOWNWARD)
const int OPS = 7;

__global__ void run(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = in[i], b = in[i + 1], c = in[i + 2];
    int k = 0;
#define DEVICE(mode, fe)                              \
    out[k++ * n + i] = __fadd_##mode(a, b);           \
    out[k++ * n + i] = __fsub_##mode(a, b);           \
    out[k++ * n + i] = __fmul_##mode(a, b);           \
    out[k++ * n + i] = __fmaf_##mode(a, b, c);        \
    out[k++ * n + i] = __fdiv_##mode(a, b);           \
    out[k++ * n + i] = __frcp_##mode(a);              \
    out[k++ * n + i] = __fsqrt_##mode(a);
    MODES(DEVICE)
}

// Contraction: a * b + c becomes one fma by default; __fmul_rn keeps it apart.
__global__ void contraction(const float* in, float* fused, float* separate, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    fused[i] = in[i] * in[i + 1] + in[i + 2];
    separate[i] = __fadd_rn(__fmul_rn(in[i], in[i + 1]), in[i + 2]);
}

int main() {
    const int n = 900;
    const float inf = INFINITY;
    Random random(6);
    std::vector<float> in = {0.0f, -0.0f, 1.0f, 1.0f, -1.0f, 3.0f, 10.0f, 0.1f, inf, -inf, inf, 0.0f, NAN, 2.0f, FLT_MAX, FLT_MAX,
                             -FLT_MAX, FLT_MIN, FLT_MIN, 0x1p-149f, 0x1p-149f, -0x1p-149f, 0x1p-126f, 0.5f, 0x1.fffffep-1f, 0.0f, -0.0f, -0.0f};
    while (in.size() < n + 2) {
        // Neighbours of similar size so that additions cancel and round in interesting ways.
        float x = float(random.range(-2, 2)) * std::exp2(float(int(random.below(40))) - 20);
        if (random.below(10) == 0) x = bits_as<float>(random.u32());
        in.push_back(x);
    }
    Buffer<float> din(in), dout(n * OPS * 4);
    run<<<(n + 149) / 150, 150>>>(din, dout, n);
    auto got = dout.host();
    for (int i = 0; i < n; i++) {
        volatile float a = in[i], b = in[i + 1], c = in[i + 2], one = 1;
        int k = 0;
#define HOST(mode, fe) {                                                              \
        fesetround(fe);                                                               \
        volatile float sum = a + b, difference = a - b, product = a * b;              \
        volatile float fused = std::fma(float(a), float(b), float(c)), quotient = a / b; \
        volatile float reciprocal = one / a, root = std::sqrt(float(a));              \
        fesetround(FE_TONEAREST);                                                     \
        expect_equal("add." #mode, i, float(sum), got[k++ * n + i]);                  \
        expect_equal("sub." #mode, i, float(difference), got[k++ * n + i]);           \
        expect_equal("mul." #mode, i, float(product), got[k++ * n + i]);              \
        expect_equal("fma." #mode, i, float(fused), got[k++ * n + i]);                \
        expect_equal("div." #mode, i, float(quotient), got[k++ * n + i]);             \
        expect_equal("rcp." #mode, i, float(reciprocal), got[k++ * n + i]);           \
        expect_equal("sqrt." #mode, i, float(root), got[k++ * n + i]);                \
    }
        MODES(HOST)
    }

    Buffer<float> fused(n), separate(n);
    contraction<<<(n + 255) / 256, 256>>>(din, fused, separate, n);
    auto f = fused.host(), s = separate.host();
    for (int i = 0; i < n; i++) {
        volatile float product = in[i] * in[i + 1];
        volatile float sum = product + in[i + 2];
        expect_equal("fused", i, std::fma(in[i], in[i + 1], in[i + 2]), f[i]);
        expect_equal("separate", i, float(sum), s[i]);
    }
    return passed();
}
