// Floating-point atomics: float, double, half2, bfloat162, vectors, CAS loops for max and multiply.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../check.h"

// Small integers: sums are exact, so the order does not matter.
__global__ void sums(const int* in, float* f, double* d, __half2* h, __nv_bfloat162* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&f[i % 4], float(in[i]));
    atomicAdd(&d[i % 3], double(in[i]) * 0.5);
    atomicAdd(&h[i % 8], __floats2half2_rn(float(in[i] % 4), 1.0f));
    atomicAdd(&b[i % 16], __floats2bfloat162_rn(1.0f, float(in[i] % 2)));
}

__global__ void shared_sums(const int* in, float* f, double* d, int n) {
    __shared__ float sf[5];
    __shared__ double sd[5];
    if (threadIdx.x < 5) sf[threadIdx.x] = 0, sd[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        atomicAdd(&sf[in[i] % 5], 1.5f);
        atomicAdd(&sd[in[i] % 5], double(in[i]));
    }
    __syncthreads();
    if (threadIdx.x < 5) f[threadIdx.x] = sf[threadIdx.x], d[threadIdx.x] = sd[threadIdx.x];
}

__device__ float atomic_max(float* address, float value) {
    int* bits = reinterpret_cast<int*>(address);
    int old = *bits, assumed;
    do {
        assumed = old;
        if (__int_as_float(assumed) >= value) break;
        old = atomicCAS(bits, assumed, __float_as_int(value));
    } while (assumed != old);
    return __int_as_float(old);
}
__device__ void atomic_multiply(double* address, double by) {
    unsigned long long *bits = reinterpret_cast<unsigned long long*>(address), old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, (unsigned long long)__double_as_longlong(__longlong_as_double((long long)assumed) * by));
    } while (assumed != old);
}
__global__ void loops(const float* in, float* largest, double* product, float* last, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomic_max(&largest[i % 2], in[i]);
    atomic_multiply(&product[0], i % 2 ? 2.0 : 0.5);
    if (i == n - 1) atomicExch(last, in[i]);
}

// Running total returned by atomicAdd: each value appears once.
__global__ void tickets(float* total, int* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&seen[int(atomicAdd(total, 2.0f)) / 2], 1);
}

int main() {
    const int n = 360;
    Random random(39);
    std::vector<int> in(n);
    for (int& v : in) v = int(random.below(50));
    Buffer<int> din(in), seen(n);
    Buffer<float> f(5), total(1);
    Buffer<double> d(5);
    Buffer<__half2> h(8);
    Buffer<__nv_bfloat162> b(16);
    sums<<<4, 90>>>(din, f, d, h, b, n);
    auto gf = f.host();
    auto gd = d.host();
    auto gh = h.host();
    auto gb = b.host();
    std::vector<double> ef(4), ed(3), eh(16), eb(32);
    for (int i = 0; i < n; i++) ef[i % 4] += in[i], ed[i % 3] += in[i] * 0.5, eh[i % 8 * 2] += in[i] % 4, eh[i % 8 * 2 + 1] += 1, eb[i % 16 * 2] += 1, eb[i % 16 * 2 + 1] += in[i] % 2;
    for (int k = 0; k < 4; k++) expect_equal("float", k, float(ef[k]), gf[k]);
    for (int k = 0; k < 3; k++) expect_equal("double", k, ed[k], gd[k]);
    for (int k = 0; k < 8; k++) {
        expect_equal("half2", 2 * k, float(eh[2 * k]), __low2float(gh[k]));
        expect_equal("half2", 2 * k + 1, float(eh[2 * k + 1]), __high2float(gh[k]));
    }
    for (int k = 0; k < 16; k++) {
        expect_equal("bfloat162", 2 * k, float(eb[2 * k]), __low2float(gb[k]));
        expect_equal("bfloat162", 2 * k + 1, float(eb[2 * k + 1]), __high2float(gb[k]));
    }

    shared_sums<<<1, 100>>>(din, f, d, n);
    gf = f.host();
    gd = d.host();
    for (int k = 0; k < 5; k++) {
        double count = 0, sum = 0;
        for (int v : in) if (v % 5 == k) count += 1.5, sum += v;
        expect_equal("shared float", k, float(count), gf[k]);
        expect_equal("shared double", k, sum, gd[k]);
    }

    std::vector<float> values(n);
    float best[2] = {-1e30f, -1e30f};
    for (int i = 0; i < n; i++) values[i] = float(random.range(-100, 100)), best[i % 2] = std::max(best[i % 2], values[i]);
    Buffer<float> dv(values), largest(std::vector<float>{-1e30f, -1e30f}), last(1);
    Buffer<double> product(std::vector<double>{3.0});
    loops<<<3, 120>>>(dv, largest, product, last, n);
    auto l = largest.host();
    expect_equal("max", 0, best[0], l[0]);
    expect_equal("max", 1, best[1], l[1]);
    expect_equal("product", 0, 3.0, product.host()[0]);
    expect_equal("exchange", 0, values[n - 1], last.host()[0]);

    tickets<<<5, 72>>>(total, seen, n);
    expect_all("tickets", std::vector<int>(n, 1), seen.host());
    return passed();
}
