// Matrix product of square fp16 matrices with sums in fp32, by mma.sync in steps: fragments read half by half, 16-byte
// vectors in a permuted layout with ldmatrix, copies in flight (sm_80 and later). Blocks of 8 warps, two rows of four.
// SIZE is the number of rows, a multiple of 128. The first two take B by rows, the others by columns.
#include <cuda_fp16.h>

#include <cstdint>

#include "common.h"

__device__ void multiply(const unsigned* a, const unsigned* b, float* d) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ unsigned place(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void load_x4(unsigned* r, const void* from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(place(from)));
}
__device__ void load_x2(unsigned* r, const void* from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(place(from)));
}
__device__ void copy_async(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(place(to)), "l"(from));
}

template <int kEach>
__device__ void store(float* c, int n, int row, int column, int lane, const float (&sums)[kEach][kEach][4]) {
    for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; ++j) {
            float* to = c + (row + 16 * i + lane / 4) * n + column + 8 * j + lane % 4 * 2;
            *reinterpret_cast<float2*>(to) = make_float2(sums[i][j][0], sums[i][j][1]);
            *reinterpret_cast<float2*>(to + 8 * n) = make_float2(sums[i][j][2], sums[i][j][3]);
        }
}

// 1: halves one by one, 16 deep. kEach x kEach products per warp and step.
template <int kEach>
__global__ void plain(const __half* a, const __half* b, float* c, int n) {
    constexpr int kDeep = 16, kTile = 32 * kEach;
    __shared__ __half a_tile[kTile][kDeep], b_tile[kDeep][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y, warp = (ty * 16 + tx) / 32, lane = (ty * 16 + tx) % 32;
    const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
    const int row = warp / 4 * 16 * kEach, column = warp % 4 * 8 * kEach, group = lane / 4, member = lane % 4;
    float sums[kEach][kEach][4] = {};
    for (int step = 0; step < n; step += kDeep) {
        for (int m = 0; m < 2 * kEach; ++m) a_tile[m * 16 + ty][tx] = a[(row0 + m * 16 + ty) * n + step + tx];
        for (int m = 0; m < 2 * kEach; ++m) b_tile[ty][m * 16 + tx] = b[(step + ty) * n + column0 + m * 16 + tx];
        __syncthreads();
        for (int i = 0; i < kEach; ++i)
            for (int j = 0; j < kEach; ++j) {
                __half of_a[8], of_b[4];
                const int r = row + 16 * i + group, s = column + 8 * j + group;
                for (int k = 0; k < 8; ++k) of_a[k] = a_tile[r + k / 2 % 2 * 8][member * 2 + k % 2 + k / 4 * 8];
                for (int k = 0; k < 4; ++k) of_b[k] = b_tile[member * 2 + k % 2 + k / 2 * 8][s];
                multiply(reinterpret_cast<const unsigned*>(of_a), reinterpret_cast<const unsigned*>(of_b), sums[i][j]);
            }
        __syncthreads();
    }
    store<kEach>(c, n, row0 + row, column0 + column, lane, sums);
}

// 2: 16-byte vectors, 32 halves deep, two rows of the tile in one row of shared memory. kOnce: A's fragments are loaded once
// for all of B's.
template <bool kOnce>
__global__ void permuted(const uint4* a, const uint4* b, float* c, int n) {
    __shared__ uint4 a_tile[32][8], b_tile[32][8];
    const int tid = threadIdx.y * 16 + threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int to_row = warp * 4 + lane / 8, to_column = lane % 8 ^ lane / 8;
    const int a_row = lane % 16 / 2, a_column = (lane / 16 + 4 * (lane % 2)) ^ (a_row % 4);
    const int b_row = lane % 8 / 2, b_column = (lane / 8 % 2 + 4 * (lane % 2)) ^ (b_row % 4);
    const int row = warp / 4 * 16, column = warp % 4 * 8;  // in rows of shared memory: pairs
    const uint4* from_a = a + (blockIdx.y * 64 + warp * 8 + lane / 4) * (n / 8) + lane % 4;
    const uint4* from_b = b + (blockIdx.x * 64 + warp * 8 + lane / 4) * (n / 8) + lane % 4;
    float sums[2][2][4] = {};
    unsigned of_a[8], of_b[4];
    for (int step = 0; step < n / 8; step += 4) {
        a_tile[to_row][to_column] = from_a[step];
        b_tile[to_row][to_column] = from_b[step];
        __syncthreads();
        for (int i = 0; i < 2; ++i) {
            if (kOnce) {
                load_x4(of_a, &a_tile[row + i * 8 + a_row][a_column]);
                load_x4(of_a + 4, &a_tile[row + i * 8 + a_row][a_column ^ 2]);
            }
            for (int j = 0; j < 2; ++j) {
                if (!kOnce) load_x4(of_a, &a_tile[row + i * 8 + a_row][a_column]);
                load_x2(of_b, &b_tile[column + j * 4 + b_row][b_column]);
                multiply(of_a, of_b, sums[i][j]);
                if (!kOnce) load_x4(of_a + 4, &a_tile[row + i * 8 + a_row][a_column ^ 2]);
                load_x2(of_b + 2, &b_tile[column + j * 4 + b_row][b_column ^ 2]);
                multiply(of_a + 4, of_b + 2, sums[i][j]);
            }
        }
        __syncthreads();
    }
    store<2>(c, n, blockIdx.y * 64 + row * 2, blockIdx.x * 64 + column * 2, lane, sums);
}

// 3: the same with three stages of copies in flight. kEach = 4 doubles the tile in both directions.
template <int kEach>
__global__ void pipelined(const uint4* a, const uint4* b, float* c, int n) {
    constexpr int kStages = 3, kRows = 16 * kEach, kTile = 32 * kEach;
    __shared__ uint4 a_tile[kStages][kRows][8], b_tile[kStages][kRows][8];
    const int tid = threadIdx.y * 16 + threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int to_row = warp * 4 + lane / 8, to_column = lane % 8 ^ lane / 8;
    const int a_row = lane % 16 / 2, a_column = (lane / 16 + 4 * (lane % 2)) ^ (a_row % 4);
    const int b_row = lane % 8 / 2, b_column = (lane / 8 % 2 + 4 * (lane % 2)) ^ (b_row % 4);
    const int row = warp / 4 * 8 * kEach, column = warp % 4 * 4 * kEach;
    const uint4* from_a = a + (blockIdx.y * kTile + warp * 8 + lane / 4) * (n / 8) + lane % 4;
    const uint4* from_b = b + (blockIdx.x * kTile + warp * 8 + lane / 4) * (n / 8) + lane % 4;
    const int last = n / 8 - 4;
    auto fetch = [&](int stage, int step) {
        for (int part = 0; part < kEach / 2; ++part) {
            copy_async(&a_tile[stage][part * 32 + to_row][to_column], from_a + part * 64 * (n / 8) + step);
            copy_async(&b_tile[stage][part * 32 + to_row][to_column], from_b + part * 64 * (n / 8) + step);
        }
        asm volatile("cp.async.commit_group;");
    };
    for (int stage = 0; stage < kStages - 1; ++stage) fetch(stage, stage * 4);
    float sums[kEach][kEach][4] = {};
    for (int step = 0; step < n / 32; ++step) {
        const int now = step % kStages;
        asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
        __syncthreads();
        unsigned of_a[kEach][8], of_b[kEach][4];
        for (int i = 0; i < kEach; ++i) {
            load_x4(of_a[i], &a_tile[now][row + i * 8 + a_row][a_column]);
            load_x4(of_a[i] + 4, &a_tile[now][row + i * 8 + a_row][a_column ^ 2]);
        }
        for (int j = 0; j < kEach; ++j) {
            load_x2(of_b[j], &b_tile[now][column + j * 4 + b_row][b_column]);
            load_x2(of_b[j] + 2, &b_tile[now][column + j * 4 + b_row][b_column ^ 2]);
        }
        fetch((step + kStages - 1) % kStages, min((step + kStages - 1) * 4, last));
        for (int i = 0; i < kEach; ++i)
            for (int j = 0; j < kEach; ++j) {
                multiply(of_a[i], of_b[j], sums[i][j]);
                multiply(of_a[i] + 4, of_b[j] + 2, sums[i][j]);
            }
    }
    store<kEach>(c, n, blockIdx.y * kTile + row * 2, blockIdx.x * kTile + column * 2, lane, sums);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {128});
    const int n = static_cast<int>(run.size(0));
    const size_t count = size_t(n) * n;
    chain::Array<__half> a(count), b(count), turned(count);
    chain::Array<float> c(count);
    std::vector<double> expected;
    if (run.verify) {
        auto value = [](size_t i, unsigned seed) { return static_cast<int>(8 * chain::pattern(i, seed)) / 8.0f; };
        a.fill([&](size_t i) { return __float2half(value(i, 1)); });
        b.fill([&](size_t i) { return __float2half(value(i, 2)); });
        turned.fill([&](size_t i) { return __float2half(value(i % n * n + i / n, 2)); });
        expected.assign(count, 0.0);
        for (int i = 0; i < n; ++i)
            for (int k = 0; k < n; ++k)
                for (int j = 0; j < n; ++j) expected[size_t(i) * n + j] += double(value(size_t(i) * n + k, 1)) * value(size_t(k) * n + j, 2);
    }
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto check = [&] { return chain::close(c, expected, 1e-3, 10.0); };
    const dim3 block(16, 16), by32(n / 32, n / 32), by64(n / 64, n / 64), by128(n / 128, n / 128);
    const uint4 *wide_a = reinterpret_cast<const uint4*>(a.data), *wide_b = reinterpret_cast<const uint4*>(turned.data);
    run.variant("plain", [&] { plain<1><<<by32, block>>>(a, b, c, n); }, check, prepare);
    run.variant("plain_2x2", [&] { plain<2><<<by64, block>>>(a, b, c, n); }, check, prepare);
    run.variant("permuted", [&] { permuted<false><<<by64, block>>>(wide_a, wide_b, c, n); }, check, prepare);
    run.variant("permuted_once", [&] { permuted<true><<<by64, block>>>(wide_a, wide_b, c, n); }, check, prepare);
    run.variant("pipelined", [&] { pipelined<2><<<by64, block>>>(wide_a, wide_b, c, n); }, check, prepare);
    run.variant("pipelined_4x4", [&] { pipelined<4><<<by128, block>>>(wide_a, wide_b, c, n); }, check, prepare);
    return run.finish();
}
