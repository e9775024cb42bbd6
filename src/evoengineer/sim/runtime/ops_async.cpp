// Asynchronous copies to shared memory: cp.async and its groups.
//
// A copy is only noted when it is issued and really happens at the wait that covers it. A kernel
// that forgets a wait therefore reads stale data here, as it may on a device. Groups are counted per
// lane, since lanes may part.
#include <cstring>
#include <vector>

#include "async.h"
#include "count.h"
#include "lanes.h"
#include "simd.h"

#pragma GCC optimize("O3")

namespace {

// The cp.async of one warp: `mask` holds the lanes whose copy is still to do.
struct Copy {
    uint32_t mask;
    uint32_t bytes;
    bool contiguous;           // lanes follow one another in source and destination; all 32, in full
    uint32_t group[kLanes];    // groups that the lane had committed before this copy
    uint32_t take[kLanes];     // bytes from the source, the rest is zeros
    uint64_t dst[kLanes];
    uint64_t src[kLanes];
};

// Lanes of which a group was followed by at least n others before `committed`.
VECTOR_CLONES uint32_t older(const uint32_t* group, const uint32_t* committed, uint32_t n) {
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < kLanes; ++i) lanes |= uint32_t(committed[i] - group[i] > n) << i;
    return lanes;
}

// The pending copies of a warp, oldest first, in a ring.
class Pending {
public:
    uint32_t committed[kLanes] = {};
    uint64_t source_start = 0, source_bytes = 0;  // allocation of the last source checked

    Copy& add() {
        if (count_ == ring_.size()) grow();
        return ring_[(head_ + count_++) % ring_.size()];
    }

    // Completes the copies of the lanes in `mask` that were committed at least `n` + 1 groups ago.
    void complete(WarpState* w, uint32_t mask, uint32_t n) {
        for (size_t k = 0; k < count_; ++k) {
            Copy& copy = ring_[(head_ + k) % ring_.size()];
            perform(w, copy, older(copy.group, committed, n) & mask & copy.mask);
        }
        drop_done();
    }
    void complete_all(WarpState* w, uint32_t mask) {
        for (size_t k = 0; k < count_; ++k) {
            Copy& copy = ring_[(head_ + k) % ring_.size()];
            perform(w, copy, mask & copy.mask);
        }
        drop_done();
    }

private:
    std::vector<Copy> ring_ = std::vector<Copy>(8);
    size_t head_ = 0, count_ = 0;

    void grow() {
        std::vector<Copy> larger(ring_.size() * 2);
        for (size_t k = 0; k < count_; ++k) larger[k] = ring_[(head_ + k) % ring_.size()];
        ring_.swap(larger);
        head_ = 0;
    }

    static void perform(WarpState* w, Copy& copy, uint32_t lanes) {
        if (!lanes) return;
        copy.mask &= ~lanes;
        if (launch_of(w).flags & kCheckInit)
            for_each_lane(lanes, [&](uint32_t i) { copy_defined(w, copy.dst[i], copy.src[i], copy.take[i], copy.bytes); });
        if (copy.contiguous && lanes == kFullMask) {
            std::memcpy(reinterpret_cast<void*>(copy.dst[0]),
                        reinterpret_cast<const void*>(copy.src[0]), size_t(copy.bytes) * kLanes);
            return;
        }
        for_each_lane(lanes, [&](uint32_t i) {
            uint8_t data[16] = {};
            const void* from = reinterpret_cast<const void*>(copy.src[i]);
            if (copy.take[i] == 16)
                std::memcpy(data, from, 16);
            else
                std::memcpy(data, from, copy.take[i]);
            uint8_t* to = reinterpret_cast<uint8_t*>(copy.dst[i]);
            switch (copy.bytes) {
                case 4: std::memcpy(to, data, 4); break;
                case 8: std::memcpy(to, data, 8); break;
                default: std::memcpy(to, data, 16); break;
            }
        });
    }

    void drop_done() {
        while (count_ && ring_[head_].mask == 0) {
            head_ = (head_ + 1) % ring_.size();
            --count_;
        }
    }
};

Pending& pending_of(WarpState* warp) {
    if (!warp->async) warp->async = new Pending;
    return *static_cast<Pending*>(warp->async);
}

VECTOR_CLONES bool follows(const uint64_t* address, uint64_t step) {
    uint64_t differences = 0;
    for (uint32_t i = 0; i < kLanes; ++i) differences |= address[i] ^ (address[0] + step * i);
    return differences == 0;
}

// Lanes whose `bytes` bytes are not aligned, or not within [start, start + length).
VECTOR_CLONES uint32_t outside(uint32_t mask, const uint64_t* address, uint32_t bytes, uint64_t start,
                 uint64_t length) {
    if (length < bytes) return mask;
    uint32_t bad = 0;
    for (uint32_t i = 0; i < kLanes; ++i)
        bad |= uint32_t((address[i] - start > length - bytes) | ((address[i] & (bytes - 1)) != 0)) << i;
    return bad & mask;
}

void check_destination(WarpState* warp, uint32_t site, uint32_t mask, const uint64_t* dst,
                       uint32_t bytes) {
    uint32_t bad = outside(mask, dst, bytes, warp->shared_base, warp->shared_bytes);
    if (bad) {
        uint64_t address = dst[__builtin_ctz(bad)];
        fail_access(warp, address % bytes ? kMisaligned : kOutOfBounds, site, bad, address, bytes,
                    kStore);
    }
    if (launch_of(warp).flags & kCheckAccess) check_lanes(warp, site, mask, dst, bytes, kStore);
}

void check_source(WarpState* warp, Pending& pending, uint32_t site, uint32_t mask,
                  const uint64_t* src, const uint32_t* take, uint32_t bytes) {
    uint32_t unknown = outside(mask, src, bytes, pending.source_start, pending.source_bytes);
    if (launch_of(warp).flags & kCheckAccess) unknown = mask;
    if (!unknown) return;
    for_each_lane(unknown, [&](uint32_t i) {
        if (src[i] % bytes) fail_access(warp, kMisaligned, site, 1u << i, src[i], bytes, kLoad);
        check_lane(warp, site, i, src[i], take[i], kLoad);
    });
    Allocation found;
    // A kernel may free what its heap holds; other allocations stay while it runs.
    if (memory_find(src[__builtin_ctz(unknown)], &found) && found.kind != kKindHeap) {
        pending.source_start = found.start;
        pending.source_bytes = found.bytes;
    }
}

// Lanes that read all of their bytes, and lanes that read any.
struct Sizes {
    uint32_t whole, reading;
};
Sizes classify(const uint32_t* take, uint32_t bytes) {
    Sizes sizes{0, 0};
    for (uint32_t i = 0; i < kLanes; ++i) {
        sizes.whole |= uint32_t(take[i] == bytes) << i;
        sizes.reading |= uint32_t(take[i] != 0) << i;
    }
    return sizes;
}

}  // namespace

void async_complete_all(WarpState* warp, uint32_t mask) {
    if (warp->async) static_cast<Pending*>(warp->async)->complete_all(warp, mask);
}

extern "C" {

// Both addresses are checked when the copy is issued. src_bytes: null, or bytes to read per lane
// (cp.async's src-size; 0 where ignore-src is set), the rest of the destination gets zeros.
void rt_cp_async(Warp* w, uint32_t site, uint32_t mask, const uint64_t* dst, const uint64_t* src,
                 uint32_t bytes, const uint32_t* src_bytes) {
    WarpState* warp = state(w);
    if (!mask) return;
    if (bytes != 4 && bytes != 8 && bytes != 16)
        fail(warp, kIllegalInstruction, site, mask, "cp.async copies 4, 8 or 16 bytes, not %u", bytes);
    Pending& pending = pending_of(warp);
    uint32_t take[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i)
        take[i] = src_bytes && src_bytes[i] < bytes ? src_bytes[i] : bytes;
    const Sizes sizes = src_bytes ? classify(take, bytes) : Sizes{kFullMask, kFullMask};
    check_destination(warp, site, mask, dst, bytes);
    check_source(warp, pending, site, mask & sizes.reading, src, take, bytes);

    if (warp->block->counted) {
        count_access(warp, site, mask & sizes.reading, src, bytes, kLoad, bytes == 16);
        count_access(warp, site, mask, dst, bytes, kStore, false);
    }

    Copy& copy = pending.add();
    copy.mask = mask;
    copy.bytes = bytes;
    copy.contiguous = (sizes.whole & mask) == kFullMask && follows(dst, bytes) && follows(src, bytes);
    std::memcpy(copy.group, pending.committed, sizeof copy.group);
    std::memcpy(copy.take, take, sizeof take);
    std::memcpy(copy.dst, dst, sizeof copy.dst);
    std::memcpy(copy.src, src, sizeof copy.src);
}

void rt_cp_async_commit(Warp* w, uint32_t mask) {
    Pending& pending = pending_of(state(w));
    for (uint32_t i = 0; i < kLanes; ++i) pending.committed[i] += mask >> i & 1;
}

// cp.async.wait_group n: at most the n youngest committed groups of a lane stay pending.
void rt_cp_async_wait(Warp* w, uint32_t mask, uint32_t n) {
    if (state(w)->async) static_cast<Pending*>(state(w)->async)->complete(state(w), mask, n);
}

void rt_cp_async_wait_all(Warp* w, uint32_t mask) { async_complete_all(state(w), mask); }

// Hook: the warp's last lane has exited (runtime.h). What is still under way arrives all the same.
void rt_async_finish(Warp* w) {
    async_complete_all(state(w), kFullMask);
    delete static_cast<Pending*>(state(w)->async);
    state(w)->async = nullptr;
}

}  // extern "C"
