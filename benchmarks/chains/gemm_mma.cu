// Matrix product C = A B^T of square bf16 matrices with mma.sync and ldmatrix (sm_80 and later): tiles of 128 x 128
// x 64, four warps of 64 x 64. SIZE is the number of rows, a multiple of 128.
#include <cuda_bf16.h>

#include <cstdint>

#include "common.h"

using Bf16 = __nv_bfloat16;
constexpr int kM = 128, kN = 128, kK = 64, kThreads = 128, kWarp = 64;

__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ void load_x2(uint32_t* r, uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(address));
}
__device__ void load_x4(uint32_t* r, uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
}
__device__ void multiply(const uint32_t* a, const uint32_t* b, float* d) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ void copy_async(uint32_t to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}

// Exchanges 16-byte columns within each group of eight rows, so that a column of eight rows hits all banks.
template <int kPitchBytes>
__device__ uint32_t swizzle(uint32_t offset) {
    return offset ^ (((offset / kPitchBytes) % 8) << 4);
}

enum Load { kRegisters, kAsync, kAsyncSwizzled };

template <int kRows, int kPitch, Load kLoad>
__device__ void load_tile(const Bf16* from, int pitch, Bf16* to, int tid) {
    const uint32_t base = shared_address(to);
    for (int step = 0; step < kRows * kK / (kThreads * 8); ++step) {
        const int i = (step * kThreads + tid) * 8, row = i / kK, column = i % kK;
        const Bf16* source = from + row * pitch + column;
        if (kLoad == kRegisters) {
            *reinterpret_cast<uint4*>(to + row * kPitch + column) = *reinterpret_cast<const uint4*>(source);
        } else {
            const uint32_t offset = (row * kPitch + column) * 2;
            copy_async(base + (kLoad == kAsyncSwizzled ? swizzle<kPitch * 2>(offset) : offset), source);
        }
    }
}

__device__ void store_results(const float (&sums)[4][8][4], Bf16* c, int n, int lane) {
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 8; ++j) {
            Bf16* to = c + (i * 16 + lane / 4) * n + j * 8 + lane % 4 * 2;
            *reinterpret_cast<__nv_bfloat162*>(to) = __floats2bfloat162_rn(sums[i][j][0], sums[i][j][1]);
            *reinterpret_cast<__nv_bfloat162*>(to + 8 * n) = __floats2bfloat162_rn(sums[i][j][2], sums[i][j][3]);
        }
}

// v1 (registers), v2 (cp.async), v3 (rows padded by 16 bytes), v4 (swizzled): addresses are computed at each use.
template <int kPitch, Load kLoad>
__global__ void __launch_bounds__(kThreads) staged(const Bf16* a, const Bf16* b, Bf16* c, int m, int n, int k) {
    extern __shared__ __align__(1024) Bf16 shared[];
    Bf16 *a_tile = shared, *b_tile = shared + kM * kPitch;
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32, across = (n + kN - 1) / kN;
    const int row0 = blockIdx.x / across * kM, column0 = blockIdx.x % across * kN;
    const int warp_row = warp / 2 * kWarp, warp_column = warp % 2 * kWarp;
    a += row0 * k;
    b += column0 * k;
    c += (row0 + warp_row) * n + column0 + warp_column;
    float sums[4][8][4] = {};
    auto address = [&](const Bf16* tile, int row, int column) {
        const uint32_t offset = (row * kPitch + column) * 2;
        return shared_address(tile) + (kLoad == kAsyncSwizzled ? swizzle<kPitch * 2>(offset) : offset);
    };
    for (int step = 0; step < k; step += kK) {
        load_tile<kM, kPitch, kLoad>(a, k, a_tile, tid);
        load_tile<kN, kPitch, kLoad>(b, k, b_tile, tid);
        if (kLoad != kRegisters) asm volatile("cp.async.wait_all;");
        __syncthreads();
        for (int d = 0; d < kK; d += 16) {
            uint32_t of_b[8][2];
            for (int j = 0; j < 8; ++j)
                load_x2(of_b[j], address(b_tile, warp_column + j * 8 + lane % 8, d + lane / 8 % 2 * 8));
            for (int i = 0; i < 4; ++i) {
                uint32_t of_a[4];
                load_x4(of_a, address(a_tile, warp_row + i * 16 + lane % 16, d + lane / 16 * 8));
                for (int j = 0; j < 8; ++j) multiply(of_a, of_b[j], sums[i][j]);
            }
        }
        __syncthreads();
        a += kK;
        b += kK;
    }
    store_results(sums, c, n, lane);
}

// v6: two stages of cp.async in flight, addresses computed once, four matrices per load. kGroup rows of blocks run
// down before the next column begins (v6b), which keeps more of B in the L2 cache.
template <int kGroup>
__global__ void __launch_bounds__(kThreads) pipelined(const Bf16* a, const Bf16* b, Bf16* c, int m, int n, int k) {
    constexpr int kStages = 2;
    constexpr uint32_t kBytesA = kM * kK * 2, kBytesB = kN * kK * 2, kStage = kBytesA + kBytesB;
    extern __shared__ __align__(1024) Bf16 shared[];
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int down = (m + kM - 1) / kM, across = (n + kN - 1) / kN;
    int block_row, block_column;
    if (kGroup == 0) {
        block_row = blockIdx.x / across;
        block_column = blockIdx.x % across;
    } else {
        const int size = kGroup * across, first = blockIdx.x / size * kGroup, height = min(down - first, kGroup);
        block_row = first + blockIdx.x % size % height;
        block_column = blockIdx.x % size / height;
    }
    const int warp_row = warp / 2 * kWarp, warp_column = warp % 2 * kWarp;
    a += block_row * kM * k;
    b += block_column * kN * k;
    c += (block_row * kM + warp_row) * n + block_column * kN + warp_column;
    const uint32_t base = shared_address(shared);
    const uint32_t of_a = base + swizzle<kK * 2>(((warp_row + lane % 16) * kK + lane / 16 * 8) * 2);
    const uint32_t of_b =
        base + kBytesA + swizzle<kK * 2>(((warp_column + lane % 8 + lane / 16 * 8) * kK + lane % 16 / 8 * 8) * 2);
    uint32_t a_values[4][4][4], b_values[4][8][2];
    float sums[4][8][4] = {};
    const int steps = (k + kK - 1) / kK;

    auto load = [&](int step) {
        Bf16* stage = shared + step % kStages * (kStage / 2);
        load_tile<kM, kK, kAsyncSwizzled>(a, k, stage, tid);
        load_tile<kN, kK, kAsyncSwizzled>(b, k, stage + kM * kK, tid);
        a += kK;
        b += kK;
        asm volatile("cp.async.commit_group;");
    };
    auto compute = [&](int step) {
        const uint32_t stage = step % kStages * kStage;
        for (int d = 0; d < 4; ++d)
            for (int i = 0; i < 4; ++i) load_x4(a_values[d][i], (of_a + stage + i * 16 * kK * 2) ^ (d * 32));
        for (int d = 0; d < 4; ++d)
            for (int j = 0; j < 8; j += 2) load_x4(b_values[d][j], (of_b + stage + j * 8 * kK * 2) ^ (d * 32));
        for (int d = 0; d < 4; ++d)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 8; ++j) multiply(a_values[d][i], b_values[d][j], sums[i][j]);
    };
    load(0);
    for (int step = 0; step < steps - 1; ++step) {
        __syncthreads();
        load(step + 1);
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        compute(step);
    }
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    compute(steps - 1);
    store_results(sums, c, n, lane);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {256});
    const int n = static_cast<int>(run.size(0));
    const size_t count = size_t(n) * n;
    chain::Array<Bf16> a(count), b(count), c(count);
    std::vector<float> expected(run.verify ? count : 0);
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        std::vector<float> fa(count), fb(count);
        for (size_t i = 0; i < count; ++i) fa[i] = float(a.host[i]), fb[i] = float(b.host[i]);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                float sum = 0.0f;
                for (int k = 0; k < n; ++k) sum += fa[size_t(i) * n + k] * fb[size_t(j) * n + k];
                expected[size_t(i) * n + j] = sum;
            }
    }
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto check = [&] { return chain::close(c, expected, 1e-2); };
    const int blocks = (n / kM) * (n / kN);
    auto variant = [&](const char* name, auto kernel, int pitch, int stages) {
        const int bytes = (kM + kN) * pitch * 2 * stages;
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        run.variant(name, [&] { kernel<<<blocks, kThreads, bytes>>>(a, b, c, n, n, n); }, check, prepare);
    };
    variant("v1", staged<kK, kRegisters>, kK, 1);
    variant("v2", staged<kK, kAsync>, kK, 1);
    variant("v3", staged<kK + 8, kAsync>, kK + 8, 1);
    variant("v4", staged<kK, kAsyncSwizzled>, kK, 1);
    variant("v6", pipelined<0>, kK, 2);
    variant("v6b", pipelined<8>, kK, 2);
    return run.finish();
}
