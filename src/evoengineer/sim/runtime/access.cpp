// See access.h.
#include "access.h"

#include "count.h"
#include "simd.h"

#pragma GCC optimize("O3")

VECTOR_CLONES bool within(const Cache& cache, uint32_t shift, uint32_t mask, const uint64_t* addresses,
                          uint64_t to_last) {
    const uint64_t base = cache.base, last = cache.last;
    uint64_t outside = 0;
    for (uint32_t lane = 0; lane < kLanes; lane++) {
        const uint64_t first = addresses[lane] - base, end = first + to_last;
        const uint64_t low = first >> shift | first << ((64 - shift) & 63);
        const uint64_t high = end >> shift | end << ((64 - shift) & 63);
        outside |= (low > last || high > last ? 1 : 0) & (mask >> lane);
    }
    return (outside & 1) == 0;
}

void touch(Warp* w, uint32_t site, uint32_t mask, const uint64_t* addresses, uint32_t bytes, Access access) {
    const Launch& launch = launch_of(state(w));
    const Site& described = launch.sites[site];
    if (state(w)->block->counted) count_access(state(w), site, mask, addresses, bytes, access, false);
    const bool cached = !(launch.flags & kCheckAccess) && described.bytes <= bytes;
    const Cache& cache = reinterpret_cast<const Cache*>(w->caches)[site];
    const uint32_t shift = __builtin_ctz(described.align | 256u);
    if (cached && within(cache, shift, mask, addresses, bytes - described.bytes)) return;
    check_lanes(state(w), site, mask, addresses, bytes, access);
    if (cached) rt_checkv(w, site, mask, addresses);  // remembers the allocation
}
