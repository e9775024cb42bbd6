// Memory that nobody wrote may be read, copied and computed with, as long as nothing hangs on it: prefetches that
// are never used, padding, tails of tiles, bits that are masked away. All checks stay silent.
// args: --check all
#include <cuda_fp16.h>
#include <mma.h>

#include "../check.h"

// A product that fetches the next tile in every round, in the last one from a buffer that nobody filled.
__global__ void pipelined(const float* a, const float* b, float* c, int n) {
    __shared__ float as[2][16][16], bs[2][16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    as[0][y][x] = a[row * n + x];
    bs[0][y][x] = b[y * n + column];
    __syncthreads();
    float next_a = as[0][y][0], next_b = bs[0][0][x], sum = 0;
    for (int tile = 0; tile < n / 16; tile++) {
        int now = tile & 1;
        if (tile + 1 < n / 16) {
            as[now ^ 1][y][x] = a[row * n + (tile + 1) * 16 + x];
            bs[now ^ 1][y][x] = b[((tile + 1) * 16 + y) * n + column];
        }
        for (int k = 0; k < 16; k++) {
            float this_a = next_a, this_b = next_b;
            if (k == 15) __syncthreads();
            int buffer = k == 15 ? now ^ 1 : now;
            next_a = as[buffer][y][(k + 1) & 15];
            next_b = bs[buffer][(k + 1) & 15][x];
            sum += this_a * this_b;
        }
        __syncthreads();
    }
    c[row * n + column] = sum;
}

struct Record {
    char kind;
    double weight;
    short small;
};

// Structs with padding are copied as words, through local and shared memory; their members decide.
__global__ void records(const Record* in, Record* out, int* count) {
    __shared__ Record tile[32];
    Record mine = in[threadIdx.x], list[2];
    list[threadIdx.x & 1] = mine;
    tile[threadIdx.x] = list[threadIdx.x & 1];
    __syncthreads();
    Record other = tile[31 - threadIdx.x];
    out[threadIdx.x] = other;
    if (other.kind == 'x' && other.weight > 4 && other.small < 7) atomicAdd(count, 1);
}

struct Flags {
    unsigned a : 3, b : 5, c : 11, d : 13;
};

// A bit field is set member by member in memory that nobody wrote.
__global__ void bit_fields(int* out) {
    __shared__ Flags flags[32];
    Flags& mine = flags[threadIdx.x];
    mine.b = threadIdx.x;
    mine.d = 2 * threadIdx.x;
    if (mine.b > 15) out[threadIdx.x] = mine.d;
    else out[threadIdx.x] = -int(mine.d);
}

// Lanes beyond the end read what nobody wrote; the comparison with the length settles it.
__global__ void tail(const float* in, float* out, int n) {
    __shared__ float tile[64];
    int i = threadIdx.x;
    if (i < n) tile[i] = in[i];
    __syncthreads();
    float v = tile[i];
    float best = i < n && v > 1 ? v : 0;
    for (int offset = 16; offset; offset /= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, offset));
    bool large = i < n && tile[i] > 2;
    if (large) best += 1;
    if (__any_sync(~0u, i < n && v > 3)) best += 2;
    if (i < n) out[i] = best;
}

// Rows of a matrix beyond the last are not filled; their products are not stored.
__global__ void partial_wmma(const half* a, const half* b, float* c, int rows) {
    using namespace nvcuda::wmma;
    __shared__ half tile[256];
    __shared__ float result[256];
    for (int i = threadIdx.x; i < rows * 16; i += 32) tile[i] = a[i];
    __syncwarp();
    fragment<matrix_a, 16, 16, 16, half, row_major> left;
    fragment<matrix_b, 16, 16, 16, half, row_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    load_matrix_sync(left, tile, 16);
    load_matrix_sync(right, b, 16);
    mma_sync(sum, left, right, sum);
    store_matrix_sync(result, sum, 16, mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < rows * 16; i += 32) c[i] = result[i] > 100 ? 100 : result[i];
}

// The upper half of the last pair is past the end.
__global__ void half_pairs(const half* in, half* out, int n) {
    __shared__ half tile[64];
    for (int i = threadIdx.x; i < n; i += 32) tile[i] = in[i];
    __syncwarp();
    half2 v = reinterpret_cast<half2*>(tile)[threadIdx.x];
    v = __hfma2(v, v, v);
    int i = 2 * threadIdx.x;
    if (i < n && __low2float(v) > 0) out[i] = __low2half(v);
    if (i + 1 < n && __high2float(v) > 0) out[i + 1] = __high2half(v);
}

int main() {
    const int n = 48;
    std::vector<float> a(n * n), b(n * n), wanted(n * n);
    for (int i = 0; i < n * n; i++) a[i] = float(i % 7 - 3), b[i] = float(i % 5 - 2);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) wanted[i * n + j] += a[i * n + k] * b[k * n + j];
    Buffer<float> da(a), db(b), dc(size_t(n * n));
    pipelined<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(da, db, dc, n);
    expect_all("product", wanted, dc.host());

    std::vector<Record> list(32);
    for (int i = 0; i < 32; i++) list[i].kind = i % 2 ? 'x' : 'y', list[i].weight = i, list[i].small = short(i % 9);
    Record *from, *to;  // every member is written, the padding is not
    CUDA_OK(cudaMalloc(&from, 32 * sizeof(Record)));
    CUDA_OK(cudaMalloc(&to, 32 * sizeof(Record)));
    for (int i = 0; i < 32; i++) {
        CUDA_OK(cudaMemcpy(&from[i].kind, &list[i].kind, 1, cudaMemcpyHostToDevice));
        CUDA_OK(cudaMemcpy(&from[i].weight, &list[i].weight, 8, cudaMemcpyHostToDevice));
        CUDA_OK(cudaMemcpy(&from[i].small, &list[i].small, 2, cudaMemcpyHostToDevice));
    }
    Buffer<int> count(1), fields(32);
    records<<<1, 32>>>(from, to, count);
    int many = 0;
    for (auto& r : list) many += r.kind == 'x' && r.weight > 4 && r.small < 7;
    expect_equal("records", 0, many, count.host()[0]);
    bit_fields<<<1, 32>>>(fields);
    for (int i = 0; i < 32; i++) expect_equal("bits", i, i > 15 ? 2 * i : -2 * i, fields.host()[i]);

    std::vector<float> small(40);
    for (int i = 0; i < 40; i++) small[i] = float(i % 5);
    Buffer<float> ds(small), dt(40);
    tail<<<1, 64>>>(ds, dt, 40);
    for (int i = 0; i < 40; i++) expect_equal("tail", i, 4.0f + (small[i] > 2 ? 1 : 0) + 2, dt.host()[i]);

    std::vector<half> ha(256), hb(256);
    std::vector<float> hc(80);
    for (int i = 0; i < 256; i++) ha[i] = __float2half(float(i % 3)), hb[i] = __float2half(float(i % 4 - 1));
    for (int i = 0; i < 80; i++)
        for (int k = 0; k < 16; k++) hc[i] += float(i / 16 * 16 + k) >= 0 ? float((i / 16 * 16 + k) % 3) * float((k * 16 + i % 16) % 4 - 1) : 0;
    Buffer<half> dha(ha), dhb(hb), dho(39);
    Buffer<float> dhc(80);
    partial_wmma<<<1, 32>>>(dha, dhb, dhc, 5);
    expect_all("wmma", hc, dhc.host());
    half_pairs<<<1, 32>>>(dha, dho, 39);
    auto pairs = dho.host();
    for (int i = 0; i < 39; i++) {
        float v = __half2float(ha[i]);
        expect_equal("pairs", i, v * v + v > 0 ? v * v + v : 0.0f, __half2float(pairs[i]));
    }
    return passed();
}
