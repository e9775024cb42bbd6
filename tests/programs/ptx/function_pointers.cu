// Function pointers: in device tables, as arguments, chosen per lane, read from memory, members.
#include "../check.h"

typedef int (*Binary)(int, int);
typedef float (*Unary)(float);

__host__ __device__ int plus(int a, int b) { return a + b; }
__host__ __device__ int minus(int a, int b) { return a - b; }
__host__ __device__ int times(int a, int b) { return a * b; }
__host__ __device__ int largest(int a, int b) { return a > b ? a : b; }
__host__ __device__ int power(int a, int b) { int r = 1; for (int i = 0; i < (b & 7); i++) r = int(unsigned(r) * unsigned(a)); return r; }
__host__ __device__ float half_of(float x) { return x * 0.5f; }
__host__ __device__ float square(float x) { return x * x; }
__host__ __device__ float clip(float x) { return x > 10 ? 10 : x < -10 ? -10 : x; }

__device__ Binary device_table[5] = {plus, minus, times, largest, power};
__constant__ Unary constant_table[3] = {half_of, square, clip};
__device__ Binary chosen = minus;
const Binary host_table[5] = {plus, minus, times, largest, power};
const Unary host_unary[3] = {half_of, square, clip};

struct Handler { Binary f; int bias; };
__device__ __noinline__ int apply(Binary f, int a, int b) { return f(a, b); }
__device__ __noinline__ int fold(Binary f, const int* v, int n) {
    int r = v[0];
    for (int i = 1; i < n; i++) r = f(r, v[i]);
    return r;
}

__global__ void dispatch(const int* in, int* out, int n, int uniform) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a = in[i], b = in[i + 1];
    int r = device_table[uniform](a, b);              // the same for all lanes
    r += device_table[i % 5](b, a) * 3u;              // up to five targets in a warp
    if (i & 1) r ^= apply(device_table[(i >> 1) % 5], a, i);
    Handler h = {i % 7 == 0 ? chosen : plus, i};
    r += h.f(a, h.bias);
    r -= fold(i % 3 ? largest : minus, in + i % 10, 2 + i % 6);
    out[i] = r;
}

__global__ void choose(int which) { chosen = device_table[which]; }

// Chains of unary functions, a different number of steps per lane.
__global__ void chain(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    for (int k = 0; k <= i % 6; k++) x = constant_table[(i + k) % 3](x);
    out[i] = x;
}

// A pointer obtained on the device, copied to the host and passed back as a kernel argument.
__device__ Binary exported = times;
__global__ void call_back(Binary f, int* out) { out[threadIdx.x] = f(int(threadIdx.x), 3) + f(2, int(threadIdx.x)); }

int main() {
    const int n = 190;
    Random random(26);
    std::vector<int> in(n + 20);
    for (int& v : in) v = int(random.below(41)) - 20;
    Buffer<int> din(in), out(n);
    for (int round = 0; round < 2; round++) {
        if (round) choose<<<1, 1>>>(3);
        dispatch<<<4, 48>>>(din, out, n, 2 + round);
        auto got = out.host();
        for (int i = 0; i < n; i++) {
            int a = in[i], b = in[i + 1], r = host_table[2 + round](a, b) + host_table[i % 5](b, a) * 3u;
            if (i & 1) r ^= host_table[(i >> 1) % 5](a, i);
            r += (i % 7 == 0 ? (round ? largest : minus) : plus)(a, i);
            int folded = in[i % 10];
            for (int k = 1; k < 2 + i % 6; k++) folded = (i % 3 ? largest : minus)(folded, in[i % 10 + k]);
            expect_equal("dispatch", i, r - folded, got[i]);
        }
    }

    std::vector<float> x(n);
    for (float& v : x) v = float(random.range(-4, 4));
    Buffer<float> dx(x), dy(n);
    chain<<<2, 100>>>(dx, dy, n);
    auto y = dy.host();
    for (int i = 0; i < n; i++) {
        float v = x[i];
        for (int k = 0; k <= i % 6; k++) v = host_unary[(i + k) % 3](v);
        expect_equal("chain", i, v, y[i]);
    }

    Binary pointer = nullptr;
    CUDA_OK(cudaMemcpyFromSymbol(&pointer, exported, sizeof pointer));
    call_back<<<1, 33>>>(pointer, out);
    auto got = out.host();
    for (int t = 0; t < 33; t++) expect_equal("call back", t, t * 3 + 2 * t, got[t]);
    return passed();
}
