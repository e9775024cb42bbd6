// Movement of 8x8 matrices of 16-bit elements: ldmatrix, stmatrix, movmatrix.
//
// A register of all 32 lanes, read as one array, is such a matrix row by row (see matrix.h), so that
// each row of 16 bytes is one copy.
#include <cstring>

#include "access.h"
#include "matrix.h"

namespace {

constexpr uint32_t kRowBytes = 16;
constexpr uint32_t kMatrixBytes = 128;

uint32_t providers(uint32_t mask, uint32_t matrices) {
    return matrices >= 4 ? mask : mask & ((1u << (8 * matrices)) - 1);
}

void transpose(const uint16_t* from, uint16_t* to) {
    for (uint32_t row = 0; row < 8; row++)
        for (uint32_t column = 0; column < 8; column++) to[column * 8 + row] = from[row * 8 + column];
}

void from_rows(uint32_t matrices, uint32_t transposed, const uint8_t* rows, uint32_t* d) {
    for (uint32_t i = 0; i < matrices; i++) {
        if (transposed)
            transpose(reinterpret_cast<const uint16_t*>(rows) + i * 64, reinterpret_cast<uint16_t*>(d) + i * 64);
        else
            std::memcpy(d + i * 32, rows + i * kMatrixBytes, kMatrixBytes);
    }
}

void to_rows(uint32_t matrices, uint32_t transposed, const uint32_t* s, uint8_t* rows) {
    for (uint32_t i = 0; i < matrices; i++) {
        if (transposed)
            transpose(reinterpret_cast<const uint16_t*>(s) + i * 64, reinterpret_cast<uint16_t*>(rows) + i * 64);
        else
            std::memcpy(rows + i * kMatrixBytes, s + i * 32, kMatrixBytes);
    }
}

}  // namespace

extern "C" void rt_ldmatrix(Warp* w, uint32_t site, uint32_t mask, uint32_t matrices, uint32_t transposed,
                            uint32_t* d, const uint64_t* address) {
    const uint32_t lanes = providers(mask, matrices);
    touch(w, site, lanes, address, kRowBytes, kLoad);
    alignas(64) uint8_t rows[4 * kMatrixBytes] = {};
    for (uint32_t lane = 0; lane < 8 * matrices; lane++)
        if (lanes >> lane & 1)
            std::memcpy(rows + lane * kRowBytes, reinterpret_cast<const void*>(address[lane]), kRowBytes);
    from_rows(matrices, transposed, rows, d);
}

// The undefined bits of what ldmatrix reads, and those that stmatrix writes (s may be null); see checks_init.cpp.
extern "C" void rt_undefined_ldmatrix(Warp* w, uint32_t site, uint32_t mask, uint32_t matrices, uint32_t transposed,
                                      uint32_t* d, const uint64_t* address) {
    const uint32_t lanes = providers(mask, matrices);
    alignas(64) uint8_t rows[32 * kRowBytes] = {};
    uint64_t lines[kLanes];
    std::memcpy(lines, address, sizeof lines);
    undefined_lines(state(w), site, lanes, lines, kRowBytes, rows);
    from_rows(matrices, transposed, rows, d);
}

extern "C" void rt_undefined_stmatrix(Warp* w, uint32_t site, uint32_t mask, uint32_t matrices, uint32_t transposed, const uint32_t* s,
                                      const uint64_t* address) {
    alignas(64) uint8_t rows[4 * kMatrixBytes];
    if (s) to_rows(matrices, transposed, s, rows);
    define_lines(state(w), site, providers(mask, matrices), address, kRowBytes, s ? rows : nullptr);
}

extern "C" void rt_stmatrix(Warp* w, uint32_t site, uint32_t mask, uint32_t matrices, uint32_t transposed,
                            const uint32_t* s, const uint64_t* address) {
    const uint32_t lanes = providers(mask, matrices);
    touch(w, site, lanes, address, kRowBytes, kStore);
    alignas(64) uint8_t rows[4 * kMatrixBytes];
    to_rows(matrices, transposed, s, rows);
    for (uint32_t lane = 0; lane < 8 * matrices; lane++)
        if (lanes >> lane & 1)
            std::memcpy(reinterpret_cast<void*>(address[lane]), rows + lane * kRowBytes, kRowBytes);
}

extern "C" void rt_movmatrix(Warp*, uint32_t, uint32_t* d, const uint32_t* a) {
    alignas(64) uint16_t source[64];
    std::memcpy(source, a, sizeof source);
    transpose(source, reinterpret_cast<uint16_t*>(d));
}
