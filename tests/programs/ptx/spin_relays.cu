// Blocks and warps that wait for each other in loops and get on: nothing here is a deadlock.
// args: --check all
#include "../check.h"

// A value is handed back and forth; most of the time everybody waits.
__global__ void ping_pong(volatile int* turn, int* out, int rounds) {
    if (threadIdx.x) return;
    for (int r = 0; r < rounds; r++) {
        while (*turn != int(blockIdx.x)) {}
        __threadfence();
        out[0] += 1;
        __threadfence();
        *turn = 1 - blockIdx.x;
    }
}

// Each block waits for the one before it; in the last round a wait is long.
__global__ void chain(volatile int* done, float* out, int work) {
    if (threadIdx.x == 0) {
        while (blockIdx.x && done[blockIdx.x - 1] == 0) {}
        __threadfence();
        float v = blockIdx.x ? out[blockIdx.x - 1] : 0;
        if (blockIdx.x == 0)
            for (int i = 0; i < work; i++) v = v * 0.5f + 1;
        out[blockIdx.x] = v + 1;
        __threadfence();
        done[blockIdx.x] = 1;
    }
}

// More blocks than fit at once, but they only wait for earlier ones.
__global__ void tickets(unsigned* next, unsigned* served, int* order) {
    extern __shared__ int room[];
    if (threadIdx.x == 0) {
        room[0] = 1;
        unsigned mine = atomicAdd(next, 1u);
        while (atomicAdd(served, 0u) != mine) __nanosleep(20);
        order[mine] = int(mine) * 2;
        __threadfence();
        atomicAdd(served, 1u);
    }
}

// Gives up after a while: a loop that counts its rounds ends by itself.
__global__ void patience(volatile int* never, int* out) {
    int rounds = 0;
    while (*never == 0 && rounds < 20000) rounds++;
    out[blockIdx.x * 32 + threadIdx.x] = rounds;
}

// One lane holds a lock that the others of its warp wait for.
__global__ void lanes(int* lock, int* count) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *static_cast<volatile int*>(count) = *static_cast<volatile int*>(count) + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// A whole block waits, through a barrier in each round, for a block that comes after it.
__global__ void together(int* flag, int* seen) {
    __shared__ int found;
    if (blockIdx.x == gridDim.x - 1) {
        if (threadIdx.x == 0) atomicExch(flag, 7);
        return;
    }
    int state = -1;
    while (__syncthreads_and(state != 7))
        if (threadIdx.x == 0) asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(state) : "l"(flag));
    for (;;) {
        if (threadIdx.x == 0) found = atomicAdd(flag, 0);
        __syncthreads();
        if (found == 7) break;
        __syncthreads();
    }
    if (threadIdx.x == 0) seen[blockIdx.x] = found;
}

int main() {
    Buffer<int> seen(40), flag(1);
    together<<<40, 96>>>(flag, seen);
    for (int i = 0; i < 39; i++) expect_equal("together", i, 7, seen.host()[i]);
    Buffer<int> turn(1), total(1), done(200), order(300), rounds(64), never(1), lock(1), count(1);
    Buffer<float> sums(200);
    Buffer<unsigned> next(1), served(1);
    ping_pong<<<2, 32>>>(turn, total, 3000);
    expect_equal("rounds", 0, 6000, total.host()[0]);
    chain<<<200, 32>>>(done, sums, 300000);
    expect_equal("chain", 199, 202.0f, sums.host()[199]);
    CUDA_OK(cudaFuncSetAttribute(tickets, cudaFuncAttributeMaxDynamicSharedMemorySize, 90 << 10));
    tickets<<<300, 32, 90 << 10>>>(next, served, order);
    expect_equal("tickets", 299, 598, order.host()[299]);
    patience<<<2, 32>>>(never, rounds);
    expect_equal("patience", 63, 20000, rounds.host()[63]);
    lanes<<<4, 64>>>(lock, count);
    expect_equal("locks", 0, 256, count.host()[0]);
    return passed();
}
