// Matrix multiply-accumulate on register fragments: mma.sync and wmma.mma. Layouts: see matrix.h.
//
// Numbers. f16, bf16, tf32 and fp8 inputs: products are exact in f32 and are added to the
// accumulator one by one, k ascending, each sum rounded to nearest f32; an f16 result is rounded
// once, at the end. f64: fused multiply-add, k ascending. Integers: exact, then added to the
// accumulator with wrap-around, or clamped (.satfinite; floats too, where NaN becomes 0). Tensor cores
// sum in another order and truncate, so last bits differ from theirs.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <type_traits>

#pragma GCC optimize("O3", "fp-contract=off")

#include "abi.h"
#include "halves.h"
#include "half.h"
#include "matrix.h"
#include "vec.h"

namespace {

constexpr uint32_t kMaxElements = 512;     // of A or B: 32 x 16, 16 x 32
constexpr uint32_t kMaxIntElements = 1024; // 16 x 64

struct Blocks {
    uint32_t rows, columns, steps, depth, pair;  // in blocks of 8; pair: row blocks per k step in A
};

Blocks blocks_of(const Matrix& s) {
    return {s.m / 8, s.n / 8, s.steps(), s.depth(), s.m == 8 ? 1u : 2u};
}

// a: registers as they are, expanded to T: [register][8][depth]. b: [column block][k][8].
// c: [block][8][8], updated.
template <class T>
ALWAYS_INLINE void multiply(const Blocks& s, const T* a, const T* b, T* c) {
    typedef T Row __attribute__((vector_size(8 * sizeof(T))));
    for (uint32_t column = 0; column < s.columns; column++) {
        for (uint32_t row = 0; row < s.rows; row++) {
            T* block = c + (column * s.rows + row) * 64;
            Row sum[8];
            std::memcpy(sum, block, sizeof sum);
            const T* b_row = b + column * s.steps * s.depth * 8;
            for (uint32_t step = 0; step < s.steps; step++) {
                const uint32_t reg = (row / s.pair) * s.pair * s.steps + step * s.pair + row % s.pair;
                const T* a_block = a + reg * 8 * s.depth;
                for (uint32_t k = 0; k < s.depth; k++, b_row += 8) {
                    Row right;
                    std::memcpy(&right, b_row, sizeof right);
#pragma GCC unroll 8
                    for (uint32_t line = 0; line < 8; line++) {
                        const T left = a_block[line * s.depth + k];
                        if constexpr (std::is_same_v<T, double>) {
                            for (int j = 0; j < 8; j++)
                                sum[line][j] = __builtin_fma(left, right[j], sum[line][j]);
                        } else {
                            sum[line] += left * right;
                        }
                    }
                }
            }
            std::memcpy(block, sum, sizeof sum);
        }
    }
}

// Transposes 8x8 words: three rounds that exchange blocks of 1, 2 and 4.
ALWAYS_INLINE void transpose(const void* from, uint32_t from_stride, void* to) {
    V8i in[8], pairs[8], fours[8];
    for (int i = 0; i < 8; i++) in[i] = load<V8i>(static_cast<const uint32_t*>(from) + i * from_stride);
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = __builtin_shuffle(in[i], in[i + 1], V8i{0, 8, 2, 10, 4, 12, 6, 14});
        pairs[i + 1] = __builtin_shuffle(in[i], in[i + 1], V8i{1, 9, 3, 11, 5, 13, 7, 15});
    }
    for (int i = 0; i < 8; i += (i & 1) ? 3 : 1) {
        fours[i] = __builtin_shuffle(pairs[i], pairs[i + 2], V8i{0, 1, 8, 9, 4, 5, 12, 13});
        fours[i + 2] = __builtin_shuffle(pairs[i], pairs[i + 2], V8i{2, 3, 10, 11, 6, 7, 14, 15});
    }
    auto* out = static_cast<uint32_t*>(to);
    for (int i = 0; i < 4; i++) {
        store(out + i * 8, __builtin_shuffle(fours[i], fours[i + 4], V8i{0, 1, 2, 3, 8, 9, 10, 11}));
        store(out + (i + 4) * 8, __builtin_shuffle(fours[i], fours[i + 4], V8i{4, 5, 6, 7, 12, 13, 14, 15}));
    }
}

// B arrives as [register][8 columns][depth]; turn each block so that rows of 8 columns are contiguous.
template <class T>
ALWAYS_INLINE void turn(const Blocks& s, const T* from, T* to) {
    for (uint32_t block = 0; block < s.columns * s.steps; block++, from += 8 * s.depth, to += 8 * s.depth) {
        if (sizeof(T) == 4 && s.depth % 8 == 0) {
            for (uint32_t k = 0; k < s.depth; k += 8) transpose(from + k, s.depth, to + k * 8);
            continue;
        }
        for (uint32_t k = 0; k < s.depth; k++)
            for (uint32_t column = 0; column < 8; column++) to[k * 8 + column] = from[column * s.depth + k];
    }
}

// Accumulators in registers 2q and 2q+1 <-> rows of 8.
template <class T>
ALWAYS_INLINE void weave(const T* registers, T* rows, uint32_t blocks) {
    typedef T Row __attribute__((vector_size(32)));
    constexpr uint32_t kWidth = 32 / sizeof(T);
    for (uint32_t q = 0; q < blocks; q++)
        for (uint32_t lane = 0; lane < kLanes; lane += kWidth) {
            const Row even = load<Row>(registers + q * 64 + lane), odd = load<Row>(registers + q * 64 + 32 + lane);
            T* to = rows + q * 64 + lane * 2;
            if constexpr (sizeof(T) == 4) {
                store(to, __builtin_shuffle(even, odd, V8i{0, 8, 1, 9, 2, 10, 3, 11}));
                store(to + 8, __builtin_shuffle(even, odd, V8i{4, 12, 5, 13, 6, 14, 7, 15}));
            } else {
                store(to, __builtin_shuffle(even, odd, V4l{0, 4, 1, 5}));
                store(to + 4, __builtin_shuffle(even, odd, V4l{2, 6, 3, 7}));
            }
        }
}
template <class T>
ALWAYS_INLINE void unweave(const T* rows, T* registers, uint32_t blocks) {
    typedef T Row __attribute__((vector_size(32)));
    constexpr uint32_t kWidth = 32 / sizeof(T);
    for (uint32_t q = 0; q < blocks; q++)
        for (uint32_t lane = 0; lane < kLanes; lane += kWidth) {
            const T* from = rows + q * 64 + lane * 2;
            const Row low = load<Row>(from), high = load<Row>(from + kWidth);
            T *even = registers + q * 64 + lane, *odd = even + 32;
            if constexpr (sizeof(T) == 4) {
                store(even, __builtin_shuffle(low, high, V8i{0, 2, 4, 6, 8, 10, 12, 14}));
                store(odd, __builtin_shuffle(low, high, V8i{1, 3, 5, 7, 9, 11, 13, 15}));
            } else {
                store(even, __builtin_shuffle(low, high, V4l{0, 2, 4, 6}));
                store(odd, __builtin_shuffle(low, high, V4l{1, 3, 5, 7}));
            }
        }
}

// All 256 values of an fp8 format.
template <float (*convert)(uint8_t)>
struct Fp8Table {
    float values[256];
    Fp8Table() {
        for (uint32_t i = 0; i < 256; i++) values[i] = convert(uint8_t(i));
    }
};
const Fp8Table<e4m3_to_f32> kE4M3Values;
const Fp8Table<e5m2_to_f32> kE5M2Values;

ALWAYS_INLINE void expand(uint32_t type, const uint32_t* registers, float* to, uint32_t count) {
    const auto* halves = reinterpret_cast<const uint16_t*>(registers);
    const auto* bytes = reinterpret_cast<const uint8_t*>(registers);
    switch (type) {
        case kF16: halves_to_floats(halves, to, count); break;
        case kBF16: for (uint32_t i = 0; i < count; i++) to[i] = bf16_to_f32(halves[i]); break;
        case kTF32: for (uint32_t i = 0; i < count; i++) to[i] = bits_float(registers[i] & ~0x1fffu); break;
        case kE4M3: for (uint32_t i = 0; i < count; i++) to[i] = kE4M3Values.values[bytes[i]]; break;
        case kE5M2: for (uint32_t i = 0; i < count; i++) to[i] = kE5M2Values.values[bytes[i]]; break;
        default: break;
    }
}

ALWAYS_INLINE void expand(uint32_t type, const uint32_t* registers, int32_t* to, uint32_t count) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(registers);
    const bool is_signed = type == kS4;
    switch (type) {
        case kS8: for (uint32_t i = 0; i < count; i++) to[i] = int8_t(bytes[i]); break;
        case kU8: for (uint32_t i = 0; i < count; i++) to[i] = bytes[i]; break;
        default:
            for (uint32_t i = 0; i < count / 2; i++) {
                const int32_t low = bytes[i] & 15, high = bytes[i] >> 4;
                to[2 * i] = is_signed ? (low ^ 8) - 8 : low;
                to[2 * i + 1] = is_signed ? (high ^ 8) - 8 : high;
            }
    }
}

VECTOR_CLONES void mma_float(const Matrix& s, uint32_t* d, const uint32_t* a, const uint32_t* b,
                             const uint32_t* c) {
    const Blocks blocks = blocks_of(s);
    alignas(64) float left[kMaxElements], raw[kMaxElements], right[kMaxElements], sum[kMaxElements];
    expand(s.a, a, left, s.m * s.k);
    expand(s.b, b, raw, s.n * s.k);
    turn(blocks, raw, right);
    const uint32_t count = blocks.rows * blocks.columns;
    if (s.c == kF16) halves_to_floats(reinterpret_cast<const uint16_t*>(c), sum, count * 64);
    else weave(reinterpret_cast<const float*>(c), sum, count);
    multiply(blocks, left, right, sum);
    if (s.flags & kSatFinite) {
        const float largest = s.d == kF16 ? 65504.0f : FLT_MAX;
        for (uint32_t i = 0; i < count * 64; i++)
            sum[i] = sum[i] != sum[i] ? 0.0f : std::clamp(sum[i], -largest, largest);
    }
    if (s.d == kF16) floats_to_halves(sum, reinterpret_cast<uint16_t*>(d), count * 64);
    else unweave(sum, reinterpret_cast<float*>(d), count);
}

VECTOR_CLONES void mma_double(const Matrix& s, uint32_t* d, const uint32_t* a, const uint32_t* b,
                              const uint32_t* c) {
    const Blocks blocks = blocks_of(s);
    alignas(64) double left[256], right[128], sum[128];
    std::memcpy(left, a, s.m * s.k * sizeof(double));
    turn(blocks, reinterpret_cast<const double*>(b), right);
    weave(reinterpret_cast<const double*>(c), sum, blocks.rows * blocks.columns);
    multiply(blocks, left, right, sum);
    unweave(sum, reinterpret_cast<double*>(d), blocks.rows * blocks.columns);
}

// Adds the accumulator and writes the result. Products alone never leave 32 bits.
ALWAYS_INLINE void finish_integer(const Matrix& s, const int32_t* products, const uint32_t* c, uint32_t* d) {
    const uint32_t count = s.m * s.n;
    alignas(64) int32_t sum[kMaxElements];
    unweave(products, sum, count / 64);
    for (uint32_t i = 0; i < count; i++) {
        const int64_t exact = int64_t(sum[i]) + int32_t(c[i]);
        const int64_t clamped = std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX);
        d[i] = uint32_t(s.flags & kSatFinite ? clamped : exact);
    }
}

VECTOR_CLONES void mma_integer(const Matrix& s, uint32_t* d, const uint32_t* a, const uint32_t* b,
                               const uint32_t* c) {
    const Blocks blocks = blocks_of(s);
    alignas(64) int32_t left[kMaxIntElements], raw[kMaxIntElements], right[kMaxIntElements];
    alignas(64) int32_t products[kMaxElements] = {};
    expand(s.a, a, left, s.m * s.k);
    expand(s.b, b, raw, s.n * s.k);
    turn(blocks, raw, right);
    multiply(blocks, left, right, products);
    finish_integer(s, products, c, d);
}

VECTOR_CLONES void mma_bits(const Matrix& s, uint32_t* d, const uint32_t* a, const uint32_t* b,
                            const uint32_t* c) {
    const uint32_t words = s.k / 32;
    uint32_t left[16][8], right[8][8];
    for (uint32_t word = 0; word < words; word++) {
        const uint32_t step = word / 4, part = word % 4;
        for (uint32_t row = 0; row < s.m; row++)
            left[row][word] = a[register_of_a(s, row / 8, step) * 32 + row % 8 * 4 + part];
        for (uint32_t column = 0; column < s.n; column++)
            right[column][word] = b[register_of_b(s, column / 8, step) * 32 + column % 8 * 4 + part];
    }
    alignas(64) int32_t counts[kMaxElements];
    for (uint32_t row = 0; row < s.m; row++)
        for (uint32_t column = 0; column < s.n; column++) {
            int32_t count = 0;
            for (uint32_t word = 0; word < words; word++) {
                const uint32_t x = left[row][word], y = right[column][word];
                count += __builtin_popcount(s.flags & kAndPopc ? x & y : x ^ y);
            }
            counts[block_of_c(s, row / 8, column / 8) * 64 + row % 8 * 8 + column % 8] = count;
        }
    finish_integer(s, counts, c, d);
}

// mma.m8n8k4 with f16 inputs: four separate products, one per pair of quads (lanes 4p..4p+3 and
// 16 + 4p..), with a layout of its own that depends on the layouts of A and B.
void mma_quad_pairs(const Matrix& s, uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
    const auto half_of = [](const uint32_t* registers, uint32_t lane, uint32_t i) {
        return uint16_t(registers[i / 2 * 32 + lane] >> (i % 2 * 16));
    };
    uint32_t result[8 * 32] = {};
    for (uint32_t pair = 0; pair < 4; pair++) {
        float left[8][4], right[4][8];
        const auto lane_of = [pair](uint32_t line) { return pair * 4 + line % 4 + (line >= 4 ? 16 : 0); };
        for (uint32_t line = 0; line < 8; line++)
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t along = lane_of(line), across = lane_of((line & 4) + k);
                left[line][k] = f16_to_f32(s.flags & kColumnA ? half_of(a, across, line % 4) : half_of(a, along, k));
                right[k][line] = f16_to_f32(s.flags & kRowB ? half_of(b, across, line % 4) : half_of(b, along, k));
            }
        const auto place_f32 = [&](uint32_t row, uint32_t column, uint32_t& lane, uint32_t& i) {
            lane = lane_of((row & 4) + (row & 1) + (column & 2));
            i = (column & 4) + (row & 2) + (column & 1);
        };
        for (uint32_t row = 0; row < 8; row++)
            for (uint32_t column = 0; column < 8; column++) {
                uint32_t lane, i;
                place_f32(row, column, lane, i);
                float sum = s.c == kF16 ? f16_to_f32(half_of(c, lane_of(row), column)) : bits_float(c[i * 32 + lane]);
                for (uint32_t k = 0; k < 4; k++) sum += left[row][k] * right[k][column];
                if (s.d == kF16)
                    result[column / 2 * 32 + lane_of(row)] |= uint32_t(f32_to_f16(sum)) << (column % 2 * 16);
                else
                    result[i * 32 + lane] = float_bits(sum);
            }
    }
    std::memcpy(d, result, (s.d == kF16 ? 4 : 8) * 32 * sizeof(uint32_t));
}

void multiply_accumulate(const Matrix& s, uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
    const KeepDenormals scope;
    switch (s.a) {
        case kF64: return mma_double(s, d, a, b, c);
        case kS8: case kU8: case kS4: case kU4: return mma_integer(s, d, a, b, c);
        case kB1: return mma_bits(s, d, a, b, c);
        default: return mma_float(s, d, a, b, c);
    }
}

}  // namespace

extern "C" void rt_mma(Warp*, uint32_t, uint64_t desc, uint32_t* d, const uint32_t* a, const uint32_t* b,
                       const uint32_t* c) {
    const Matrix s(desc);
    if (s.a == kF16 && s.m == 8 && s.n == 8 && s.k == 4) return mma_quad_pairs(s, d, a, b, c);
    multiply_accumulate(s, d, a, b, c);
}

extern "C" void rt_wmma_mma(Warp*, uint32_t, uint64_t desc, uint32_t* d, const uint32_t* a,
                            const uint32_t* b, const uint32_t* c) {
    multiply_accumulate(Matrix(desc), d, a, b, c);
}
