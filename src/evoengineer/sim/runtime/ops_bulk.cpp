// Bulk copies (cp.async.bulk without tensors): one lane copies a whole stretch between global and shared memory.
//
// As with cp.async, a copy is noted when it is issued and happens when somebody waits for it: at a test of its
// mbarrier, by whatever warp of the block, or at a wait for its group. A kernel that forgets to wait sees old data.
#include <algorithm>
#include <cstring>
#include <vector>

#include "async.h"
#include "count.h"
#include "lanes.h"

namespace {

constexpr uint32_t kUnit = 16;               // bytes: sizes and addresses are multiples of it
constexpr uint32_t kMostBytes = (1 << 20) - 1;  // what an mbarrier can expect

struct Bulk {
    uint64_t dst, src, bytes;
    uint64_t barrier;        // 0: of a group
    const WarpState* warp;   // that issued it, and its lane
    uint32_t lane, group;    // groups that the lane had committed before
};

struct BulkCopies {
    std::vector<Bulk> waiting;  // in the order of issue
};

void perform(WarpState* w, const Bulk& copy) {
    if (launch_of(w).flags & kCheckInit) copy_defined(w, copy.dst, copy.src, uint32_t(copy.bytes), uint32_t(copy.bytes));
    std::memcpy(reinterpret_cast<void*>(copy.dst), reinterpret_cast<const void*>(copy.src), copy.bytes);
    if (copy.barrier) mbarrier_complete_bytes(w, copy.lane, copy.barrier, uint32_t(copy.bytes));
}

template <class Which>
void perform_all(WarpState* w, Which&& which) {
    auto* all = static_cast<BulkCopies*>(w->block->bulk);
    if (!all) return;
    std::vector<Bulk> due;
    auto rest = std::stable_partition(all->waiting.begin(), all->waiting.end(), [&](const Bulk& b) { return !which(b); });
    due.assign(rest, all->waiting.end());
    all->waiting.erase(rest, all->waiting.end());
    for (const Bulk& copy : due) perform(w, copy);
}

// Every byte must lie where it should.
void check_range(WarpState* w, uint32_t site, uint32_t lane, uint64_t address, uint32_t bytes, bool shared, Access access) {
    if (address % kUnit) fail_access(w, kMisaligned, site, 1u << lane, address, kUnit, access);
    if (shared) {
        const bool inside = address - w->shared_base < w->shared_bytes && w->shared_base + w->shared_bytes - address >= bytes;
        if (!inside) fail_access(w, kOutOfBounds, site, 1u << lane, address, bytes, access);
    }
    // The checks take an access as wide as a thread's.
    for (uint32_t at = 0; at < bytes; at += kUnit) check_lane(w, site, lane, address + at, kUnit, access);
}

// As if a warp's lanes copied 16 bytes each.
void count_range(WarpState* w, uint32_t site, uint64_t address, uint32_t bytes, Access access) {
    uint64_t addresses[kLanes] = {};
    for (uint32_t at = 0; at < bytes; at += kUnit * kLanes) {
        uint32_t mask = 0;
        for (uint32_t i = 0; i < kLanes && at + i * kUnit < bytes; i++) {
            addresses[i] = address + at + i * kUnit;
            mask |= 1u << i;
        }
        count_access(w, site, mask, addresses, kUnit, access, true);
    }
}

}  // namespace

void bulk_forget(BlockState& b) {
    if (b.bulk) static_cast<BulkCopies*>(b.bulk)->waiting.clear();
}

void bulk_arrive(WarpState* w, uint64_t barrier) {
    if (w->block->bulk) perform_all(w, [&](const Bulk& b) { return b.barrier == barrier; });
}

void bulk_finish(WarpState* w) {
    if (w->block->bulk) perform_all(w, [&](const Bulk& b) { return b.warp == w && !b.barrier; });
}

extern "C" {

// to_shared: from global to shared memory, `barrier` gets the bytes. Else from shared to global memory, in a group.
void rt_bulk_copy(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* dst, const uint64_t* src, const uint32_t* bytes,
                  const uint64_t* barrier, uint32_t to_shared) {
    WarpState* w = state(warp);
    if (!mask) return;
    if (!w->block->bulk) w->block->bulk = new BulkCopies;
    auto* all = static_cast<BulkCopies*>(w->block->bulk);
    for_each_lane(mask, [&](uint32_t i) {
        if (bytes[i] % kUnit || bytes[i] > kMostBytes)
            fail(w, kIllegalInstruction, site, 1u << i, "cp.async.bulk of %u bytes: it must be a multiple of 16 below 2^20",
                 bytes[i]);
        check_range(w, site, i, dst[i], bytes[i], to_shared, kStore);
        check_range(w, site, i, src[i], bytes[i], !to_shared, kLoad);
        if (w->block->counted) count_range(w, site, to_shared ? src[i] : dst[i], bytes[i], to_shared ? kLoad : kStore);
        all->waiting.push_back({dst[i], src[i], bytes[i], barrier ? barrier[i] : 0, w, i, w->bulk_groups[i]});
    });
}

void rt_bulk_commit(Warp* warp, uint32_t mask) {
    for_each_lane(mask, [&](uint32_t i) { state(warp)->bulk_groups[i]++; });
}

// At most the n youngest committed groups of a lane stay under way.
void rt_bulk_wait(Warp* warp, uint32_t mask, uint32_t n) {
    WarpState* w = state(warp);
    perform_all(w, [&](const Bulk& b) {
        return b.warp == w && !b.barrier && (mask >> b.lane & 1) && w->bulk_groups[b.lane] - b.group > n;
    });
}

}  // extern "C"
