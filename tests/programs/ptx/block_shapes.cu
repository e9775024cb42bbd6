// Awkward shapes of blocks and grids: special registers, indices of every dimension, partial warps.
#include "../check.h"

struct Record { unsigned tid[3], ctaid[3], ntid[3], nctaid[3], lane, linear, warp_sum, block_sum; };

__global__ void describe(Record* out) {
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    unsigned linear = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    __shared__ unsigned total;
    if (linear == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, linear + 1);
    // Threads that exist in this warp: the last one may be partial.
    unsigned first = linear & ~31u, members = threads - first >= 32 ? ~0u : (1u << (threads - first)) - 1;
    unsigned sum = threadIdx.y + 1;
    for (int s = 1; s < 32; s <<= 1) {
        unsigned other = __shfl_down_sync(members, sum, s);
        if ((linear & 31) + s < 32 && first + (linear & 31) + s < threads) sum += other;
    }
    sum = __shfl_sync(members, sum, 0);
    __syncthreads();
    out[block * threads + linear] = {{threadIdx.x, threadIdx.y, threadIdx.z}, {blockIdx.x, blockIdx.y, blockIdx.z}, {blockDim.x, blockDim.y, blockDim.z},
                                     {gridDim.x, gridDim.y, gridDim.z}, lane, linear, sum, total};
}

void check(dim3 grid, dim3 block) {
    unsigned threads = block.x * block.y * block.z, blocks = grid.x * grid.y * grid.z;
    Buffer<Record> out(threads * blocks);
    describe<<<grid, block>>>(out);
    auto got = out.host();
    for (unsigned b = 0; b < blocks; b++) {
        for (unsigned t = 0; t < threads; t++) {
            const Record& r = got[b * threads + t];
            size_t at = b * threads + t;
            unsigned tid[3] = {t % block.x, t / block.x % block.y, t / block.x / block.y};
            unsigned ctaid[3] = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
            unsigned ntid[3] = {block.x, block.y, block.z}, nctaid[3] = {grid.x, grid.y, grid.z};
            for (int k = 0; k < 3; k++) {
                expect_equal("tid", at, tid[k], r.tid[k]);
                expect_equal("ctaid", at, ctaid[k], r.ctaid[k]);
                expect_equal("ntid", at, ntid[k], r.ntid[k]);
                expect_equal("nctaid", at, nctaid[k], r.nctaid[k]);
            }
            unsigned warp_sum = 0;
            for (unsigned k = t & ~31u; k < threads && k <= (t | 31u); k++) warp_sum += k / block.x % block.y + 1;
            expect_equal("lane", at, t & 31, r.lane);
            expect_equal("linear", at, t, r.linear);
            expect_equal("warp sum", at, warp_sum, r.warp_sum);
            expect_equal("block sum", at, threads * (threads + 1) / 2, r.block_sum);
        }
    }
}

// A 2D image with sizes that no block divides.
__global__ void image(int* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = x * 7 + y * 13 + (x ^ y);
}

int main() {
    check(1, 1);
    check(3, 33);
    check(2, 31);
    check(1, 1024);
    check(5, dim3(16, 16));
    check(2, dim3(8, 4, 4));
    check(dim3(3, 2), dim3(7, 5));
    check(dim3(2, 3, 2), dim3(3, 3, 3));
    check(dim3(1, 1, 4), dim3(1, 1, 64));
    check(dim3(1, 3), dim3(1, 70));
    check(2, dim3(40, 3));
    check(1, dim3(64, 16));
    const int width = 61, height = 37;
    Buffer<int> out(width * height);
    for (dim3 block : {dim3(16, 16), dim3(32, 8), dim3(13, 3), dim3(5, 50), dim3(64, 1), dim3(8, 8)}) {
        CUDA_OK(cudaMemset(out, 0, width * height * sizeof(int)));
        image<<<dim3((width + block.x - 1) / block.x, (height + block.y - 1) / block.y), block>>>(out, width, height);
        auto got = out.host();
        for (int i = 0; i < width * height; i++) {
            int x = i % width, y = i / width;
            expect_equal("image", i, x * 7 + y * 13 + (x ^ y), got[i]);
        }
    }
    return passed();
}
