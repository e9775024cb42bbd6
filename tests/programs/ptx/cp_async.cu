// Asynchronous copies to shared memory by inline PTX and by the pipeline primitives: 4, 8 and 16 bytes,
// zero fill, groups in flight, double buffering.
#include <cuda_pipeline.h>

#include "../check.h"

__device__ unsigned shared_address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }
__device__ void copy16(void* to, const void* from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)); }
__device__ void copy16_l2(void* to, const void* from) { asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)); }
__device__ void copy4(void* to, const void* from) { asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from)); }
__device__ void copy8(void* to, const void* from) { asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(to)), "l"(from)); }
__device__ void copy16_part(void* to, const void* from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes));
}
__device__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// Two stages: while one tile is summed, the next is under way.
__global__ void double_buffered(const float4* in, float* out, int tiles) {
    __shared__ float4 buffer[2][32];
    int t = threadIdx.x;
    copy16(&buffer[0][t], &in[t]);
    commit();
    float sum = 0;
    for (int k = 0; k < tiles; k++) {
        if (k + 1 < tiles) copy16_l2(&buffer[(k + 1) & 1][t], &in[(k + 1) * 32 + t]);
        commit();
        wait<1>();
        __syncthreads();
        float4 v = buffer[k & 1][31 - t];
        sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
        __syncthreads();
    }
    out[t] = sum;
}

// Sizes 4, 8 and 16 with fewer source bytes: the rest is zero.
__global__ void sizes(const int* in, int* out, int n) {
    __shared__ alignas(16) int small[96], medium[2 * 96], large[4 * 96];
    int t = threadIdx.x;
    for (int k = 0; k < 4; k++) large[4 * t + k] = -1;
    __syncthreads();
    copy4(&small[t], &in[t]);
    if (t % 2) copy8(&medium[2 * t], &in[2 * t]);
    else medium[2 * t] = medium[2 * t + 1] = -5;
    int left = n - 4 * t, bytes = left >= 4 ? 16 : left > 0 ? left * 4 : 0;
    copy16_part(&large[4 * t], &in[left > 0 ? 4 * t : 0], bytes);
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    int u = 95 - t;
    out[t] = small[u];
    out[96 + t] = medium[2 * u] * 3 + medium[2 * u + 1];
    out[192 + t] = large[4 * u] + large[4 * u + 1] * 2 + large[4 * u + 2] * 3 + large[4 * u + 3] * 4;
}

// The primitives of cuda_pipeline.h, four stages deep.
__global__ void pipelined(const int* in, int* out, int tiles) {
    const int stages = 4;
    __shared__ int buffer[stages][64];
    int t = threadIdx.x, sum = 0;
    for (int s = 0; s < stages - 1; s++) {
        if (s < tiles) __pipeline_memcpy_async(&buffer[s][t], &in[s * 64 + t], 4);
        __pipeline_commit();
    }
    for (int k = 0; k < tiles; k++) {
        int ahead = k + stages - 1;
        if (ahead < tiles) __pipeline_memcpy_async(&buffer[ahead % stages][t], &in[ahead * 64 + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(stages - 1);
        __syncthreads();
        sum += buffer[k % stages][(t + 17) % 64] * (k + 1);
        __syncthreads();
    }
    out[t] = sum;
}

int main() {
    Random random(41);
    const int tiles = 7;
    std::vector<float4> f(tiles * 32);
    for (auto& v : f) v = make_float4(float(random.below(50)), float(random.below(50)), float(random.below(50)), float(random.below(50)));
    Buffer<float4> df(f);
    Buffer<float> of(32);
    double_buffered<<<1, 32>>>(df, of, tiles);
    auto g = of.host();
    for (int t = 0; t < 32; t++) {
        float sum = 0;
        for (int k = 0; k < tiles; k++) { float4 v = f[k * 32 + 31 - t]; sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w; }
        expect_equal("double buffered", t, sum, g[t]);
    }

    const int n = 4 * 96 - 70;
    std::vector<int> in(tiles * 64);
    for (int& v : in) v = int(random.below(1000));
    Buffer<int> din(in), out(3 * 96);
    sizes<<<1, 96>>>(din, out, n);
    auto got = out.host();
    for (int t = 0; t < 96; t++) {
        int u = 95 - t, part[4];
        for (int k = 0; k < 4; k++) part[k] = 4 * u + k < n ? in[4 * u + k] : 0;
        expect_equal("4 bytes", t, in[u], got[t]);
        expect_equal("8 bytes", t, u % 2 ? in[2 * u] * 3 + in[2 * u + 1] : -20, got[96 + t]);
        expect_equal("16 bytes", t, part[0] + part[1] * 2 + part[2] * 3 + part[3] * 4, got[192 + t]);
    }

    pipelined<<<1, 64>>>(din, out, tiles);
    got = out.host();
    for (int t = 0; t < 64; t++) {
        int sum = 0;
        for (int k = 0; k < tiles; k++) sum += in[k * 64 + (t + 17) % 64] * (k + 1);
        expect_equal("pipelined", t, sum, got[t]);
    }
    return passed();
}
