// The wmma API on half: all three shapes, every combination of layouts, half and float accumulators,
// element-wise work on fragments, global and shared memory.
#include <cuda_fp16.h>
#include <mma.h>

#include "../check.h"

using namespace nvcuda;

// C (M x N) = A (M x K) B (K x N) + bias, scaled on the fragment. Layouts by template.
template <int M, int N, int K, class LA, class LB, class T>
__global__ void multiply(const __half* A, const __half* B, T* C, int depth, bool store_columns) {
    wmma::fragment<wmma::matrix_a, M, N, K, __half, LA> a;
    wmma::fragment<wmma::matrix_b, M, N, K, __half, LB> b;
    wmma::fragment<wmma::accumulator, M, N, K, T> c;
    constexpr bool a_rows = std::is_same<LA, wmma::row_major>::value, b_rows = std::is_same<LB, wmma::row_major>::value;
    wmma::fill_fragment(c, T(1.0f));
    for (int k = 0; k < depth; k += K) {
        wmma::load_matrix_sync(a, a_rows ? A + k : A + k * M, a_rows ? depth : M);
        wmma::load_matrix_sync(b, b_rows ? B + k * N : B + k, b_rows ? N : depth);
        wmma::mma_sync(c, a, b, c);
    }
    for (int i = 0; i < c.num_elements; i++) c.x[i] = c.x[i] * T(0.5f);
    wmma::store_matrix_sync(C, c, store_columns ? M : N, store_columns ? wmma::mem_col_major : wmma::mem_row_major);
}

template <int M, int N, int K, class LA, class LB, class T>
void check(const char* what, uint64_t seed, bool store_columns) {
    const int depth = 2 * K;
    constexpr bool a_rows = std::is_same<LA, wmma::row_major>::value, b_rows = std::is_same<LB, wmma::row_major>::value;
    Random random(seed);
    std::vector<float> a(M * depth), b(depth * N);
    std::vector<__half> ha(M * depth), hb(depth * N);
    for (int i = 0; i < M * depth; i++) a[i] = float(int(random.below(17)) - 8) / 8, ha[a_rows ? i : i % depth * M + i / depth] = __float2half(a[i]);
    for (int i = 0; i < depth * N; i++) b[i] = float(int(random.below(17)) - 8) / 8, hb[b_rows ? i : i % N * depth + i / N] = __float2half(b[i]);
    Buffer<__half> da(ha), db(hb);
    Buffer<T> dc(M * N);
    multiply<M, N, K, LA, LB, T><<<1, 32>>>(da, db, dc.data, depth, store_columns);
    auto c = dc.host();
    for (int i = 0; i < M * N; i++) {
        double sum = 1;
        for (int k = 0; k < depth; k++) sum += double(a[i / N * depth + k]) * b[k * N + i % N];
        float got = float(c[store_columns ? i % N * M + i / N : i]);
        expect_near(what, i, sum / 2, got, sizeof(T) == 2 ? 4e-3 : 0, sizeof(T) == 2 ? 4e-3 : 0);
    }
}

// Two warps through shared memory, accumulating onto a matrix that is loaded first.
__global__ void in_shared(const __half* A, const __half* B, float* C) {
    __shared__ alignas(32) __half a[2][256], b[256];
    __shared__ alignas(32) float c[2][256];
    for (int i = threadIdx.x; i < 512; i += 64) a[i / 256][i % 256] = A[i];
    for (int i = threadIdx.x; i < 256; i += 64) b[i] = B[i];
    for (int i = threadIdx.x; i < 512; i += 64) c[i / 256][i % 256] = C[i];
    __syncthreads();
    int w = threadIdx.x / 32;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::load_matrix_sync(fa, a[w], 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::load_matrix_sync(fc, c[w], 16, wmma::mem_row_major);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c[w], fc, 16, wmma::mem_row_major);
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += 64) C[i] = c[i / 256][i % 256];
}

int main() {
    using R = wmma::row_major;
    using L = wmma::col_major;
    check<16, 16, 16, R, L, float>("16x16 row col f32", 47, false);
    check<16, 16, 16, R, R, float>("16x16 row row f32", 48, true);
    check<16, 16, 16, L, L, float>("16x16 col col f32", 49, false);
    check<16, 16, 16, L, R, __half>("16x16 col row f16", 50, false);
    check<16, 16, 16, R, L, __half>("16x16 row col f16", 51, true);
    check<32, 8, 16, R, L, float>("32x8 row col f32", 52, false);
    check<32, 8, 16, L, R, __half>("32x8 col row f16", 53, true);
    check<8, 32, 16, R, R, float>("8x32 row row f32", 54, true);
    check<8, 32, 16, L, L, __half>("8x32 col col f16", 55, false);

    Random random(56);
    std::vector<__half> a(512), b(256);
    std::vector<float> c(512);
    for (auto* v : {&a, &b}) for (__half& x : *v) x = __float2half(float(int(random.below(9)) - 4));
    for (float& x : c) x = float(random.below(100));
    Buffer<__half> da(a), db(b);
    Buffer<float> dc(c);
    in_shared<<<1, 64>>>(da, db, dc);
    auto got = dc.host();
    for (int i = 0; i < 512; i++) {
        float sum = c[i];
        for (int k = 0; k < 16; k++) sum += __half2float(a[i / 16 * 16 + k]) * __half2float(b[i % 16 * 16 + k]);
        expect_equal("shared", i, sum, got[i]);
    }
    return passed();
}
