// Matrix product C = A B of half matrices with wmma fragments of 16 x 16 x 16 and half accumulators: blocks of 64 x 32,
// then of 128 x 128 (8 warps of 2 x 4 fragments), then with cp.async and two or three stages, then of 256 x 256
// (16 warps of 4 x 4 fragments). SIZES are M, N and K, multiples of 256.
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

#include "common.h"

namespace wmma = nvcuda::wmma;
using Half = half;
using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, 16, Half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, 16, Half, wmma::row_major>;
using Sums = wmma::fragment<wmma::accumulator, 16, 16, 16, Half>;

__device__ void copy_async(void* to, const void* from) {
    const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(address), "l"(from));
}

// For comparison, without tensor cores: a thread per result.
__global__ void naive(const Half* a, const Half* b, Half* c, int m, int n, int k) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && column < n) {
        Half sum = 0.0f;
#pragma unroll
        for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
        c[row * n + column] = sum;
    }
}

// One fragment per warp: 4 x 2 warps.
__global__ void small_blocks(const Half* a, const Half* b, Half* c, int m, int n, int k) {
    constexpr int kM = 64, kN = 32, kK = 16;
    __shared__ __align__(32) Half a_tile[kM][kK], b_tile[kK][kN];
    const int tid = threadIdx.x, warp = tid / 32, warp_row = warp / 2 * 16, warp_column = warp % 2 * 16;
    const int a_row = tid / 4, a_column = tid % 4 * 4, b_row = tid / 16, b_column = tid % 16 * 2;
    const int row = blockIdx.y * kM, column = blockIdx.x * kN;
    Sums sums;
    wmma::fill_fragment(sums, 0.0f);
    for (int step = 0; step < k; step += kK) {
        *reinterpret_cast<float2*>(&a_tile[a_row][a_column]) = *reinterpret_cast<const float2*>(&a[(row + a_row) * k + step + a_column]);
        *reinterpret_cast<half2*>(&b_tile[b_row][b_column]) = *reinterpret_cast<const half2*>(&b[(step + b_row) * n + column + b_column]);
        __syncthreads();
        FragmentA of_a;
        FragmentB of_b;
        wmma::load_matrix_sync(of_a, &a_tile[warp_row][0], kK);
        wmma::load_matrix_sync(of_b, &b_tile[0][warp_column], kN);
        wmma::mma_sync(sums, of_a, of_b, sums);
        __syncthreads();
    }
    wmma::store_matrix_sync(c + (row + warp_row) * n + column + warp_column, sums, n, wmma::mem_row_major);
}

// kDown x kAcross fragments per warp, kWarpsM x kWarpsN warps.
template <int kWarpsM, int kWarpsN, int kDown, int kAcross>
struct Tiles {
    static constexpr int kM = 16 * kWarpsM * kDown, kN = 16 * kWarpsN * kAcross, kK = 16, kThreads = 32 * kWarpsM * kWarpsN;
    Sums sums[kDown][kAcross];

    __device__ Tiles() {
#pragma unroll
        for (int i = 0; i < kDown; ++i)
#pragma unroll
            for (int j = 0; j < kAcross; ++j) wmma::fill_fragment(sums[i][j], 0.0f);
    }
    __device__ int row() const { return threadIdx.x / 32 / kWarpsN * 16 * kDown; }
    __device__ int column() const { return threadIdx.x / 32 % kWarpsN * 16 * kAcross; }

    __device__ void multiply(const Half* a_tile, int a_pitch, const Half* b_tile, int b_pitch) {
        FragmentA of_a[kDown];
        FragmentB of_b[kAcross];
#pragma unroll
        for (int i = 0; i < kDown; ++i) wmma::load_matrix_sync(of_a[i], a_tile + (row() + i * 16) * a_pitch, a_pitch);
#pragma unroll
        for (int j = 0; j < kAcross; ++j) wmma::load_matrix_sync(of_b[j], b_tile + column() + j * 16, b_pitch);
#pragma unroll
        for (int i = 0; i < kDown; ++i)
#pragma unroll
            for (int j = 0; j < kAcross; ++j) wmma::mma_sync(sums[i][j], of_a[i], of_b[j], sums[i][j]);
    }
    __device__ void store(Half* c, int n) const {
#pragma unroll
        for (int i = 0; i < kDown; ++i)
#pragma unroll
            for (int j = 0; j < kAcross; ++j)
                wmma::store_matrix_sync(c + (blockIdx.y * kM + row() + i * 16) * n + blockIdx.x * kN + column() + j * 16,
                                        sums[i][j], n, wmma::mem_row_major);
    }
};

__global__ void __launch_bounds__(256) large_blocks(const Half* a, const Half* b, Half* c, int m, int n, int k) {
    using T = Tiles<4, 2, 2, 4>;
    __shared__ __align__(32) Half a_tile[T::kM][T::kK], b_tile[T::kK][T::kN];
    const int tid = threadIdx.x, a_row = tid / 2, a_column = tid % 2 * 8, b_row = tid / 16, b_column = tid % 16 * 8;
    T tiles;
    for (int step = 0; step < k; step += T::kK) {
        *reinterpret_cast<float4*>(&b_tile[b_row][b_column]) =
            *reinterpret_cast<const float4*>(&b[(step + b_row) * n + blockIdx.x * T::kN + b_column]);
        *reinterpret_cast<float4*>(&a_tile[a_row][a_column]) =
            *reinterpret_cast<const float4*>(&a[(blockIdx.y * T::kM + a_row) * k + step + a_column]);
        __syncthreads();
        tiles.multiply(&a_tile[0][0], T::kK, &b_tile[0][0], T::kN);
        __syncthreads();
    }
    tiles.store(c, n);
}

// kStages tiles are in shared memory; those but one are on their way while one is multiplied. Rows are padded by 8.
template <class T, int kStages>
__global__ void __launch_bounds__(T::kThreads) staged(const Half* a, const Half* b, Half* c, int m, int n, int k) {
    constexpr int kPitchA = T::kK + 8, kPitchB = T::kN + 8;
    extern __shared__ __align__(32) Half shared[];
    Half *a_tiles = shared, *b_tiles = shared + kStages * T::kM * kPitchA;
    T tiles;
    auto load = [&](int step) {
        Half *a_tile = a_tiles + step % kStages * T::kM * kPitchA, *b_tile = b_tiles + step % kStages * T::kK * kPitchB;
#pragma unroll
        for (int i = threadIdx.x; i < T::kM * T::kK / 8; i += T::kThreads)
            copy_async(a_tile + i / 2 * kPitchA + i % 2 * 8, &a[(blockIdx.y * T::kM + i / 2) * k + step * T::kK + i % 2 * 8]);
#pragma unroll
        for (int i = threadIdx.x; i < T::kK * T::kN / 8; i += T::kThreads)
            copy_async(b_tile + i / (T::kN / 8) * kPitchB + i % (T::kN / 8) * 8,
                       &b[(step * T::kK + i / (T::kN / 8)) * n + blockIdx.x * T::kN + i % (T::kN / 8) * 8]);
    };
    const int steps = k / T::kK;
    for (int step = 0; step < kStages - 1; ++step) {
        load(step);
        asm volatile("cp.async.commit_group;");
    }
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        if (step + kStages - 1 < steps) load(step + kStages - 1);
        asm volatile("cp.async.commit_group;");
        tiles.multiply(a_tiles + step % kStages * T::kM * kPitchA, kPitchA, b_tiles + step % kStages * T::kK * kPitchB, kPitchB);
        asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
        __syncthreads();
    }
    tiles.store(c, n);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096, 4096, 4096}, {256, 256, 64});
    const int m = static_cast<int>(run.size(0)), n = static_cast<int>(run.size(1)), k = static_cast<int>(run.size(2));
    chain::Array<Half> a(size_t(m) * k), b(size_t(k) * n), c(size_t(m) * n);
    std::vector<float> expected(run.verify ? c.count : 0);
    if (run.verify) {
        // Few significant bits, so that half precision adds them exactly.
        auto coarse = [](unsigned seed) { return [seed](size_t i) { return std::floor(4 * chain::pattern(i, seed)) / 4; }; };
        a.fill(coarse(1));
        b.fill(coarse(2));
        for (int i = 0; i < m; ++i)
            for (int d = 0; d < k; ++d)
                for (int j = 0; j < n; ++j)
                    expected[size_t(i) * n + j] += float(a.host[size_t(i) * k + d]) * float(b.host[size_t(d) * n + j]);
    }
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto check = [&] { return chain::close(c, expected, 1e-3); };
    using Medium = Tiles<4, 2, 2, 4>;
    using Large = Tiles<4, 4, 4, 4>;
    auto variant = [&](const char* name, auto kernel, int tile_m, int tile_n, int threads, int bytes) {
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        run.variant(name, [&] { kernel<<<dim3(n / tile_n, m / tile_m), threads, bytes>>>(a, b, c, m, n, k); }, check, prepare);
    };
    auto bytes = [](int stages, int tile_m, int tile_n) { return stages * (tile_m * 24 + 16 * (tile_n + 8)) * 2; };
    run.variant("naive", [&] { naive<<<dim3(n / 32, m / 32), dim3(32, 32)>>>(a, b, c, m, n, k); }, check, prepare);
    variant("wmma4x2", small_blocks, 64, 32, 256, 0);
    variant("wmma4x2_warp2x4", large_blocks, 128, 128, 256, 0);
    variant("wmma4x2_warp2x4_stage2", staged<Medium, 2>, 128, 128, 256, bytes(2, 128, 128));
    variant("wmma4x2_warp2x4_stage3", staged<Medium, 3>, 128, 128, 256, bytes(3, 128, 128));
    variant("wmma4x4_warp4x4_stage3", staged<Large, 3>, 256, 256, 512, bytes(3, 256, 256));
    return run.finish();
}
