// Local arrays indexed by run-time values: per-thread stacks, sorting, byte buffers, structures, in
// partial warps and divergent loops.
#include "../check.h"

__host__ __device__ inline unsigned next(unsigned& s) { return s = s * 1664525u + 1013904223u; }

// Insertion sort of a per-thread number of keys.
__host__ __device__ inline unsigned sorted_hash(unsigned seed) {
    int keys[24];
    int count = 5 + seed % 20;
    unsigned s = seed;
    for (int i = 0; i < count; i++) keys[i] = int(next(s) >> 8) % 1000 - 500;
    for (int i = 1; i < count; i++) {
        int key = keys[i], j = i - 1;
        while (j >= 0 && keys[j] > key) { keys[j + 1] = keys[j]; j--; }
        keys[j + 1] = key;
    }
    unsigned hash = 17;
    for (int i = 0; i < count; i++) hash = hash * 31 + unsigned(keys[i]);
    return hash;
}

// An explicit stack: depth-first sums over an implicit tree.
__host__ __device__ inline int walk(int root) {
    struct Frame { short node; signed char depth; } stack[32];
    int top = 0, sum = 0;
    stack[top++] = {short(root), 0};
    while (top) {
        Frame f = stack[--top];
        sum += f.node * (f.depth + 1);
        if (f.depth >= 5 || f.node % 7 == 3) continue;
        stack[top++] = {short(f.node * 2 % 97), (signed char)(f.depth + 1)};
        if (f.node & 1) stack[top++] = {short(f.node * 3 % 89), (signed char)(f.depth + 1)};
    }
    return sum;
}

// Decimal digits into a byte buffer, reversed, then parsed again with every second digit.
__host__ __device__ inline int digits(unsigned v) {
    char buffer[12];
    int n = 0;
    do { buffer[n++] = char('0' + v % 10); v /= 10; } while (v);
    for (int i = 0; i < n / 2; i++) { char c = buffer[i]; buffer[i] = buffer[n - 1 - i]; buffer[n - 1 - i] = c; }
    int r = 0;
    for (int i = 0; i < n; i += 2) r = r * 10 + buffer[i] - '0';
    return r * 16 + n;
}

// 64-bit and double elements; two arrays chosen by a pointer.
__host__ __device__ inline double histogram(unsigned seed) {
    double weights[10];
    long long counts[10];
    for (int i = 0; i < 10; i++) weights[i] = i * 0.5, counts[i] = 0;
    unsigned s = seed;
    for (int i = 0; i < 40; i++) {
        int bin = int(next(s) >> 16) % 10;
        counts[bin] += i;
        if (bin == int(seed % 10)) weights[bin] += 0.25;
    }
    double total = 0;
    for (int i = 0; i < 10; i++) total += weights[i] * double(counts[i]);
    return total;
}

__global__ void run(unsigned* sorted, int* walked, int* digit, double* sums, int n) {
    int i = (blockIdx.x * blockDim.z + threadIdx.z) * blockDim.y * blockDim.x + threadIdx.y * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sorted[i] = sorted_hash(i * 7919u + 13u);
    if (i % 5) walked[i] = walk(i % 97);
    digit[i] = digits(i * 2654435761u >> (i % 20));
    sums[i] = histogram(i + 99u);
}

int main() {
    const int n = 500;
    Buffer<unsigned> sorted(n);
    Buffer<int> walked(n), digit(n);
    Buffer<double> sums(n);
    run<<<4, dim3(8, 4, 4)>>>(sorted, walked, digit, sums, n);
    auto a = sorted.host();
    auto b = walked.host(), c = digit.host();
    auto d = sums.host();
    for (int i = 0; i < n; i++) {
        expect_equal("sorted", i, sorted_hash(i * 7919u + 13u), a[i]);
        expect_equal("walk", i, i % 5 ? walk(i % 97) : 0, b[i]);
        expect_equal("digits", i, digits(i * 2654435761u >> (i % 20)), c[i]);
        expect_equal("histogram", i, histogram(i + 99u), d[i]);
    }
    return passed();
}
