// 128-bit integers: nvcc builds them from carry chains, and division mixes subtractions with additions of the
// carry. Divisors differ between lanes, so that carries and trip counts do, too.
#include "../check.h"

using u128 = unsigned __int128;
using i128 = __int128;

struct Pair { unsigned long long low, high; };

__host__ __device__ u128 whole(Pair p) { return u128(p.high) << 64 | p.low; }
__host__ __device__ Pair parts(u128 v) { return {static_cast<unsigned long long>(v), static_cast<unsigned long long>(v >> 64)}; }

__host__ __device__ u128 compute(u128 a, u128 b, int kind) {
    switch (kind) {
        case 0: return a + b;
        case 1: return a - b;
        case 2: return a * b;
        case 3: return a / (b | 1);
        case 4: return a % (b | 1);
        case 5: return u128(i128(a) / i128(b | 1));
        case 6: return u128(i128(a) % i128(b | 1));
        case 7: return a << int(b & 127) ^ a >> int(b >> 3 & 127);
        default: return i128(a) < i128(b) ? a : b;
    }
}

__global__ void run(const Pair* in, Pair* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int kind = 0; kind < 9; kind++) out[kind * n + i] = parts(compute(whole(in[i]), whole(in[n + i]), kind));
}

int main() {
    const int n = 150;
    Random random(128);
    std::vector<Pair> in(2 * n);
    for (auto& p : in) {
        p = {random.u64(), random.u64()};
        int width = int(random.below(128)) + 1;
        p = parts(whole(p) >> (128 - width));
    }
    Buffer<Pair> a(in), out(9 * n);
    run<<<3, 64>>>(a, out, n);
    auto got = out.host();
    for (int kind = 0; kind < 9; kind++)
        for (int i = 0; i < n; i++) {
            Pair expected = parts(compute(whole(in[i]), whole(in[n + i]), kind));
            expect_equal("low half", kind * n + i, expected.low, got[kind * n + i].low);
            expect_equal("high half", kind * n + i, expected.high, got[kind * n + i].high);
        }
    return passed();
}
