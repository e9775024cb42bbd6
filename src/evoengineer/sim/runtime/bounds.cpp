// Bounds and alignment checks of memory accesses whose inline check missed.
#include <cstring>

#include "access.h"
#include "dispatch.h"
#include "scheduler.h"

namespace {

// The memory that an address belongs to.
struct Range {
    uint64_t start, bytes;
    bool cacheable;  // for all lanes of all warps of this worker, until the launch ends
};

constexpr uint64_t kMostParameterBytes = 32764;  // of a kernel

uint32_t log2_of(uint32_t align) { return align ? uint32_t(__builtin_ctz(align)) : 0; }

// Lets the inline check pass for what a site touches at once (`span` bytes) anywhere in the range. The
// FAST and the SLOW form of an instruction share the entry, and FAST may touch all lanes' bytes at
// once: unless the site says how many (Site::lanes), per-lane checks must assume 32.
void remember(WarpState* w, uint32_t site, const Range& range, uint64_t span, uint32_t align) {
    if (!range.cacheable || range.bytes < span) return;
    Cache& cache = reinterpret_cast<Cache*>(w->caches)[site];
    cache = {range.start, (range.bytes - span) >> log2_of(align)};
}

bool find_allocation(Worker& k, uint64_t address, Allocation* out) {
    uint64_t generation = memory_generation();
    if (k.recent_generation != generation) {
        memset(k.recent, 0, sizeof k.recent);
        k.recent_generation = generation;
    }
    for (const Allocation& a : k.recent) {
        if (address - a.start < a.bytes) {
            *out = a;
            return true;
        }
    }
    if (!memory_find(address, out)) return false;
    // The kernel may free what it has allocated itself: that is looked up every time.
    if (out->kind != kKindHeap && out->state == kStateLive) k.recent[k.recent_next++ % kRecent] = *out;
    return true;
}

// Finds the memory behind `address` for the lane; an error code if it may not be accessed at all.
uint32_t resolve(WarpState* w, uint32_t lane, uint8_t space, uint64_t address, Access access, Range* range) {
    Run& run = *w->worker->run;
    bool writes = access == kStore || access == kAtomic;
    if ((space == kGeneric || space == kShared) && address - w->shared_base < w->shared_bytes) {
        *range = {w->shared_base, w->shared_bytes, !run.spins};
        return kNoError;
    }
    if (space == kShared) return kOutOfBounds;
    if (in_device_arena(address) || in_host_arena(address)) {
        Allocation a;
        if (space == kLocal || !find_allocation(*w->worker, address, &a)) return kOutOfBounds;
        if (a.state == kStateFreed) return kFreed;
        if (a.kind == kKindArray) return kOutOfBounds;
        // Constant banks and parameters are windows of their own: what lies elsewhere is not seen through them.
        if (space == kConst && a.kind != kKindConstant) return kOutOfBounds;
        if (space == kParam && address - w->params >= kMostParameterBytes) return kOutOfBounds;
        if (a.kind == kKindConstant && writes) return kWriteToConst;
        *range = {a.start, a.bytes, a.kind != kKindHeap};
        return kNoError;
    }
    LocalRange local;
    if ((space == kGeneric || space == kLocal || space == kParam) && is_local(w, address)) {
        if (!find_local(w, lane, address, &local)) return kOutOfBounds;
        *range = {local.start, local.bytes, false};
        return kNoError;
    }
    // Parameters of the kernel, whose address may be taken; they are not to be written.
    uint64_t params = run.launch->functions[0].param_bytes;
    if (!params) params = kMostParameterBytes;
    if ((space == kGeneric || space == kParam || space == kConst) && !writes && address - w->params < params) {
        *range = {w->params, params, false};
        return kNoError;
    }
    return kOutOfBounds;
}

uint32_t lanes_inside(const Range& range, const uint64_t* addresses, uint64_t bytes, uint32_t align) {
    if (range.bytes < bytes) return 0;
    uint64_t last = range.bytes - bytes, low = align ? align - 1 : 0;
    uint32_t inside = 0;
    for (uint32_t i = 0; i < kLanes; i++)
        inside |= uint32_t(addresses[i] - range.start <= last && !(addresses[i] & low)) << i;
    return inside;
}

void check_one(WarpState* w, uint32_t site, uint32_t lane, uint64_t address, uint64_t bytes, uint32_t align,
               uint8_t space, Access access, Range* range) {
    if (align > 1 && address % align) fail_access(w, kMisaligned, site, 1u << lane, address, bytes, access);
    uint32_t code = resolve(w, lane, space, address, access, range);
    if (code == kNoError && range->bytes - (address - range->start) < bytes) code = kOutOfBounds;
    if (code != kNoError) fail_access(w, code, site, 1u << lane, address, bytes, access);
}

// All lanes in their own local memory, the common case of local accesses.
bool all_local(const WarpState* w, uint32_t lanes, const uint64_t* addresses, const Site& s) {
    uint64_t bytes = w->activation ? w->activation->local_bytes : w->worker->launch->functions[0].local_bytes;
    if (bytes < s.bytes) return false;
    uint64_t last = bytes - s.bytes, low = uint64_t(s.align ? s.align - 1 : 0);
    uint32_t bad = 0;
    for (uint32_t i = 0; i < kLanes; i++) {
        uint64_t offset = addresses[i] - (w->local_base + i * bytes);
        bad |= uint32_t(offset > last || (addresses[i] & low)) << i;
    }
    return !(bad & lanes);
}

// Lanes that touch one contiguous stretch of local memory, each its own: one variable of that size.
void check_neighbours(WarpState* w, uint32_t site, const Site& s, uint64_t address, uint32_t count) {
    uint32_t first = 0;  // of a segment of `count` lanes: the address says which
    LocalRange local;
    while (first + count < kLanes && !find_local(w, first, address, &local)) first += count;
    Range range;
    for (uint32_t i = 0; i < count; i++)
        check_one(w, site, first + i, address + uint64_t(i) * s.bytes, s.bytes, s.align, s.space, Access(s.access), &range);
}

}  // namespace

extern "C" {

void rt_check1(Warp* warp, uint32_t site, uint64_t address, uint64_t span) {
    WarpState* w = state(warp);
    const Site& s = w->worker->launch->sites[site];
    uint32_t count = s.bytes && span > s.bytes ? uint32_t(span / s.bytes) : 1;
    uint32_t lanes = count > 1 ? (count >= kLanes ? kFullMask : (1u << count) - 1) : w->live;
    uint32_t lane = lanes ? uint32_t(__builtin_ctz(lanes)) : 0;
    if (s.align > 1 && address % s.align) fail_access(w, kMisaligned, site, lanes, address, s.bytes, Access(s.access));
    if (count > 1 && is_local(w, address)) {
        check_neighbours(w, site, s, address, count);
        return;
    }
    Range range;
    uint32_t code = resolve(w, lane, s.space, address, Access(s.access), &range);
    if (code != kNoError) {
        // The first lane is at fault; lanes further on may still lie in the next allocation.
        fail_access(w, code, site, count > 1 ? 1u : lanes, address, s.bytes, Access(s.access));
    }
    uint64_t room = range.bytes - (address - range.start);
    if (room < span) {
        uint32_t good = count > 1 ? uint32_t(room / s.bytes) : 0;
        uint32_t offenders = count > 1 ? lanes & ~((1u << good) - 1) : lanes;
        fail_access(w, kOutOfBounds, site, offenders, address + uint64_t(good) * s.bytes, s.bytes,
                    Access(s.access));
    }
    remember(w, site, range, span, s.align);
}

void rt_checkv(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* addresses) {
    WarpState* w = state(warp);
    const Site& s = w->worker->launch->sites[site];
    if (s.space == kLocal && all_local(w, mask, addresses, s)) return;
    // Code that is counted has no inline check.
    if (within(reinterpret_cast<const Cache*>(w->caches)[site], log2_of(s.align), mask, addresses, 0)) return;
    // Usually all lanes are in one allocation.
    for (uint32_t rest = mask; rest;) {
        uint32_t lane = uint32_t(__builtin_ctz(rest));
        Range range;
        if (s.align > 1 && addresses[lane] % s.align) {  // name all lanes that are
            uint32_t bad = 0;
            for (uint32_t r = mask; r; r &= r - 1)
                if (addresses[__builtin_ctz(r)] % s.align) bad |= r & -r;
            fail_access(w, kMisaligned, site, bad, addresses[lane], s.bytes, Access(s.access));
        }
        check_one(w, site, lane, addresses[lane], s.bytes, s.align, s.space, Access(s.access), &range);
        rest &= rest - 1;
        if (is_local(w, addresses[lane])) continue;  // that range is this lane's alone
        rest &= ~lanes_inside(range, addresses, s.bytes, s.align);
        if (!rest) remember(w, site, range, uint64_t(s.bytes) * (s.lanes ? s.lanes : kLanes), s.align);
    }
}

// Several accesses share the site's inline check (bounds.py), which missed. `members` are their sites, each with its
// distance from the addresses that are given; if all are good, the check may pass from now on for `span` bytes at once
// around `probe`.
void rt_check_members(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* addresses, uint64_t probe, uint64_t span,
                      const int32_t* members, uint32_t count) {
    WarpState* w = state(warp);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t there[kLanes];
        for (uint32_t lane = 0; lane < kLanes; lane++) there[lane] = addresses[lane] + int64_t(members[2 * i + 1]);
        rt_checkv(warp, uint32_t(members[2 * i]), mask, there);
    }
    const Site& s = w->worker->launch->sites[site];
    Range range;
    if (resolve(w, 0, s.space, probe, Access(s.access), &range) == kNoError) remember(w, site, range, span, s.align);
}

}  // extern "C"

// Natural alignment of an access of that size.
static uint32_t natural(uint64_t bytes) { return bytes <= 16 && (bytes & (bytes - 1)) == 0 ? uint32_t(bytes) : 1; }

void check_lane(WarpState* w, uint32_t site, uint32_t lane, uint64_t address, uint64_t bytes, Access access) {
    // The site may describe another operand of the instruction: the address says which space it is.
    Range range;
    check_one(w, site, lane, address, bytes, natural(bytes), kGeneric, access, &range);
    if (w->worker->launch->flags & kCheckRace) record_access(w, site, lane, address, bytes, access);
}

void check_lanes(WarpState* w, uint32_t site, uint32_t lanes, const uint64_t* addresses, uint32_t bytes,
                 Access access) {
    begin_instruction(w);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t lane = uint32_t(__builtin_ctz(rest));
        check_lane(w, site, lane, addresses[lane], bytes, access);
    }
}
