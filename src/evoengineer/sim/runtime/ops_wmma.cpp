// wmma.load and wmma.store: matrices in memory <-> fragments. Fragment layouts: see matrix.h.
//
// A matrix in memory is a number of lines (rows if row-major, else columns), `stride` elements apart.
// Lines are checked one per lane, so an error names the line that is out of bounds.
#include <cstring>

#include "access.h"
#include "matrix.h"

namespace {

enum Which : uint32_t { kA = 0, kB = 1, kC = 2 };

struct Operand {
    uint32_t rows, columns, bits;
    bool column_major;
    uint32_t lines() const { return column_major ? columns : rows; }
    uint32_t length() const { return column_major ? rows : columns; }
    uint32_t line_bytes() const { return length() * bits / 8; }
};

Operand operand_of(const Matrix& s, uint32_t which, uint32_t layout, uint32_t type) {
    const bool column_major = layout != 0;
    if (which == kA) return {s.m, s.k, kMatrixBits[type], column_major};
    if (which == kB) return {s.k, s.n, kMatrixBits[type], column_major};
    return {s.m, s.n, kMatrixBits[type], column_major};
}

// Where element (row, column) lies in the fragment, in elements. Not for 4-bit and 1-bit types.
uint32_t place(const Matrix& s, uint32_t which, uint32_t bits, uint32_t row, uint32_t column) {
    if (which == kC) {
        const uint32_t block = block_of_c(s, row / 8, column / 8);
        if (bits == 16) return block * 64 + row % 8 * 8 + column % 8;
        return (block * 2 + column % 2) * 32 + row % 8 * 4 + column % 8 / 2;
    }
    const uint32_t depth = s.depth();
    if (which == kA) return (register_of_a(s, row / 8, column / depth) * 8 + row % 8) * depth + column % depth;
    return (register_of_b(s, column / 8, row / depth) * 8 + column % 8) * depth + row % depth;
}

// place() is a sum of a part for the row and one for the column; split along and across the lines.
struct Places {
    uint32_t line[32], along[128];
    Places(const Matrix& s, uint32_t which, const Operand& o) {
        for (uint32_t i = 0; i < o.lines(); i++)
            line[i] = o.column_major ? place(s, which, o.bits, 0, i) : place(s, which, o.bits, i, 0);
        for (uint32_t i = 0; i < o.length(); i++)
            along[i] = o.column_major ? place(s, which, o.bits, i, 0) : place(s, which, o.bits, 0, i);
    }
};

template <class T>
void gather(const Matrix& s, uint32_t which, const Operand& o, const uint64_t* lines, T* fragment) {
    const Places places(s, which, o);
    for (uint32_t line = 0; line < o.lines(); line++) {
        const T* from = reinterpret_cast<const T*>(lines[line]);
        T* to = fragment + places.line[line];
        for (uint32_t i = 0; i < o.length(); i++) to[places.along[i]] = from[i];
    }
}

template <class T>
void scatter(const Matrix& s, const Operand& o, const uint64_t* lines, const T* fragment) {
    const Places places(s, kC, o);
    for (uint32_t line = 0; line < o.lines(); line++) {
        T* to = reinterpret_cast<T*>(lines[line]);
        const T* from = fragment + places.line[line];
        for (uint32_t i = 0; i < o.length(); i++) to[i] = from[places.along[i]];
    }
}

// A by rows or B by columns: a line is made of whole parts of registers.
template <uint32_t kPart>
void gather_lines(const Matrix& s, uint32_t which, const Operand& o, const uint64_t* lines, uint8_t* fragment) {
    const uint32_t steps = s.steps(), count = o.lines();
    for (uint32_t line = 0; line < count; line++)
        for (uint32_t step = 0; step < steps; step++) {
            const uint32_t reg = which == kA ? register_of_a(s, line / 8, step) : register_of_b(s, line / 8, step);
            std::memcpy(fragment + (reg * 8 + line % 8) * kPart,
                        reinterpret_cast<const uint8_t*>(lines[line]) + step * kPart, kPart);
        }
}

// Addresses of the lines; the operands are the same in all lanes, so those of the first count.
void find_lines(const Operand& o, uint32_t mask, const uint64_t* address, const uint32_t* stride, uint64_t* lines) {
    const uint32_t first = mask != 0 ? __builtin_ctz(mask) : 0;
    const uint64_t step = uint64_t(stride != nullptr ? stride[first] : o.length()) * o.bits / 8;
    for (uint32_t i = 0; i < kLanes; i++) lines[i] = address[first] + i * step;
}

uint32_t line_mask(const Operand& o) { return o.lines() >= 32 ? kFullMask : (1u << o.lines()) - 1; }

}  // namespace

// Sub-byte elements can only be moved in whole lines, and lines are counted in lanes.
static void check_layout(Warp* w, uint32_t site, uint32_t mask, const Operand& o, bool whole_parts) {
    if (o.lines() > kLanes || o.length() > 128 || (o.bits < 8 && !whole_parts))
        fail(state(w), kUnsupported, site, mask, "a matrix of %u x %u elements of %u bits in this layout", o.rows,
             o.columns, o.bits);
}

// What a load takes from memory.
struct Loaded {
    Matrix s;
    Operand o;
    uint32_t which, type;
    bool whole_parts;
    uint64_t lines[kLanes];

    Loaded(Warp* w, uint32_t site, uint32_t mask, uint64_t desc, uint32_t which_, uint32_t layout, const uint64_t* address,
           const uint32_t* stride)
        : s(desc), which(which_) {
        if (which == kB) s.a = s.b;  // the descriptor of a load need not name the other operand
        type = which == kA ? s.a : which == kB ? s.b : s.c;
        o = operand_of(s, which, layout, type);
        whole_parts = (which == kA && !o.column_major) || (which == kB && o.column_major);
        check_layout(w, site, mask, o, whole_parts);
        find_lines(o, mask, address, stride, lines);
    }

    void gather_to(uint32_t* d) const {
        if (whole_parts && o.bits == 64) gather_lines<32>(s, which, o, lines, reinterpret_cast<uint8_t*>(d));
        else if (whole_parts) gather_lines<16>(s, which, o, lines, reinterpret_cast<uint8_t*>(d));
        else if (o.bits == 8) gather(s, which, o, lines, reinterpret_cast<uint8_t*>(d));
        else if (o.bits == 16) gather(s, which, o, lines, reinterpret_cast<uint16_t*>(d));
        else if (o.bits == 32) gather(s, which, o, lines, d);
        else gather(s, which, o, lines, reinterpret_cast<uint64_t*>(d));
        if (type == kF16 && which != kC) {
            const uint32_t used = o.rows * o.columns / 64;
            for (uint32_t reg = used; reg < 8; reg++) std::memcpy(d + reg * 32, d + reg % used * 32, 128);
        }
    }
};

static void scatter_to(const Matrix& s, const Operand& o, const uint64_t* lines, const uint32_t* d) {
    if (o.bits == 16) scatter(s, o, lines, reinterpret_cast<const uint16_t*>(d));
    else if (o.bits == 32) scatter(s, o, lines, d);
    else scatter(s, o, lines, reinterpret_cast<const uint64_t*>(d));
}

extern "C" void rt_wmma_load(Warp* w, uint32_t site, uint32_t mask, uint64_t desc, uint32_t which, uint32_t layout,
                             uint32_t* d, const uint64_t* address, const uint32_t* stride) {
    const Loaded matrix(w, site, mask, desc, which, layout, address, stride);
    touch(w, site, line_mask(matrix.o), matrix.lines, matrix.o.line_bytes(), kLoad);
    matrix.gather_to(d);
}

extern "C" void rt_wmma_store(Warp* w, uint32_t site, uint32_t mask, uint64_t desc, uint32_t layout,
                              const uint32_t* d, const uint64_t* address, const uint32_t* stride) {
    const Matrix s(desc);
    const Operand o = operand_of(s, kC, layout, s.d);
    check_layout(w, site, mask, o, false);
    uint64_t lines[kLanes];
    find_lines(o, mask, address, stride, lines);
    touch(w, site, line_mask(o), lines, o.line_bytes(), kStore);
    scatter_to(s, o, lines, d);
}

// The undefined bits of what a load reads, and those that a store writes (d may be null); see checks_init.cpp.

constexpr uint32_t kMostLineBytes = 1024;  // 128 elements of 8 bytes

extern "C" void rt_undefined_wmma_load(Warp* w, uint32_t site, uint32_t mask, uint64_t desc, uint32_t which,
                                       uint32_t layout, uint32_t* d, const uint64_t* address, const uint32_t* stride) {
    Loaded matrix(w, site, mask, desc, which, layout, address, stride);
    alignas(64) uint8_t room[kLanes * kMostLineBytes];
    undefined_lines(state(w), site, line_mask(matrix.o), matrix.lines, matrix.o.line_bytes(), room);
    matrix.gather_to(d);
}

extern "C" void rt_undefined_wmma_store(Warp* w, uint32_t site, uint32_t mask, uint64_t desc, uint32_t layout, const uint32_t* d,
                                        const uint64_t* address, const uint32_t* stride) {
    const Matrix s(desc);
    const Operand o = operand_of(s, kC, layout, s.d);
    uint64_t lines[kLanes], copies[kLanes];
    find_lines(o, mask, address, stride, lines);
    alignas(64) uint8_t room[kLanes * kMostLineBytes];
    for (uint32_t i = 0; i < kLanes; i++) copies[i] = reinterpret_cast<uint64_t>(room + size_t(i) * o.line_bytes());
    if (d) scatter_to(s, o, copies, d);
    define_lines(state(w), site, line_mask(o), lines, o.line_bytes(), d ? room : nullptr);
}
