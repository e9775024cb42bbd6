// The costlier checks (--check race, --check init), done at every access of code compiled for them.
//
// Races: see checks.h. Each byte of shared memory remembers its last write and two of its last reads.
// Initialisation: checks_init.cpp.
#include "checks.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "count.h"

namespace {

void begin_phase(RaceState& r) {
    r.phase++;
    if (r.clocks_moved) std::fill(r.clocks.begin(), r.clocks.end(), 0);
    std::fill(r.fence_times.begin(), r.fence_times.end(), 0);
    r.clocks_moved = r.across_warps = false;
}

bool ordered(RaceState& r, const SharedMark& mark, uint32_t thread) {
    return mark.phase < r.phase || mark.thread == thread || r.clock(thread)[mark.thread] >= mark.time;
}

const char* verb(bool writes, bool atomic) { return atomic ? "updates atomically" : writes ? "writes" : "reads"; }

void record(const Touch& t) {
    if (!(t.w->worker->launch->flags & kCheckRace)) return;
    bool shared = t.address - t.w->shared_base < t.w->shared_bytes;
    if (!shared && !in_device_arena(t.address) && !in_host_arena(t.address)) return;
    const bool whole_card = !(t.order & kOfBlock);
    if (t.order & kAcquire) acquire(t.w, t.lane, t.address, whole_card);
    if (shared) record_shared(t);
    else record_global(t);
    if (t.order & kFencing) fence(t.w, 1u << t.lane, whole_card);
    if (t.order & kRelease) release(t.w, t.lane, t.address, whole_card);
}

void access(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* addresses, uint32_t order,
            const Stored* stored) {
    WarpState* w = state(warp);
    const Site& s = w->worker->launch->sites[site];
    rt_checkv(w, site, mask, addresses);
    count_site(w, site, mask, addresses);
    if (!(w->worker->launch->flags & kCheckRace)) return;
    begin_instruction(w);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = uint32_t(__builtin_ctz(rest));
        record({w, site, lane, addresses[lane], s.bytes, Access(s.access), order, stored, addresses});
    }
}

}  // namespace

void fail_race(const Touch& t, uint64_t at, const OtherThread& other) {
    WarpState* w = t.w;
    describe(w, kRace, t.site, 1u << t.lane);
    ErrorRecord& record = w->worker->record;
    const Launch& launch = *w->worker->launch;
    bool shared = at - w->shared_base < w->shared_bytes;
    record.space = shared ? kShared : kGlobal;
    record.access = t.access;
    record.address = shared ? at - w->shared_base : at;
    record.bytes = t.site < launch.site_count ? launch.sites[t.site].bytes : 1;
    record.allocation_bytes = w->shared_bytes;
    record.allocation_state = kStateLive;
    Allocation a;
    if (!shared && memory_find(at, &a)) {
        record.allocation = a.start;
        record.allocation_bytes = a.bytes;
    }
    const uint32_t* tids = &w->worker->run->tids[size_t(other.thread / kLanes) * 3 * kLanes];
    for (uint32_t i = 0; i < 3; i++) record.other_tid[i] = tids[i * kLanes + other.thread % kLanes];
    BlockState there{};
    place_block(there, launch, other.block);
    memcpy(record.other_ctaid, there.ctaid, sizeof record.other_ctaid);
    record.other_site = other.site;
    describe_text(w, "this thread %s what thread (%u, %u, %u) of block (%u, %u, %u) %s, %s",
                  verb(t.access == kStore, t.access == kAtomic), record.other_tid[0], record.other_tid[1],
                  record.other_tid[2], record.other_ctaid[0], record.other_ctaid[1], record.other_ctaid[2],
                  verb(other.wrote, other.strong),
                  other.at_once ? "at once and with another value" : "and nothing orders the two");
    leave(w, Request::kFailed);
    __builtin_unreachable();
}

void record_shared(const Touch& t) {
    RaceState& r = *t.w->block->races;
    uint32_t thread = t.thread();
    bool strong = t.strong() != kOfNobody;
    SharedMark now{r.phase, r.clock(thread)[thread] + 1, r.serial, t.site, uint16_t(thread), uint16_t(strong)};
    for (uint64_t at = t.address; at < t.address + t.bytes; at++) {
        ByteMarks& m = r.bytes[at - t.w->shared_base];
        auto races = [&](const SharedMark& other) {
            return other.phase == r.phase && other.serial != r.serial && !(strong && other.strong) &&
                   !ordered(r, other, thread);
        };
        auto fail = [&](const SharedMark& other, bool wrote, bool at_once) {
            fail_race(t, at, {other.thread, other.site, t.w->block->index, wrote, other.strong != 0, at_once});
        };
        bool unchanged = t.access == kStore && t.keeps(at);
        if (!unchanged && races(m.write)) fail(m.write, true, false);
        if (t.writes()) {
            bool at_once = m.write.phase == r.phase && m.write.serial == r.serial && m.write.thread != thread;
            if (at_once && t.stored && !t.agrees(m.write.thread, at)) fail(m.write, true, true);
            for (const SharedMark& read : m.reads)
                if (!unchanged && races(read)) fail(read, false, false);
            m.write = now;
        } else if (m.reads[0].phase != r.phase || m.reads[0].thread == thread) {
            m.reads[0] = now;
        } else {
            m.reads[1] = now;
        }
    }
}

void begin_checks(BlockState& block) {
    const Launch& launch = *block.worker->launch;
    if (!block.races) block.races = new RaceState;
    RaceState& r = *block.races;
    if (launch.flags & kCheckInit) {
        begin_init_checks(r, launch.shared_bytes);
        std::fill_n(r.defined.begin() + launch.zeroed_start, launch.zeroed_bytes, 0xff);
    }
    if (!(launch.flags & kCheckRace)) return;
    uint32_t threads = block.warp_count * kLanes;
    if (r.threads != threads) {
        r.threads = threads;
        r.clocks.assign(size_t(threads) * threads, 0);
        r.fence_times.assign(threads, 0);
    }
    if (r.bytes.size() < launch.shared_bytes) r.bytes.resize(launch.shared_bytes);
    for (auto& joined : r.joined) joined.clear();
    r.block = uint32_t(block.index + 1);
    r.epoch = 1;
    r.fenced = 0;
    r.seen.clear();
    forget_released(reinterpret_cast<uint64_t>(block.shared), launch.shared_bytes);
    begin_phase(r);
}

void begin_launch_checks() {
    forget_global();
    forget_all_released();
}

void begin_instruction(WarpState* w) {
    if (w->block->races) w->block->races->serial++;
}

void record_access(WarpState* w, uint32_t site, uint32_t lane, uint64_t address, uint64_t bytes, Access access) {
    record({w, site, lane, address, bytes, access, 0, nullptr, nullptr});
}

void race_barrier_arrived(WarpState* w, uint32_t id, uint32_t lanes) {
    RaceState& r = *w->block->races;
    auto& joined = r.joined[id];
    joined.resize(r.threads, 0);
    r.clocks_moved = r.across_warps = true;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t thread = w->warp_index * kLanes + uint32_t(__builtin_ctz(rest));
        r.clock(thread)[thread]++;
        join_clocks(joined.data(), r.clock(thread), r.threads);
    }
}

void race_barrier_released(BlockState& block, uint32_t id, bool everybody) {
    RaceState& r = *block.races;
    if (everybody) {
        begin_phase(r);
    } else if (r.joined[id].size() == r.threads) {
        for (uint32_t i = 0; i < block.warp_count; i++)
            for (uint32_t rest = lanes_waiting(&block.warps[i], id); rest; rest &= rest - 1)
                join_clocks(r.clock(i * kLanes + uint32_t(__builtin_ctz(rest))), r.joined[id].data(), r.threads);
    }
    r.joined[id].clear();
}

extern "C" void rt_warp_synced(Warp* warp, uint32_t mask) {
    WarpState* w = state(warp);
    if (!(w->worker->launch->flags & kCheckRace)) return;
    RaceState& r = *w->block->races;
    // Unless warps have met in this phase, they know nothing of each other: leave those columns out.
    uint32_t first = r.across_warps ? 0 : w->warp_index * kLanes;
    uint32_t count = r.across_warps ? r.threads : kLanes;
    uint32_t joined[kMaxWarps * kLanes] = {};
    r.clocks_moved = true;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t thread = w->warp_index * kLanes + uint32_t(__builtin_ctz(rest));
        r.clock(thread)[thread]++;
        join_clocks(joined, r.clock(thread) + first, count);
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t thread = w->warp_index * kLanes + uint32_t(__builtin_ctz(rest));
        memcpy(r.clock(thread) + first, joined, count * sizeof *joined);
    }
}

extern "C" void rt_access(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* addresses) {
    access(warp, site, mask, addresses, 0, nullptr);
}

// The same for an instruction that orders memory (Order), and for a store, whose values are known.
extern "C" void rt_access_ordered(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* addresses,
                                  uint32_t order) {
    access(warp, site, mask, addresses, order, nullptr);
}

extern "C" void rt_access_store(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* addresses,
                                uint32_t order, const uint8_t* data, uint32_t element) {
    Stored stored{data, element};
    access(warp, site, mask, addresses, order, &stored);
}

extern "C" void rt_fenced(Warp* warp, uint32_t mask, uint32_t whole_card) {
    if (launch_of(state(warp)).flags & kCheckRace) fence(state(warp), mask, whole_card != 0);
}
