// Packed 8- and 16-bit arithmetic: the __v* functions, dp4a, dp2a and the video instructions.
#include "../check.h"

// Applies f to each signed or unsigned field of `width` bits; fields of the result are truncated.
template <class F>
static uint32_t each(int width, bool is_signed, uint32_t a, uint32_t b, F f) {
    uint32_t r = 0, mask = width == 8 ? 255u : 0xffffu;
    for (int s = 0; s < 32; s += width) {
        int64_t x = a >> s & mask, y = b >> s & mask;
        if (is_signed) {
            if (x >> (width - 1)) x -= int64_t(mask) + 1;
            if (y >> (width - 1)) y -= int64_t(mask) + 1;
        }
        r |= (uint32_t(f(x, y)) & mask) << s;
    }
    return r;
}
static int64_t clamp(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }
#define EACH(width, sign, expr) each(width, sign, a, b, [](int64_t x, int64_t y) -> int64_t { return expr; })

static uint32_t sum_fields(uint32_t packed, int width) {
    uint32_t total = 0;
    for (int s = 0; s < 32; s += width) total += packed >> s & (width == 8 ? 255u : 0xffffu);
    return total;
}
static uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c, bool s) {
    for (int k = 0; k < 32; k += 8) {
        int x = s ? int8_t(a >> k) : int(a >> k & 255), y = s ? int8_t(b >> k) : int(b >> k & 255);
        c += uint32_t(x * y);
    }
    return c;
}
static uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c, bool s, int first) {
    for (int k = 0; k < 2; k++) {
        int x = s ? int16_t(a >> (16 * k)) : int(a >> (16 * k) & 0xffff);
        int shift = 8 * (k + first), y = s ? int8_t(b >> shift) : int(b >> shift & 255);
        c += uint32_t(x) * uint32_t(y);
    }
    return c;
}

#define VIDEO(op, extra) ([&] { uint32_t r_; asm(op " %0, %1, %2" extra ";" : "=r"(r_) : "r"(a), "r"(b), "r"(c)); return r_; }())

#define OPS(X)                                                                      \
    X("vadd2", __vadd2(a, b), EACH(16, false, x + y))                               \
    X("vadd4", __vadd4(a, b), EACH(8, false, x + y))                                \
    X("vsub2", __vsub2(a, b), EACH(16, false, x - y))                               \
    X("vsub4", __vsub4(a, b), EACH(8, false, x - y))                                \
    X("vaddss2", __vaddss2(a, b), EACH(16, true, clamp(x + y, -32768, 32767)))      \
    X("vaddss4", __vaddss4(a, b), EACH(8, true, clamp(x + y, -128, 127)))           \
    X("vaddus4", __vaddus4(a, b), EACH(8, false, clamp(x + y, 0, 255)))             \
    X("vsubus2", __vsubus2(a, b), EACH(16, false, clamp(x - y, 0, 65535)))          \
    X("vsubss4", __vsubss4(a, b), EACH(8, true, clamp(x - y, -128, 127)))           \
    X("vabsdiffu4", __vabsdiffu4(a, b), EACH(8, false, x > y ? x - y : y - x))      \
    X("vabsdiffs4", __vabsdiffs4(a, b), EACH(8, true, x > y ? x - y : y - x))       \
    X("vabsdiffu2", __vabsdiffu2(a, b), EACH(16, false, x > y ? x - y : y - x))     \
    X("vavgu4", __vavgu4(a, b), EACH(8, false, (x + y + 1) >> 1))                   \
    X("vavgs4", __vavgs4(a, b), EACH(8, true, (x + y + 1 - (x + y < 0)) >> 1))      \
    X("vhaddu4", __vhaddu4(a, b), EACH(8, false, (x + y) >> 1))                     \
    X("vmaxs4", __vmaxs4(a, b), EACH(8, true, x > y ? x : y))                       \
    X("vmaxu2", __vmaxu2(a, b), EACH(16, false, x > y ? x : y))                     \
    X("vmins2", __vmins2(a, b), EACH(16, true, x < y ? x : y))                      \
    X("vminu4", __vminu4(a, b), EACH(8, false, x < y ? x : y))                      \
    X("vabs4", __vabs4(a), EACH(8, true, x < 0 ? -x : x))                           \
    X("vabsss2", __vabsss2(a), EACH(16, true, clamp(x < 0 ? -x : x, 0, 32767)))     \
    X("vneg4", __vneg4(a), EACH(8, true, -x))                                       \
    X("vcmpeq4", __vcmpeq4(a, b), EACH(8, false, x == y ? 255 : 0))                 \
    X("vcmpgts2", __vcmpgts2(a, b), EACH(16, true, x > y ? 65535 : 0))              \
    X("vcmpltu4", __vcmpltu4(a, b), EACH(8, false, x < y ? 255 : 0))                \
    X("vsetges4", __vsetges4(a, b), EACH(8, true, x >= y))                          \
    X("vsadu4", __vsadu4(a, b), sum_fields(EACH(8, false, x > y ? x - y : y - x), 8)) \
    X("vsads2", __vsads2(a, b), sum_fields(EACH(16, true, x > y ? x - y : y - x), 16)) \
    X("dp4a.s32", __dp4a(int(a), int(b), int(c)), dp4a(a, b, c, true))              \
    X("dp4a.u32", __dp4a(a, b, c), dp4a(a, b, c, false))                            \
    X("dp2a.lo.s32", __dp2a_lo(int(a), int(b), int(c)), dp2a(a, b, c, true, 0))     \
    X("dp2a.hi.u32", __dp2a_hi(a, b, c), dp2a(a, b, c, false, 2))                   \
    X("vadd.sat", VIDEO("vadd.s32.s32.s32.sat", ""), clamp(int64_t(int32_t(a)) + int32_t(b), INT32_MIN, INT32_MAX)) \
    X("vabsdiff4.add", VIDEO("vabsdiff4.u32.u32.u32.add", ", %3"), sum_fields(EACH(8, false, x > y ? x - y : y - x), 8) + c) \
    X("vmax", VIDEO("vmax.s32.s32.s32", ""), std::max(int32_t(a), int32_t(b)))

__global__ void run(const uint32_t* in, uint32_t* out, int n) {
    int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t a = in[i], b = in[i + 1], c = in[i + 2];
    int k = 0;
#define DEVICE(name, device, host) out[k++ * n + i] = uint32_t(device);
    OPS(DEVICE)
}

int main() {
    const int n = 600, ops = 35;
    Random random(4);
    std::vector<uint32_t> in = {0, 0, 0, ~0u, ~0u, 0x80808080, 0x7f7f7f7f, 0x80008000, 0x7fff7fff, 0x01010101, 0x00010001};
    while (in.size() < n + 2) in.push_back(random.below(5) ? random.u32() : in.back());
    Buffer<uint32_t> din(in), dout(n * ops);
    run<<<(n + 76) / 77, dim3(11, 7)>>>(din, dout, n);
    auto got = dout.host();
    for (int i = 0; i < n; i++) {
        uint32_t a = in[i], b = in[i + 1], c = in[i + 2];
        int k = 0;
#define HOST(name, device, host) expect_equal(name, i, uint32_t(host), got[k++ * n + i]);
        OPS(HOST)
        if (k != ops) mismatch("number of operations", 0, ops, k);
    }
    return passed();
}
