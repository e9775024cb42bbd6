// __syncthreads and its counting forms, in loops, after early exits and in uniform branches.
#include "../check.h"

__global__ void votes(const int* in, int* out, int n) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int v = i < n ? in[i] : 0;
    int count = __syncthreads_count(v > 50), all = __syncthreads_and(v >= 0 && v < 95 + int(blockIdx.x)), any = __syncthreads_or(v == 77 + int(blockIdx.x));
    if (i < n) out[i] = count * 100 + (all ? 10 : 0) + (any ? 1 : 0);
}

// Tree reduction whose barrier sits in a loop; the block size is not a power of two.
__global__ void tree(const int* in, int* out) {
    extern __shared__ int tile[];
    int t = threadIdx.x, size = blockDim.x;
    tile[t] = in[blockIdx.x * size + t];
    __syncthreads();
    while (size > 1) {
        int half = (size + 1) / 2;
        if (t < size / 2) tile[t] += tile[t + half];
        __syncthreads();
        size = half;
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}

// Inclusive scan by doubling, with two barriers per round.
__global__ void scan(const int* in, int* out) {
    __shared__ int tile[130];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    for (int s = 1; s < 130; s *= 2) {
        int add = t >= s ? tile[t - s] : 0;
        __syncthreads();
        tile[t] += add;
        __syncthreads();
    }
    out[t] = tile[t];
}

// Threads that have returned no longer take part in barriers.
__global__ void early_exit(const int* in, int* out, int alive) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    if (t >= alive) return;
    tile[t] = in[t];
    __syncthreads();
    int v = tile[alive - 1 - t];
    if (t % 32 == 5) return;  // single lanes leave as well
    __syncthreads();
    tile[t] = v + 1;
    __syncthreads();
    out[t] = tile[t] + in[t];
}

// The branch is uniform for the block but not for the grid; each side has its own barriers.
__global__ void per_block(int* out) {
    __shared__ int tile[48];
    int t = threadIdx.x;
    tile[t] = t;
    if (blockIdx.x % 3 == 0) {
        __syncthreads();
        out[blockIdx.x * 48 + t] = tile[47 - t];
    } else if (blockIdx.x % 3 == 1) {
        for (int k = 0; k < 5; k++) {
            __syncthreads();
            int v = tile[(t + 1) % 48];
            __syncthreads();
            tile[t] = v;
        }
        out[blockIdx.x * 48 + t] = tile[t];
    } else {
        out[blockIdx.x * 48 + t] = -t;
    }
}

// bar.red by inline PTX, with a predicate from each thread.
__global__ void inline_red(const int* in, int* out) {
    int t = threadIdx.x, count, any;
    asm volatile("{.reg .pred p, q;\n\tsetp.gt.s32 p, %2, 30;\n\tbar.red.popc.u32 %0, 0, p;\n\tbar.red.or.pred q, 0, !p;\n\tselp.s32 %1, 1, 0, q;}"
                 : "=r"(count), "=r"(any) : "r"(in[t]) : "memory");
    out[t] = count * 10 + any;
}

int main() {
    const int n = 500;
    Random random(29);
    std::vector<int> in(n);
    for (int& v : in) v = int(random.below(100));
    Buffer<int> din(in), out(n);
    votes<<<5, 110>>>(din, out, n);
    auto got = out.host();
    for (int b = 0; b < 5; b++) {
        int count = 0, all = 1, any = 0;
        for (int i = b * 110; i < (b + 1) * 110; i++) {
            int v = i < n ? in[i] : 0;
            count += v > 50, all &= v < 95 + b, any |= v == 77 + b;
        }
        for (int i = b * 110; i < (b + 1) * 110 && i < n; i++) expect_equal("votes", i, count * 100 + all * 10 + any, got[i]);
    }

    for (int block : {1, 2, 33, 50, 96, 125, 250}) {
        tree<<<n / block, block, block * sizeof(int)>>>(din, out);
        got = out.host();
        for (int b = 0; b < n / block; b++) {
            int sum = 0;
            for (int i = 0; i < block; i++) sum += in[b * block + i];
            expect_equal("tree", b, sum, got[b]);
        }
    }

    scan<<<1, 130>>>(din, out);
    got = out.host();
    for (int i = 0, sum = 0; i < 130; i++) expect_equal("scan", i, sum += in[i], got[i]);

    for (int alive : {128, 70, 64, 3}) {
        CUDA_OK(cudaMemset(out, 0, 128 * sizeof(int)));
        early_exit<<<1, 128>>>(din, out, alive);
        got = out.host();
        for (int t = 0; t < 128; t++) expect_equal("early exit", t, t < alive && t % 32 != 5 ? in[alive - 1 - t] + 1 + in[t] : 0, got[t]);
    }

    per_block<<<7, 48>>>(out);
    got = out.host();
    for (int i = 0; i < 7 * 48; i++) expect_equal("per block", i, i / 48 % 3 == 0 ? 47 - i % 48 : i / 48 % 3 == 1 ? (i % 48 + 5) % 48 : -(i % 48), got[i]);

    inline_red<<<1, 80>>>(din, out);
    got = out.host();
    int count = 0;
    for (int t = 0; t < 80; t++) count += in[t] > 30;
    for (int t = 0; t < 80; t++) expect_equal("bar.red", t, count * 10 + (count < 80), got[t]);
    return passed();
}
