// Labels in the braces of inline assembly are local to them: loops that wait on an mbarrier and leave by a branch
// forward, inlined several times; branches out of nested braces; one name in two scopes.
// args: --check all --device sim:h100-sxm
#include "../check.h"

typedef unsigned long long U64;

__device__ unsigned address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void wait_parity(U64* barrier, int parity) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "LAB_WAIT:\n"
        "mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
        "@p bra DONE;\n"
        "bra LAB_WAIT;\n"
        "DONE:\n"
        "}\n" ::"r"(address(barrier)), "r"(parity) : "memory");
}

__global__ void in_turn(int* out) {
    __shared__ U64 barrier;
    __shared__ int tile[2][64];
    int t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(address(&barrier)) : "memory");
    __syncthreads();
    U64 state;
    tile[0][t] = t;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address(&barrier)) : "memory");
    wait_parity(&barrier, 0);
    tile[1][t] = tile[0][63 - t] + 1;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address(&barrier)) : "memory");
    wait_parity(&barrier, 1);
    out[t] = tile[1][63 - t];
}

// 3n + 1 until 1: two scopes use the same names, the inner one leaves both.
__device__ __forceinline__ int steps(int n) {
    int count;
    asm("{\n"
        ".reg .pred one, odd;\n"
        ".reg .s32 x, bit;\n"
        "mov.s32 x, %1;\n"
        "mov.s32 %0, 0;\n"
        "NEXT:\n"
        "setp.eq.s32 one, x, 1;\n"
        "@one bra DONE;\n"
        "add.s32 %0, %0, 1;\n"
        "{\n"
        "and.b32 bit, x, 1;\n"
        "setp.ne.s32 odd, bit, 0;\n"
        "@odd bra UP;\n"
        "shr.s32 x, x, 1;\n"
        "bra NEXT;\n"
        "UP:\n"
        "mad.lo.s32 x, x, 3, 1;\n"
        "setp.gt.s32 odd, x, 0;\n"
        "@odd bra DONE;\n"
        "add.s32 %0, %0, 100;\n"
        "DONE:\n"
        "}\n"
        "bra NEXT;\n"
        "DONE:\n"
        "}\n" : "=r"(count) : "r"(n));
    return count;
}

__global__ void collatz(int* out) { out[threadIdx.x] = steps(threadIdx.x + 1) + 1000 * steps(2 * threadIdx.x + 1); }

int host_steps(int n) {
    int count = 0;
    for (; n != 1; count++) n = n % 2 ? 3 * n + 1 : n / 2;
    return count;
}

int main() {
    Buffer<int> turned(64), counts(64);
    in_turn<<<1, 64>>>(turned);
    collatz<<<1, 64>>>(counts);
    auto a = turned.host(), b = counts.host();
    for (int i = 0; i < 64; i++) {
        expect_equal("turned", i, i + 1, a[i]);
        expect_equal("steps", i, host_steps(i + 1) + 1000 * host_steps(2 * i + 1), b[i]);
    }
    return passed();
}
