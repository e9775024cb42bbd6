// Sign and zero extension, truncation and saturation between all integer widths, through registers
// and through memory.
#include "../check.h"

template <class To, class From>
__global__ void widen(const From* in, To* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = To(in[i]);
}

template <class To, class From>
void check(const char* what, const std::vector<uint64_t>& source) {
    std::vector<From> in(source.size());
    for (size_t i = 0; i < in.size(); i++) in[i] = From(source[i]);
    Buffer<From> din(in);
    Buffer<To> out(in.size());
    widen<<<3, 50>>>(din.data, out.data, int(in.size()));
    auto got = out.host();
    for (size_t i = 0; i < in.size(); i++) expect_equal(what, i, To(in[i]), got[i]);
}

template <class From>
void check_from(const char* what, const std::vector<uint64_t>& source) {
    check<int8_t, From>(what, source);
    check<uint8_t, From>(what, source);
    check<int16_t, From>(what, source);
    check<uint16_t, From>(what, source);
    check<int32_t, From>(what, source);
    check<uint32_t, From>(what, source);
    check<int64_t, From>(what, source);
    check<uint64_t, From>(what, source);
}

#define SATURATE(to, from, source) ([&] { long long r_; asm("{.reg ." #to " t;\n\tcvt.sat." #to "." #from " t, %1;\n\tcvt.s64." #to " %0, t;}" : "=l"(r_) : "l"((long long)(source))); return r_; }())

__global__ void saturate(const long long* in, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long v = in[i], *o = out + 6 * i;
    o[0] = SATURATE(s32, s64, v);
    o[1] = SATURATE(u32, s64, v);
    o[2] = SATURATE(s16, s64, v);
    o[3] = SATURATE(u16, u64, v);
    int r;
    asm("{.reg .s32 t;\n\tcvt.sat.s8.s32 t, %1;\n\tcvt.s32.s8 %0, t;}" : "=r"(r) : "r"(int(v)));
    o[4] = r;
    asm("{.reg .s32 t;\n\tcvt.sat.u8.s32 t, %1;\n\tcvt.u32.u8 %0, t;}" : "=r"(r) : "r"(int(v)));
    o[5] = r;
}

static long long clamp(__int128 v, __int128 low, __int128 high) { return (long long)(v < low ? low : v > high ? high : v); }

// Arithmetic in narrow types: promotion, wrap-around on assignment, comparisons.
__global__ void narrow_arithmetic(const uint8_t* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    signed char s = (signed char)in[i];
    unsigned char u = in[i + 1];
    s += 100;
    u = (unsigned char)(u << 3);
    short w = short(s * u * 3);
    unsigned short x = (unsigned short)~w;
    bool flag = s < 0 && u > 7;
    out[i] = s + u * 2 + w - x + (flag ? 1000000 : 0) + (s >> 2) + (x >> 5);
}

int main() {
    const int n = 150;
    Random random(21);
    std::vector<uint64_t> source = {0, ~0ull, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32, 1ull << 63, ~0ull >> 1};
    while (source.size() < n) source.push_back(random.below(2) ? random.u64() >> random.below(64) : uint64_t(-int64_t(random.u64() >> random.below(64))));
    check_from<int8_t>("from int8", source);
    check_from<uint8_t>("from uint8", source);
    check_from<int16_t>("from int16", source);
    check_from<uint16_t>("from uint16", source);
    check_from<int32_t>("from int32", source);
    check_from<uint32_t>("from uint32", source);
    check_from<int64_t>("from int64", source);
    check_from<uint64_t>("from uint64", source);

    std::vector<long long> values(source.begin(), source.end());
    Buffer<long long> dv(values), out(6 * n);
    saturate<<<1, 160>>>(dv, out, n);
    auto got = out.host();
    for (int i = 0; i < n; i++) {
        long long v = values[i], w = int(v);
        long long e[6] = {clamp(v, INT32_MIN, INT32_MAX), clamp(v, 0, UINT32_MAX), clamp(v, -32768, 32767), clamp((unsigned long long)v, 0, 65535),
                          clamp(w, -128, 127), clamp(w, 0, 255)};
        for (int k = 0; k < 6; k++) expect_equal("saturate", 6 * i + k, e[k], got[6 * i + k]);
    }

    std::vector<uint8_t> bytes(n + 1);
    for (auto& b : bytes) b = uint8_t(random.u32());
    Buffer<uint8_t> db(bytes);
    Buffer<int> dn(n);
    narrow_arithmetic<<<5, 32>>>(db, dn, n);
    auto g = dn.host();
    for (int i = 0; i < n; i++) {
        int8_t s = int8_t(int8_t(bytes[i]) + 100);
        uint8_t u = uint8_t(bytes[i + 1] << 3);
        int16_t w = int16_t(s * u * 3);
        uint16_t x = uint16_t(~w);
        expect_equal("narrow", i, s + u * 2 + w - x + (s < 0 && u > 7 ? 1000000 : 0) + (s >> 2) + (x >> 5), g[i]);
    }
    return passed();
}
