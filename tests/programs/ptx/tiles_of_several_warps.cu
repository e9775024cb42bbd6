// Tiles of more than a warp keep their barriers in shared memory that the system reserves, zeros when a block starts.
// args: --check race --check init
#include "../check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void sums(int* out) {
    __shared__ cg::block_tile_memory<128> scratch;
    auto tile = cg::tiled_partition<64>(cg::this_thread_block(scratch));
    int thread = threadIdx.x;
    int sum = cg::reduce(tile, thread + int(blockIdx.x), cg::plus<int>());
    tile.sync();
    out[blockIdx.x * 128 + thread] = sum + tile.shfl(thread, 5);
}

int main() {
    std::vector<int> expected(256);
    for (int i = 0; i < 256; i++) {
        int block = i / 128, first = i % 128 / 64 * 64;
        expected[i] = 64 * (first + block) + 63 * 32 + first + 5;
    }
    Buffer<int> out(256);
    sums<<<2, 128>>>(out);
    expect_all("sums", expected, out.host());
    return passed();
}
