// mbarrier objects by inline PTX: phases, arrival counts, parity waits, dropping out, cp.async arrivals.
#include "../check.h"

typedef unsigned long long U64;

__device__ unsigned address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }
__device__ void init(U64* b, int count) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(b)), "r"(count) : "memory"); }
__device__ U64 arrive(U64* b) { U64 state; asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address(b)) : "memory"); return state; }
__device__ bool test(U64* b, U64 state) {
    int done;
    asm volatile("{.reg .pred p;\n\tmbarrier.test_wait.shared.b64 p, [%1], %2;\n\tselp.s32 %0, 1, 0, p;}" : "=r"(done) : "r"(address(b)), "l"(state) : "memory");
    return done;
}
__device__ bool test_parity(U64* b, int parity) {
    int done;
    asm volatile("{.reg .pred p;\n\tmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\tselp.s32 %0, 1, 0, p;}" : "=r"(done) : "r"(address(b)), "r"(parity) : "memory");
    return done;
}

// All threads arrive and wait, over several phases; a neighbour's value is read in each.
__global__ void phases(int* out, int rounds) {
    __shared__ U64 barrier;
    __shared__ int tile[2][96];
    int t = threadIdx.x;
    if (t == 0) init(&barrier, 96);
    __syncthreads();
    int v = t;
    for (int r = 0; r < rounds; r++) {
        tile[r & 1][t] = v;
        U64 state = arrive(&barrier);
        while (!test(&barrier, state)) {}
        v = tile[r & 1][(t + 1) % 96] + r;
    }
    out[t] = v;
}

// One warp fills, the other drains; full and empty barriers, waited for by parity.
__global__ void ring(const int* in, int* out, int rounds) {
    __shared__ U64 full[2], empty[2];
    __shared__ int buffer[2][32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) for (int s = 0; s < 2; s++) init(&full[s], 32), init(&empty[s], 32);
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        int s = r & 1, use = r >> 1;
        if (threadIdx.x < 32) {
            if (use) while (!test_parity(&empty[s], (use - 1) & 1)) {}
            buffer[s][lane] = in[r * 32 + lane] + 1;
            arrive(&full[s]);
        } else {
            while (!test_parity(&full[s], use & 1)) {}
            out[r * 32 + lane] = buffer[s][31 - lane];
            arrive(&empty[s]);
        }
    }
}

// Copies that arrive on the barrier when they are complete.
__global__ void copies(const int* in, int* out) {
    __shared__ U64 barrier;
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address(&tile[t])), "l"(in + t) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address(&barrier)) : "memory");
    while (!test_parity(&barrier, 0)) {}
    out[t] = tile[63 - t];
    __syncthreads();
    if (t == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(address(&barrier)) : "memory");
}

// Arrivals with a count, dropping out, and the pending count of a state.
__global__ void counts(int* out) {
    __shared__ U64 barrier;
    if (threadIdx.x == 0) {
        init(&barrier, 10);
        U64 a, b;
        unsigned pending;
        asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 4;" : "=l"(a) : "r"(address(&barrier)) : "memory");
        b = arrive(&barrier);
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(a));
        out[0] = int(pending);
        out[1] = test(&barrier, b);
        asm volatile("mbarrier.arrive_drop.noComplete.shared.b64 %0, [%1], 3;" : "=l"(a) : "r"(address(&barrier)) : "memory");
        arrive(&barrier);
        out[2] = test(&barrier, b);
        arrive(&barrier);               // the tenth: the phase is over, 7 are expected from now on
        out[3] = test(&barrier, b);
        U64 c = 0;
        for (int i = 0; i < 7; i++) { out[4 + i] = i ? test(&barrier, c) : 0; c = arrive(&barrier); }
        out[11] = test(&barrier, c);
    }
}

int main() {
    const int rounds = 8;
    Buffer<int> out(rounds * 32);
    phases<<<1, 96>>>(out, rounds);
    auto got = out.host();
    for (int t = 0; t < 96; t++) expect_equal("phases", t, (t + rounds) % 96 + rounds * (rounds - 1) / 2, got[t]);

    Random random(42);
    std::vector<int> in(rounds * 32);
    for (int& v : in) v = int(random.below(1000));
    Buffer<int> din(in);
    ring<<<1, 64>>>(din, out, rounds);
    got = out.host();
    for (int i = 0; i < rounds * 32; i++) expect_equal("ring", i, in[i / 32 * 32 + 31 - i % 32] + 1, got[i]);

    copies<<<1, 64>>>(din, out);
    got = out.host();
    for (int t = 0; t < 64; t++) expect_equal("copies", t, in[63 - t], got[t]);

    counts<<<1, 32>>>(out);
    got = out.host();
    const int expected[12] = {10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
    for (int i = 0; i < 12; i++) expect_equal("counts", i, expected[i], got[i]);
    return passed();
}
