// cp.async.bulk without tensors: global to shared memory with an mbarrier, shared to global memory in groups.
// nvcc: -std=c++17
// args: --device sim:h100-sxm
#include "../check.h"

constexpr int kCount = 1024, kStages = 2;

__device__ unsigned address_of(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

__device__ void wait(unsigned long long* barrier, unsigned parity) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "AGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
        "@p bra DONE;\n"
        "bra AGAIN;\n"
        "DONE:\n}" ::"r"(address_of(barrier)),
        "r"(parity)
        : "memory");
}

__device__ void fetch(float* to, const float* from, int count, unsigned long long* barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(barrier)), "r"(count * 4)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address_of(to)),
        "l"(from), "r"(count * 4), "r"(address_of(barrier))
        : "memory");
}

// Each block scales `tiles` tiles of its own; one thread copies them in, ahead of the others, and out again.
__global__ void scale(const float* in, float* out, int tiles, float factor) {
    __shared__ alignas(128) float tile[kStages][kCount];
    __shared__ alignas(128) float result[kCount];
    __shared__ alignas(8) unsigned long long full[kStages];
    const float* source = in + size_t(blockIdx.x) * tiles * kCount;
    float* target = out + size_t(blockIdx.x) * tiles * kCount;
    if (threadIdx.x == 0) {
        for (int s = 0; s < kStages; s++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_of(full + s)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(source), "r"(kCount * 4));
        for (int s = 0; s < kStages && s < tiles; s++) fetch(tile[s], source + s * kCount, kCount, full + s);
    }
    __syncthreads();
    for (int t = 0; t < tiles; t++) {
        int stage = t % kStages;
        wait(full + stage, t / kStages & 1);
        if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        __syncthreads();
        for (int i = threadIdx.x; i < kCount; i += blockDim.x) result[i] = factor * tile[stage][i];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(target + t * kCount),
                         "r"(address_of(result)), "r"(kCount * 4)
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            if (t + kStages < tiles) fetch(tile[stage], source + (t + kStages) * kCount, kCount, full + stage);
        }
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

int main() {
    const int blocks = 5, tiles = 7;
    std::vector<float> values(size_t(blocks) * tiles * kCount), expected(values.size());
    for (size_t i = 0; i < values.size(); i++) values[i] = float(i % 1000) - 500.0f, expected[i] = 3.0f * values[i];
    Buffer<float> in(values), out(values.size());
    scale<<<blocks, 128>>>(in, out, tiles, 3.0f);
    expect_all("scaled", expected, out.host());
    return passed();
}
