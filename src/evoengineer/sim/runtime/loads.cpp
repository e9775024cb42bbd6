// Loads of code that reports its accesses, each in one call (codegen/reported.py): such code runs seldom, and LLVM would
// take longer for the vectors of addresses than they take here.
#include <algorithm>
#include <cstring>

#include "count.h"
#include "runtime.h"
#include "simd.h"

#pragma GCC optimize("O3")

namespace {

enum How : uint32_t { kWideBase = 1, kInShared = 2, kCountsIt = 4, kChecksIt = 8, kWordsShift = 8 };

VECTOR_CLONES void add_to_narrow(const int32_t* base, uint64_t more, uint64_t* addresses) {
    for (uint32_t lane = 0; lane < kLanes; lane++) addresses[lane] = uint64_t(int64_t(base[lane])) + more;
}

VECTOR_CLONES void add_to_wide(const uint64_t* base, uint64_t more, uint64_t* addresses) {
    for (uint32_t lane = 0; lane < kLanes; lane++) addresses[lane] = base[lane] + more;
}

VECTOR_CLONES bool in_a_row(const uint64_t* addresses) {
    uint64_t unlike = 0;
    for (uint32_t lane = 0; lane < kLanes; lane++) unlike |= addresses[lane] - addresses[0] - 4 * lane;
    return !unlike;
}

}  // namespace

// Words of 32 bits from base + offset, of each lane one or several: a vector for each. `base` has a register's value, of
// 64 bits if kWideBase, or is null. Leaves the addresses.
extern "C" void rt_load(Warp* w, uint32_t site, uint32_t mask, const void* base, uint64_t offset, uint32_t how,
                        uint64_t* addresses, uint32_t* out) {
    const uint64_t more = offset + (how & kInShared ? w->shared_base : 0);
    if (!base) std::fill(addresses, addresses + kLanes, more);
    else if (how & kWideBase) add_to_wide(static_cast<const uint64_t*>(base), more, addresses);
    else add_to_narrow(static_cast<const int32_t*>(base), more, addresses);
    if (how & kCountsIt) rt_counted(w, site, mask, addresses);
    if (how & kChecksIt) rt_access(w, site, mask, addresses);
    const bool row = mask == ~0u && in_a_row(addresses);
    for (uint32_t word = 0; word < how >> kWordsShift; word++, out += kLanes) {
        if (row) {
            memcpy(out, reinterpret_cast<const uint32_t*>(addresses[0]) + word, 4 * kLanes);
            continue;
        }
        for (uint32_t lane = 0; lane < kLanes; lane++) {
            out[lane] = mask >> lane & 1 ? reinterpret_cast<const uint32_t*>(addresses[lane])[word] : 0;
        }
    }
}
