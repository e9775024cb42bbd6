// Numerical programs: FFT, LU decomposition with pivoting, n-body forces.
#include <complex>

#include "../check.h"

// Radix-2 FFT of 256 points by 128 threads, in place in shared memory.
__global__ void fft(const float2* in, float2* out) {
    __shared__ float2 x[256];
    int t = threadIdx.x;
    for (int i = t; i < 256; i += 128) x[__brev(unsigned(i)) >> 24] = in[blockIdx.x * 256 + i];
    __syncthreads();
    for (int half = 1; half < 256; half *= 2) {
        int k = t % half, a = (t / half) * 2 * half + k, b = a + half;
        float s, c;
        sincosf(-3.14159265358979f * k / half, &s, &c);
        float2 u = x[a], v = x[b], w = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
        x[a] = make_float2(u.x + w.x, u.y + w.y);
        x[b] = make_float2(u.x - w.x, u.y - w.y);
        __syncthreads();
    }
    for (int i = t; i < 256; i += 128) out[blockIdx.x * 256 + i] = x[i];
}

// LU with partial pivoting, one block.
__global__ void lu(double* a, int* pivot, int n) {
    __shared__ int best;
    int t = threadIdx.x;
    for (int k = 0; k < n; k++) {
        if (t == 0) {
            best = k;
            for (int r = k + 1; r < n; r++) if (fabs(a[r * n + k]) > fabs(a[best * n + k])) best = r;
            pivot[k] = best;
        }
        __syncthreads();
        if (best != k) for (int c = t; c < n; c += blockDim.x) { double v = a[k * n + c]; a[k * n + c] = a[best * n + c]; a[best * n + c] = v; }
        __syncthreads();
        for (int r = k + 1 + t; r < n; r += blockDim.x) {
            double f = a[r * n + k] /= a[k * n + k];
            for (int c = k + 1; c < n; c++) a[r * n + c] -= f * a[k * n + c];
        }
        __syncthreads();
    }
}

__global__ void nbody(const float4* body, float4* acceleration, int n) {
    __shared__ float4 tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += 64) {
        tile[threadIdx.x] = base + threadIdx.x < n ? body[base + threadIdx.x] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int j = 0; j < 64; j++) {
            float4 o = tile[j];
            float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z, inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float f = o.w * inverse * inverse * inverse;
            ax += dx * f, ay += dy * f, az += dz * f;
        }
        __syncthreads();
    }
    if (i < n) acceleration[i] = make_float4(ax, ay, az, 0);
}

int main() {
    Random random(70);
    std::vector<float2> signal(512);
    for (auto& v : signal) v = make_float2(float(random.range(-1, 1)), float(random.range(-1, 1)));
    Buffer<float2> din(signal), dout(512);
    fft<<<2, 128>>>(din, dout);
    auto f = dout.host();
    for (int i = 0; i < 512; i++) {
        std::complex<double> sum = 0;
        for (int k = 0; k < 256; k++) { float2 v = signal[i / 256 * 256 + k]; sum += std::complex<double>(v.x, v.y) * std::polar(1.0, -2 * M_PI * ((i % 256) * k % 256) / 256); }
        expect_near("fft re", i, sum.real(), f[i].x, 0, 1e-4);
        expect_near("fft im", i, sum.imag(), f[i].y, 0, 1e-4);
    }

    const int n = 24;
    std::vector<double> a(n * n);
    for (double& v : a) v = random.range(-1, 1);
    Buffer<double> da(a);
    Buffer<int> dp(n);
    lu<<<1, 40>>>(da, dp, n);
    auto factors = da.host();
    auto pivot = dp.host();
    for (int k = 0; k < n; k++) for (int c = 0; c < n; c++) std::swap(a[k * n + c], a[pivot[k] * n + c]);
    for (int i = 0; i < n * n; i++) {
        double sum = 0;
        for (int k = 0; k <= std::min(i / n, i % n); k++) sum += (k == i / n ? 1.0 : factors[i / n * n + k]) * factors[k * n + i % n];
        expect_near("lu", i, a[i], sum, 0, 1e-12);
    }

    const int bodies = 150;
    std::vector<float4> body(bodies);
    for (auto& b : body) b = make_float4(float(random.range(-1, 1)), float(random.range(-1, 1)), float(random.range(-1, 1)), float(random.unit()));
    Buffer<float4> db(body), dacc(bodies);
    nbody<<<3, 64>>>(db, dacc, bodies);
    auto acc = dacc.host();
    for (int i = 0; i < bodies; i++) {
        double ax = 0;
        for (int j = 0; j < bodies; j++) {
            double dx = body[j].x - body[i].x, dy = body[j].y - body[i].y, dz = body[j].z - body[i].z, d = dx * dx + dy * dy + dz * dz + 0.01;
            ax += dx * body[j].w / (d * std::sqrt(d));
        }
        expect_near("nbody", i, ax, acc[i].x, 1e-4, 1e-2);
    }
    return passed();
}
