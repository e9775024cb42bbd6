// Loops with a trip count per lane: break, continue, nested loops, do-while, returns from inside, loop
// variables that stay uniform or become varying, and state carried around.
#include "../check.h"

__host__ __device__ inline int collatz(unsigned long long x) {
    int steps = 0;
    while (x != 1) { x = x & 1 ? 3 * x + 1 : x >> 1; steps++; }
    return steps;
}

__host__ __device__ inline int breaks(int i, const int* data, int n) {
    int sum = 0;
    for (int k = 0; k < n; k++) {
        int v = data[(k + i) % n];
        if (v % 7 == i % 7) continue;
        if (v > 95 && k > 3) break;
        for (int j = 0; j < v % 5; j++) {
            if ((j + i) % 4 == 3) break;
            sum += j * v;
            if (sum > 4000) return -sum;
        }
        do { v -= 13; sum ^= v; } while (v > i % 20);
    }
    return sum;
}

__host__ __device__ inline unsigned greatest_divisor(unsigned a, unsigned b) {
    while (b) { unsigned t = a % b; a = b; b = t; }
    return a;
}

__host__ __device__ inline int primes_below(int limit) {
    int count = 0;
    for (int c = 2; c < limit; c++) {
        bool prime = true;
        for (int d = 2; d * d <= c; d++) if (c % d == 0) { prime = false; break; }
        count += prime;
    }
    return count;
}

// The bound is uniform for the block, the exit is not; the counter is used after the loop.
__host__ __device__ inline int search(const int* data, int n, int wanted) {
    int k = 0;
    for (; k < n; k++) if (data[k] == wanted) break;
    int back = n - 1;
    for (; back > k; back--) if (data[back] == wanted) break;
    return k * 1000 + back;
}

// Two nested loops with independent per-lane bounds and an accumulator that crosses both.
__host__ __device__ inline float nested_sum(int i) {
    float sum = 0, scale = 1;
    for (int a = 0; a < i % 9; a++) {
        float part = 0;
        for (int b = a; b < (i * 3) % 11; b += 1 + (i & 1)) {
            part += float(b) * scale;
            if (part > 60) { scale = -scale; break; }
        }
        sum += part;
        if (a % 3 == 2) continue;
        scale += 0.5f;
    }
    return sum + scale;
}

__global__ void run(const int* data, int n, int* ints, float* floats, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    ints[i] = collatz(i * 97 + 3);
    ints[count + i] = breaks(i, data, n);
    ints[2 * count + i] = int(greatest_divisor(i * 1234u + 600, i * 77u + 44));
    ints[3 * count + i] = primes_below(i % 60);
    ints[4 * count + i] = search(data, n, i % 110);
    floats[i] = nested_sum(i);
}

// Grid-stride loop; the last round is partial, and the trip count differs from block to block.
__global__ void strided(const int* data, int* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int v = data[i % 64];
        while (v > 10) v = v * 2 / 3 - 1;
        out[i] = v * 3 + i;
    }
}

int main() {
    const int n = 64, count = 260, total = 1111;
    Random random(28);
    std::vector<int> data(n);
    for (int& v : data) v = int(random.below(100));
    Buffer<int> dd(data), ints(5 * count), out(total);
    Buffer<float> floats(count);
    for (int block : {260, 65, 16}) {
        run<<<(count + block - 1) / block, block>>>(dd, n, ints, floats, count);
        auto got = ints.host();
        auto f = floats.host();
        for (int i = 0; i < count; i++) {
            int e[5] = {collatz(i * 97 + 3), breaks(i, data.data(), n), int(greatest_divisor(i * 1234u + 600, i * 77u + 44)), primes_below(i % 60),
                        search(data.data(), n, i % 110)};
            const char* names[5] = {"collatz", "breaks", "gcd", "primes", "search"};
            for (int k = 0; k < 5; k++) expect_equal(names[k], i, e[k], got[k * count + i]);
            expect_equal("nested sum", i, nested_sum(i), f[i]);
        }
    }
    strided<<<3, 50>>>(dd, out, total);
    auto got = out.host();
    for (int i = 0; i < total; i++) {
        int v = data[i % 64];
        while (v > 10) v = v * 2 / 3 - 1;
        expect_equal("strided", i, v * 3 + i, got[i]);
    }
    return passed();
}
