// Small lane-wise operations: gathers and scatters of bytes and 16-bit values (which LLVM would write
// out as 32 branches each), and the question whether an address lies in constant memory.
#include "abi.h"
#include "memory.h"

namespace {

template <typename T>
void gather(uint32_t mask, T* to, const uint64_t* addresses) {
    for (uint32_t lane = 0; lane < kLanes; ++lane)
        if (mask >> lane & 1) to[lane] = *reinterpret_cast<const T*>(addresses[lane]);
}

// Lanes ascending: where addresses coincide the highest lane wins.
template <typename T>
void scatter(uint32_t mask, const T* from, const uint64_t* addresses) {
    for (uint32_t lane = 0; lane < kLanes; ++lane)
        if (mask >> lane & 1) *reinterpret_cast<T*>(addresses[lane]) = from[lane];
}

}  // namespace

extern "C" {
void rt_gather8(uint32_t mask, uint8_t* to, const uint64_t* addresses) { gather(mask, to, addresses); }
void rt_gather16(uint32_t mask, uint16_t* to, const uint64_t* addresses) { gather(mask, to, addresses); }
void rt_scatter8(uint32_t mask, const uint8_t* from, const uint64_t* addresses) { scatter(mask, from, addresses); }
void rt_scatter16(uint32_t mask, const uint16_t* from, const uint64_t* addresses) { scatter(mask, from, addresses); }

// isspacep.const: bit i of *found says whether lane i's address lies in constant memory.
void rt_is_constant(uint32_t mask, uint32_t* found, const uint64_t* addresses) {
    *found = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        Allocation at;
        if ((mask >> lane & 1) && memory_find(addresses[lane], &at) && at.kind == kKindConstant) *found |= 1u << lane;
    }
}
}
