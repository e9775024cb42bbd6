// The costlier checks (--check race, --check init), done at every access of code compiled for them.
//
// Races. Each byte of shared memory remembers its last write and two of its last reads. Two accesses
// by different threads race if at least one writes, not both are atomic, and nothing orders them. A
// barrier of the whole block orders everything before it with everything after it: a new *phase*
// begins. Within a phase, warp-wide operations and barriers of some threads order their participants:
// a vector clock per thread tells who has seen what.
//
// Initialisation. Each byte has a shadow byte that is set when it is written.
#include <cstring>
#include <vector>

#include "count.h"
#include "dispatch.h"
#include "scheduler.h"

namespace {

struct Mark {
    uint32_t phase;   // 0 = none
    uint32_t time;    // on the clock of the thread
    uint32_t serial;  // instruction that did it
    uint32_t site;
    uint16_t thread;  // in the block
    uint16_t atomic;
};

struct ByteMarks {
    Mark write;
    Mark reads[2];
};

}  // namespace

struct RaceState {
    uint32_t phase = 0;   // never starts again, so that marks of earlier blocks are old
    uint32_t serial = 0;
    uint32_t threads = 0; // room for, a multiple of 32
    bool clocks_moved = false;   // since the phase began
    bool across_warps = false;   // also between warps
    std::vector<ByteMarks> bytes;
    std::vector<uint8_t> written;
    std::vector<uint32_t> clocks;  // [thread][of thread]
    std::vector<uint32_t> joined[kBarriers];

    uint32_t* clock(uint32_t thread) { return clocks.data() + size_t(thread) * threads; }
};

namespace {

void join(uint32_t* into, const uint32_t* from, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) into[i] = into[i] > from[i] ? into[i] : from[i];
}

void begin_phase(RaceState& r) {
    r.phase++;
    if (r.clocks_moved) std::fill(r.clocks.begin(), r.clocks.end(), 0);
    r.clocks_moved = r.across_warps = false;
}

bool ordered(RaceState& r, const Mark& mark, uint32_t thread) {
    return mark.phase < r.phase || mark.thread == thread || r.clock(thread)[mark.thread] >= mark.time;
}

[[noreturn]] void fail_race(WarpState* w, uint32_t site, uint32_t lane, uint64_t offset, const Mark& other,
                            Access access, bool other_wrote) {
    describe(w, kRace, site, 1u << lane);
    ErrorRecord& record = w->worker->record;
    const Launch& launch = *w->worker->launch;
    record.space = kShared;
    record.access = access;
    record.address = offset;
    record.bytes = site < launch.site_count ? launch.sites[site].bytes : 1;
    record.allocation_bytes = w->shared_bytes;
    record.allocation_state = kStateLive;
    const uint32_t* tids = &w->worker->run->tids[size_t(other.thread / kLanes) * 3 * kLanes];
    for (uint32_t i = 0; i < 3; i++) record.other_tid[i] = tids[i * kLanes + other.thread % kLanes];
    record.other_site = other.site;
    auto verb = [](bool writes, bool atomic) { return atomic ? "updates atomically" : writes ? "writes" : "reads"; };
    describe_text(w, "this thread %s shared byte %llu that thread (%u, %u, %u) %s, with no barrier in between",
                  verb(access == kStore, access == kAtomic), static_cast<unsigned long long>(offset),
                  record.other_tid[0], record.other_tid[1], record.other_tid[2],
                  verb(other_wrote, other.atomic));
    leave(w, Request::kFailed);
    __builtin_unreachable();
}

void record_shared(WarpState* w, uint32_t site, uint32_t lane, uint64_t offset, uint64_t bytes, Access access) {
    RaceState& r = *w->block->races;
    uint32_t thread = w->warp_index * kLanes + lane;
    bool atomic = access == kAtomic, writes = access != kLoad;
    Mark now{r.phase, r.clock(thread)[thread] + 1, r.serial, site, uint16_t(thread), uint16_t(atomic)};
    for (uint64_t i = offset; i < offset + bytes; i++) {
        ByteMarks& m = r.bytes[i];
        auto races = [&](const Mark& other) {
            return other.phase == r.phase && other.serial != r.serial && !(atomic && other.atomic) &&
                   !ordered(r, other, thread);
        };
        if (races(m.write)) fail_race(w, site, lane, i, m.write, access, true);
        if (writes) {
            for (const Mark& read : m.reads)
                if (races(read)) fail_race(w, site, lane, i, read, access, false);
            m.write = now;
        } else if (m.reads[0].phase != r.phase || m.reads[0].thread == thread) {
            m.reads[0] = now;
        } else {
            m.reads[1] = now;
        }
    }
}

// The shadow bytes of an address, or null if it is not tracked.
uint8_t* shadow_of(WarpState* w, uint64_t address) {
    if (address - w->shared_base < w->shared_bytes)
        return w->block->races->written.data() + (address - w->shared_base);
    if (is_local(w, address)) {
        const Fibre& f = *w->fibre;
        return f.local_shadow ? f.local_shadow + (address - reinterpret_cast<uint64_t>(f.locals)) : nullptr;
    }
    return memory_shadow(address);
}

}  // namespace

void begin_checks(BlockState& block) {
    const Launch& launch = *block.worker->launch;
    if (!block.races) block.races = new RaceState;
    RaceState& r = *block.races;
    if (launch.flags & kCheckInit) r.written.assign(launch.shared_bytes, 0);
    if (!(launch.flags & kCheckRace)) return;
    uint32_t threads = block.warp_count * kLanes;
    if (r.threads != threads) {
        r.threads = threads;
        r.clocks.assign(size_t(threads) * threads, 0);
    }
    if (r.bytes.size() < launch.shared_bytes) r.bytes.resize(launch.shared_bytes);
    for (auto& joined : r.joined) joined.clear();
    begin_phase(r);
}

void begin_local_checks(WarpState* w, uint64_t base, uint64_t bytes) {
    if (!bytes) return;
    fibre_need_shadow(*w->fibre);
    if (uint8_t* shadow = shadow_of(w, base)) memset(shadow, 0, bytes);
}

void begin_instruction(WarpState* w) {
    if (w->block->races) w->block->races->serial++;
}

void record_access(WarpState* w, uint32_t site, uint32_t lane, uint64_t address, uint64_t bytes, Access access) {
    uint32_t flags = w->worker->launch->flags;
    if (flags & kCheckInit) {
        if (uint8_t* shadow = shadow_of(w, address)) {
            if (access != kStore && memchr(shadow, 0, bytes))
                fail_access(w, kUninitialised, site, 1u << lane, address, bytes, access);
            if (access != kLoad) memset(shadow, 1, bytes);
        }
    }
    if ((flags & kCheckRace) && address - w->shared_base < w->shared_bytes)
        record_shared(w, site, lane, address - w->shared_base, bytes, access);
}

void race_barrier_arrived(WarpState* w, uint32_t id, uint32_t lanes) {
    RaceState& r = *w->block->races;
    auto& joined = r.joined[id];
    joined.resize(r.threads, 0);
    r.clocks_moved = r.across_warps = true;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t thread = w->warp_index * kLanes + uint32_t(__builtin_ctz(rest));
        r.clock(thread)[thread]++;
        join(joined.data(), r.clock(thread), r.threads);
    }
}

void race_barrier_released(BlockState& block, uint32_t id, bool everybody) {
    RaceState& r = *block.races;
    if (everybody) {
        begin_phase(r);
    } else if (r.joined[id].size() == r.threads) {
        for (uint32_t i = 0; i < block.warp_count; i++)
            for (uint32_t rest = lanes_waiting(&block.warps[i], id); rest; rest &= rest - 1)
                join(r.clock(i * kLanes + uint32_t(__builtin_ctz(rest))), r.joined[id].data(), r.threads);
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
        join(joined, r.clock(thread) + first, count);
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t thread = w->warp_index * kLanes + uint32_t(__builtin_ctz(rest));
        memcpy(r.clock(thread) + first, joined, count * sizeof *joined);
    }
}

extern "C" void rt_access(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* addresses) {
    WarpState* w = state(warp);
    const Site& s = w->worker->launch->sites[site];
    rt_checkv(w, site, mask, addresses);
    count_site(w, site, mask, addresses);
    if (!(w->worker->launch->flags & (kCheckRace | kCheckInit))) return;
    begin_instruction(w);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = uint32_t(__builtin_ctz(rest));
        record_access(w, site, lane, addresses[lane], s.bytes, Access(s.access));
    }
}
