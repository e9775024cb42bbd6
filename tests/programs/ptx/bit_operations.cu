// Shifts, funnel shifts, bit fields, permutes, counts and three-input logic.
#include "../check.h"

static uint32_t bfe_u(uint32_t a, uint32_t pos, uint32_t len) {
    pos &= 255, len &= 255;
    uint64_t field = pos < 32 ? uint64_t(a) >> pos : 0;
    return uint32_t(len >= 32 ? field : field & ((1ull << len) - 1));
}
static uint32_t bfe_s(uint32_t a, uint32_t pos, uint32_t len) {
    pos &= 255, len &= 255;
    if (len == 0) return 0;
    uint32_t r = 0;
    uint32_t sign = a >> std::min(pos + len - 1, 31u) & 1;
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t bit = i < len && pos + i < 32 ? a >> (pos + i) & 1 : sign;
        r |= bit << i;
    }
    return r;
}
static uint32_t bfi(uint32_t a, uint32_t b, uint32_t pos, uint32_t len) {
    pos &= 255, len &= 255;
    for (uint32_t i = 0; i < len && pos + i < 32; i++) b = (b & ~(1u << (pos + i))) | (a >> i & 1) << (pos + i);
    return b;
}
static uint32_t prmt(uint32_t a, uint32_t b, uint32_t s) {
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t sel = s >> (4 * i) & 15, byte = uint32_t(bytes >> (8 * (sel & 7))) & 255;
        if (sel & 8) byte = byte & 128 ? 255 : 0;  // replicate the sign
        r |= byte << (8 * i);
    }
    return r;
}
static uint32_t reverse(uint32_t x) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
    return r;
}
static uint32_t mask_bits(uint32_t start, uint32_t width) {
    uint32_t r = 0;
    for (uint32_t i = start; i < 32 && i < start + width; i++) r |= 1u << i;
    return r;
}
static uint32_t leading(uint32_t x) { return x ? __builtin_clz(x) : 32; }
static uint32_t find_signed(uint32_t x) { x = int32_t(x) < 0 ? ~x : x; return x ? 31 - __builtin_clz(x) : ~0u; }

#define ASM1(op, x) ([&] { uint32_t r_; asm(op " %0, %1;" : "=r"(r_) : "r"(x)); return r_; }())
#define ASM2(op, x, y) ([&] { uint32_t r_; asm(op " %0, %1, %2;" : "=r"(r_) : "r"(x), "r"(y)); return r_; }())
#define ASM3(op, x, y, z) ([&] { uint32_t r_; asm(op " %0, %1, %2, %3;" : "=r"(r_) : "r"(x), "r"(y), "r"(z)); return r_; }())
#define ASM4(op, x, y, z, w) ([&] { uint32_t r_; asm(op " %0, %1, %2, %3, %4;" : "=r"(r_) : "r"(x), "r"(y), "r"(z), "r"(w)); return r_; }())
#define LOP(table) ([&] { uint32_t r_; asm("lop3.b32 %0, %1, %2, %3, " #table ";" : "=r"(r_) : "r"(a), "r"(b), "r"(c)); return r_; }())

#define OPS(X)                                                                                     \
    X("and", a & b, a & b) X("or", a | b, a | b) X("xor", a ^ b, a ^ b) X("not", ~a, ~a)            \
    X("cnot", ASM1("cnot.b32", a), a == 0)                                                         \
    X("shl", a << (c & 31), a << (c & 31)) X("shr.u", a >> (c & 31), a >> (c & 31))                 \
    X("shr.s", int(a) >> (c & 31), int32_t(a) >> (c & 31))                                         \
    X("shl clamp", ASM2("shl.b32", a, c), c > 31 ? 0 : a << c)                                     \
    X("shr.u clamp", ASM2("shr.u32", a, c), c > 31 ? 0 : a >> c)                                   \
    X("shr.s clamp", ASM2("shr.s32", a, c), int32_t(a) >> (c > 31 ? 31 : c))                       \
    X("shf.l.wrap", __funnelshift_l(a, b, c), uint32_t((uint64_t(b) << 32 | a) >> 1 >> (31 - (c & 31)))) \
    X("shf.r.wrap", __funnelshift_r(a, b, c), uint32_t((uint64_t(b) << 32 | a) >> (c & 31)))       \
    X("shf.l.clamp", __funnelshift_lc(a, b, c), c >= 32 ? a : uint32_t((uint64_t(b) << 32 | a) >> 1 >> (31 - c))) \
    X("shf.r.clamp", __funnelshift_rc(a, b, c), c >= 32 ? b : uint32_t((uint64_t(b) << 32 | a) >> c)) \
    X("bfe.u32", ASM3("bfe.u32", a, b, c), bfe_u(a, b, c))                                         \
    X("bfe.u32 small", ASM3("bfe.u32", a, b & 31, c & 31), bfe_u(a, b & 31, c & 31))               \
    X("bfe.s32", ASM3("bfe.s32", a, b, c), bfe_s(a, b, c))                                         \
    X("bfe.s32 small", ASM3("bfe.s32", a, b & 31, c & 31), bfe_s(a, b & 31, c & 31))               \
    X("bfi.b32", ASM4("bfi.b32", a, b, c, b >> 8), bfi(a, b, c, b >> 8))                           \
    X("bfi.b32 small", ASM4("bfi.b32", a, b, c & 31, b & 15), bfi(a, b, c & 31, b & 15))           \
    X("brev", __brev(a), reverse(a)) X("clz", __clz(int(a)), leading(a))                           \
    X("popc", __popc(a), __builtin_popcount(a)) X("ffs", __ffs(int(a)), __builtin_ffs(int(a)))     \
    X("bfind.u32", ASM1("bfind.u32", a), a ? 31 - leading(a) : ~0u)                                \
    X("bfind.s32", ASM1("bfind.s32", a), find_signed(a))                                           \
    X("bfind.shiftamt", ASM1("bfind.shiftamt.u32", a), a ? leading(a) : ~0u)                       \
    X("prmt", ASM3("prmt.b32", a, b, c), prmt(a, b, c))                                            \
    X("byte_perm", __byte_perm(a, b, c & 0x7777), prmt(a, b, c & 0x7777))                                   \
    X("prmt.f4e", ASM3("prmt.b32.f4e", a, b, c), uint32_t((uint64_t(b) << 32 | a) >> (8 * (c & 3)))) \
    X("prmt.rc8", ASM3("prmt.b32.rc8", a, b, c), (a >> (8 * (c & 3)) & 255) * 0x01010101u)         \
    X("prmt.rc16", ASM3("prmt.b32.rc16", a, b, (c & 1) * 3), (a >> (16 * (c & 1)) & 0xffff) * 0x00010001u)   \
    X("lop3 majority", LOP(0xe8), (a & b) | (a & c) | (b & c)) X("lop3 parity", LOP(0x96), a ^ b ^ c) \
    X("lop3 select", LOP(0xca), (a & b) | (~a & c)) X("lop3 0x35", LOP(0x35), (~a & ~c) | (a & ~b)) \
    X("bmsk.clamp", ASM2("bmsk.clamp.b32", a & 63, b & 63), mask_bits(a & 63, b & 63))                 \
    X("bmsk.wrap", ASM2("bmsk.wrap.b32", a, b), mask_bits(a & 31, b & 31))                         \
    X("szext.clamp.s32", ASM2("szext.clamp.s32", a, b & 63), bfe_s(a, 0, b & 63))                  \
    X("szext.wrap.u32", ASM2("szext.wrap.u32", a, b), bfe_u(a, 0, b & 31))                         \
    X("rotate", a << (c & 31) | a >> (-c & 31), a << (c & 31) | a >> (-c & 31))

__global__ void run(const uint32_t* in, uint32_t* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t a = in[i], b = in[i + 1], c = in[i + 2];
    int k = 0;
#define DEVICE(name, device, host) out[k++ * n + i] = uint32_t(device);
    OPS(DEVICE)
}

__global__ void run64(const unsigned long long* in, unsigned long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long a = in[i], b = in[i + 1], *o = out + i * 8;
    unsigned s = unsigned(b) & 63;
    o[0] = a << s, o[1] = a >> s, o[2] = (unsigned long long)((long long)a >> s), o[3] = __brevll(a);
    o[4] = __clzll((long long)a), o[5] = __popcll(a), o[6] = __ffsll((long long)a);
    asm("bfi.b64 %0, %1, %2, 20, 30;" : "=l"(o[7]) : "l"(a), "l"(b));
}

int main() {
    const int n = 640, ops = 42;
    Random random(3);
    std::vector<uint32_t> in = {0, 0, 0, ~0u, 1, 32, 31, 33, 0x80000000, 0x7fffffff, 5, 64, 255, 256};
    while (in.size() < n + 2) in.push_back(random.u32() >> random.below(32));
    Buffer<uint32_t> din(in), dout(n * ops);
    run<<<(n + 127) / 128, 128>>>(din, dout, n);
    auto got = dout.host();
    for (int i = 0; i < n; i++) {
        uint32_t a = in[i], b = in[i + 1], c = in[i + 2];
        int k = 0;
#define HOST(name, device, host) expect_equal(name, i, uint32_t(host), got[k++ * n + i]);
        OPS(HOST)
        if (k != ops) mismatch("number of operations", 0, ops, k);
    }

    std::vector<unsigned long long> in64 = {0, 0, ~0ull, 1, 63, 1ull << 63, 64};
    while (in64.size() < n + 1) in64.push_back(random.u64() >> random.below(64));
    Buffer<unsigned long long> d64(in64), o64(n * 8);
    run64<<<(n + 16) / 17, 17>>>(d64, o64, n);
    auto g = o64.host();
    for (int i = 0; i < n; i++) {
        uint64_t a = in64[i], b = in64[i + 1];
        unsigned s = b & 63;
        uint64_t reversed = uint64_t(reverse(uint32_t(a))) << 32 | reverse(uint32_t(a >> 32));
        uint64_t field = ((1ull << 30) - 1) << 20;
        uint64_t e[8] = {a << s, a >> s, uint64_t(int64_t(a) >> s), reversed, uint64_t(a ? __builtin_clzll(a) : 64),
                         uint64_t(__builtin_popcountll(a)), uint64_t(__builtin_ffsll(int64_t(a))), (b & ~field) | (a << 20 & field)};
        for (int k = 0; k < 8; k++) expect_equal("64-bit", i * 8 + k, e[k], uint64_t(g[i * 8 + k]));
    }
    return passed();
}
