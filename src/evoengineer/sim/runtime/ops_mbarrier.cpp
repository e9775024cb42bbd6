// mbarrier: barrier objects in shared memory that count arrivals (and bytes) per phase.
//
// An object is 8 bytes. Programs treat them as opaque, so the layout is ours:
//   bits  0-19  arrivals still expected in this phase
//        20-39  arrivals expected per phase
//        40-60  bytes still expected in this phase (tx-count, signed)
//        62     set in a valid object
//        63     parity of the phase
// Shared memory belongs to one worker, so plain reads and writes do.
#include "async.h"
#include "lanes.h"

namespace {

constexpr uint64_t kCountMask = (1ull << 20) - 1;
constexpr uint64_t kValid = 1ull << 62;
constexpr uint32_t kMaxCount = kCountMask;

enum ArriveFlags : uint32_t { kNoComplete = 1, kDrop = 2, kExpectTx = 4 };

struct Object {
    uint32_t pending, expected;
    int32_t bytes;
    bool parity;

    static Object unpack(uint64_t bits) {
        return {uint32_t(bits & kCountMask), uint32_t(bits >> 20 & kCountMask),
                int32_t(int64_t(bits << 3) >> 43), bool(bits >> 63)};
    }
    uint64_t pack() const {
        return pending | uint64_t(expected) << 20 | (uint64_t(uint32_t(bytes)) & 0x1fffff) << 40 |
               kValid | uint64_t(parity) << 63;
    }
    void complete_phase_if_done() {
        if (pending != 0 || bytes != 0) return;
        parity = !parity;
        pending = expected;
    }
};

uint64_t* place(WarpState* warp, uint32_t lane, uint64_t address) {
    bool inside = address - warp->shared_base < warp->shared_bytes &&
                  warp->shared_base + warp->shared_bytes - address >= 8;
    if (!inside || address % 8)
        fail(warp, inside ? kMisaligned : kOutOfBounds, warp->site, 1u << lane,
             "mbarrier at 0x%llx: it must lie in shared memory, at a multiple of 8",
             static_cast<unsigned long long>(address));
    return reinterpret_cast<uint64_t*>(address);
}

Object read(WarpState* warp, uint32_t lane, uint64_t address) {
    uint64_t bits = *place(warp, lane, address);
    if (!(bits & kValid))
        fail(warp, kIllegalInstruction, warp->site, 1u << lane,
             "mbarrier at 0x%llx is used before mbarrier.init (or after mbarrier.inval)",
             static_cast<unsigned long long>(address));
    return Object::unpack(bits);
}

void write(uint64_t address, const Object& object) {
    *reinterpret_cast<uint64_t*>(address) = object.pack();
}

void arrive(WarpState* warp, uint32_t lane, uint64_t address, uint32_t count, bool drop) {
    Object object = read(warp, lane, address);
    if (count > object.pending)
        fail(warp, kIllegalInstruction, warp->site, 1u << lane,
             "mbarrier at 0x%llx: %u arrivals, but only %u are still expected in this phase",
             static_cast<unsigned long long>(address), count, object.pending);
    object.pending -= count;
    if (drop) object.expected -= count < object.expected ? count : object.expected;
    object.complete_phase_if_done();
    write(address, object);
}

void change_bytes(WarpState* warp, uint32_t lane, uint64_t address, int32_t change) {
    Object object = read(warp, lane, address);
    object.bytes += change;
    if (change < 0) object.complete_phase_if_done();
    write(address, object);
}

// Lanes whose barrier has left the phase of the given parity. A waiting loop would spin: let the
// other warps of the block run first.
template <class Parity>
uint32_t phase_over(WarpState* warp, uint32_t mask, const uint64_t* address, Parity parity) {
    uint32_t over = 0;
    if (warp->block->bulk) for_each_lane(mask, [&](uint32_t i) { bulk_arrive(warp, address[i]); });
    for_each_lane(mask, [&](uint32_t i) {
        if (read(warp, i, address[i]).parity != parity(i)) over |= 1u << i;
    });
    if (over != mask) rt_yield(warp);
    return over;
}

}  // namespace

void mbarrier_complete_bytes(WarpState* w, uint32_t lane, uint64_t address, uint32_t bytes) {
    change_bytes(w, lane, address, -int32_t(bytes));
}

extern "C" {

void rt_mbarrier_init(Warp* w, uint32_t mask, const uint64_t* address, const uint32_t* count) {
    for_each_lane(mask, [&](uint32_t i) {
        if (count[i] == 0 || count[i] > kMaxCount)
            fail(state(w), kIllegalInstruction, w->site, 1u << i,
                 "mbarrier.init: the count is %u, it must be in 1 … %u", count[i], kMaxCount);
        *place(state(w), i, address[i]) = Object{count[i], count[i], 0, false}.pack();
    });
}

void rt_mbarrier_inval(Warp* w, uint32_t mask, const uint64_t* address) {
    for_each_lane(mask, [&](uint32_t i) {
        read(state(w), i, address[i]);
        *reinterpret_cast<uint64_t*>(address[i]) = 0;
    });
}

// flags: 1 noComplete, 2 drop, 4 expect_tx. With expect_tx, count is the number of bytes and the
// lane arrives once; count may be null (one arrival). state_out receives the object as it was.
void rt_mbarrier_arrive(Warp* w, uint32_t mask, uint64_t* state_out, const uint64_t* address,
                        const uint32_t* count, uint32_t flags) {
    for_each_lane(mask, [&](uint32_t i) {
        uint64_t before = read(state(w), i, address[i]).pack();
        uint32_t arrivals = 1;
        if (flags & kExpectTx)
            change_bytes(state(w), i, address[i], int32_t(count[i]));
        else if (count)
            arrivals = count[i];
        if ((flags & kNoComplete) && arrivals >= Object::unpack(before).pending)
            fail(state(w), kIllegalInstruction, w->site, 1u << i,
                 "mbarrier.arrive.noComplete at 0x%llx would complete the phase",
                 static_cast<unsigned long long>(address[i]));
        arrive(state(w), i, address[i], arrivals, flags & kDrop);
        if (state_out) state_out[i] = before;
    });
}

// mbarrier.expect_tx (complete = 0) and mbarrier.complete_tx (complete = 1).
void rt_mbarrier_tx(Warp* w, uint32_t mask, const uint64_t* address, const uint32_t* bytes,
                    uint32_t complete) {
    for_each_lane(mask, [&](uint32_t i) {
        change_bytes(state(w), i, address[i], complete ? -int32_t(bytes[i]) : int32_t(bytes[i]));
    });
}

// test_wait and try_wait: the lanes whose phase (given by the state of an arrive) is complete.
uint32_t rt_mbarrier_test_wait(Warp* w, uint32_t mask, const uint64_t* address,
                               const uint64_t* states) {
    return phase_over(state(w), mask, address,
                      [&](uint32_t i) { return Object::unpack(states[i]).parity; });
}

// The same with the phase given by its parity, 0 or 1.
uint32_t rt_mbarrier_test_wait_parity(Warp* w, uint32_t mask, const uint64_t* address,
                                      const uint32_t* parity) {
    return phase_over(state(w), mask, address, [&](uint32_t i) { return bool(parity[i] & 1); });
}

void rt_mbarrier_pending_count(Warp*, uint32_t mask, uint32_t* dst, const uint64_t* states) {
    for_each_lane(mask, [&](uint32_t i) { dst[i] = Object::unpack(states[i]).pending; });
}

// cp.async.mbarrier.arrive: an arrival once the lane's copies are there. They are completed at once,
// so the arrival follows at once; without .noinc it was added to the expected ones just before.
void rt_cp_async_mbarrier_arrive(Warp* w, uint32_t mask, const uint64_t* address, uint32_t noinc) {
    async_complete_all(state(w), mask);
    for_each_lane(mask, [&](uint32_t i) {
        if (noinc)
            arrive(state(w), i, address[i], 1, false);
        else
            read(state(w), i, address[i]);
    });
}

}  // extern "C"
