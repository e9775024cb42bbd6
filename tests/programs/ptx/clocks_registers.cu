// Clocks, timers, nanosleep and special registers: monotonic, plausible, consistent.
#include "../check.h"

#define REGISTER(name) ([] { unsigned r_; asm volatile("mov.u32 %0, %%" name ";" : "=r"(r_)); return r_; }())

__global__ void clocks(unsigned long long* out) {
    unsigned long long c0 = clock64(), g0, g1;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g0));
    unsigned short_clock = unsigned(clock());
    float x = float(threadIdx.x) + 1.0f;
    for (int i = 0; i < 50; i++) x = x * 1.0001f + 0.5f;
    __nanosleep(100);
    unsigned long long c1 = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g1));
    unsigned short_clock1 = unsigned(clock());
    unsigned long long* o = out + 5 * (blockIdx.x * blockDim.x + threadIdx.x);
    o[0] = c1 > c0;                                   // the work above takes time
    o[1] = g1 >= g0;
    o[2] = short_clock1 - short_clock;                // modulo 2^32, small
    o[3] = c1 - c0;
    o[4] = x > 1.0f;
}

__global__ void registers(unsigned* out, unsigned* sm_seen) {
    unsigned t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    unsigned* o = out + 12 * (blockIdx.x * threads + t);
    unsigned lane = REGISTER("laneid"), warps = REGISTER("nwarpid"), sms = REGISTER("nsmid");
    o[0] = lane;
    o[1] = REGISTER("warpid") < warps;
    o[2] = REGISTER("smid") < sms;
    o[3] = REGISTER("lanemask_eq");
    o[4] = REGISTER("lanemask_lt");
    o[5] = REGISTER("lanemask_le");
    o[6] = REGISTER("lanemask_gt");
    o[7] = REGISTER("lanemask_ge");
    o[8] = warpSize;
    o[9] = REGISTER("ntid.x") * 10000 + REGISTER("tid.y") * 100 + REGISTER("nctaid.x");
    o[10] = REGISTER("dynamic_smem_size");
    o[11] = REGISTER("total_smem_size") >= REGISTER("dynamic_smem_size");
    atomicOr(sm_seen, 1u);
}

// A wait by the clock ends.
__global__ void wait_cycles(int* out) {
    long long start = clock64();
    int polls = 0;
    while (clock64() - start < 2000 && polls < 1000000) polls++;
    out[threadIdx.x] = clock64() - start >= 2000;
}

int main() {
    const int n = 2 * 40;
    Buffer<unsigned long long> out(5 * n);
    clocks<<<2, 40>>>(out);
    auto c = out.host();
    for (int i = 0; i < n; i++) {
        expect_equal("clock64 advances", i, 1ull, c[5 * i]);
        expect_equal("globaltimer monotonic", i, 1ull, c[5 * i + 1]);
        expect_equal("clock is short", i, true, c[5 * i + 2] < 100000000);
        expect_equal("clock64 is plausible", i, true, c[5 * i + 3] < 100000000);
        expect_equal("work done", i, 1ull, c[5 * i + 4]);
    }

    const int blocks = 3, threads = 50;
    Buffer<unsigned> regs(12 * blocks * threads), seen(1);
    registers<<<blocks, dim3(10, 5), 256>>>(regs, seen);
    auto r = regs.host();
    for (int i = 0; i < blocks * threads; i++) {
        const unsigned* o = &r[12 * i];
        unsigned lane = unsigned(i % threads % 32), eq = 1u << lane, lt = eq - 1;
        expect_equal("laneid", i, lane, o[0]);
        expect_equal("warpid", i, 1u, o[1]);
        expect_equal("smid", i, 1u, o[2]);
        expect_equal("lanemask_eq", i, eq, o[3]);
        expect_equal("lanemask_lt", i, lt, o[4]);
        expect_equal("lanemask_le", i, lt | eq, o[5]);
        expect_equal("lanemask_gt", i, ~(lt | eq), o[6]);
        expect_equal("lanemask_ge", i, ~lt, o[7]);
        expect_equal("warpSize", i, 32u, o[8]);
        expect_equal("tid ntid", i, 100000u + unsigned(i % threads / 10) * 100 + blocks, o[9]);
        expect_equal("dynamic shared size", i, 256u, o[10]);
        expect_equal("total shared size", i, 1u, o[11]);
    }

    Buffer<int> done(33);
    wait_cycles<<<1, 33>>>(done);
    for (int v : done.host()) expect_equal("waited", 0, 1, v);
    return passed();
}
