// sin, cos and tan of huge arguments: the exact (Payne-Hanek) reduction, which uses local memory,
// is taken by some lanes of a warp only.
#include "../check.h"

__global__ void singles(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[3 * i] = sinf(in[i]);
    out[3 * i + 1] = cosf(in[i]);
    out[3 * i + 2] = tanf(in[i]);
}

__global__ void doubles(const double* in, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[3 * i] = sin(in[i]);
    out[3 * i + 1] = cos(in[i]);
    out[3 * i + 2] = tan(in[i]);
}

int main() {
    const int n = 200;
    Random random(13);
    std::vector<float> f(n);
    std::vector<double> d(n);
    for (int i = 0; i < n; i++) {
        // Every other lane stays in the fast path.
        double magnitude = i % 2 ? std::exp2(random.range(0, 10)) : std::exp2(random.range(17, 127));
        f[i] = float(random.below(2) ? magnitude : -magnitude);
        d[i] = i % 2 ? random.range(-100, 100) : std::exp2(random.range(31, 1023)) * (random.below(2) ? 1 : -1);
    }
    f[0] = 0x1.fffffep127f, f[2] = -3.4e38f, f[4] = 105615.0f, f[6] = 1e22f, f[8] = INFINITY, f[10] = NAN;
    d[0] = 0x1.fffffffffffffp1023, d[2] = 1e22, d[4] = 1e300, d[6] = 2147483648.0, d[8] = -INFINITY, d[10] = NAN;

    Buffer<float> df(f), of(3 * n);
    singles<<<(n + 63) / 64, 64>>>(df, of, n);
    auto gf = of.host();
    for (int i = 0; i < n; i++) {
        double x = f[i];  // glibc reduces exactly
        expect_ulp("sinf", i, std::sin(x), gf[3 * i], 2);
        expect_ulp("cosf", i, std::cos(x), gf[3 * i + 1], 2);
        expect_ulp("tanf", i, std::tan(x), gf[3 * i + 2], 4);
    }

    Buffer<double> dd(d), od(3 * n);
    doubles<<<(n + 79) / 80, 80>>>(dd, od, n);
    auto gd = od.host();
    for (int i = 0; i < n; i++) {
        long double x = d[i];
        expect_ulp("sin", i, std::sin(x), gd[3 * i], 2);
        expect_ulp("cos", i, std::cos(x), gd[3 * i + 1], 2);
        expect_ulp("tan", i, std::tan(x), gd[3 * i + 2], 2);
    }
    return passed();
}
