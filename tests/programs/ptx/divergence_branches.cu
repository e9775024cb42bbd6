// Divergent branches: nested ifs, else-if ladders, short-circuit conditions, switches with fall-through,
// goto, early return, and values merged from many paths.
#include "../check.h"

__host__ __device__ inline int nested(int i, int x) {
    int r = 0;
    if (i % 2) {
        r += 1;
        if (x > 50) {
            r += 10;
            if (i % 3 == 0) { r += 100; if (x & 4) r *= 3; else r -= 7; }
            else if (i % 3 == 1) { r += 200; }
            else { if (x < 70) return r * 5; r += 300; }
        } else if (x > 20) {
            r += 20;
            if ((i & 4) && (x & 1)) r += 1000; else if ((i & 8) || (x & 2)) r += 2000;
        } else {
            return -x;
        }
        r += x;
    } else {
        r = x > 30 ? (x > 60 ? x * 2 : x * 3) : (i % 5 == 0 ? -1 : x + i);
    }
    return r * 2 + 1;
}

__host__ __device__ inline int switched(int i, int x) {
    int r = 1;
    switch (i % 11) {
        case 0: r = 5; break;
        case 1: r = x;            // falls through
        case 2: r += 7; break;
        case 3: if (x % 2) break; r = 11; // falls through
        case 4:
        case 5: r *= x; break;
        case 6: return x - 1000;
        case 9: switch (x % 3) { case 0: r = 90; break; case 1: r = 91; default: r += 900; } break;
        default: r = -x;
    }
    switch (x) { case 3: r += 1; break; case 17: r += 2; break; case 44: r += 3; break; case 90: r += 4; break; }
    return r;
}

__host__ __device__ inline int jumpy(int i, int x) {
    int steps = 0;
again:
    steps++;
    if (x > 100 || steps > 20) goto out;
    if (x % 3 == i % 3) { x += 17; goto again; }
    x = x * 2 + 1;
    if (x % 5 == 0) goto again;
    x += 3;
    if (x & 8) goto again;
out:
    return x * 100 + steps;
}

__host__ __device__ inline int conditions(int i, int x) {
    bool a = i % 2, b = x > 40, c = (i ^ x) & 4, d = x % 3 == 0;
    int r = (a && b) || (c && !d) ? 1 : 0;
    if (a && (b || (c && d))) r += 2;
    if (!(a || b) && (c != d)) r += 4;
    while (a && r < 50) { r += 5; a = b ? r % 2 : c; if (r > 30) b = !b; }
    return r + (a ? 100 : 0) + (b ? 200 : 0);
}

__global__ void run(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = in[i];
    out[i] = nested(i, x);
    out[n + i] = switched(i, x);
    out[2 * n + i] = jumpy(i, x);
    out[3 * n + i] = conditions(i, x);
}

// Stores in different branches, the last one after lanes have left.
__global__ void stores(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = 1;
    if (in[i] < 20) { out[i] = 2; return; }
    if (in[i] < 40) { out[i] += 10; if (in[i] & 1) return; out[i] += 100; }
    if (i == 7 || i == 77) asm volatile("exit;");
    out[i] += 1000;
}

int main() {
    const int n = 350;
    Random random(27);
    std::vector<int> in(n);
    for (int& v : in) v = int(random.below(100));
    Buffer<int> din(in), out(4 * n);
    for (int block : {32, 33, 100, 256, 1}) {
        CUDA_OK(cudaMemset(out, 0xff, 4 * n * sizeof(int)));
        run<<<(n + block - 1) / block, block>>>(din, out, n);
        auto got = out.host();
        for (int i = 0; i < n; i++) {
            expect_equal("nested", i, nested(i, in[i]), got[i]);
            expect_equal("switched", i, switched(i, in[i]), got[n + i]);
            expect_equal("jumpy", i, jumpy(i, in[i]), got[2 * n + i]);
            expect_equal("conditions", i, conditions(i, in[i]), got[3 * n + i]);
        }
    }
    stores<<<4, 90>>>(din, out, n);
    auto got = out.host();
    for (int i = 0; i < n; i++) {
        int v = in[i], e = v < 20 ? 2 : v < 40 ? (v & 1 ? 11 : 111) : 1;
        if (v >= 20 && !(v < 40 && v & 1) && i != 7 && i != 77) e += 1000;
        expect_equal("stores", i, e, got[i]);
    }
    return passed();
}
