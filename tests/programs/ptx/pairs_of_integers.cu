// Two integers of 16 bits in a register: the SIMD intrinsics as Hopper has them.
// args: --device sim:h100-sxm
#include "../check.h"

constexpr int kResults = 8;

__global__ void compute(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i], y = b[i];
    out += i * kResults;
    out[0] = __vmaxs2(x, y);
    out[1] = __vminu2(x, y);
    out[2] = __vimax_s16x2_relu(x, y);
    out[3] = __viaddmax_s16x2(x, y, 0x00050003);
    out[4] = __vimin3_u16x2(x, y, 0x80007fff);
    asm("add.u16x2 %0, %1, %2;" : "=r"(out[5]) : "r"(x), "r"(y));
    out[6] = __vimin_s32_relu(int(x), int(y));
    asm("max.s16x2 %0, %1, %2;" : "=r"(out[7]) : "r"(0x7fff8000), "r"(0x00010002));  // the same in all lanes
}

template <class Fn>
unsigned halves(Fn fn, unsigned x, unsigned y) {
    return unsigned(fn(x >> 16, y >> 16)) << 16 | (unsigned(fn(x & 0xffff, y & 0xffff)) & 0xffff);
}

int main() {
    const int n = 500;
    std::vector<unsigned> a(n), b(n), expected(n * kResults);
    auto smax = [](int x, int y) { return std::max<int>(int16_t(x), int16_t(y)); };
    auto umin = [](unsigned x, unsigned y) { return std::min(x, y); };
    auto add = [](unsigned x, unsigned y) { return (x + y) & 0xffff; };
    for (int i = 0; i < n; i++) {
        unsigned x = a[i] = i * 2654435761u, y = b[i] = i * 40503u ^ 0x9e3779b9u;
        unsigned* e = &expected[i * kResults];
        e[0] = halves(smax, x, y);
        e[1] = halves(umin, x, y);
        e[2] = halves(smax, halves(smax, x, y), 0);
        e[3] = halves(smax, halves(add, x, y), 0x00050003);
        e[4] = halves(umin, halves(umin, x, y), 0x80007fff);
        e[5] = halves(add, x, y);
        e[6] = std::max(0, std::min(int(x), int(y)));
        e[7] = 0x7fff0002;
    }
    Buffer<unsigned> first(a), second(b), out(n * kResults);
    compute<<<4, 128>>>(first, second, out, n);
    expect_all("pairs", expected, out.host());
    return passed();
}
