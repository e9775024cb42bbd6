// Denormals are kept by default: results, operands, conversions and comparisons.
#include <cfloat>

#include "../check.h"

#define OPS(X)                                                                      \
    X("add", a + b, a + b)                                                          \
    X("mul", __fmul_rn(a, 0.5f), a * 0.5f)                                          \
    X("mul tiny", __fmul_rn(a, 0x1p-100f), a * 0x1p-100f)                           \
    X("fma", fmaf(a, 0x1p-20f, b), std::fma(a, 0x1p-20f, b))                        \
    X("div", a / 3.0f, a / 3.0f)                                                    \
    X("div by", 1e-5f / a, 1e-5f / a)                                               \
    X("sqrt", sqrtf(fabsf(a)), std::sqrt(std::fabs(a)))                             \
    X("max", fmaxf(a, b), std::fmax(a, b))                                          \
    X("neg", -a, -a)                                                                \
    X("select", a > 0.0f ? a : b, a > 0.0f ? a : b)                                 \
    X("equal zero", a == 0.0f ? 1.0f : 2.0f, a == 0.0f ? 1.0f : 2.0f)               \
    X("double and back", float(double(a) * 1.5), float(double(a) * 1.5))            \
    X("add.ftz", ftz_add(a, b), flush(flush(a) + flush(b)))                         \
    X("mul.ftz", ftz_mul(a, b), flush(flush(a) * flush(b)))                         \
    X("fma.ftz", ftz_fma(a, b), flush(std::fma(flush(a), 0x1p-20f, flush(b))))      \
    X("max.ftz", ftz_max(a, b), std::fmax(flush(a), flush(b)))                      \
    X("abs.ftz", ftz_abs(a), std::fabs(flush(a)))

// Denormals become zero of the same sign.
static float flush(float x) { return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x; }

__device__ float ftz_add(float a, float b) { float r; asm("add.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ float ftz_mul(float a, float b) { float r; asm("mul.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ float ftz_fma(float a, float b) { float r; asm("fma.rn.ftz.f32 %0, %1, 0f35800000, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ float ftz_max(float a, float b) { float r; asm("max.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ float ftz_abs(float a) { float r; asm("abs.ftz.f32 %0, %1;" : "=f"(r) : "f"(a)); return r; }

__global__ void run(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = in[i], b = in[i + 1];
    int k = 0;
#define DEVICE(name, device, host) out[k++ * n + i] = device;
    OPS(DEVICE)
}

int main() {
    const int n = 400, ops = 17;
    Random random(7);
    std::vector<float> in = {0.0f, -0.0f, FLT_MIN, -FLT_MIN, 0x1p-149f, -0x1p-149f, 0x1.fffffcp-127f, 0x1p-127f};
    while (in.size() < n + 1) {
        float x = bits_as<float>(random.u32() & 0x81ffffffu);  // denormals and the smallest normals
        in.push_back(random.below(6) ? x : float(random.range(-1, 1)));
    }
    Buffer<float> din(in), dout(n * ops);
    run<<<(n + 99) / 100, 100>>>(din, dout, n);
    auto got = dout.host();
    for (int i = 0; i < n; i++) {
        float a = in[i], b = in[i + 1];
        int k = 0;
#define HOST(name, device, host) {                                                              \
        float e_ = host, g_ = got[k++ * n + i];                                                 \
        if (!(strncmp(name, "max", 3) == 0 && e_ == 0 && g_ == 0)) expect_equal(name, i, e_, g_); }
        OPS(HOST)
        if (k != ops) mismatch("number of operations", 0, ops, k);
    }
    return passed();
}
