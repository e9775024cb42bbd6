// Carry chains by inline PTX: 64x64->128 products, 256-bit add and subtract, mad.cc chains.
#include "../check.h"

struct U128 { uint32_t w[4]; };

__device__ U128 multiply(uint64_t x, uint64_t y) {
    uint32_t a0 = uint32_t(x), a1 = uint32_t(x >> 32), b0 = uint32_t(y), b1 = uint32_t(y >> 32);
    U128 r;
    asm("{\n\t"
        "mul.lo.u32      %0, %4, %6;\n\t"
        "mul.hi.u32      %1, %4, %6;\n\t"
        "mad.lo.cc.u32   %1, %4, %7, %1;\n\t"
        "madc.hi.u32     %2, %4, %7, 0;\n\t"
        "mad.lo.cc.u32   %1, %5, %6, %1;\n\t"
        "madc.hi.cc.u32  %2, %5, %6, %2;\n\t"
        "addc.u32        %3, 0, 0;\n\t"
        "mad.lo.cc.u32   %2, %5, %7, %2;\n\t"
        "madc.hi.u32     %3, %5, %7, %3;\n\t"
        "}"
        : "=&r"(r.w[0]), "=&r"(r.w[1]), "=&r"(r.w[2]), "=&r"(r.w[3])
        : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
    return r;
}

__global__ void products(const uint64_t* in, U128* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = multiply(in[i], in[i + 1]);
}

// 256-bit sum and difference over four 64-bit words; also the carry and borrow that come out.
__global__ void wide_sums(const uint64_t* in, uint64_t* sum, uint64_t* difference, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint64_t *a = in + i, *b = in + i + 5;
    uint64_t *s = sum + 5 * i, *d = difference + 5 * i;
    asm volatile("add.cc.u64 %0, %5, %9;\n\taddc.cc.u64 %1, %6, %10;\n\t"
        "addc.cc.u64 %2, %7, %11;\n\taddc.cc.u64 %3, %8, %12;\n\taddc.u64 %4, 0, 0;"
        : "=&l"(s[0]), "=&l"(s[1]), "=&l"(s[2]), "=&l"(s[3]), "=&l"(s[4])
        : "l"(a[0]), "l"(a[1]), "l"(a[2]), "l"(a[3]), "l"(b[0]), "l"(b[1]), "l"(b[2]), "l"(b[3]));
    asm volatile("sub.cc.u64 %0, %5, %9;\n\tsubc.cc.u64 %1, %6, %10;\n\t"
        "subc.cc.u64 %2, %7, %11;\n\tsubc.cc.u64 %3, %8, %12;\n\tsubc.u64 %4, 0, 0;"
        : "=&l"(d[0]), "=&l"(d[1]), "=&l"(d[2]), "=&l"(d[3]), "=&l"(d[4])
        : "l"(a[0]), "l"(a[1]), "l"(a[2]), "l"(a[3]), "l"(b[0]), "l"(b[1]), "l"(b[2]), "l"(b[3]));
}

// A chain that starts inside a divergent branch: only odd lanes add, even lanes subtract.
__global__ void divergent_chain(const uint64_t* in, uint64_t* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    uint32_t al = uint32_t(in[i]), ah = uint32_t(in[i] >> 32), bl = uint32_t(in[i + 1]), bh = uint32_t(in[i + 1] >> 32);
    uint32_t low, high;
    if (i & 1) {
        asm volatile("add.cc.u32 %0, %2, %4;\n\taddc.u32 %1, %3, %5;" : "=&r"(low), "=r"(high) : "r"(al), "r"(ah), "r"(bl), "r"(bh));
    } else {
        asm volatile("sub.cc.u32 %0, %2, %4;\n\tsubc.u32 %1, %3, %5;" : "=&r"(low), "=r"(high) : "r"(al), "r"(ah), "r"(bl), "r"(bh));
    }
    out[i] = uint64_t(high) << 32 | low;
}

int main() {
    const int n = 333;
    Random random(2);
    std::vector<uint64_t> in(n + 9);
    for (size_t i = 0; i < in.size(); i++) {
        uint64_t r = random.u64();
        // Many all-ones and all-zeros words, so that carries ripple the whole way.
        in[i] = random.below(3) == 0 ? ~0ull : random.below(4) == 0 ? 0 : r;
    }
    Buffer<uint64_t> device(in);

    Buffer<U128> product(n);
    products<<<(n + 47) / 48, 48>>>(device, product, n);
    auto p = product.host();
    for (int i = 0; i < n; i++) {
        unsigned __int128 e = (unsigned __int128)in[i] * in[i + 1];
        for (int w = 0; w < 4; w++) expect_equal("product", i * 4 + w, uint32_t(e >> (32 * w)), p[i].w[w]);
    }

    Buffer<uint64_t> sum(5 * n), difference(5 * n);
    wide_sums<<<(n + 63) / 64, 64>>>(device, sum, difference, n);
    auto s = sum.host(), d = difference.host();
    for (int i = 0; i < n; i++) {
        uint64_t carry = 0, borrow = 0;
        for (int w = 0; w < 4; w++) {
            unsigned __int128 t = (unsigned __int128)in[i + w] + in[i + 5 + w] + carry;
            unsigned __int128 u = (unsigned __int128)in[i + w] - in[i + 5 + w] - borrow;
            expect_equal("sum", 5 * i + w, uint64_t(t), s[5 * i + w]);
            expect_equal("difference", 5 * i + w, uint64_t(u), d[5 * i + w]);
            carry = uint64_t(t >> 64);
            borrow = uint64_t(u >> 64) & 1;
        }
        expect_equal("carry out", i, carry, s[5 * i + 4]);
        expect_equal("borrow out", i, 0 - borrow, d[5 * i + 4]);
    }

    Buffer<uint64_t> out(n);
    divergent_chain<<<1, 352>>>(device, out, n);
    auto o = out.host();
    for (int i = 0; i < n; i++) expect_equal("divergent", i, i & 1 ? in[i] + in[i + 1] : in[i] - in[i + 1], o[i]);
    return passed();
}
