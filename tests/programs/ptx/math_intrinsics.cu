// Hardware approximations: __expf, __logf, __sinf, __fdividef, rsqrt, tanh and friends, within their
// documented errors.
#include "../check.h"

#pragma nv_diag_suppress 177, 550  // most functions leave y unused

__device__ float tanh_approx(float x) { float r; asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
__device__ float sqrt_approx(float x) { float r; asm("sqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
__device__ float rcp_approx(float x) { float r; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
__device__ float ex2_ftz(float x) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }

// name, device, host in double, low, high, relative error, absolute error
#define OPS(X)                                                                            \
    X("__expf", __expf(x), std::exp(X_), -20, 20, 4e-6, 0)                                \
    X("__exp10f", __exp10f(x), std::pow(10.0, X_), -8, 8, 4e-6, 0)                        \
    X("__logf", __logf(x), std::log(X_), 0.5, 2, 3e-7, 0x1p-21)                           \
    X("__logf far", __logf(x), std::log(X_), 2, 1e6, 4e-7, 0)                             \
    X("__log2f", __log2f(x), std::log2(X_), 0.5, 2, 2e-7, 0x1p-22)                        \
    X("__log10f", __log10f(x), std::log10(X_), 2, 1e6, 4e-7, 0)                           \
    X("__sinf", __sinf(x), std::sin(X_), -3.14159, 3.14159, 0, 0x1p-20)                   \
    X("__cosf", __cosf(x), std::cos(X_), -3.14159, 3.14159, 0, 0x1p-20)                   \
    X("__tanf", __tanf(x), std::tan(X_), -1.2, 1.2, 1e-5, 1e-6)                           \
    X("__powf", __powf(x, y), std::pow(X_, Y_), 0.5, 4, 2e-6, 0)                          \
    X("__fdividef", __fdividef(x, y), X_ / Y_, 0.01, 100, 0x1p-22, 0)                     \
    X("__frsqrt_rn", __frsqrt_rn(x), 1 / std::sqrt(X_), 1e-6, 1e6, 0x1p-22, 0)            \
    X("rsqrt.approx", rsqrtf(x), 1 / std::sqrt(X_), 1e-6, 1e6, 0x1p-22, 0)                \
    X("sqrt.approx", sqrt_approx(x), std::sqrt(X_), 1e-6, 1e6, 0x1p-22, 0)                \
    X("rcp.approx.ftz", rcp_approx(x), 1 / X_, 0.001, 1000, 0x1p-22, 0)                   \
    X("ex2.approx.ftz", ex2_ftz(x), std::exp2(X_), -20, 20, 0x1p-21, 0)                   \
    X("tanh.approx", tanh_approx(x), std::tanh(X_), -6, 6, 0x1p-10, 0)                    \
    X("fast rcp", __frcp_rn(x), 1 / X_, 0.001, 1000, 0x1p-23, 0)

__global__ void run(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    if (i >= n) return;
#define DEVICE(name, device, host, low, high, relative, absolute) \
    { float x = in[2 * k * n + i], y = in[(2 * k + 1) * n + i]; out[k++ * n + i] = device; }
    OPS(DEVICE)
}

__global__ void limits(float* out) {
    const float inf = __int_as_float(0x7f800000);
    float zero = out[0];  // zero, but the compiler does not know
    out[1] = ex2_ftz(-200.0f + zero), out[2] = ex2_ftz(200.0f + zero), out[3] = __log2f(zero), out[4] = __log2f(-1.0f + zero);
    out[5] = rcp_approx(zero), out[6] = rcp_approx(inf + zero), out[7] = rsqrtf(zero), out[8] = sqrt_approx(inf + zero);
    out[9] = __expf(-inf + zero), out[10] = tanh_approx(inf + zero), out[11] = __fdividef(3.0f + zero, inf);
    out[12] = ex2_ftz(3.0f + zero), out[13] = __log2f(8.0f + zero), out[14] = rcp_approx(4.0f + zero), out[15] = sqrt_approx(9.0f + zero);
}

int main() {
    const int n = 130;
    Random random(14);
    std::vector<float> in;
    int ops = 0;
#define INPUT(name, device, host, low, high, relative, absolute) \
    for (int i = 0; i < 2 * n; i++) in.push_back(float(random.range(low, high))); ops++;
    OPS(INPUT)
    Buffer<float> din(in), dout(ops * n);
    run<<<2, 65>>>(din, dout, n);
    auto got = dout.host();
    int k = 0;
#define HOST(name, device, host, low, high, relative, absolute)                        \
    for (int i = 0; i < n; i++) {                                                      \
        double X_ = in[2 * k * n + i], Y_ = in[(2 * k + 1) * n + i];                   \
        (void)Y_;                                                                      \
        expect_near(name, i, host, got[k * n + i], relative, absolute);                \
    }                                                                                  \
    k++;
    OPS(HOST)

    Buffer<float> edge(16);
    limits<<<1, 1>>>(edge);
    const double inf = INFINITY;
    const double expected[16] = {0, 0, inf, -inf, NAN, inf, 0, inf, inf, 0, 1, 0, 8, 3, 0.25, 3};
    auto e = edge.host();
    for (int i = 0; i < 16; i++) expect_near("limit", i, expected[i], e[i], 3e-7);
    return passed();
}
