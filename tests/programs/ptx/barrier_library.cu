// cuda::barrier, cuda::pipeline and memcpy_async of libcu++ and cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "../check.h"

namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init

// Split arrive and wait, over several phases.
__global__ void split(int* out, int rounds) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int tile[64];
    auto block = cg::this_thread_block();
    int t = threadIdx.x, v = t;
    if (t == 0) init(&barrier, blockDim.x);
    block.sync();
    for (int r = 0; r < rounds; r++) {
        tile[t] = v;
        auto token = barrier.arrive();
        int own = v * 2;  // work that needs nobody
        barrier.wait(std::move(token));
        v = tile[(t + 1) % 64] + own % 3;
        barrier.arrive_and_wait();
    }
    out[t] = v;
}

// A whole tile copied by the block, completed through the barrier.
__global__ void copied(const int* in, int* out, int tiles) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ alignas(16) int tile[128];
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&barrier, block.size());
    block.sync();
    int sum = 0;
    for (int k = 0; k < tiles; k++) {
        cuda::memcpy_async(block, tile, in + k * 128, cuda::aligned_size_t<16>(sizeof tile), barrier);
        barrier.arrive_and_wait();
        sum += tile[127 - threadIdx.x] * (k + 1);
        barrier.arrive_and_wait();
    }
    out[threadIdx.x] = sum;
}

// A two-stage pipeline shared by the block.
__global__ void staged(const int* in, int* out, int tiles) {
    __shared__ alignas(16) int buffer[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int k = 0, fetched = 0; k < tiles; k++) {
        for (; fetched < tiles && fetched < k + 2; fetched++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, buffer[fetched % 2], in + fetched * 64, sizeof(int) * 64, pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += buffer[k % 2][63 - threadIdx.x] - k;
        pipeline.consumer_release();
    }
    out[threadIdx.x] = sum;
}

// cooperative_groups::memcpy_async with wait, and wait_prior for all but the newest.
__global__ void grouped(const int* in, int* out) {
    __shared__ alignas(16) int a[96], b[96];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, a, in, sizeof a);
    cg::memcpy_async(block, b, in + 96, sizeof b);
    cg::wait_prior<1>(block);
    int first = a[95 - threadIdx.x];
    cg::wait(block);
    out[threadIdx.x] = first * 2 + b[95 - threadIdx.x];
}

int main() {
    Random random(43);
    const int tiles = 5;
    std::vector<int> in(tiles * 128);
    for (int& v : in) v = int(random.below(1000));
    Buffer<int> din(in), out(128);

    split<<<1, 64>>>(out, 6);
    std::vector<int> now(64), next(64);
    for (int t = 0; t < 64; t++) now[t] = t;
    for (int r = 0; r < 6; r++) {
        for (int t = 0; t < 64; t++) next[t] = now[(t + 1) % 64] + now[t] * 2 % 3;
        now = next;
    }
    auto got = out.host();
    for (int t = 0; t < 64; t++) expect_equal("split", t, now[t], got[t]);

    copied<<<1, 128>>>(din, out, tiles);
    got = out.host();
    for (int t = 0; t < 128; t++) {
        int sum = 0;
        for (int k = 0; k < tiles; k++) sum += in[k * 128 + 127 - t] * (k + 1);
        expect_equal("copied", t, sum, got[t]);
    }

    staged<<<1, 64>>>(din, out, 2 * tiles);
    got = out.host();
    for (int t = 0; t < 64; t++) {
        int sum = 0;
        for (int k = 0; k < 2 * tiles; k++) sum += in[k * 64 + 63 - t] - k;
        expect_equal("staged", t, sum, got[t]);
    }

    grouped<<<1, 96>>>(din, out);
    got = out.host();
    for (int t = 0; t < 96; t++) expect_equal("grouped", t, in[95 - t] * 2 + in[96 + 95 - t], got[t]);
    return passed();
}
