// mma.sync on 8-bit and 4-bit integers, signed, unsigned and mixed, with and without saturation; single bits.
#include "../check.h"

#define MMA(types) asm volatile("mma.sync.aligned.m16n8k32.row.col" types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
    : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

// A: 16 rows of 32 bytes, B: 8 columns of 32 bytes. A register holds four neighbouring bytes.
template <int KIND>
__global__ void bytes(const unsigned* A, const unsigned* B, const int* C, int* D) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned a[4] = {A[g * 8 + t], A[(g + 8) * 8 + t], A[g * 8 + t + 4], A[(g + 8) * 8 + t + 4]}, b[2] = {B[g * 8 + t], B[g * 8 + t + 4]};
    int at[4] = {g * 8 + 2 * t, g * 8 + 2 * t + 1, (g + 8) * 8 + 2 * t, (g + 8) * 8 + 2 * t + 1}, d[4];
    for (int i = 0; i < 4; i++) d[i] = C[at[i]];
    if (KIND == 0) MMA(".s32.s8.s8.s32");
    if (KIND == 1) MMA(".s32.u8.u8.s32");
    if (KIND == 2) MMA(".s32.s8.u8.s32");
    if (KIND == 3) MMA(".satfinite.s32.u8.u8.s32");
    for (int i = 0; i < 4; i++) D[at[i]] = d[i];
}

// m16n8k16 with bytes: half the depth.
__global__ void short_depth(const unsigned* A, const unsigned* B, int* D) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4, d[4] = {0, 0, 0, 0};
    unsigned a[2] = {A[g * 8 + t], A[(g + 8) * 8 + t]}, b = B[g * 8 + t];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b));
    D[g * 8 + 2 * t] = d[0], D[g * 8 + 2 * t + 1] = d[1], D[(g + 8) * 8 + 2 * t] = d[2], D[(g + 8) * 8 + 2 * t + 1] = d[3];
}

// m16n8k64: eight 4-bit values per register.
__global__ void nibbles(const unsigned* A, const unsigned* B, int* D) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4, d[4] = {0, 0, 0, 0};
    unsigned a[4] = {A[g * 8 + t], A[(g + 8) * 8 + t], A[g * 8 + t + 4], A[(g + 8) * 8 + t + 4]}, b[2] = {B[g * 8 + t], B[g * 8 + t + 4]};
    asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    D[g * 8 + 2 * t] = d[0], D[g * 8 + 2 * t + 1] = d[1], D[(g + 8) * 8 + 2 * t] = d[2], D[(g + 8) * 8 + 2 * t + 1] = d[3];
}

// m16n8k256: and/popc of 256 bits per row and column.
__global__ void single_bits(const unsigned* A, const unsigned* B, int* D) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4, d[4] = {0, 0, 0, 0};
    unsigned a[4] = {A[g * 8 + t], A[(g + 8) * 8 + t], A[g * 8 + t + 4], A[(g + 8) * 8 + t + 4]}, b[2] = {B[g * 8 + t], B[g * 8 + t + 4]};
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    D[g * 8 + 2 * t] = d[0], D[g * 8 + 2 * t + 1] = d[1], D[(g + 8) * 8 + 2 * t] = d[2], D[(g + 8) * 8 + 2 * t + 1] = d[3];
}

int main() {
    Random random(45);
    std::vector<unsigned> a(128), b(64);
    std::vector<int> c(128);
    for (auto& v : a) v = random.u32();
    for (auto& v : b) v = random.u32();
    for (int& v : c) v = int(random.below(2000)) - 1000;
    auto byte = [](const std::vector<unsigned>& m, int row, int k, bool s) { unsigned v = m[row * 8 + k / 4] >> (8 * (k % 4)) & 255; return s ? int(int8_t(v)) : int(v); };
    auto nibble = [](const std::vector<unsigned>& m, int row, int k) { int v = int(m[row * 8 + k / 8] >> (4 * (k % 8)) & 15); return v < 8 ? v : v - 16; };
    Buffer<unsigned> da(a), db(b);
    Buffer<int> dd(128);
    const bool signs[4][2] = {{true, true}, {false, false}, {true, false}, {false, false}};
    for (int kind = 0; kind < 4; kind++) {
        if (kind == 3) for (int i = 0; i < 128; i += 2) c[i] = INT32_MAX - i;  // overflows
        Buffer<int> dc(c);
        if (kind == 0) bytes<0><<<1, 32>>>(da, db, dc, dd);
        if (kind == 1) bytes<1><<<1, 32>>>(da, db, dc, dd);
        if (kind == 2) bytes<2><<<1, 32>>>(da, db, dc, dd);
        if (kind == 3) bytes<3><<<1, 32>>>(da, db, dc, dd);
        auto d = dd.host();
        for (int i = 0; i < 128; i++) {
            long long sum = c[i];
            for (int k = 0; k < 32; k++) sum += (long long)byte(a, i / 8, k, signs[kind][0]) * byte(b, i % 8, k, signs[kind][1]);
            expect_equal("bytes", kind * 128 + i, int(std::min(sum, (long long)INT32_MAX)), d[i]);
        }
    }
    short_depth<<<1, 32>>>(da, db, dd);
    auto d = dd.host();
    for (int i = 0; i < 128; i++) {
        int sum = 0;
        for (int k = 0; k < 16; k++) sum += byte(a, i / 8, k, true) * byte(b, i % 8, k, true);
        expect_equal("short depth", i, sum, d[i]);
    }
    nibbles<<<1, 32>>>(da, db, dd);
    d = dd.host();
    for (int i = 0; i < 128; i++) {
        int sum = 0;
        for (int k = 0; k < 64; k++) sum += nibble(a, i / 8, k) * nibble(b, i % 8, k);
        expect_equal("nibbles", i, sum, d[i]);
    }
    single_bits<<<1, 32>>>(da, db, dd);
    d = dd.host();
    for (int i = 0; i < 128; i++) {
        int sum = 0;
        for (int k = 0; k < 8; k++) sum += __builtin_popcount(a[i / 8 * 8 + k] & b[i % 8 * 8 + k]);
        expect_equal("bits", i, sum, d[i]);
    }
    return passed();
}
