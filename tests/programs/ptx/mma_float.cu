// mma.sync on half, bfloat16, tf32 and double fragments, placed by the layouts of the PTX manual.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../check.h"

// Row-major A (16 x K), column-major B (K x 8, stored as 8 x K), C and D 16 x 8.
__device__ unsigned pack(const unsigned short* p) { return unsigned(p[0]) | unsigned(p[1]) << 16; }

template <bool BF16>
__global__ void mma_m16n8k16(const unsigned short* a, const unsigned short* b, const float* c, float* d) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned ra[4] = {pack(&a[g * 16 + 2 * t]), pack(&a[(g + 8) * 16 + 2 * t]), pack(&a[g * 16 + 2 * t + 8]), pack(&a[(g + 8) * 16 + 2 * t + 8])};
    unsigned rb[2] = {pack(&b[g * 16 + 2 * t]), pack(&b[g * 16 + 2 * t + 8])};
    float rc[4] = {c[g * 8 + 2 * t], c[g * 8 + 2 * t + 1], c[(g + 8) * 8 + 2 * t], c[(g + 8) * 8 + 2 * t + 1]}, rd[4];
    if (BF16) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
                     : "=f"(rd[0]), "=f"(rd[1]), "=f"(rd[2]), "=f"(rd[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "f"(rc[0]), "f"(rc[1]), "f"(rc[2]), "f"(rc[3]));
    } else {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
                     : "=f"(rd[0]), "=f"(rd[1]), "=f"(rd[2]), "=f"(rd[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "f"(rc[0]), "f"(rc[1]), "f"(rc[2]), "f"(rc[3]));
    }
    d[g * 8 + 2 * t] = rd[0], d[g * 8 + 2 * t + 1] = rd[1], d[(g + 8) * 8 + 2 * t] = rd[2], d[(g + 8) * 8 + 2 * t + 1] = rd[3];
}

// Half accumulators, K = 8 twice instead of 16 once.
__global__ void mma_f16_accumulate(const unsigned short* a, const unsigned short* b, const unsigned short* c, unsigned* d) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned rc[2] = {pack(&c[g * 8 + 2 * t]), pack(&c[(g + 8) * 8 + 2 * t])};
    for (int k = 0; k < 16; k += 8) {
        unsigned ra[2] = {pack(&a[g * 16 + 2 * t + k]), pack(&a[(g + 8) * 16 + 2 * t + k])}, rb = pack(&b[g * 16 + 2 * t + k]);
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};" : "+r"(rc[0]), "+r"(rc[1]) : "r"(ra[0]), "r"(ra[1]), "r"(rb));
    }
    d[g * 4 + t] = rc[0], d[(g + 8) * 4 + t] = rc[1];
}

__global__ void mma_tf32(const float* a, const float* b, const float* c, float* d) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned ra[4], rb[2];
    const float av[4] = {a[g * 8 + t], a[(g + 8) * 8 + t], a[g * 8 + t + 4], a[(g + 8) * 8 + t + 4]}, bv[2] = {b[g * 8 + t], b[g * 8 + t + 4]};
    for (int i = 0; i < 4; i++) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(ra[i]) : "f"(av[i]));
    for (int i = 0; i < 2; i++) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rb[i]) : "f"(bv[i]));
    float rd[4] = {c[g * 8 + 2 * t], c[g * 8 + 2 * t + 1], c[(g + 8) * 8 + 2 * t], c[(g + 8) * 8 + 2 * t + 1]};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(rd[0]), "+f"(rd[1]), "+f"(rd[2]), "+f"(rd[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    d[g * 8 + 2 * t] = rd[0], d[g * 8 + 2 * t + 1] = rd[1], d[(g + 8) * 8 + 2 * t] = rd[2], d[(g + 8) * 8 + 2 * t + 1] = rd[3];
}

// D (8 x 8) = A (8 x 4) B (4 x 8) + C.
__global__ void mma_f64(const double* a, const double* b, const double* c, double* d) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    double rd[2] = {c[g * 8 + 2 * t], c[g * 8 + 2 * t + 1]};
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(rd[0]), "+d"(rd[1]) : "d"(a[g * 4 + t]), "d"(b[g * 4 + t]));
    d[g * 8 + 2 * t] = rd[0], d[g * 8 + 2 * t + 1] = rd[1];
}

int main() {
    Random random(44);
    // Multiples of 1/8: exact in every format and in every order of summation.
    auto draw = [&] { return float(int(random.below(33)) - 16) / 8; };
    std::vector<float> a(256), b(128), c(128);
    for (auto* v : {&a, &b, &c}) for (float& x : *v) x = draw();
    auto reference = [&](int i, int j, int depth) {
        double sum = c[i * 8 + j];
        for (int k = 0; k < depth; k++) sum += double(a[i * depth + k]) * b[j * depth + k];
        return sum;
    };
    for (bool bf16 : {false, true}) {
        std::vector<unsigned short> ha(256), hb(128);
        auto encode = [&](float x) { return bf16 ? __bfloat16_as_ushort(__float2bfloat16(x)) : __half_as_ushort(__float2half(x)); };
        for (int i = 0; i < 256; i++) ha[i] = encode(a[i]);
        for (int i = 0; i < 128; i++) hb[i] = encode(b[i]);
        Buffer<unsigned short> da(ha), db(hb);
        Buffer<float> dc(c), dd(128);
        if (bf16) mma_m16n8k16<true><<<1, 32>>>(da, db, dc, dd); else mma_m16n8k16<false><<<1, 32>>>(da, db, dc, dd);
        auto d = dd.host();
        for (int i = 0; i < 128; i++) expect_equal(bf16 ? "bf16" : "f16", i, float(reference(i / 8, i % 8, 16)), d[i]);
        if (bf16) continue;
        std::vector<unsigned short> hc(128);
        for (int i = 0; i < 128; i++) hc[i] = encode(c[i]);
        Buffer<unsigned short> dhc(hc);
        Buffer<unsigned> dh(64);
        mma_f16_accumulate<<<1, 32>>>(da, db, dhc, dh);
        auto h = dh.host();
        for (int i = 0; i < 128; i++) {
            expect_equal("f16 accumulate", i, float(reference(i / 8, i % 8, 16)), __half2float(__ushort_as_half((unsigned short)(h[i / 2] >> (16 * (i % 2))))));
        }
    }

    Buffer<float> da(a), db(b), dc(c), dd(128);
    mma_tf32<<<1, 32>>>(da, db, dc, dd);
    auto d = dd.host();
    for (int i = 0; i < 128; i++) expect_equal("tf32", i, float(reference(i / 8, i % 8, 8)), d[i]);

    std::vector<double> wa(32), wb(32), wc(64);
    for (auto* v : {&wa, &wb, &wc}) for (double& x : *v) x = random.range(-1, 1);
    Buffer<double> dwa(wa), dwb(wb), dwc(wc), dwd(64);
    mma_f64<<<1, 32>>>(dwa, dwb, dwc, dwd);
    auto w = dwd.host();
    for (int i = 0; i < 64; i++) {
        double sum = wc[i];
        for (int k = 0; k < 4; k++) sum += wa[i / 8 * 4 + k] * wb[i % 8 * 4 + k];
        expect_near("f64", i, sum, w[i], 1e-14, 1e-14);
    }
    return passed();
}
