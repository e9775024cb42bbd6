// ldmatrix x1, x2, x4, plain and transposed, movmatrix, and a shared-memory GEMM built on ldmatrix and mma.
#include <cuda_fp16.h>

#include "../check.h"

__device__ unsigned address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

// Four 8 x 8 matrices of 16-bit values, one below the other.
__global__ void loads(const unsigned short* in, unsigned* out) {
    __shared__ alignas(16) unsigned short tile[32][8];
    int lane = threadIdx.x;
    for (int k = 0; k < 8; k++) tile[lane][k] = in[lane * 8 + k];
    __syncthreads();
    unsigned row = address(tile[lane]), first = address(tile[lane % 8]), second = address(tile[lane % 16]), r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(first));
    out[lane] = r[0];
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(first));
    out[32 + lane] = r[0];
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(second));
    out[64 + lane] = r[0], out[96 + lane] = r[1];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
    for (int k = 0; k < 4; k++) out[128 + 32 * k + lane] = r[k];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
    for (int k = 0; k < 4; k++) out[256 + 32 * k + lane] = r[k];
    unsigned source = out[lane], moved;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(source));
    out[384 + lane] = moved;
}

// C (32 x 16) = A (32 x 32) B (32 x 16): two warps, each 16 rows; B is row-major, hence .trans.
__global__ void gemm(const __half* A, const __half* B, float* C) {
    __shared__ alignas(16) __half a[32][40], b[32][24];  // padded rows
    for (int i = threadIdx.x; i < 32 * 32; i += 64) a[i / 32][i % 32] = A[i];
    for (int i = threadIdx.x; i < 32 * 16; i += 64) b[i / 16][i % 16] = B[i];
    __syncthreads();
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    float c[2][4] = {};
    for (int k = 0; k < 32; k += 16) {
        unsigned ra[4], rb[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
                     : "r"(address(&a[warp * 16 + lane % 16][k + lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(rb[0]), "=r"(rb[1]), "=r"(rb[2]), "=r"(rb[3])
                     : "r"(address(&b[k + lane % 16][lane / 16 * 8])));
        for (int h = 0; h < 2; h++) {
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(c[h][0]), "+f"(c[h][1]), "+f"(c[h][2]), "+f"(c[h][3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[2 * h]), "r"(rb[2 * h + 1]));
        }
    }
    for (int h = 0; h < 2; h++) {
        float* to = C + (warp * 16 + g) * 16 + h * 8 + 2 * t;
        to[0] = c[h][0], to[1] = c[h][1], to[8 * 16] = c[h][2], to[8 * 16 + 1] = c[h][3];
    }
}

int main() {
    Random random(46);
    std::vector<unsigned short> in(256);
    for (auto& v : in) v = (unsigned short)random.u32();
    Buffer<unsigned short> din(in);
    Buffer<unsigned> out(416);
    loads<<<1, 32>>>(din, out);
    auto got = out.host();
    auto plain = [&](int m, int lane) { const unsigned short* p = &in[m * 64 + lane / 4 * 8 + lane % 4 * 2]; return unsigned(p[0]) | unsigned(p[1]) << 16; };
    auto transposed = [&](int m, int lane) { const unsigned short* p = &in[m * 64 + lane % 4 * 16 + lane / 4]; return unsigned(p[0]) | unsigned(p[8]) << 16; };
    for (int l = 0; l < 32; l++) {
        expect_equal("x1", l, plain(0, l), got[l]);
        expect_equal("x1.trans", l, transposed(0, l), got[32 + l]);
        for (int m = 0; m < 2; m++) expect_equal("x2", m * 32 + l, plain(m, l), got[64 + m * 32 + l]);
        for (int m = 0; m < 4; m++) {
            expect_equal("x4", m * 32 + l, plain(m, l), got[128 + m * 32 + l]);
            expect_equal("x4.trans", m * 32 + l, transposed(m, l), got[256 + m * 32 + l]);
        }
        expect_equal("movmatrix", l, transposed(0, l), got[384 + l]);
    }

    std::vector<__half> a(32 * 32), b(32 * 16);
    for (auto* v : {&a, &b}) for (__half& x : *v) x = __float2half(float(int(random.below(17)) - 8) / 4);
    Buffer<__half> da(a), db(b);
    Buffer<float> dc(32 * 16);
    gemm<<<1, 64>>>(da, db, dc);
    auto c = dc.host();
    for (int i = 0; i < 32 * 16; i++) {
        float sum = 0;
        for (int k = 0; k < 32; k++) sum += __half2float(a[i / 16 * 32 + k]) * __half2float(b[k * 16 + i % 16]);
        expect_equal("gemm", i, sum, c[i]);
    }
    return passed();
}
