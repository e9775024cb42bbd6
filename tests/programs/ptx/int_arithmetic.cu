// Integer add, sub, mul, mad, 24-bit, high and wide products in 8, 16, 32 and 64 bits.
#include "../check.h"

#define OPS32(X)                                                                              \
    X("add", a + b, a + b)                                                                    \
    X("sub", a - b, a - b)                                                                    \
    X("mul.lo", a * b, a * b)                                                                 \
    X("mad.lo", a * b + c, a * b + c)                                                         \
    X("neg", 0u - a, 0u - a)                                                                  \
    X("mul.hi.u32", __umulhi(a, b), uint32_t(uint64_t(a) * b >> 32))                          \
    X("mul.hi.s32", __mulhi(int(a), int(b)), int64_t(int32_t(a)) * int32_t(b) >> 32)          \
    X("mul24.lo.u32", __umul24(a, b), (a & 0xffffff) * (b & 0xffffff))                        \
    X("mul24.lo.s32", __mul24(int(a), int(b)), uint32_t(s24(a) * s24(b)))                     \
    X("mad.wide.u32 high", ((unsigned long long)a * b + c) >> 32, (uint64_t(a) * b + c) >> 32) \
    X("mul.wide.s32 high", ((long long)int(a) * int(b)) >> 32, (int64_t(int32_t(a)) * int32_t(b)) >> 32) \
    X("hadd.s32", __hadd(int(a), int(b)), (int64_t(int32_t(a)) + int32_t(b)) >> 1)            \
    X("hadd.u32", __uhadd(a, b), (uint64_t(a) + b) >> 1)                                      \
    X("rhadd.s32", __rhadd(int(a), int(b)), (int64_t(int32_t(a)) + int32_t(b) + 1) >> 1)      \
    X("rhadd.u32", __urhadd(a, b), (uint64_t(a) + b + 1) >> 1)                                \
    X("add.u16", uint16_t(a + b), uint16_t(a + b))                                            \
    X("mul.s16", int16_t(int16_t(a) * int16_t(b)), int16_t(int16_t(a) * int16_t(b)))          \
    X("mul.wide.s16", int16_t(a) * int16_t(b), int16_t(a) * int16_t(b))                       \
    X("mul.wide.u16", uint16_t(a) * unsigned(uint16_t(b)), uint16_t(a) * unsigned(uint16_t(b))) \
    X("add.s8", int8_t(int8_t(a) + int8_t(b)), int8_t(int8_t(a) + int8_t(b)))                 \
    X("mul.u8", uint8_t(uint8_t(a) * uint8_t(b)), uint8_t(uint8_t(a) * uint8_t(b)))

#define OPS64(X)                                                                    \
    X("add.64", a + b, a + b)                                                       \
    X("sub.64", a - b, a - b)                                                       \
    X("mul.lo.64", a * b, a * b)                                                    \
    X("mad.lo.64", a * b + c, a * b + c)                                            \
    X("mul.hi.u64", __umul64hi(a, b), uint64_t((unsigned __int128)a * b >> 64))     \
    X("mul.hi.s64", __mul64hi((long long)a, (long long)b),                          \
      uint64_t((__int128)int64_t(a) * int64_t(b) >> 64))                            \
    X("neg.64", 0 - a, 0 - a)

static int64_t s24(uint32_t x) { return int32_t(x << 8) >> 8; }

__global__ void run32(const uint32_t* in, uint32_t* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t a = in[i], b = in[i + 1], c = in[i + 2];
    int k = 0;
#define DEVICE(name, device, host) out[k++ * n + i] = uint32_t(device);
    OPS32(DEVICE)
}

__global__ void run64(const unsigned long long* in, unsigned long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long a = in[i], b = in[i + 1], c = in[i + 2];
    int k = 0;
#define DEVICE64(name, device, host) out[k++ * n + i] = (unsigned long long)(device);
    OPS64(DEVICE64)
}

int main() {
    const int n = 700;
    Random random(1);
    std::vector<uint32_t> in32 = {0, 0, 0, 1, 0xffffffff, 0xffffffff, 0x80000000, 0x80000000, 0x7fffffff, 1,
                                  0x800000, 0x7fffff, 0xff800000, 0x8000, 0x7fff, 0x80, 0x7f};
    while (in32.size() < n + 2) in32.push_back(random.u32() >> random.below(28));
    std::vector<unsigned long long> in64 = {0, 0, ~0ull, ~0ull, 1ull << 63, 1ull << 63, ~0ull >> 1, 1, 1ull << 32};
    while (in64.size() < n + 2) in64.push_back(random.u64() >> random.below(60));

    Buffer<uint32_t> d32(in32), o32(n * 21);
    run32<<<(n + 95) / 96, 96>>>(d32, o32, n);
    auto got = o32.host();
    for (int i = 0; i < n; i++) {
        uint32_t a = in32[i], b = in32[i + 1], c = in32[i + 2];
        int k = 0;
#define HOST(name, device, host) expect_equal(name, i, uint32_t(host), got[k++ * n + i]);
        OPS32(HOST)
    }

    Buffer<unsigned long long> d64(in64), o64(n * 7);
    run64<<<(n + 32) / 33, 33>>>(d64, o64, n);
    auto got64 = o64.host();
    for (int i = 0; i < n; i++) {
        uint64_t a = in64[i], b = in64[i + 1], c = in64[i + 2];
        int k = 0;
#define HOST64(name, device, host) expect_equal(name, i, uint64_t(host), uint64_t(got64[k++ * n + i]));
        OPS64(HOST64)
    }
    return passed();
}
