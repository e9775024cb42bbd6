// Kernels for test_ops_matrix.py: block functions that call the matrix operations on shared memory.
#include <cstring>

#include "runtime.h"

extern "C" {
void rt_wmma_load(Warp*, uint32_t, uint32_t, uint64_t, uint32_t, uint32_t, uint32_t*, const uint64_t*, const uint32_t*);
void rt_wmma_store(Warp*, uint32_t, uint32_t, uint64_t, uint32_t, const uint32_t*, const uint64_t*, const uint32_t*);
void rt_wmma_mma(Warp*, uint32_t, uint64_t, uint32_t*, const uint32_t*, const uint32_t*, const uint32_t*);
void rt_ldmatrix(Warp*, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t*, const uint64_t*);
void rt_stmatrix(Warp*, uint32_t, uint32_t, uint32_t, uint32_t, const uint32_t*, const uint64_t*);
}

namespace {

constexpr uint32_t kPart = 2048;  // shared memory is A, B, C, D of this many bytes each

uint64_t param(Warp* w, uint32_t index) { return reinterpret_cast<const uint64_t*>(w->params)[index]; }

template <class T> struct Lanes {
    alignas(64) T at[kLanes];
    explicit Lanes(T value) {
        for (T& each : at) each = value;
    }
};

}  // namespace

// params: descriptor, memory of A, B, C, D, then layout and stride of each, then what to add to the address of A
extern "C" int32_t wmma_product(Warp* w, uint8_t*, uint32_t mask) {
    const uint64_t desc = param(w, 0);
    auto* memory = reinterpret_cast<uint8_t*>(param(w, 1));
    auto* shared = reinterpret_cast<uint8_t*>(w->shared_base);
    std::memcpy(shared, memory, 3 * kPart);
    alignas(64) uint32_t fragment[4][512];
    for (uint32_t i = 0; i < 3; i++) {
        const Lanes<uint64_t> address(w->shared_base + i * kPart + (i == 0 ? param(w, 10) : 0));
        const Lanes<uint32_t> stride(uint32_t(param(w, 3 + 2 * i)));
        rt_wmma_load(w, 0, mask, desc, i, uint32_t(param(w, 2 + 2 * i)), fragment[i], address.at, stride.at);
    }
    rt_wmma_mma(w, mask, desc, fragment[3], fragment[0], fragment[1], fragment[2]);
    const Lanes<uint64_t> address(w->shared_base + 3 * kPart);
    const Lanes<uint32_t> stride(uint32_t(param(w, 9)));
    rt_wmma_store(w, 0, mask, desc, uint32_t(param(w, 8)), fragment[3], address.at, stride.at);
    std::memcpy(memory + 3 * kPart, shared + 3 * kPart, kPart);
    return kExit;
}

// params: source, registers, destination, number of matrices, transposed, added to the first address
extern "C" int32_t matrix_round_trip(Warp* w, uint8_t*, uint32_t mask) {
    auto* shared = reinterpret_cast<uint8_t*>(w->shared_base);
    std::memcpy(shared, reinterpret_cast<const void*>(param(w, 0)), 512);
    alignas(64) uint32_t registers[128] = {};
    alignas(64) uint64_t from[kLanes], to[kLanes];
    for (uint32_t lane = 0; lane < kLanes; lane++) {
        from[lane] = w->shared_base + lane * 16 + (lane == 0 ? param(w, 5) : 0);
        to[lane] = w->shared_base + 512 + (kLanes - 1 - lane) * 16;
    }
    const auto count = uint32_t(param(w, 3)), transposed = uint32_t(param(w, 4));
    rt_ldmatrix(w, 0, mask, count, transposed, registers, from);
    rt_stmatrix(w, 0, mask, count, transposed, registers, to);
    std::memcpy(reinterpret_cast<void*>(param(w, 1)), registers, sizeof registers);
    std::memcpy(reinterpret_cast<void*>(param(w, 2)), shared + 512, 512);
    return kExit;
}
