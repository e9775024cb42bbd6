// Double-precision arithmetic in the four rounding modes, comparisons, bit access and denormals.
#include <cfenv>
#include <cfloat>

#include "../check.h"

#define MODES(X) X(rn, FE_TONEAREST) X(rz, FE_TOWARDZERO) X(ru, FE_UPWARD) X(rd, FE_DOWNWARD)
const int OPS = 7;

__global__ void run(const double* in, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a = in[i], b = in[i + 1], c = in[i + 2];
    int k = 0;
#define DEVICE(mode, fe)                              \
    out[k++ * n + i] = __dadd_##mode(a, b);           \
    out[k++ * n + i] = __dsub_##mode(a, b);           \
    out[k++ * n + i] = __dmul_##mode(a, b);           \
    out[k++ * n + i] = __fma_##mode(a, b, c);         \
    out[k++ * n + i] = __ddiv_##mode(a, b);           \
    out[k++ * n + i] = __drcp_##mode(a);              \
    out[k++ * n + i] = __dsqrt_##mode(a);
    MODES(DEVICE)
}

#define PLAIN(X)                                                                                   \
    X("fma", a * b + a, std::fma(a, b, a)) X("div", a / b, a / b) X("abs", fabs(a), std::fabs(a)) X("neg", -a, -a) \
    X("fmin", a == b ? a : fmin(a, b), a == b ? a : std::fmin(a, b))                               \
    X("fmax", a == b ? a : fmax(a, b), a == b ? a : std::fmax(a, b))                               \
    X("floor", floor(a), std::floor(a)) X("ceil", ceil(a), std::ceil(a)) X("trunc", trunc(a), std::trunc(a)) \
    X("rint", rint(a), std::rint(a)) X("round", round(a), std::round(a)) X("copysign", copysign(a, b), std::copysign(a, b)) \
    X("compare", (a < b) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b) + 16 * (a == b) + 32 * (a != b) + 64 * !(a < b), \
      (a < b) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b) + 16 * (a == b) + 32 * (a != b) + 64 * !(a < b)) \
    X("high word", double(__double2hiint(a)), double(int32_t(bits_as<uint64_t>(a) >> 32)))         \
    X("low word", double(__double2loint(a)), double(int32_t(bits_as<uint64_t>(a))))                \
    X("from words", __hiloint2double(__double2hiint(a), __double2loint(b)),                        \
      bits_as<double>((bits_as<uint64_t>(a) & 0xffffffff00000000ull) | (bits_as<uint64_t>(b) & 0xffffffffull))) \
    X("to float", double(float(a)), double(float(a))) X("remainder", a == a && b == b ? fmod(a, b) : 0.0, a == a && b == b ? std::fmod(a, b) : 0.0)

__global__ void plain(const double* in, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a = in[i], b = in[i + 1];
    int k = 0;
#define DEVICE_PLAIN(name, device, host) out[k++ * n + i] = device;
    PLAIN(DEVICE_PLAIN)
}

int main() {
    const int n = 450, count = 18;
    const double inf = INFINITY;
    Random random(9);
    std::vector<double> in = {0.0, -0.0, 1.0, 1.0, -1.0, 3.0, 10.0, 0.1, inf, -inf, inf, 0.0, NAN, 2.0, DBL_MAX, DBL_MAX, -DBL_MAX,
                              DBL_MIN, DBL_MIN, 0x1p-1074, 0x1p-1074, -0x1p-1074, 0x1p-1022, 0.5, 0x1.fffffffffffffp-1, 2.5, -2.5, 0.5, 1e300};
    while (in.size() < n + 2) in.push_back(random.range(-2, 2) * std::exp2(int(random.below(60)) - 30));
    Buffer<double> din(in), dout(n * OPS * 4);
    run<<<(n + 49) / 50, 50>>>(din, dout, n);
    auto got = dout.host();
    for (int i = 0; i < n; i++) {
        volatile double a = in[i], b = in[i + 1], c = in[i + 2], one = 1;
        int k = 0;
#define HOST(mode, fe) {                                                              \
        fesetround(fe);                                                               \
        volatile double sum = a + b, difference = a - b, product = a * b;             \
        volatile double fused = std::fma(double(a), double(b), double(c)), quotient = a / b; \
        volatile double reciprocal = one / a, root = std::sqrt(double(a));            \
        fesetround(FE_TONEAREST);                                                     \
        expect_equal("add." #mode, i, double(sum), got[k++ * n + i]);                 \
        expect_equal("sub." #mode, i, double(difference), got[k++ * n + i]);          \
        expect_equal("mul." #mode, i, double(product), got[k++ * n + i]);             \
        expect_equal("fma." #mode, i, double(fused), got[k++ * n + i]);               \
        expect_equal("div." #mode, i, double(quotient), got[k++ * n + i]);            \
        expect_equal("rcp." #mode, i, double(reciprocal), got[k++ * n + i]);          \
        expect_equal("sqrt." #mode, i, double(root), got[k++ * n + i]);               \
    }
        MODES(HOST)
    }

    Buffer<double> dplain(n * count);
    plain<<<(n + 128) / 129, 129>>>(din, dplain, n);
    auto p = dplain.host();
    for (int i = 0; i < n; i++) {
        double a = in[i], b = in[i + 1];
        int k = 0;
#define HOST_PLAIN(name, device, host) expect_equal(name, i, double(host), p[k++ * n + i]);
        PLAIN(HOST_PLAIN)
        if (k != count) mismatch("number of operations", 0, count, k);
    }
    return passed();
}
