// __syncwarp with partial masks, and independent thread scheduling: lanes of one warp that wait for each
// other on different sides of a branch.
#include "../check.h"

// Exchange within each half, quarter or odd set of a warp through shared memory.
__global__ void partial(int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x, lane = t & 31;
    int* mine = tile + (t & ~31);
    mine[lane] = lane * 10;
    if (lane < 16) {
        __syncwarp(0x0000ffff);
        int v = mine[15 - lane];
        __syncwarp(0x0000ffff);
        mine[lane] = v + 1;
    } else if (lane < 24) {
        __syncwarp(0x00ff0000);
        int v = mine[16 + (lane - 16 + 3) % 8];
        __syncwarp(0x00ff0000);
        mine[lane] = v + 2;
    } else {
        mine[lane] += 3;
    }
    __syncwarp();
    out[t] = mine[(lane + 9) % 32];
}

// The two sides of a divergent branch meet at a full-warp __syncwarp in each of them.
__global__ void two_sides(int* out) {
    __shared__ int tile[32];
    int lane = threadIdx.x;
    if (lane % 2) {
        tile[lane] = lane;
        __syncwarp();
        out[lane] = tile[lane - 1];
    } else {
        tile[lane] = lane * 100;
        __syncwarp();
        out[lane] = tile[lane + 1];
    }
}

// Producer and consumer lanes in one warp: the consumer spins on a flag that the other side sets.
__global__ void spin_on_neighbour(int* out) {
    __shared__ volatile int flag[32], value[32];
    int lane = threadIdx.x;
    flag[lane] = 0;
    __syncwarp();
    if (lane % 2 == 0) {
        while (flag[lane] == 0) {}
        __threadfence_block();
        out[lane] = value[lane] + 1;
    } else {
        value[lane - 1] = lane * lane;
        __threadfence_block();
        flag[lane - 1] = 1;
        out[lane] = -lane;
    }
}

// Masks computed at run time with __ballot_sync, inside a loop that lanes leave one after another.
__global__ void shrinking(const int* trips, int* out) {
    __shared__ int sums[32];
    int lane = threadIdx.x, mine = trips[lane];
    sums[lane] = 0;
    __syncwarp();
    unsigned mask = __ballot_sync(~0u, mine > 0);
    // Unrolling would put lanes of one mask at different ballots, which only some hardware allows.
#pragma unroll 1
    for (int k = 0; k < mine; k++) {
        int active = __popc(mask);
        sums[lane] += active;
        __syncwarp(mask);
        mask = __ballot_sync(mask, k + 1 < mine);
    }
    __syncwarp();
    out[lane] = sums[31 - lane];
}

// Divergent __syncthreads: every thread arrives, but lanes arrive from different places.
__global__ void split_barrier(int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    if (t % 4 == 0) {
        tile[t] += 1000;
        asm volatile("barrier.sync 0;" ::: "memory");
        out[t] = tile[(t + 1) % 64];
    } else {
        tile[t] += 2000;
        asm volatile("barrier.sync 0;" ::: "memory");
        out[t] = tile[(t + 3) % 64];
    }
}

int main() {
    Buffer<int> out(64);
    partial<<<1, 64>>>(out);
    auto got = out.host();
    for (int t = 0; t < 64; t++) {
        int l = (t % 32 + 9) % 32;
        int e = l < 16 ? (15 - l) * 10 + 1 : l < 24 ? (16 + (l - 16 + 3) % 8) * 10 + 2 : l * 10 + 3;
        expect_equal("partial", t, e, got[t]);
    }
    two_sides<<<1, 32>>>(out);
    got = out.host();
    for (int t = 0; t < 32; t++) expect_equal("two sides", t, t % 2 ? (t - 1) * 100 : t + 1, got[t]);

    spin_on_neighbour<<<1, 32>>>(out);
    got = out.host();
    for (int t = 0; t < 32; t++) expect_equal("spin", t, t % 2 ? -t : (t + 1) * (t + 1) + 1, got[t]);

    std::vector<int> trips(32);
    for (int i = 0; i < 32; i++) trips[i] = i * 7 % 11;
    Buffer<int> dt(trips);
    shrinking<<<1, 32>>>(dt, out);
    got = out.host();
    for (int t = 0; t < 32; t++) {
        int sum = 0;
        for (int k = 0; k < trips[31 - t]; k++) for (int o : trips) sum += o > k;
        expect_equal("shrinking", t, sum, got[t]);
    }

    split_barrier<<<1, 64>>>(out);
    got = out.host();
    for (int t = 0; t < 64; t++) {
        int k = t % 4 == 0 ? (t + 1) % 64 : (t + 3) % 64;
        expect_equal("split barrier", t, k + (k % 4 == 0 ? 1000 : 2000), got[t]);
    }
    return passed();
}
