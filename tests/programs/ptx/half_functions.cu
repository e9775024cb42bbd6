// Transcendental functions of __half, dot products in half2, and loops over packed data.
#include <cuda_fp16.h>

#include "../check.h"

#define OPS(X)                                                               \
    X("hexp", hexp(x), std::exp(X_), -8, 8) X("hexp2", hexp2(x), std::exp2(X_), -10, 10) \
    X("hexp10", hexp10(x), std::pow(10.0, X_), -4, 4)                        \
    X("hlog", hlog(x), std::log(X_), 0.01, 100) X("hlog2", hlog2(x), std::log2(X_), 0.01, 100) \
    X("hlog10", hlog10(x), std::log10(X_), 0.01, 1000)                       \
    X("hsin", hsin(x), std::sin(X_), -10, 10) X("hcos", hcos(x), std::cos(X_), -10, 10) \
    X("hrcp", hrcp(x), 1 / X_, 0.1, 50) X("hrsqrt", hrsqrt(x), 1 / std::sqrt(X_), 0.01, 1000) \
    X("htanh", htanh(x), std::tanh(X_), -4, 4) X("htanh_approx", htanh_approx(x), std::tanh(X_), -4, 4)

__global__ void run(const __half* in, __half* out, int n) {
    int i = threadIdx.x, k = 0;
    if (i >= n) return;
#define DEVICE(name, device, host, low, high) { __half x = in[k * n + i]; out[k++ * n + i] = device; }
    OPS(DEVICE)
}

// Dot product: packed multiply-add per thread, float accumulation across the warp.
__global__ void dot(const __half2* a, const __half2* b, float* out, int pairs) {
    __half2 sum = __float2half2_rn(0.0f);
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) sum = __hfma2(a[blockIdx.x * pairs + i], b[i], sum);
    float total = __low2float(sum) + __high2float(sum);
    for (int s = 16; s; s >>= 1) total += __shfl_down_sync(~0u, total, s);
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}

// Shuffles of packed halves.
__global__ void rotate(const __half2* in, __half2* out) {
    out[threadIdx.x] = __shfl_sync(~0u, in[threadIdx.x], (threadIdx.x + 5) & 31);
}

int main() {
    const int n = 75;
    Random random(17);
    std::vector<__half> in;
    int ops = 0;
#define INPUT(name, device, host, low, high) \
    for (int i = 0; i < n; i++) in.push_back(__float2half(float(random.range(low, high)))); ops++;
    OPS(INPUT)
    Buffer<__half> din(in), dout(ops * n);
    run<<<1, 80>>>(din, dout, n);
    auto got = dout.host();
    int k = 0;
#define HOST(name, device, host, low, high)                                                  \
    for (int i = 0; i < n; i++) {                                                            \
        double X_ = __half2float(in[k * n + i]);                                             \
        expect_near(name, i, host, __half2float(got[k * n + i]), 0x1p-10, 0x1p-12);          \
    }                                                                                        \
    k++;
    OPS(HOST)

    const int rows = 5, pairs = 100;
    std::vector<__half2> a(rows * pairs), b(pairs);
    for (auto& v : a) v = __floats2half2_rn(float(random.range(-1, 1)), float(random.range(-1, 1)));
    for (auto& v : b) v = __floats2half2_rn(float(random.range(-1, 1)), float(random.range(-1, 1)));
    Buffer<__half2> da(a), db(b), dr(32);
    Buffer<float> ds(rows);
    dot<<<rows, 32>>>(da, db, ds, pairs);
    auto s = ds.host();
    for (int r = 0; r < rows; r++) {
        double total = 0;
        for (int i = 0; i < pairs; i++) {
            total += double(__low2float(a[r * pairs + i])) * __low2float(b[i]) + double(__high2float(a[r * pairs + i])) * __high2float(b[i]);
        }
        expect_near("dot", r, total, s[r], 0, 0.05);
    }
    rotate<<<1, 32>>>(da, dr);
    auto rotated = dr.host();
    for (int i = 0; i < 32; i++) expect_equal("rotate", i, bits_as<uint32_t>(a[(i + 5) & 31]), bits_as<uint32_t>(rotated[i]));
    return passed();
}
