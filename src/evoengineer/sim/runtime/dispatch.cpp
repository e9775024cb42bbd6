// The SLOW dispatcher: runs block functions for groups of lanes until all have left the function,
// and goes back to FAST when a kernel's lanes are together again.
//
// Smallest block first keeps lanes together: nvcc lays out code so that lanes that went ahead wait at
// the higher-numbered join. Lanes that could starve that way (the holder of a lock that others spin
// for) are favoured for a while.
#include <cstring>

#include "async.h"
#include "count.h"
#include "dispatch.h"

#include "exchange.h"
#include "totals.h"

namespace {

constexpr uint32_t kStarvedSpins = 128;    // dispatches before a group is favoured
constexpr uint32_t kStarved = 4096;
constexpr uint32_t kFavour = 1024;         // dispatches it is favoured for, at most
constexpr uint32_t kMaxBackoffShift = 10;

bool reaches(const Function& f, uint32_t from, uint32_t to) {
    return f.reach[uint64_t(from) * f.reach_words + to / 64] >> (to % 64) & 1;
}

struct CompileRequest { uint32_t function, block; };

void compile(Worker& worker, void* argument) {
    auto* request = static_cast<CompileRequest*>(argument);
    std::lock_guard<std::mutex> lock(worker.run->compiling);
    BlockInfo& info = worker.launch->functions[request->function].blocks[request->block & ~(kCountForm | kRegionForm)];
    BlockFn* place = request->block & kRegionForm ? &info.region_fn : request->block & kCountForm ? &info.count_fn : &info.fn;
    if (!__atomic_load_n(place, __ATOMIC_ACQUIRE) && worker.launch->compile)
        worker.launch->compile(request->function, request->block);
}

BlockFn block_function(WarpState* w, const Activation& a, uint32_t block) {
    BlockInfo& info = a.function_info->blocks[block];
    // Code that is checked at every access reports them anyway.
    const bool counting = w->block->counted && !(w->worker->launch->flags & kCheckAccess);
    BlockFn* place = counting ? &info.count_fn : &info.fn;
    BlockFn fn = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (__builtin_expect(fn != nullptr, 1)) return fn;
    CompileRequest request{a.function, block | (counting ? kCountForm : 0)};
    on_native_stack(w, compile, &request);
    fn = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (!fn)
        fail(w, kUnsupported, info.site, w->live, "the simulator could not compile block %u of function %u",
             block, a.function);
    return fn;
}

}  // namespace

void remove_group(Activation& a, uint32_t index) { a.groups[index] = a.groups[--a.count]; }

namespace {

// Adds lanes to the group of that block and status, or makes one.
Group& join_group(Activation& a, uint32_t block, uint32_t lanes, GroupStatus status, uint32_t barrier) {
    for (uint32_t i = 0; i < a.count; i++) {
        Group& g = a.groups[i];
        if (g.block == block && g.status == status &&
            (status != GroupStatus::kWaiting || g.barrier == barrier)) {
            g.lanes |= lanes;
            return g;
        }
    }
    Group& g = a.groups[a.count++];
    g = {block, lanes, 0, 0, 0, uint8_t(barrier), status};
    return g;
}

const uint32_t* slot(const Activation& a, uint32_t offset) {
    return reinterpret_cast<const uint32_t*>(a.frame + offset);
}

// Lanes arrive at the barrier in front of a block. Lanes may name different barriers.
void arrive_at_barrier(WarpState* w, Activation& a, uint32_t block, uint32_t lanes) {
    const BlockInfo& info = a.function_info->blocks[block];
    uint32_t predicate = info.barrier_kind >= kBarRedPopc ? *slot(a, info.barrier_pred) : 0;
    while (lanes) {
        uint32_t lane = uint32_t(__builtin_ctz(lanes)), same = lanes;
        uint32_t id = info.barrier_id, count = info.barrier_count;
        if (info.flags & kBlockIdSlot) {
            const uint32_t* ids = slot(a, info.barrier_id);
            id = ids[lane];
            for (uint32_t r = same; r; r &= r - 1)
                if (ids[__builtin_ctz(r)] != id) same &= ~(r & -r);
        }
        if (info.flags & kBlockCountSlot) {
            const uint32_t* counts = slot(a, info.barrier_count);
            count = counts[lane];
            for (uint32_t r = same; r; r &= r - 1)
                if (counts[__builtin_ctz(r)] != count) same &= ~(r & -r);
        }
        lanes &= ~same;
        bool waits = info.barrier_kind != kBarArrive;
        join_group(a, block, same, waits ? GroupStatus::kWaiting : GroupStatus::kReleased, id & 0xff);
        barrier_arrive(w, {id, count, info.barrier_kind, same, predicate,
                           a.function == 0 ? block : kNoBlock, info.site});
    }
}

// Lanes leave the function: a kernel's threads end, a called function's return.
void leave_function(WarpState* w, const Activation& a, uint32_t lanes, uint32_t from) {
    if (a.function == 0) exit_lanes(w, lanes, from);
}

void go_to(WarpState* w, Activation& a, uint32_t block, uint32_t lanes, uint32_t from) {
    lanes &= w->live;  // `exit` in a called function may have ended some
    if (!lanes) return;
    uint32_t flags = a.function_info->blocks[block].flags;
    if (flags & kBlockExitOnly) leave_function(w, a, lanes, from);
    else join_group(a, block, lanes, GroupStatus::kReady, 0);
}

void follow(WarpState* w, Activation& a, int32_t next, uint32_t lanes, uint32_t from) {
    switch (next) {
        case kExit:
            leave_function(w, a, lanes & w->live, from);
            break;
        case kOne:
            go_to(w, a, w->next_block[0], lanes, from);
            break;
        case kTwo: {
            // Arriving at a barrier or ending may not disturb the second pair.
            uint32_t block1 = w->next_block[1], lanes1 = w->next_mask[1];
            go_to(w, a, w->next_block[0], w->next_mask[0], from);
            go_to(w, a, block1, lanes1, from);
            break;
        }
        case kScatter:
            for (uint32_t rest = lanes; rest;) {
                uint32_t target = w->lane_next[__builtin_ctz(rest)], same = 0;
                for (uint32_t r = rest; r; r &= r - 1)
                    if (w->lane_next[__builtin_ctz(r)] == target) same |= r & -r;
                rest &= ~same;
                if (target >= a.function_info->block_count)
                    fail(w, kIllegalInstruction, kNoSite, same, "an indirect branch left its table");
                go_to(w, a, target, same, from);
            }
            break;
        case kExitThread:
            exit_lanes(w, lanes & w->live, kNoBlock);
            break;
        default:
            fail(w, kUnsupported, kNoSite, lanes, "block %u returned %d: a fault in the translation", from,
                 next);
    }
}

[[noreturn]] void fail_missing(WarpState* w, const Activation& a, const Group& g, uint32_t missing) {
    fail(w, kMissingMembers, a.function_info->blocks[g.block].site, missing,
         "lanes 0x%08x wait for the lanes of their member mask, but lanes 0x%08x do not come here: "
         "all threads named in the mask must execute the same instruction", g.lanes, missing);
}

}  // namespace

uint32_t members_of(const Activation& a, const BlockInfo& info, uint32_t lane) {
    return info.flags & kBlockMemberSlot ? slot(a, info.member)[lane] : info.member;
}

void run_block(WarpState* w, Activation& a, uint32_t block, uint32_t lanes) {
    BlockFn fn = block_function(w, a, block);
    a.running = block;
    count_execution(w, a.function_info->first_count + block, lanes);
    if (__builtin_expect(w->block->counted != nullptr, 0))
        count_block(w, a.function_info->first_count + block, a.function_info->blocks[block].instructions, lanes);
    int32_t next = fn(w, a.frame, lanes);
    follow(w, a, next, lanes, block);
}

namespace {

// Lanes of a group at a warp-wide operation that can run: all their members are there as well.
uint32_t complete_lanes(const WarpState* w, const Activation& a, const Group& g, uint32_t* missing) {
    const BlockInfo& info = a.function_info->blocks[g.block];
    uint32_t there = g.lanes;
    *missing = 0;
    if (!(info.flags & kBlockMemberSlot)) {
        *missing = info.member & w->live & ~there;
        return *missing ? 0 : there;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t rest = there; rest; rest &= rest - 1) {
            uint32_t lane = uint32_t(__builtin_ctz(rest));
            uint32_t needed = members_of(a, info, lane) & w->live;
            *missing |= needed & ~g.lanes;
            if (needed & ~there) {
                there &= ~(1u << lane);
                changed = true;
            }
        }
    }
    return there;
}

// bar.warp.sync is a meeting place wherever it stands: members may come to different ones. Lanes whose
// members have all come are let go, together.
void meet(WarpState* w, Activation& a) {
    const Function& f = *a.function_info;
    uint32_t there = 0;
    for (uint32_t i = 0; i < a.count; i++)
        if (a.groups[i].status == GroupStatus::kReady && (f.blocks[a.groups[i].block].flags & kBlockMeeting))
            there |= a.groups[i].lanes;
    if (!there) return;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < a.count; i++) {
            const Group& g = a.groups[i];
            const BlockInfo& info = f.blocks[g.block];
            if (g.status != GroupStatus::kReady || !(info.flags & kBlockMeeting)) continue;
            for (uint32_t rest = g.lanes & there; rest; rest &= rest - 1) {
                if (!(members_of(a, info, uint32_t(__builtin_ctz(rest))) & w->live & ~there)) continue;
                there &= ~(rest & -rest);
                changed = true;
            }
        }
    }
    for (uint32_t i = 0, count = a.count; there && i < count; i++) {
        uint32_t ready = a.groups[i].lanes & there, block = a.groups[i].block;
        if (!ready || a.groups[i].status != GroupStatus::kReady) continue;
        a.groups[i].lanes &= ~ready;
        join_group(a, block, ready, GroupStatus::kReleased, 0);
    }
    for (uint32_t i = a.count; i-- > 0;)
        if (!a.groups[i].lanes) remove_group(a, i);
    if (there && (w->worker->launch->flags & kCheckRace)) rt_warp_synced(w, there);
}

// Whether lanes at a block may still come to a warp-wide operation that exchanges values.
bool may_exchange(const Function& f, uint32_t from) {
    for (uint32_t b = 0; b < f.block_count; b++) {
        uint32_t kind = f.blocks[b].flags & (kBlockWarpSync | kBlockMeeting);
        if (kind == kBlockWarpSync && (b == from || reaches(f, from, b))) return true;
    }
    return false;
}

// A member that is on its way elsewhere and can't come back will never arrive. One that may come to
// another such operation is given the benefit of the doubt: nvcc may have put one operation of the
// program into several places (a loop and its remainder), which PTX allows.
void check_missing(WarpState* w, const Activation& a, const Group& g, uint32_t missing) {
    const Function& f = *a.function_info;
    if (!f.reach) return;
    uint32_t lost = 0;
    for (uint32_t i = 0; i < a.count; i++) {
        const Group& other = a.groups[i];
        if (other.block != g.block && (other.lanes & missing) && !reaches(f, other.block, g.block) &&
            !may_exchange(f, other.block))
            lost |= other.lanes & missing;
    }
    if (lost) fail_missing(w, a, g, lost);
}

// Which lanes of the group could run now.
uint32_t runnable_lanes(WarpState* w, Activation& a, const Group& g) {
    if (g.status == GroupStatus::kWaiting) return 0;
    if (g.status == GroupStatus::kReleased) return g.lanes;
    const uint32_t flags = a.function_info->blocks[g.block].flags;
    if (flags & kBlockMeeting) return 0;  // until `meet` lets them go
    if (!(flags & kBlockWarpSync)) return g.lanes;
    uint32_t missing, lanes = complete_lanes(w, a, g, &missing);
    if (!lanes && missing) check_missing(w, a, g, missing);
    return lanes;
}

bool is_before_barrier(const Activation& a, const Group& g) {
    return g.status == GroupStatus::kReady && (a.function_info->blocks[g.block].flags & kBlockBarrier);
}

// Picks the group to run next; a.count if none can. A group in front of a barrier is left until nothing
// else can run, so that lanes gather there and, once let go, may be together for FAST.
uint32_t pick(WarpState* w, Activation& a, uint32_t* lanes) {
    uint32_t best = a.count, best_rank = 0, starved = a.count;
    uint32_t runnable = 0;
    const Run& run = *w->worker->run;
    uint32_t limit = run.spins ? kStarvedSpins : kStarved;
    if (a.favour_left == 0) a.favoured = 0;
    meet(w, a);
    for (uint32_t i = 0; i < a.count; i++) {
        Group& g = a.groups[i];
        uint32_t can = runnable_lanes(w, a, g);
        if (!can) continue;
        runnable++;
        if (++g.starved > limit) starved = i;
        // While a deadlock is suspected everybody has a turn: whoever holds a lock must show it.
        uint32_t rank = run.probing ? g.starved : 2 * ((can & a.favoured) != 0) + !is_before_barrier(a, g);
        if (best == a.count || rank > best_rank || (rank == best_rank && g.block < a.groups[best].block)) {
            best = i;
            best_rank = rank;
            *lanes = can;
        }
    }
    if (runnable > 1 && !run.probing) {
        if (a.favour_left) {
            a.favour_left--;
        } else if (starved < a.count && starved != best) {
            best = starved;
            *lanes = runnable_lanes(w, a, a.groups[best]);
            a.favoured = *lanes;
            a.favour_left = kFavour;
            for (uint32_t i = 0; i < a.count; i++) a.groups[i].starved = 0;
        }
    }
    if (best < a.count) a.groups[best].starved = 0;
    return best;
}

// Nothing can run: wait for a barrier, or tell what is wrong.
void wait_for_barrier(WarpState* w, Activation& a) {
    for (uint32_t i = 0; i < a.count; i++) {
        if (a.groups[i].status == GroupStatus::kWaiting) {
            leave(w, Request::kWait);
            return;
        }
    }
    uint32_t missing;
    complete_lanes(w, a, a.groups[0], &missing);
    fail_missing(w, a, a.groups[0], missing);
}

// All lanes are at a block that FAST can go on from: does it work out?
bool back_to_fast(WarpState* w, Activation& a, const BlockInfo& info, uint32_t block) {
    Backoff& backoff = w->worker->backoff[block];
    if (backoff.skip) {
        backoff.skip--;
        return false;
    }
    if (!collapse_vectors(a.frame, a.function_info->conversions + info.first_conversion, info.conversions)) {
        if (backoff.shift < kMaxBackoffShift) backoff.shift++;
        backoff.skip = uint16_t((1u << backoff.shift) - 1);
        return false;
    }
    backoff.shift = 0;
    return true;
}

void expand_block(const Activation& a, uint32_t block) {
    const BlockInfo& info = a.function_info->blocks[block];
    expand_scalars(a.frame, a.function_info->conversions + info.first_conversion, info.conversions);
}

// FAST has handed over: make vectors of its scalars and sort the lanes.
void from_fast(WarpState* w, Activation& a, int32_t next) {
    if (next == kOne || next == kTwo) expand_block(a, w->next_block[0]);
    if (next == kTwo) expand_block(a, w->next_block[1]);
    if (next == kScatter)
        for (uint32_t i = 0; i < kLanes; i++) {
            bool seen = w->lane_next[i] >= a.function_info->block_count;
            for (uint32_t j = 0; j < i && !seen; j++) seen = w->lane_next[j] == w->lane_next[i];
            if (!seen) expand_block(a, w->lane_next[i]);
        }
    a.given_up = next == kOne ? w->next_block[0] : kNoBlock;
    follow(w, a, next, w->live, next == kExit ? w->next_block[0] : kNoBlock);
    if (next == kScatter) {  // a region hands over: all but the lanes that ran last have waited meanwhile
        uint32_t first = 0;
        for (uint32_t i = 0; i < a.count; i++) {
            a.groups[i].starved = w->rounds;
            if (a.groups[i].block < a.groups[first].block) first = i;
        }
        if (a.count) a.groups[first].starved = 0;
    }
}

// Runs lanes until all have left the function; false: FAST, which had the whole warp, has come to a barrier.
bool dispatch(WarpState* w, Activation& a) {
    const Function& f = *a.function_info;
    FastFn fast = a.function == 0 && !w->block->counted ? f.fast : nullptr;
    bool races = w->worker->launch->flags & kCheckRace;
    Run& run = *w->worker->run;
    for (uint32_t round = 1; a.count; round++) {
        if (round % (1u << 20) == 0 && past_deadline(run)) {  // whatever compiled code counts
            describe_late(w);
            leave(w, Request::kFailed);
        }
        uint32_t lanes = 0;
        uint32_t index = pick(w, a, &lanes);
        if (index == a.count) {
            if (!exchange_across(w, a)) wait_for_barrier(w, a);
            continue;
        }
        Group& g = a.groups[index];
        const uint32_t block = g.block;
        const BlockInfo& info = f.blocks[block];
        const bool before_barrier = is_before_barrier(a, g);
        if (g.status == GroupStatus::kReleased)
            w->reduced = barrier_result(info.barrier_kind, g.ones, g.zeros);
        // FAST has no form for a member mask that is not the full one and would hand the warp straight back.
        const bool whole = !(info.flags & kBlockMemberSlot) || slot(a, info.member)[0] == kFullMask;
        if (fast && !before_barrier && whole && block != a.given_up && lanes == kFullMask && info.fast_entry >= 0 && w->live == kFullMask &&
            back_to_fast(w, a, info, block)) {
            a.count = 0;
            const int32_t next = fast(w, a.frame, uint32_t(info.fast_entry));
            if (next == kBarrier) return false;
            from_fast(w, a, next);
            continue;
        }
        if (races && (info.flags & kBlockWarpSync) && !(info.flags & kBlockMeeting)) rt_warp_synced(w, lanes);
        g.lanes &= ~lanes;
        if (!g.lanes) remove_group(a, index);
        if (before_barrier) {
            arrive_at_barrier(w, a, block, lanes);
            continue;
        }
        a.given_up = kNoBlock;
        if (run.probing && !(info.flags & kBlockWaits)) run.moved = true;
        run_block(w, a, block, lanes);
    }
    return true;
}

}  // namespace

void start_activation(Activation& a, WarpState* w, uint32_t function, uint8_t* frame) {
    const Function& f = w->worker->launch->functions[function];
    a.parent = w->activation;
    a.function_info = &f;
    a.function = function;
    a.count = 0;
    a.frame = frame;
    a.local_base = w->local_base;
    a.local_bytes = f.local_bytes;
    a.args = 0;
    a.args_bytes = 0;
    a.given_up = kNoBlock;
    a.favoured = a.favour_left = 0;
    a.running = 0;
}

void enter_function(WarpState* w, Activation& a, uint32_t lanes) {
    w->activation = &a;
    go_to(w, a, 0, lanes, kNoBlock);
    dispatch(w, a);
}

// Out of line: FAST alone needs no Activation.
// False: the warp waits at a barrier.
static __attribute__((noinline)) bool run_slow(WarpState* w, int32_t fast_next) {
    Activation a;
    start_activation(a, w, 0, w->frame);
    w->activation = &a;
    if (fast_next < 0) go_to(w, a, 0, w->live, kNoBlock);
    else from_fast(w, a, fast_next);
    const bool ended = dispatch(w, a);
    w->activation = nullptr;
    return ended;
}

extern "C" int32_t rt_region(Warp* warp, uint8_t* frame, uint32_t branch, uint32_t taken) {
    WarpState* w = state(warp);
    BlockInfo& info = w->worker->launch->functions[0].blocks[branch];
    BlockFn fn = __atomic_load_n(&info.region_fn, __ATOMIC_ACQUIRE);
    if (__builtin_expect(fn == nullptr, 0)) {
        CompileRequest request{0, branch | kRegionForm};
        on_native_stack(w, compile, &request);
        fn = __atomic_load_n(&info.region_fn, __ATOMIC_ACQUIRE);
        if (!fn) fail(w, kUnsupported, info.site, taken, "the simulator could not compile the region of block %u", branch);
    }
    return fn(w, frame, taken);
}

bool run_warp(WarpState* w) {
    Worker& k = *w->worker;
    const Function& kernel = k.launch->functions[0];
    k.now = w;
    if (w->entry || (w->exist == kFullMask && kernel.fast && !w->block->counted)) {
        int32_t next = kernel.fast(w, w->frame, w->entry);
        w = k.now;
        if (next == kBarrier) return false;
        if (__builtin_expect(next == kExit, 1)) exit_lanes(w, w->live, w->next_block[0]);
        else if (!run_slow(w, next)) return false;
    } else if (!run_slow(w, -1)) {
        return false;
    }
    if (__builtin_expect(w->async != nullptr, 0) && rt_async_finish) rt_async_finish(w);
    if (__builtin_expect(w->block->bulk != nullptr, 0)) bulk_finish(w);
    return true;
}
