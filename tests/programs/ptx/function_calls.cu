// Calls that stay calls: __noinline__ functions with many kinds of arguments and results, from
// uniform and divergent code, through several levels.
#include "../check.h"

struct Vec { float x, y, z; };
struct Big { int v[20]; };

#define FUNCTION __host__ __device__ __noinline__

FUNCTION int add_mixed(char a, short b, int c, long long d) { return int(a + b * 2 + c * 3 + d * 4); }
FUNCTION float blend(float a, double b, bool which) { return which ? a : float(b); }
FUNCTION Vec cross(Vec a, Vec b) { return {a.y * b.z, a.z * b.x, a.x * b.y}; }
FUNCTION Big fill(int seed) { Big r; for (int i = 0; i < 20; i++) r.v[i] = seed * i; return r; }
FUNCTION int pick(const Big& b, int at) { return b.v[at]; }
FUNCTION void swap(int& a, int& b) { int t = a; a = b; b = t; }
FUNCTION unsigned char narrow(unsigned x) { return (unsigned char)(x * 7); }
FUNCTION bool odd(int x) { return x & 1; }
FUNCTION double2 polar(double r, double c) { double2 p = {r * c, r - c}; return p; }
FUNCTION int early(int x) {
    if (x < 10) return 1;
    for (int i = 2; i < 50; i++) if (x % i == 0) return i;
    return 0;
}
FUNCTION int inner(int x, int depth) { return odd(x) ? x * 3 + 1 : x / 2 + depth; }
FUNCTION int middle(int x) { int r = x; for (int i = 0; i < x % 6; i++) r = inner(r, i); return r; }
FUNCTION int outer(int x) { return odd(x) ? middle(x) + inner(x, 1) : inner(middle(x), 2); }

__host__ __device__ inline long long combine(int i) {
    long long sum = add_mixed(char(i), short(-i), i * 100, i * 1000ll);
    sum += int(blend(float(i), -double(i), i % 3 == 0)) * 7;
    Vec c = cross({float(i), 1, 2}, {3, float(i % 5), 4});
    sum += int(c.x + c.y + c.z);
    sum += pick(fill(i), i % 20);
    int a = i, b = i * 2;
    if (i % 4 == 1) swap(a, b);
    sum += a * 13 + b;
    sum += narrow(unsigned(i)) + early(i + 2) * 100;
    double2 p = polar(i, 0.5);
    sum += (long long)(p.x * 2 + p.y * 2);
    if (i % 2) {
        sum += outer(i);
        if (i % 3) sum -= middle(i + 7);
    } else {
        sum += outer(i / 2);
    }
    return sum;
}

__global__ void run(long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = combine(i);
}

// Functions that use barriers and shuffles are called by the whole block.
__device__ __noinline__ int block_sum(int value, int* scratch) {
    int t = threadIdx.x;
    for (int s = 16; s; s >>= 1) value += __shfl_down_sync(~0u, value, s);
    if (t % 32 == 0) scratch[t / 32] = value;
    __syncthreads();
    int total = 0;
    for (unsigned w = 0; w < blockDim.x / 32; w++) total += scratch[w];
    __syncthreads();
    return total;
}
__global__ void sums(int* out) {
    __shared__ int scratch[4];
    int t = threadIdx.x, first = block_sum(t, scratch), second = block_sum(t * t % 7, scratch);
    out[blockIdx.x * blockDim.x + t] = first * 1000 + second + int(blockIdx.x);
}

int main() {
    const int n = 275;
    Buffer<long long> out(n);
    run<<<5, 60>>>(out, n);
    auto got = out.host();
    for (int i = 0; i < n; i++) expect_equal("combine", i, combine(i), got[i]);

    Buffer<int> dsums(2 * 128);
    sums<<<2, 128>>>(dsums);
    auto s = dsums.host();
    int second = 0;
    for (int t = 0; t < 128; t++) second += t * t % 7;
    for (int i = 0; i < 256; i++) expect_equal("sums", i, 127 * 64 * 1000 + second + i / 128, s[i]);
    return passed();
}
