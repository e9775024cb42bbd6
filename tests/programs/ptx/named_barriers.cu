// Named barriers by inline PTX: producers and consumers with bar.arrive, halves of a block in step on
// their own barriers, and barriers numbered at run time.
#include "../check.h"

__device__ void bar_sync(int id, int count) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory"); }
__device__ void bar_arrive(int id, int count) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory"); }

// Warp 0 produces, warp 1 consumes, double buffered. Barriers 1,2: buffer full; 3,4: buffer empty.
__global__ void producer_consumer(const int* in, int* out, int rounds) {
    __shared__ int buffer[2][32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int r = 0; r < rounds; r++) {
            if (r >= 2) bar_sync(3 + r % 2, 64);
            buffer[r % 2][lane] = in[r * 32 + lane] * 2;
            bar_arrive(1 + r % 2, 64);
        }
    } else {
        for (int r = 0; r < rounds; r++) {
            bar_sync(1 + r % 2, 64);
            out[r * 32 + lane] = buffer[r % 2][31 - lane] + r;
            if (r + 2 < rounds) bar_arrive(3 + r % 2, 64);
        }
    }
}

// Each group of 64 threads keeps its own barrier and runs a different number of rounds.
__global__ void groups(int* out) {
    __shared__ int tile[4][64];
    int group = threadIdx.x / 64, t = threadIdx.x % 64;
    tile[group][t] = t;
    bar_sync(group + 1, 64);
    for (int r = 0; r < group * 3 + 1; r++) {
        int v = tile[group][(t + 1) % 64];
        bar_sync(group + 1, 64);
        tile[group][t] = v + 1;
        bar_sync(group + 1, 64);
    }
    __syncthreads();
    out[threadIdx.x] = tile[3 - group][t];
}

// A constant barrier with a warp count, and barrier.sync with its spelled-out forms.
__global__ void forms(int* out) {
    __shared__ int tile[96];
    int t = threadIdx.x;
    if (t < 64) {
        tile[t] = t * 3;
        asm volatile("bar.sync 5, 64;" ::: "memory");
        out[t] = tile[63 - t];
    } else {
        tile[t] = t * 5;
        asm volatile("barrier.sync 6, 32;" ::: "memory");
        out[t] = tile[64 + (95 - t)];
    }
    asm volatile("barrier.cta.sync.aligned 0;" ::: "memory");
    out[t] += tile[(t + 50) % 96];
}

// Partial count: bar.red over a named barrier of two warps.
__global__ void named_red(const int* in, int* out) {
    int t = threadIdx.x, count = -1;
    if (t < 64) {
        asm volatile("{.reg .pred p;\n\tsetp.lt.s32 p, %1, 40;\n\tbarrier.red.popc.u32 %0, 7, 64, p;}" : "=r"(count) : "r"(in[t]) : "memory");
    }
    __syncthreads();
    out[t] = count;
}

int main() {
    const int rounds = 9;
    Random random(30);
    std::vector<int> in(rounds * 32);
    for (int& v : in) v = int(random.below(100));
    Buffer<int> din(in), out(rounds * 32);
    producer_consumer<<<1, 64>>>(din, out, rounds);
    auto got = out.host();
    for (int i = 0; i < rounds * 32; i++) expect_equal("producer", i, in[i / 32 * 32 + 31 - i % 32] * 2 + i / 32, got[i]);

    groups<<<1, 256>>>(out);
    got = out.host();
    for (int i = 0; i < 256; i++) {
        int group = 3 - i / 64, r = group * 3 + 1;
        expect_equal("groups", i, (i % 64 + r) % 64 + r, got[i]);
    }

    forms<<<1, 96>>>(out);
    got = out.host();
    for (int t = 0; t < 96; t++) {
        auto tile = [](int k) { return k < 64 ? k * 3 : k * 5; };
        expect_equal("forms", t, (t < 64 ? tile(63 - t) : tile(64 + 95 - t)) + tile((t + 50) % 96), got[t]);
    }

    named_red<<<1, 128>>>(din, out);
    got = out.host();
    int count = 0;
    for (int t = 0; t < 64; t++) count += in[t] < 40;
    for (int t = 0; t < 128; t++) expect_equal("barrier.red", t, t < 64 ? count : -1, got[t]);
    return passed();
}
