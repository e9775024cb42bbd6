// Attention without a mask for heads of 128 half elements, tile by tile with a running softmax (sm_80 and later, mma.sync
// with fp32 accumulators): from plain shared-memory tiles to swizzled, pipelined and batched ones. SIZES are the length
// of the sequence (a multiple of 128), heads and batch. Compile with --use_fast_math, as published.
#include <cuda_fp16.h>

#include <cstdint>

#include "common.h"

constexpr int kDim = 128;

__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void copy_async(half* to, const half* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}
__device__ void commit() { asm volatile("cp.async.commit_group;"); }
__device__ void wait_all() { asm volatile("cp.async.wait_group 0;"); }
__device__ void load_x4(uint32_t* r, const half* at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(at)));
}
__device__ void load_x4_transposed(uint32_t* r, const half* at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(at)));
}
__device__ void load_x2_transposed(uint32_t* r, const half* at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(at)));
}
__device__ void multiply(float* d, const uint32_t* a, const uint32_t* b) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ uint32_t pack(float low, float high) {
    half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<uint32_t*>(&both);
}

// Where an element of a tile lies; swizzled, the eight 16-byte parts of 128 bytes change places from row to row.
template <bool kSwizzle>
__device__ int place(int row, int column) {
    return kSwizzle ? row * kDim + (((column >> 3) ^ (row & 7)) << 3) + (column & 7) : row * kDim + column;
}

template <int kRows, int kThreads, bool kSwizzle>
__device__ void load_tile(const half* from, half* to) {
#pragma unroll
    for (int part = 0; part < kRows * kDim / 8 / kThreads; ++part) {  // a constant count, so that all of it is unrolled
        const int i = threadIdx.x + part * kThreads;
        copy_async(to + place<kSwizzle>(i / (kDim / 8), i % (kDim / 8) * 8), from + i * 8);
    }
}

// A block owns kRows queries and goes over kColumns keys at a time; a warp owns kTiles times 16 queries.
template <int kRows, int kColumns, int kWarps, bool kSwizzle, bool kPipelined, bool kPairs, bool kExp2, bool kBatched>
__global__ void __launch_bounds__(kWarps * 32)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v, half* __restrict__ out, int n) {
    constexpr int kThreads = kWarps * 32, kTiles = kRows / (kWarps * 16), kKeys = kColumns / 8, kOut = kDim / 8;
    extern __shared__ __align__(128) half shared[];
    half *q_tile = shared, *k_tile = shared + kRows * kDim, *v_tile = k_tile + kColumns * kDim;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row0 = warp * kTiles * 16;
    const int head = (blockIdx.z * gridDim.y + blockIdx.y) * n * kDim, first = head + blockIdx.x * kRows * kDim;
    const float scale = 1.0f / sqrtf(float(kDim)), scale2 = scale * 1.44269504f;
    k += head;
    v += head;
    load_tile<kRows, kThreads, kSwizzle>(q + first, q_tile);
    commit();
    wait_all();
    __syncthreads();

    float sums[kTiles][kOut][4] = {}, maximum[kTiles][2], total[kTiles][2] = {};
#pragma unroll
    for (int t = 0; t < kTiles; ++t) maximum[t][0] = maximum[t][1] = -INFINITY;
    if (kPipelined) {
        load_tile<kColumns, kThreads, kSwizzle>(k, k_tile);
        commit();
    }
    const int steps = n / kColumns;
    for (int step = 0; step < steps; ++step) {
        if (!kPipelined) {
            load_tile<kColumns, kThreads, kSwizzle>(k + step * kColumns * kDim, k_tile);
            load_tile<kColumns, kThreads, kSwizzle>(v + step * kColumns * kDim, v_tile);
            commit();
        }
        wait_all();
        __syncthreads();
        if (kPipelined) {
            load_tile<kColumns, kThreads, kSwizzle>(v + step * kColumns * kDim, v_tile);
            commit();
        }

        // Scores. A batch shares what it loads of K; otherwise each 16 queries load it anew.
        float scores[kTiles][kKeys][4] = {};
        constexpr int kAtOnce = kBatched ? kTiles : 1;
#pragma unroll
        for (int t0 = 0; t0 < kTiles; t0 += kAtOnce)
#pragma unroll
            for (int d = 0; d < kDim; d += 16) {
                uint32_t of_q[kAtOnce][4], of_k[4];
#pragma unroll
                for (int t = 0; t < kAtOnce; ++t)
                    load_x4(of_q[t], q_tile + place<kSwizzle>(row0 + (t0 + t) * 16 + lane % 16, d + lane / 16 * 8));
#pragma unroll
                for (int j = 0; j < kKeys; j += 2) {
                    load_x4(of_k, k_tile + place<kSwizzle>(j * 8 + lane % 8 + lane / 16 * 8, d + lane / 8 % 2 * 8));
#pragma unroll
                    for (int t = 0; t < kAtOnce; ++t) {
                        multiply(scores[t0 + t][j], of_q[t], of_k);
                        multiply(scores[t0 + t][j + 1], of_q[t], of_k + 2);
                    }
                }
            }

        // Values are there, and the keys' tile is free: a batch goes on before its softmax, the others after it.
        auto values_arrive = [&] {
            wait_all();
            __syncthreads();
            if (step + 1 < steps) load_tile<kColumns, kThreads, kSwizzle>(k + (step + 1) * kColumns * kDim, k_tile);
            commit();
        };
        if (kPipelined && kBatched) values_arrive();

        // Running softmax of the two rows that a thread shares with three others.
        uint32_t weights[kTiles][kColumns / 16][4];
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                float largest = -INFINITY;
                if (!kExp2)
#pragma unroll
                    for (int j = 0; j < kKeys; ++j) scores[t][j][2 * r] *= scale, scores[t][j][2 * r + 1] *= scale;
#pragma unroll
                for (int j = 0; j < kKeys; ++j) largest = fmaxf(largest, fmaxf(scores[t][j][2 * r], scores[t][j][2 * r + 1]));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
                if (kExp2) largest *= scale2;
                largest = fmaxf(largest, maximum[t][r]);
                const float correction = kExp2 ? exp2f(maximum[t][r] - largest) : __expf(maximum[t][r] - largest);
                maximum[t][r] = largest;
                float sum = 0.0f;
#pragma unroll
                for (int j = 0; j < kKeys; ++j)
#pragma unroll
                    for (int e = 2 * r; e < 2 * r + 2; ++e) {
                        float& s = scores[t][j][e];
                        s = kExp2 ? exp2f(s * scale2 - largest) : __expf(s - largest);
                        sum += s;
                    }
                sum += __shfl_xor_sync(0xffffffffu, sum, 1);
                sum += __shfl_xor_sync(0xffffffffu, sum, 2);
                total[t][r] = total[t][r] * correction + sum;
#pragma unroll
                for (int o = 0; o < kOut; ++o) sums[t][o][2 * r] *= correction, sums[t][o][2 * r + 1] *= correction;
            }
#pragma unroll
            for (int c = 0; c < kColumns / 16; ++c) {
                weights[t][c][0] = pack(scores[t][2 * c][0], scores[t][2 * c][1]);
                weights[t][c][1] = pack(scores[t][2 * c][2], scores[t][2 * c][3]);
                weights[t][c][2] = pack(scores[t][2 * c + 1][0], scores[t][2 * c + 1][1]);
                weights[t][c][3] = pack(scores[t][2 * c + 1][2], scores[t][2 * c + 1][3]);
            }
        }
        if (kPipelined && !kBatched) values_arrive();

        // Weighted values. A batch has all of them in registers first; otherwise they come as they are needed.
        auto load_values = [&](uint32_t* of_v, int c, int o) {
            if (kPairs) {
                load_x4_transposed(of_v, v_tile + place<kSwizzle>(c * 16 + lane % 16, o * 8 + lane / 16 * 8));
            } else {
                load_x2_transposed(of_v, v_tile + place<kSwizzle>(c * 16 + lane % 16, o * 8));
                load_x2_transposed(of_v + 2, v_tile + place<kSwizzle>(c * 16 + lane % 16, o * 8 + 8));
            }
        };
        uint32_t values[kBatched ? kColumns / 16 : 1][kBatched ? kOut / 2 : 1][4];
        if (kBatched)
#pragma unroll
            for (int c = 0; c < kColumns / 16; ++c)
#pragma unroll
                for (int o = 0; o < kOut; o += 2) load_values(values[c][o / 2], c, o);
#pragma unroll
        for (int t0 = 0; t0 < kTiles; t0 += kAtOnce)
#pragma unroll
            for (int c = 0; c < kColumns / 16; ++c)
#pragma unroll
                for (int o = 0; o < kOut; o += 2) {
                    uint32_t* of_v = values[kBatched ? c : 0][kBatched ? o / 2 : 0];
                    if (!kBatched) load_values(of_v, c, o);
#pragma unroll
                    for (int t = 0; t < kAtOnce; ++t) {
                        multiply(sums[t0 + t][o], weights[t0 + t][c], of_v);
                        multiply(sums[t0 + t][o + 1], weights[t0 + t][c], of_v + 2);
                    }
                }
        if (!kPipelined) __syncthreads();
    }

    // Through the queries' tile, so that stores to global memory are coalesced.
    __syncthreads();
#pragma unroll
    for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int o = 0; o < kOut; ++o)
#pragma unroll
            for (int r = 0; r < 2; ++r)
                *reinterpret_cast<half2*>(q_tile + place<kSwizzle>(row0 + t * 16 + lane / 4 + 8 * r, o * 8 + lane % 4 * 2)) =
                    __floats2half2_rn(sums[t][o][2 * r] / total[t][r], sums[t][o][2 * r + 1] / total[t][r]);
    __syncthreads();
#pragma unroll
    for (int i = threadIdx.x; i < kRows * kDim / 8; i += kThreads)
        *reinterpret_cast<int4*>(out + first + i * 8) =
            *reinterpret_cast<int4*>(q_tile + place<kSwizzle>(i / (kDim / 8), i % (kDim / 8) * 8));
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096, 16, 16}, {256, 2, 1});
    const int n = static_cast<int>(run.size(0)), heads = static_cast<int>(run.size(1)), batch = static_cast<int>(run.size(2));
    const size_t count = size_t(n) * kDim * heads * batch;
    chain::Array<half> q(count), k(count), v(count), out(count);
    std::vector<float> expected(run.verify ? count : 0);
    if (run.verify) {
        q.fill([](size_t i) { return 2 * chain::pattern(i, 1); });
        k.fill([](size_t i) { return 2 * chain::pattern(i, 2); });
        v.fill([](size_t i) { return chain::pattern(i, 3); });
        std::vector<float> fq(q.host.begin(), q.host.end()), fk(k.host.begin(), k.host.end()), fv(v.host.begin(), v.host.end());
        std::vector<float> weight(n);
        for (size_t head = 0; head < count; head += size_t(n) * kDim)
            for (int i = 0; i < n; ++i) {
                float sum = 0.0f;
                for (int j = 0; j < n; ++j) {
                    float score = 0.0f;
                    for (int d = 0; d < kDim; ++d) score += fq[head + i * kDim + d] * fk[head + j * kDim + d];
                    sum += weight[j] = std::exp(score / std::sqrt(float(kDim)));
                }
                for (int j = 0; j < n; ++j)
                    for (int d = 0; d < kDim; ++d) expected[head + i * kDim + d] += weight[j] / sum * fv[head + j * kDim + d];
            }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, expected, 3e-3); };
    auto variant = [&](const char* name, auto kernel, int rows, int columns, int warps) {
        const int bytes = (rows + 2 * columns) * kDim * 2;
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        run.variant(name, [&] { kernel<<<dim3(n / rows, heads, batch), warps * 32, bytes>>>(q, k, v, out, n); }, check, prepare);
    };
    variant("base", attention<64, 32, 2, false, false, false, false, false>, 64, 32, 2);
    variant("swizzled", attention<64, 128, 4, true, false, false, false, false>, 64, 128, 4);
    variant("pipelined", attention<64, 128, 4, true, true, false, false, false>, 64, 128, 4);
    variant("paired", attention<64, 128, 4, true, true, true, false, false>, 64, 128, 4);
    variant("exp2", attention<64, 128, 4, true, true, true, true, false>, 64, 128, 4);
    variant("batched", attention<128, 64, 4, true, true, true, true, true>, 128, 64, 4);
    return run.finish();
}
