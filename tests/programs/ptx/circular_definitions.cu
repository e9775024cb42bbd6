// Registers that are defined only through each other, variables set on some paths only, and local arrays
// exactly as large as one access: cases in which a value's form across the lanes was once guessed wrong.
#include <cstring>

#include "../check.h"

// `mask` is assigned in one iteration only, a different one in each lane.
__global__ void partly_set(int* out, int rounds) {
    int lane = threadIdx.x % 32, mask;
    for (int i = 0; i < rounds; i++) {
        unsigned votes = __ballot_sync(~0u, lane == i);
        if (i == lane) mask = int(votes);
    }
    out[threadIdx.x] = __shfl_sync(~0u, mask, lane);
}

__global__ void best_of(const int* in, int* out, int n) {
    int best, where;
    for (int i = 0; i < n; i++) {
        int v = in[(i * 7 + threadIdx.x) % n];
        if (i == 0 || v > best) best = v, where = i;
    }
    out[threadIdx.x] = best * 1000 + where;
}

// Linear and uniform values trade places.
__global__ void swapping(int* out, int n) {
    int x = threadIdx.x, y = 0;
    for (int i = 0; i < n; i++) {
        int t = x;
        x = y + 1;
        y = t;
    }
    out[threadIdx.x] = x * 100000 + y;
}

__global__ void sometimes_linear(unsigned* out, int n) {
    unsigned s = 1, l = threadIdx.x;
    for (int i = 0; i < n; i++) {
        s = s * 5 + l;
        l += s;
        if (i & 1) l = threadIdx.x;
    }
    out[threadIdx.x] = s + l;
}

// 16 bytes of local memory, stored at once.
__global__ void counts(const unsigned char* in, int* out, int n) {
    unsigned char count[16];
    memset(count, 0, sizeof count);
    for (int i = 0; i < n; i++) count[(in[i] + threadIdx.x) % 16]++;
    int sum = 0;
    for (int i = 0; i < 16; i++) sum = sum * 3 + count[i];
    out[threadIdx.x] = sum;
}

int main() {
    const int n = 50, threads = 96;
    std::vector<int> in(n), expected(threads);
    for (int i = 0; i < n; i++) in[i] = i * 37 % 101;
    Buffer<int> a(in), out(threads);

    partly_set<<<1, threads>>>(out, 32);
    for (int t = 0; t < threads; t++) expected[t] = int(1u << t % 32);
    expect_all("partly set", expected, out.host());

    best_of<<<1, threads>>>(a, out, n);
    for (int t = 0; t < threads; t++) {
        int best = -1, where = 0;
        for (int i = 0; i < n; i++)
            if (in[(i * 7 + t) % n] > best) best = in[(i * 7 + t) % n], where = i;
        expected[t] = best * 1000 + where;
    }
    expect_all("best of", expected, out.host());

    swapping<<<1, threads>>>(out, 7);
    for (int t = 0; t < threads; t++) {
        int x = t, y = 0;
        for (int i = 0; i < 7; i++) {
            int old = x;
            x = y + 1;
            y = old;
        }
        expected[t] = x * 100000 + y;
    }
    expect_all("swapping", expected, out.host());

    Buffer<unsigned> unsigned_out(threads);
    sometimes_linear<<<1, threads>>>(unsigned_out, 9);
    std::vector<unsigned> sums(threads);
    for (int t = 0; t < threads; t++) {
        unsigned s = 1, l = t;
        for (int i = 0; i < 9; i++) {
            s = s * 5 + l;
            l += s;
            if (i & 1) l = t;
        }
        sums[t] = s + l;
    }
    expect_all("sometimes linear", sums, unsigned_out.host());

    std::vector<unsigned char> bytes(60);
    for (int i = 0; i < 60; i++) bytes[i] = static_cast<unsigned char>(i * i + 3);
    Buffer<unsigned char> b(bytes);
    counts<<<1, threads>>>(b, out, 60);
    for (int t = 0; t < threads; t++) {
        int count[16] = {}, sum = 0;
        for (unsigned char v : bytes) count[(v + t) % 16]++;
        for (int c : count) sum = sum * 3 + c;
        expected[t] = sum;
    }
    expect_all("counts", expected, out.host());
    return passed();
}
