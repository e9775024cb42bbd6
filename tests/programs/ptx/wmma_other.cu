// The wmma API on bfloat16, tf32, 8-bit integers and doubles.
#include <cuda_bf16.h>
#include <mma.h>

#include "../check.h"

using namespace nvcuda;

__global__ void bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::load_matrix_sync(a, A, 16);
    wmma::load_matrix_sync(b, B, 16);
    wmma::fill_fragment(c, 0.25f);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}

__global__ void tf32(const float* A, const float* B, float* C) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> c;
    wmma::load_matrix_sync(c, C, 16, wmma::mem_row_major);
    wmma::load_matrix_sync(a, A, 8);
    wmma::load_matrix_sync(b, B, 16);
    for (int i = 0; i < a.num_elements; i++) a.x[i] = wmma::__float_to_tf32(a.x[i]);
    for (int i = 0; i < b.num_elements; i++) b.x[i] = wmma::__float_to_tf32(b.x[i]);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}

// A and B as slices 16 deep, so that every slice starts on 32 bytes.
template <class T, int M, int N>
__global__ void integers(const T* A, const T* B, int* C) {
    wmma::fragment<wmma::matrix_a, M, N, 16, T, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, M, N, 16, T, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, M, N, 16, int> c;
    wmma::fill_fragment(c, 7);
    for (int k = 0; k < 32; k += 16) {
        wmma::load_matrix_sync(a, A + k * M, 16);
        wmma::load_matrix_sync(b, B + k * N, 16);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C, c, N, wmma::mem_row_major);
}

__global__ void doubles(const double* A, const double* B, double* C) {
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> c;
    wmma::fill_fragment(c, 0.0);
    for (int k = 0; k < 12; k += 4) {
        wmma::load_matrix_sync(a, A + k, 12);
        wmma::load_matrix_sync(b, B + k, 12);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C, c, 8, wmma::mem_col_major);
}

template <class T, int M, int N>
void check_integers(const char* what, uint64_t seed) {
    Random random(seed);
    std::vector<T> a(M * 32), b(N * 32);
    for (T& v : a) v = T(random.u32());
    for (T& v : b) v = T(random.u32());
    Buffer<T> da(a), db(b);
    Buffer<int> dc(M * N);
    integers<T, M, N><<<1, 32>>>(da.data, db.data, dc);
    auto c = dc.host();
    for (int i = 0; i < M * N; i++) {
        int sum = 7;
        for (int k = 0; k < 32; k++) sum += int(a[(k / 16 * M + i / N) * 16 + k % 16]) * int(b[(k / 16 * N + i % N) * 16 + k % 16]);
        expect_equal(what, i, sum, c[i]);
    }
}

int main() {
    Random random(57);
    auto draw = [&] { return float(int(random.below(33)) - 16) / 16; };
    std::vector<__nv_bfloat16> ba(256), bb(256);
    for (auto* v : {&ba, &bb}) for (auto& x : *v) x = __float2bfloat16(draw());
    Buffer<__nv_bfloat16> dba(ba), dbb(bb);
    Buffer<float> dc(256);
    bf16<<<1, 32>>>(dba, dbb, dc);
    auto c = dc.host();
    for (int i = 0; i < 256; i++) {
        float sum = 0.25f;
        for (int k = 0; k < 16; k++) sum += __bfloat162float(ba[i / 16 * 16 + k]) * __bfloat162float(bb[i % 16 * 16 + k]);
        expect_equal("bf16", i, sum, c[i]);
    }

    std::vector<float> fa(128), fb(128), fc(256);
    for (auto* v : {&fa, &fb, &fc}) for (float& x : *v) x = draw();
    Buffer<float> dfa(fa), dfb(fb), dfc(fc);
    tf32<<<1, 32>>>(dfa, dfb, dfc);
    c = dfc.host();
    for (int i = 0; i < 256; i++) {
        float sum = fc[i];
        for (int k = 0; k < 8; k++) sum += fa[i / 16 * 8 + k] * fb[k * 16 + i % 16];
        expect_equal("tf32", i, sum, c[i]);
    }

    check_integers<signed char, 16, 16>("s8 16x16", 58);
    check_integers<unsigned char, 16, 16>("u8 16x16", 59);
    check_integers<signed char, 32, 8>("s8 32x8", 60);
    check_integers<unsigned char, 8, 32>("u8 8x32", 61);

    std::vector<double> da(96), db(96);
    for (auto* v : {&da, &db}) for (double& x : *v) x = random.range(-1, 1);
    Buffer<double> dda(da), ddb(db), ddc(64);
    doubles<<<1, 32>>>(dda, ddb, ddc);
    auto d = ddc.host();
    for (int i = 0; i < 64; i++) {
        double sum = 0;
        for (int k = 0; k < 12; k++) sum += da[i % 8 * 12 + k] * db[i / 8 * 12 + k];
        expect_near("double", i, sum, d[i], 1e-13, 1e-14);
    }
    return passed();
}
