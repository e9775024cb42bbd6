// What libcu++ makes of its barriers on Hopper: bytes expected apart from arrivals; and registers handed on to warps.
// args: --device sim:h100-sxm
// nvcc: -gencode arch=compute_90a,code=compute_90a
#include "../check.h"

#include <cuda/barrier>
#include <cuda/ptx>
#include <utility>

namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void add_one(int* data) {
    __shared__ alignas(16) int tile[256];
    __shared__ Barrier barrier;
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    data += blockIdx.x * 256;
    if (threadIdx.x == 0) cuda::memcpy_async(tile, data, cuda::aligned_size_t<16>(sizeof tile), barrier);
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
    for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i]++;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, data, tile, sizeof tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

__global__ void counted_by_hand(int* out) {
    __shared__ unsigned long long barrier;
    unsigned address = unsigned(__cvta_generic_to_shared(&barrier));
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address));
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(address));
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address));
    auto over = [&] {
        int done;
        asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.s32 %0, 1, 0, p;}" : "=r"(done) : "r"(address));
        return done;
    };
    out[0] = over();
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(address));
    out[1] = over();
}

__global__ void __launch_bounds__(256, 1) roles(int* out) {
    if (threadIdx.x < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    else asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    out[threadIdx.x] = threadIdx.x;
}

int main() {
    std::vector<int> values(1024), more(1024), indices(256);
    for (int i = 0; i < 1024; i++) values[i] = i, more[i] = i + 1;
    for (int i = 0; i < 256; i++) indices[i] = i;
    Buffer<int> data(values), over(2), warps(256);
    add_one<<<4, 64>>>(data);
    expect_all("copied in and out", more, data.host());
    counted_by_hand<<<1, 1>>>(over);
    expect_all("expected bytes", {0, 1}, over.host());
    roles<<<1, 256>>>(warps);
    expect_all("registers handed on", indices, warps.host());
    return passed();
}
