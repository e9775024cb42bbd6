// Clusters of one block, asked for or not: barriers, ranks and addresses of a cluster are those of the block.
// args: --device sim:h100-sxm --check race
#include "../check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(1, 1, 1) exchange(int* out) {
    __shared__ int tile[64];
    auto cluster = cg::this_cluster();
    tile[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
    cluster.sync();
    const int* other = cluster.map_shared_rank(tile, cluster.block_rank());
    int value = other[threadIdx.x ^ 40] + cluster.num_blocks() + cluster.query_shared_rank(tile);
    auto token = cluster.barrier_arrive();
    cluster.barrier_wait(std::move(token));
    tile[63 - threadIdx.x] = value;
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];
}

__global__ void by_hand(int* out) {
    __shared__ int tile[64];
    unsigned here = unsigned(__cvta_generic_to_shared(tile + threadIdx.x)), there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(here));
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(threadIdx.x * 5) : "memory");
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    out[threadIdx.x] = tile[threadIdx.x ^ 33];
}

int main() {
    std::vector<int> exchanged(256), mapped(64);
    for (int i = 0; i < 256; i++) exchanged[i] = i / 64 * 100 + ((63 - i % 64) ^ 40) + 1;
    for (int i = 0; i < 64; i++) mapped[i] = (i ^ 33) * 5;
    Buffer<int> first(256), second(64);
    exchange<<<4, 64>>>(first);
    expect_all("exchange", exchanged, first.host());
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(64);
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA_OK(cudaLaunchKernelEx(&config, by_hand, second.data));
    expect_all("by hand", mapped, second.host());
    return passed();
}
