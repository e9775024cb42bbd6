// Shuffles: idx, up, down, xor in every width, constant and run-time offsets, all value types, and the
// predicate that tells whether the source was in range.
#include "../check.h"

struct Source { int lane; bool in_range; };

// Source lane of a shuffle with segments of `width` lanes.
static Source source(int mode, int lane, int offset, int width) {
    int base = lane & ~(width - 1), last = base + width - 1, from = lane;
    offset &= 31;
    switch (mode) {
        case 0: return {base + (offset & (width - 1)), true};
        case 1: from = lane - offset; return from >= base ? Source{from, true} : Source{lane, false};
        case 2: from = lane + offset; return from <= last ? Source{from, true} : Source{lane, false};
        default: from = lane ^ offset; return from <= last ? Source{from, true} : Source{lane, false};
    }
}

template <int WIDTH>
__global__ void widths(const int* in, int* out) {
    int lane = threadIdx.x & 31, v = in[lane];
    for (int offset = 0; offset < 32; offset++) {
        int* o = out + offset * 128;
        o[lane] = __shfl_sync(~0u, v, offset, WIDTH);
        o[32 + lane] = __shfl_up_sync(~0u, v, offset, WIDTH);
        o[64 + lane] = __shfl_down_sync(~0u, v, offset, WIDTH);
        o[96 + lane] = __shfl_xor_sync(~0u, v, offset, WIDTH);
    }
}

template <int WIDTH>
void check_width(const std::vector<int>& in) {
    Buffer<int> din(in), out(32 * 128);
    widths<WIDTH><<<1, 32>>>(din, out);
    auto got = out.host();
    const char* names[4] = {"idx", "up", "down", "xor"};
    for (int offset = 0; offset < 32; offset++) {
        for (int i = 0; i < 128; i++) {
            Source s = source(i / 32, i % 32, offset, WIDTH);
            expect_equal(names[i / 32], offset * 128 + i, in[s.lane], got[offset * 128 + i]);
        }
    }
}

// The raw instruction with its predicate, and per-lane offsets.
__global__ void raw(const int* in, int* out) {
    int lane = threadIdx.x, v = in[lane], r, ok;
    asm volatile("{.reg .pred p;\n\tshfl.sync.up.b32 %0|p, %2, 3, 0, -1;\n\tselp.s32 %1, 1, 0, p;}" : "=r"(r), "=r"(ok) : "r"(v));
    out[lane] = ok ? r : -1;
    asm volatile("{.reg .pred p;\n\tshfl.sync.down.b32 %0|p, %2, 5, 0x181f, -1;\n\tselp.s32 %1, 1, 0, p;}" : "=r"(r), "=r"(ok) : "r"(v));
    out[32 + lane] = ok ? r : -1;
    asm volatile("{.reg .pred p;\n\tshfl.sync.bfly.b32 %0|p, %2, 9, 0x1f, -1;\n\tselp.s32 %1, 1, 0, p;}" : "=r"(r), "=r"(ok) : "r"(v));
    out[64 + lane] = ok ? r : -1;
    out[96 + lane] = __shfl_sync(~0u, v, lane * 5 + 1);
    out[128 + lane] = __shfl_up_sync(~0u, v, 7, 16);
}

__global__ void types(const double* d, const long long* l, const float* f, double* od, long long* ol, float* of, unsigned char* oc) {
    int t = threadIdx.x;
    od[t] = __shfl_xor_sync(~0u, d[t], 5) + __shfl_down_sync(~0u, d[t], 4, 8);
    ol[t] = __shfl_sync(~0u, l[t], (t * 3) & 31) - __shfl_up_sync(~0u, l[t], 1);
    of[t] = __shfl_sync(~0u, f[t], 31 - (t & 31));
    oc[t] = (unsigned char)__shfl_xor_sync(~0u, t * 3, 16);
}

// Shuffles among the active lanes of divergent code, in warps of a block that is not full.
__global__ void divergent(const int* in, int* out, int n) {
    int t = threadIdx.x, lane = t & 31, v = in[t], r = -1;
    if (lane % 3 == 0) r = __shfl_sync(0x49249249, v, (lane + 3) % 33);
    else if (lane < 16) r = __shfl_xor_sync(0x00006db6, v, lane % 3 == 1 ? lane ^ (lane + 1) : lane ^ (lane - 1));
    for (int k = 0; k < lane % 4; k++) r += k;
    if (t < n) out[t] = r;
}

int main() {
    Random random(31);
    std::vector<int> in(64);
    for (int& v : in) v = int(random.below(1000000));
    check_width<32>(in);
    check_width<16>(in);
    check_width<8>(in);
    check_width<4>(in);
    check_width<2>(in);

    Buffer<int> din(in), out(160);
    raw<<<1, 32>>>(din, out);
    auto got = out.host();
    for (int lane = 0; lane < 32; lane++) {
        expect_equal("raw up", lane, lane >= 3 ? in[lane - 3] : -1, got[lane]);
        expect_equal("raw down", lane, lane % 8 + 5 < 8 ? in[lane + 5] : -1, got[32 + lane]);
        expect_equal("raw bfly", lane, in[lane ^ 9], got[64 + lane]);
        expect_equal("per-lane idx", lane, in[(lane * 5 + 1) & 31], got[96 + lane]);
        expect_equal("up 16", lane, in[lane % 16 >= 7 ? lane - 7 : lane], got[128 + lane]);
    }

    const int n = 64;
    std::vector<double> d(n);
    std::vector<long long> l(n);
    std::vector<float> f(n);
    for (int i = 0; i < n; i++) d[i] = random.unit(), l[i] = (long long)(random.u64() >> 2), f[i] = float(random.unit());
    Buffer<double> dd(d), od(n);
    Buffer<long long> dl(l), ol(n);
    Buffer<float> df(f), of(n);
    Buffer<unsigned char> oc(n);
    types<<<1, n>>>(dd, dl, df, od, ol, of, oc);
    auto gd = od.host();
    auto gl = ol.host();
    auto gf = of.host();
    auto gc = oc.host();
    for (int t = 0; t < n; t++) {
        int w = t & ~31, lane = t & 31;
        expect_equal("double", t, d[t ^ 5] + d[t % 8 + 4 < 8 ? t + 4 : t], gd[t]);
        expect_equal("long long", t, l[w + ((t * 3) & 31)] - l[lane ? t - 1 : t], gl[t]);
        expect_equal("float", t, f[w + 31 - lane], gf[t]);
        expect_equal("char", t, (unsigned char)((t ^ 16) * 3), gc[t]);
    }

    divergent<<<1, n>>>(din, out, n);
    got = out.host();
    for (int t = 0; t < n; t++) {
        int w = t & ~31, lane = t & 31, r = -1;
        if (lane % 3 == 0) r = in[w + (lane + 3) % 33 % 32];
        else if (lane < 16) r = in[w + (lane % 3 == 1 ? lane + 1 : lane - 1)];
        for (int k = 0; k < lane % 4; k++) r += k;
        expect_equal("divergent", t, r, got[t]);
    }
    return passed();
}
