// Matrix times vector with several threads per row: the matrix in half precision, or quantised to 8 or 4 bits and
// widened while it is multiplied. SIZES are the rows (and columns), the threads of a row, and the rows of a block.
#include <cuda_fp16.h>

#include <cstdint>

#include "common.h"

constexpr unsigned kAll = 0xffffffffu;
constexpr int kMostRows = 64;

// Aligned like their members, so that they are read piece by piece, as the published kernels read them.
struct Words4 { uint16_t at[4]; };
struct Bytes4 { uint8_t at[4]; };

__device__ float warp_sum(float sum, unsigned lanes) {
    if (lanes >= 32) sum += __shfl_down_sync(kAll, sum, 16);
    if (lanes >= 16) sum += __shfl_down_sync(kAll, sum, 8);
    if (lanes >= 8) sum += __shfl_down_sync(kAll, sum, 4);
    if (lanes >= 4) sum += __shfl_down_sync(kAll, sum, 2);
    if (lanes >= 2) sum += __shfl_down_sync(kAll, sum, 1);
    return sum;
}

// The sum over the threads of a row, through shared memory where they are more than a warp.
__device__ void store_row(float sum, __half* out, unsigned row) {
    __shared__ float warps[kMostRows][32];
    sum = warp_sum(sum, blockDim.x);
    if (blockDim.x > 32) {
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        if (lane == 0) warps[threadIdx.y][warp] = sum;
        __syncthreads();
        sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.y][lane] : 0.0f;
        if (warp == 0) sum = warp_sum(sum, blockDim.x / 32);
    }
    if (threadIdx.x == 0) out[row] = __float2half(sum);
}

// Eight halves at a time of both operands.
__global__ void half_rows(const __half* matrix, const __half* vector, __half* out, unsigned n, unsigned per_thread) {
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    const float4* matrix8 = reinterpret_cast<const float4*>(matrix);
    const float4* vector8 = reinterpret_cast<const float4*>(vector);
    float sum = 0.0f;
    for (unsigned turn = 0; turn < per_thread / 8; ++turn) {
        const unsigned i = threadIdx.x + turn * blockDim.x;
        if (i >= n / 8) continue;
        const float4 v = vector8[i], m = matrix8[row * (n / 8) + i];
        const __half2* v2 = reinterpret_cast<const __half2*>(&v);
        const __half2* m2 = reinterpret_cast<const __half2*>(&m);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum += __low2float(v2[k]) * __low2float(m2[k]);
            sum += __high2float(v2[k]) * __high2float(m2[k]);
        }
    }
    store_row(sum, out, row);
}

// Eight bytes of the matrix at a time, two of them in a word.
__global__ void int8_rows(const int8_t* matrix, const __half* vector, __half* out, unsigned n, float scale, float zero,
                          unsigned per_thread) {
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    const Words4* matrix8 = reinterpret_cast<const Words4*>(matrix);
    const float4* vector8 = reinterpret_cast<const float4*>(vector);
    float sum = 0.0f;
    for (unsigned turn = 0; turn < per_thread / 8; ++turn) {
        const unsigned i = threadIdx.x + turn * blockDim.x;
        if (i >= n / 8) continue;
        const float4 v = vector8[i];
        const Words4 m = matrix8[row * (n / 8) + i];
        const __half2* v2 = reinterpret_cast<const __half2*>(&v);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum += __low2float(v2[k]) * (static_cast<float>(static_cast<int8_t>(m.at[k] & 0xff)) - zero);
            sum += __high2float(v2[k]) * (static_cast<float>(static_cast<int8_t>(m.at[k] >> 8)) - zero);
        }
    }
    store_row(sum * scale, out, row);
}

// Sixteen 4-bit numbers at a time, two of them in a byte, read as two groups of single bytes.
__global__ void int4_rows(const uint8_t* matrix, const __half* vector, __half* out, unsigned n, float scale, float zero,
                          unsigned per_thread) {
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    const Bytes4* matrix8 = reinterpret_cast<const Bytes4*>(matrix);
    const float4* vector8 = reinterpret_cast<const float4*>(vector);
    float sum = 0.0f;
    for (unsigned turn = 0; turn < per_thread / 16; ++turn) {
        const unsigned i = 2 * (threadIdx.x + turn * blockDim.x);
        if (i >= n / 8) continue;
        const float4 v[2] = {vector8[i], vector8[i + 1]};
        const Bytes4 m[2] = {matrix8[row * (n / 8) + i], matrix8[row * (n / 8) + i + 1]};
        const __half2* v2 = reinterpret_cast<const __half2*>(v);
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const uint8_t pair = m[k / 4].at[k % 4];
            sum += __low2float(v2[k]) * (static_cast<float>(pair >> 4) - zero);
            sum += __high2float(v2[k]) * (static_cast<float>(pair & 15) - zero);
        }
    }
    store_row(sum * scale, out, row);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096, 256, 1}, {1024, 64, 2});
    const unsigned n = static_cast<unsigned>(run.size(0)), threads = static_cast<unsigned>(run.size(1));
    const unsigned rows = static_cast<unsigned>(run.size(2)), per_thread = n / threads;
    const float scale = 0.0625f, zero = 0.5f;
    chain::Array<uint8_t> matrix(size_t(n) * n * sizeof(__half));
    chain::Array<__half> vector(n), out(n);
    if (run.verify) vector.fill([](size_t i) { return __float2half(chain::pattern(i, 2)); });

    const dim3 block(threads, rows), grid(1, n / rows);
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    // What the i-th number of the matrix is worth; each variant sees the same bytes in its own way.
    std::function<double(size_t)> entry;
    auto check = [&] {
        std::vector<double> expected(n, 0.0);
        for (unsigned r = 0; r < n; ++r)
            for (unsigned c = 0; c < n; ++c) expected[r] += entry(size_t(r) * n + c) * __half2float(vector.host[c]);
        return chain::close(out, expected, 5e-3, 4.0);
    };
    auto fill = [&](std::function<double(size_t)> value, const std::function<void()>& write) {
        entry = value;
        if (run.verify) {
            matrix.host.assign(matrix.count, 0);
            write();
            matrix.upload();
        }
    };
    auto number = [](size_t i) { return chain::pattern(i, 1); };
    auto eight = [&](size_t i) { return static_cast<int>(number(i) * 100.0f); };
    auto four = [&](size_t i) { return static_cast<int>((number(i) + 1.0f) * 7.99f); };

    fill([&](size_t i) { return double(__half2float(__float2half(number(i)))); },
         [&] { for (size_t i = 0; i < size_t(n) * n; ++i) reinterpret_cast<__half*>(matrix.host.data())[i] = __float2half(number(i)); });
    run.variant("half_rows",
                [&] { half_rows<<<grid, block>>>(reinterpret_cast<__half*>(matrix.data), vector, out, n, per_thread); },
                check, prepare);
    fill([&](size_t i) { return (eight(i) - zero) * scale; },
         [&] { for (size_t i = 0; i < size_t(n) * n; ++i) matrix.host[i] = static_cast<uint8_t>(static_cast<int8_t>(eight(i))); });
    run.variant("int8_rows",
                [&] { int8_rows<<<grid, block>>>(reinterpret_cast<int8_t*>(matrix.data), vector, out, n, scale, zero, per_thread); },
                check, prepare);
    fill([&](size_t i) { return (four(i) - zero) * scale; },
         [&] { for (size_t i = 0; i < size_t(n) * n / 2; ++i) matrix.host[i] = static_cast<uint8_t>(four(2 * i) << 4 | four(2 * i + 1)); });
    run.variant("int4_rows",
                [&] { int4_rows<<<grid, block>>>(matrix, vector, out, n, scale, zero, per_thread); }, check, prepare);
    return run.finish();
}
