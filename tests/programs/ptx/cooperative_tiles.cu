// Cooperative groups: tiles of every size, coalesced groups, partitions, reduce and scan over groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "../check.h"

namespace cg = cooperative_groups;

template <int SIZE>
__global__ void tiles(const int* in, int* out) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<SIZE>(block);
    int t = block.thread_rank(), v = in[t];
    int sum = v;
    for (int s = tile.size() / 2; s > 0; s /= 2) sum += tile.shfl_xor(sum, s);
    out[t] = sum * 2 + tile.thread_rank() + tile.meta_group_rank() * 1000 + int(tile.any(v == 5)) * 7;
    out[128 + t] = cg::reduce(tile, v, cg::greater<int>()) + cg::reduce(tile, v, cg::plus<int>()) * 3;
    out[256 + t] = cg::inclusive_scan(tile, v) - cg::exclusive_scan(tile, v, cg::plus<int>()) * 2;
    out[384 + t] = int(tile.ballot(v % 2)) ^ tile.shfl(v, tile.size() - 1) ^ tile.shfl_down(v, 1);
}

template <int SIZE>
void check_tiles(const std::vector<int>& in) {
    Buffer<int> din(in), out(512);
    tiles<SIZE><<<1, 128>>>(din, out);
    auto got = out.host();
    for (int t = 0; t < 128; t++) {
        int base = t / SIZE * SIZE, sum = 0, largest = INT32_MIN, before = 0, five = 0;
        unsigned ballot = 0;
        for (int k = 0; k < SIZE; k++) {
            int v = in[base + k];
            sum += v, largest = std::max(largest, v), five |= v == 5, ballot |= unsigned(v % 2) << k;
            if (base + k < t) before += v;
        }
        expect_equal("tile sum", t, sum * 2 + t % SIZE + t / SIZE * 1000 + five * 7, got[t]);
        expect_equal("tile reduce", t, largest + sum * 3, got[128 + t]);
        expect_equal("tile scan", t, before + in[t] - before * 2, got[256 + t]);
        int next = t % SIZE + 1 < SIZE ? in[t + 1] : in[t];
        expect_equal("tile ballot", t, int(ballot) ^ in[base + SIZE - 1] ^ next, got[384 + t]);
    }
}

// Groups of whichever threads are together in a branch.
__global__ void coalesced(const int* in, int* out, int* counter, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    if (in[t] % 3 == 1) {
        cg::coalesced_group active = cg::coalesced_threads();
        int sum = cg::reduce(active, in[t], cg::plus<int>());
        int start = 0;
        if (active.thread_rank() == 0) start = atomicAdd(counter, int(active.size()));
        start = active.shfl(start, 0);
        active.sync();
        out[t] = sum * 100 + int(active.size()) + (start + int(active.thread_rank()) < n ? 0 : 1000000);
    } else {
        out[t] = -1;
    }
}

__global__ void partitioned(const int* in, int* out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::labeled_partition(warp, in[threadIdx.x] % 4);
    auto odd = cg::binary_partition(warp, bool(in[threadIdx.x] & 1));
    out[threadIdx.x] = cg::reduce(same, in[threadIdx.x], cg::plus<int>()) * 100 + int(odd.size());
}

// Runtime-sized tiles of a tile, and the block as a group.
__global__ void nested(int* out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_group warp = cg::tiled_partition(block, 32), quarter = cg::tiled_partition(warp, 8);
    __shared__ int tile[64];
    tile[block.thread_rank()] = int(quarter.thread_rank());
    quarter.sync();
    block.sync();
    dim3 index = block.thread_index();
    out[block.thread_rank()] = tile[63 - block.thread_rank()] + int(quarter.size()) * 10 + int(block.size()) * 100 + int(index.y) * 100000;
}

int main() {
    Random random(33);
    std::vector<int> in(128);
    for (int& v : in) v = int(random.below(50));
    check_tiles<32>(in);
    check_tiles<16>(in);
    check_tiles<8>(in);
    check_tiles<4>(in);
    check_tiles<2>(in);

    Buffer<int> din(in), out(128), counter(1);
    coalesced<<<1, 128>>>(din, out, counter, 100);
    auto got = out.host();
    int total = 0;
    for (int t = 0; t < 100; t++) {
        int sum = 0, size = 0;
        for (int k = t & ~31; k < std::min(100, (t | 31) + 1); k++) if (in[k] % 3 == 1) sum += in[k], size++;
        total += in[t] % 3 == 1;
        expect_equal("coalesced", t, in[t] % 3 == 1 ? sum * 100 + size : -1, got[t]);
    }
    expect_equal("counter", 0, total, counter.host()[0]);

    partitioned<<<1, 96>>>(din, out);
    got = out.host();
    for (int t = 0; t < 96; t++) {
        int sum = 0, odd = 0;
        for (int k = t & ~31; k <= (t | 31); k++) sum += in[k] % 4 == in[t] % 4 ? in[k] : 0, odd += (in[k] & 1) == (in[t] & 1);
        expect_equal("partition", t, sum * 100 + odd, got[t]);
    }

    nested<<<1, dim3(16, 4)>>>(out);
    got = out.host();
    for (int t = 0; t < 64; t++) expect_equal("nested", t, (63 - t) % 8 + 80 + 6400 + t / 16 * 100000, got[t]);
    return passed();
}
