// min, max, abs, sad, saturating adds, comparisons into predicates and masks, selp and slct.
#include "../check.h"

#define ASM(op, d, ...) ([&] { uint32_t r_; asm(op : d(r_) : __VA_ARGS__); return r_; }())

#define OPS(X)                                                                                    \
    X("min.s32", min(int(a), int(b)), std::min(int32_t(a), int32_t(b)))                           \
    X("max.s32", max(int(a), int(b)), std::max(int32_t(a), int32_t(b)))                           \
    X("min.u32", min(a, b), std::min(a, b)) X("max.u32", max(a, b), std::max(a, b))               \
    X("abs", ASM("abs.s32 %0, %1;", "=r", "r"(a)), int32_t(a) < 0 ? 0u - a : a)                   \
    X("sad.s32", __sad(int(a), int(b), c), (int32_t(a) > int32_t(b) ? a - b : b - a) + c)         \
    X("sad.u32", __usad(a, b, c), (a > b ? a - b : b - a) + c)                                    \
    X("add.sat", ASM("add.sat.s32 %0, %1, %2;", "=r", "r"(a), "r"(b)), sat(int64_t(int32_t(a)) + int32_t(b))) \
    X("sub.sat", ASM("sub.sat.s32 %0, %1, %2;", "=r", "r"(a), "r"(b)), sat(int64_t(int32_t(a)) - int32_t(b))) \
    X("set.u32.lt.s32", ASM("set.lt.u32.s32 %0, %1, %2;", "=r", "r"(a), "r"(b)), int32_t(a) < int32_t(b) ? ~0u : 0) \
    X("set.u32.hs.u32", ASM("set.hs.u32.u32 %0, %1, %2;", "=r", "r"(a), "r"(b)), a >= b ? ~0u : 0) \
    X("setp pair", ASM("{.reg .pred p, q;\n\tsetp.gt.s32 p|q, %1, %2;\n\tselp.u32 %0, 5, 9, p;\n\t@q add.u32 %0, %0, 100;\n\t}", \
                       "=r", "r"(a), "r"(b)), int32_t(a) > int32_t(b) ? 5 : 109)                  \
    X("setp and", ASM("{.reg .pred p, q;\n\tsetp.ne.u32 q, %3, 0;\n\tsetp.lo.and.u32 p, %1, %2, !q;\n\tselp.u32 %0, 1, 0, p;\n\t}", \
                      "=r", "r"(a), "r"(b), "r"(c & 1)), a < b && !(c & 1))                       \
    X("predicates", ASM("{.reg .pred p, q, r;\n\tsetp.lt.u32 p, %1, %2;\n\tsetp.lt.s32 q, %2, %3;\n\txor.pred r, p, q;\n\t" \
                        "not.pred p, p;\n\tor.pred q, q, p;\n\tand.pred p, q, r;\n\tselp.b32 %0, %1, %3, p;\n\t}",  \
                        "=r", "r"(a), "r"(b), "r"(c)),                                            \
      chain(a, b, c)) \
    X("slct.s32", ASM("slct.u32.s32 %0, %1, %2, %3;", "=r", "r"(a), "r"(b), "r"(c)), int32_t(c) >= 0 ? a : b) \
    X("slct.f32", ASM("slct.b32.f32 %0, %1, %2, %3;", "=r", "r"(a), "r"(b), "f"(float(int(c)))), int32_t(c) >= 0 ? a : b) \
    X("min.s16", min(short(a), short(b)), std::min(int16_t(a), int16_t(b)))                       \
    X("max.u16", max((unsigned short)a, (unsigned short)b), std::max(uint16_t(a), uint16_t(b)))   \
    X("compare chain", (int(a) < int(b)) + 2 * (a <= b) + 4 * (a == c) + 8 * (b != c) + 16 * (short(a) > short(b)), \
      (int32_t(a) < int32_t(b)) + 2 * (a <= b) + 4 * (a == c) + 8 * (b != c) + 16 * (int16_t(a) > int16_t(b)))

static uint32_t chain(uint32_t a, uint32_t b, uint32_t c) {
    bool p = a < b, q = int32_t(b) < int32_t(c), r = p != q;
    return (q || !p) && r ? a : c;
}
static int32_t sat(int64_t x) { return int32_t(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x); }

__global__ void run(const uint32_t* in, uint32_t* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t a = in[i], b = in[i + 1], c = in[i + 2];
    int k = 0;
#define DEVICE(name, device, host) out[k++ * n + i] = uint32_t(device);
    OPS(DEVICE)
}

__global__ void run64(const long long* in, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long a = in[i], b = in[i + 1], *o = out + 6 * i;
    o[0] = min(a, b), o[1] = max(a, b), o[2] = llabs(a >> 1);
    o[3] = (long long)min((unsigned long long)a, (unsigned long long)b);
    o[4] = (long long)max((unsigned long long)a, (unsigned long long)b);
    o[5] = a < b ? (a > 0 ? a : b) : (b > 0 ? b : ~a);
}

int main() {
    const int n = 500, ops = 19;
    Random random(5);
    std::vector<uint32_t> in = {0, 0, 0, ~0u, 1, 0x80000000, 0x7fffffff, 0x80000000, 0x80000000, 0x7fffffff, 0x7fffffff, 0x8000, 0x7fff};
    while (in.size() < n + 2) in.push_back(random.below(6) ? random.u32() >> random.below(30) : in.back());
    Buffer<uint32_t> din(in), dout(n * ops);
    run<<<(n + 39) / 40, 40>>>(din, dout, n);
    auto got = dout.host();
    for (int i = 0; i < n; i++) {
        uint32_t a = in[i], b = in[i + 1], c = in[i + 2];
        int k = 0;
#define HOST(name, device, host) expect_equal(name, i, uint32_t(host), got[k++ * n + i]);
        OPS(HOST)
        if (k != ops) mismatch("number of operations", 0, ops, k);
    }

    std::vector<long long> in64 = {0, 0, -1, 1, INT64_MIN, INT64_MAX, INT64_MIN};
    while (in64.size() < n + 1) in64.push_back((long long)(random.u64() >> random.below(63)));
    Buffer<long long> d64(in64), o64(6 * n);
    run64<<<1, 512>>>(d64, o64, n);
    auto g = o64.host();
    for (int i = 0; i < n; i++) {
        int64_t a = in64[i], b = in64[i + 1];
        int64_t e[6] = {std::min(a, b), std::max(a, b), (a >> 1) < 0 ? -(a >> 1) : a >> 1,
                        int64_t(std::min(uint64_t(a), uint64_t(b))), int64_t(std::max(uint64_t(a), uint64_t(b))),
                        a < b ? (a > 0 ? a : b) : (b > 0 ? b : ~a)};
        for (int k = 0; k < 6; k++) expect_equal("64-bit", 6 * i + k, e[k], int64_t(g[6 * i + k]));
    }
    return passed();
}
