// Shapes and fragment layouts of matrix instructions (mma, wmma, ldmatrix).
//
// One rule covers every layout but that of mma.m8n8k4.f16. A register of all 32 lanes, read as one
// array, is a block of 8 lines with 4 lanes each: lane = 4 * line + part. For A a line is a row, for
// B a column; along it lie `depth` elements of k, 16 bytes (32 for f64). Blocks of A come in pairs of
// rows (0-7, 8-15) per step of k. An accumulator register holds every second element of a row of
// 8x8: register 2q + (column & 1) of block q; with f16, where a register holds two, the whole row.
// So a fragment in memory, register-major, already is a blocked matrix.
//
// The layout of wmma fragments is the simulator's to choose: it is the same, extended to 32 rows or
// columns. f16 fragments of A and B have 8 registers in PTX even if fewer hold the matrix; the rest
// repeat it.
#pragma once
#include <cstdint>

enum MatrixType : uint32_t {
    kF16 = 0, kBF16 = 1, kTF32 = 2, kF32 = 3, kF64 = 4, kS8 = 5, kU8 = 6, kS4 = 7, kU4 = 8, kB1 = 9,
    kS32 = 10, kE4M3 = 11, kE5M2 = 12,
};

enum MatrixFlags : uint32_t { kColumnA = 1, kRowB = 2, kSatFinite = 4, kAndPopc = 8 };

constexpr uint32_t kMatrixBits[] = {16, 16, 32, 32, 64, 8, 8, 4, 4, 1, 32, 8, 8};

struct Matrix {
    uint32_t m, n, k, a, b, c, d, flags;

    explicit Matrix(uint64_t desc)
        : m(desc & 0xff), n(desc >> 8 & 0xff), k(desc >> 16 & 0xff), a(desc >> 24 & 0xff),
          b(desc >> 32 & 0xff), c(desc >> 40 & 0xff), d(desc >> 48 & 0xff), flags(desc >> 56 & 0xff) {
        if (k == 0) k = 256;  // m16n8k256: does not fit its field
    }
    uint32_t depth() const { return a == kF64 ? 4 : 128 / kMatrixBits[a]; }
    uint32_t steps() const { return k / depth(); }
};

// Register of A that holds block `row_block` at k step `step`; likewise B and its column blocks.
inline uint32_t register_of_a(const Matrix& s, uint32_t row_block, uint32_t step) {
    if (s.m == 8) return step;
    return (row_block / 2) * 2 * s.steps() + step * 2 + row_block % 2;
}
inline uint32_t register_of_b(const Matrix& s, uint32_t column_block, uint32_t step) {
    return column_block * s.steps() + step;
}
// First register of the accumulator's 8x8 block is twice this (once for f16).
inline uint32_t block_of_c(const Matrix& s, uint32_t row_block, uint32_t column_block) {
    return column_block * (s.m / 8) + row_block;
}
