// Barriers of a block, and the end of threads, which may complete them.
//
// A barrier without a count waits for all threads that have not ended. One with a count is completed
// by that many threads; as on a GPU a warp then stands for 32 threads even if some of its lanes never
// existed or have ended.
//
// Divergence. Threads that end early (`if (i >= n) return;`) are excused from later barriers. Threads
// that went around a barrier and carried on are not: the last block that they ran comes after the
// barrier and can't lead back to it. Nor may some threads wait at one __syncthreads() of the program and
// others at another, though a GPU counts them together. (One that the compiler has copied keeps its line.)
#include <cstdio>
#include <cstring>

#include "dispatch.h"
#include "scheduler.h"

namespace {

bool reaches(const Function& f, uint32_t from, uint32_t to) {
    return f.reach[uint64_t(from) * f.reach_words + to / 64] >> (to % 64) & 1;
}

// Writes the threads given by lanes per warp as ranges: "0-31, 40".
void list_threads(char* text, size_t room, const uint32_t* lanes, uint32_t warps) {
    size_t used = 0;
    text[0] = 0;
    uint32_t total = warps * kLanes;
    auto has = [&](uint32_t t) { return lanes[t / kLanes] >> (t % kLanes) & 1; };
    for (uint32_t t = 0; t < total; t++) {
        if (!has(t)) continue;
        uint32_t last = t;
        while (last + 1 < total && has(last + 1)) last++;
        if (used + 24 > room) {
            snprintf(text + used, room - used, ", …");
            return;
        }
        int n = last == t ? snprintf(text + used, room - used, "%s%u", used ? ", " : "", t)
                          : snprintf(text + used, room - used, "%s%u-%u", used ? ", " : "", t, last);
        used += size_t(n);
        t = last;
    }
}

// Threads that ended after going around the barrier, which is about to let go without them.
void check_divergence(WarpState* w, const Barrier& b) {
    BlockState& block = *w->block;
    const Function& kernel = w->worker->launch->functions[0];
    if (b.block == kNoBlock || !kernel.reach) return;
    for (uint32_t i = 0; i < block.exit_marks; i++) {
        const ExitMark& mark = block.exits[i];
        // Another copy of the same barrier (an unrolled loop) was the last that they came to: they left in time.
        if (mark.barrier_line && mark.barrier_line == kernel.blocks[b.block].member) continue;
        if (mark.block == b.block || !reaches(kernel, b.block, mark.block) ||
            reaches(kernel, mark.block, b.block))
            continue;
        WarpState* gone = &block.warps[mark.warp];
        uint32_t lanes[kMaxWarps] = {};
        lanes[mark.warp] = mark.lanes;
        char threads[160];
        list_threads(threads, sizeof threads, lanes, block.warp_count);
        describe(gone, kBarrierDivergence, b.site, mark.lanes);
        describe_text(gone,
                      "%u threads wait at this barrier, but threads %s of the block went around it "
                      "and ended: every thread must reach the barrier, or return before it",
                      b.arrived, threads);
        leave(w, Request::kFailed);
    }
}

// Threads that come to barrier 0 while others wait at another place where the program has one.
__attribute__((noinline)) void check_place(WarpState* w, Arrival a, const Barrier& b) {
    const Function& kernel = w->worker->launch->functions[0];
    if (a.id || a.count || a.block >= kernel.block_count || b.block >= kernel.block_count) return;
    uint32_t here = kernel.blocks[a.block].member, there = kernel.blocks[b.block].member;
    if (!here || !there || here == there) return;
    BlockState& block = *w->block;
    uint32_t lanes[kMaxWarps] = {};
    for (uint32_t i = 0; i < block.warp_count; i++) lanes[i] = lanes_waiting(&block.warps[i], a.id);
    lanes[w->warp_index] &= ~a.lanes;
    char threads[160];
    list_threads(threads, sizeof threads, lanes, block.warp_count);
    describe(w, kBarrierDivergence, a.site, a.lanes);
    w->worker->record.other_site = b.site;
    describe_text(w, "this thread comes to one barrier while threads %s of the block wait at another: every thread "
                  "must reach the same one", threads);
    leave(w, Request::kFailed);
}

void let_go(WarpState* w, uint32_t id, const Barrier& b) {
    if (w->fast_wait == id + 1) {
        w->fast_wait = 0;
        w->reduced = barrier_result(w->fast_kind, b.ones, b.zeros);
    }
    for (Activation* a = w->activation; a; a = a->parent) {
        for (uint32_t i = 0; i < a->count; i++) {
            Group& g = a->groups[i];
            if (g.status != GroupStatus::kWaiting || g.barrier != id) continue;
            g.status = GroupStatus::kReleased;
            g.ones = b.ones;
            g.zeros = b.zeros;
        }
    }
    if (w->status == WarpStatus::kWaiting) w->status = WarpStatus::kRunnable;
}

__attribute__((noinline)) void complete(WarpState* w, uint32_t id) {
    BlockState& block = *w->block;
    Barrier& b = block.barriers[id];
    if (b.count == 0 && block.live < block.threads) check_divergence(w, b);
    if (w->worker->launch->flags & kCheckRace) {
        race_barrier_released(block, id, b.count == 0);
    }
    for (uint32_t rest = b.warps; rest; rest &= rest - 1)
        let_go(&block.warps[__builtin_ctz(rest)], id, b);
    b.generation++;
    b.arrived = b.ones = b.zeros = b.warps = 0;
    b.one_way = false;
    if (b.count) memset(b.seen, 0, sizeof b.seen);
}

void complete_if_full(WarpState* w, uint32_t id) {
    Barrier& b = w->block->barriers[id];
    if (b.arrived && b.arrived >= (b.count ? b.count : w->block->live)) complete(w, id);
}

// Adds lanes to a counted barrier; the missing lanes of a warp come with its last living one.
void count_in(Barrier& b, const WarpState* w, uint32_t lanes) {
    uint32_t& seen = b.seen[w->warp_index];
    if (seen & lanes) seen = 0;  // these lanes come a second time
    b.arrived += uint32_t(__builtin_popcount(lanes));
    seen |= lanes;
    if ((w->live & ~seen) == 0) {
        b.arrived += kLanes - uint32_t(__builtin_popcount(seen));
        seen = 0;
    }
}

}  // namespace

void begin_barriers(BlockState& block) {
    for (uint32_t rest = block.used_barriers; rest; rest &= rest - 1) {
        Barrier& b = block.barriers[__builtin_ctz(rest)];
        uint32_t generation = b.generation;
        memset(&b, 0, sizeof b);
        b.generation = generation;
    }
    block.used_barriers = 0;
    block.exit_marks = 0;
    block.live = block.threads;
}

namespace {

[[noreturn]] void fail_arrival(WarpState* w, Arrival a) {
    if (a.id >= kBarriers)
        fail(w, kIllegalInstruction, a.site, a.lanes, "barrier %u: a block has barriers 0 to 15 only", a.id);
    if (a.count % kLanes)
        fail(w, kIllegalInstruction, a.site, a.lanes, "barrier %u for %u threads: only whole warps of 32 can meet", a.id,
             a.count);
    fail(w, kIllegalInstruction, a.site, a.lanes,
         "barrier %u is used for %u threads here, but by others at the same time for %u "
         "(0 stands for the whole block)", a.id, a.count, w->block->barriers[a.id].count);
}

// What lies between two turns of warps: as short as can be.
__attribute__((always_inline)) inline void arrive(WarpState* w, Arrival a, uint32_t line) {
    if (__builtin_expect(a.id >= kBarriers || a.count % kLanes, 0)) fail_arrival(w, a);
    BlockState& block = *w->block;
    Barrier& b = block.barriers[a.id];
    block.used_barriers |= 1u << a.id;
    w->barrier_line = line;
    if (b.arrived == 0) {
        b.count = a.count;
        b.block = a.block;
        b.site = a.site;
    } else if (__builtin_expect(b.count != a.count, 0)) {
        fail_arrival(w, a);
    } else if (__builtin_expect(b.block != a.block, 0)) {
        check_place(w, a, b);
    }
    if (a.kind != kBarArrive) b.warps |= 1u << w->warp_index;
    else b.one_way = true;
    if (a.kind >= kBarRedPopc) {
        b.ones += uint32_t(__builtin_popcount(a.predicate & a.lanes));
        b.zeros += uint32_t(__builtin_popcount(~a.predicate & a.lanes));
    }
    if (a.count) {
        if (w->worker->launch->flags & kCheckRace) race_barrier_arrived(w, a.id, a.lanes);
        count_in(b, w, a.lanes);
    } else {
        b.arrived += uint32_t(__builtin_popcount(a.lanes));
    }
    complete_if_full(w, a.id);
}

}  // namespace

void barrier_arrive(WarpState* w, const Arrival& a) {
    const Function& kernel = w->worker->launch->functions[0];
    arrive(w, a, a.block < kernel.block_count ? kernel.blocks[a.block].member : 0);
}

uint32_t barrier_result(uint32_t kind, uint32_t ones, uint32_t zeros) {
    switch (kind) {
        case kBarRedPopc: return ones;
        case kBarRedAnd: return zeros == 0;
        case kBarRedOr: return ones != 0;
    }
    return 0;
}

void exit_lanes(WarpState* w, uint32_t lanes, uint32_t last_block) {
    w->live &= ~lanes;
    if (!(w->worker->launch->flags & kUsesBarrier)) return;
    BlockState& block = *w->block;
    block.live -= uint32_t(__builtin_popcount(lanes));
    const Function& kernel = w->worker->launch->functions[0];
    if (last_block < kernel.block_count && !(kernel.blocks[last_block].flags & kBlockExitOnly)) {
        ExitMark* mark = nullptr;
        for (uint32_t i = 0; i < block.exit_marks && !mark; i++)
            if (block.exits[i].block == last_block) mark = &block.exits[i];
        if (!mark && block.exit_marks < kExitMarks) {
            mark = &block.exits[block.exit_marks++];
            *mark = {last_block, w->warp_index, lanes, w->barrier_line};
        } else if (mark && mark->warp == w->warp_index) {
            mark->lanes |= lanes;
        }
    }
    for (uint32_t rest = block.used_barriers; rest; rest &= rest - 1) {
        uint32_t id = uint32_t(__builtin_ctz(rest));
        Barrier& b = block.barriers[id];
        if (b.count && b.seen[w->warp_index]) count_in(b, w, 0);
        if (block.live) complete_if_full(w, id);
    }
}

namespace {

// Counts the whole warp in, for which FAST has come to a barrier: may it go on at once?
inline bool pass_barrier(WarpState* w) {
    const uint32_t at = w->next_block[0], id = w->next_mask[0];
    const BlockInfo& info = w->worker->launch->functions[0].blocks[at];
    w->entry = uint32_t(info.fast_entry);
    if (info.barrier_kind != kBarArrive) {
        w->fast_wait = id + 1;
        w->fast_kind = info.barrier_kind;
        w->status = WarpStatus::kWaiting;
    }
    arrive(w, {id, w->next_mask[1], info.barrier_kind, w->live, w->reduced, at, info.site}, info.member);
    return w->status != WarpStatus::kWaiting;
}

}  // namespace

extern "C" Warp* rt_barrier(Warp* warp) {
    WarpState* w = state(warp);
    if (pass_barrier(w)) return w;
    if (w->activation || w->worker->run->solo) return nullptr;
    come_to_rest(w);
    BlockState& block = *w->block;
    WarpState* next = next_in_turn(block);
    if (!next || next->fibre || (next->entry == 0 && next->exist != kFullMask)) return nullptr;
    return w->worker->now = next;
}

uint32_t lanes_waiting(const WarpState* w, uint32_t id) {
    uint32_t lanes = w->fast_wait == id + 1 ? w->live : 0;
    for (const Activation* a = w->activation; a; a = a->parent)
        for (uint32_t i = 0; i < a->count; i++)
            if (a->groups[i].status == GroupStatus::kWaiting && a->groups[i].barrier == id)
                lanes |= a->groups[i].lanes;
    return lanes;
}

void describe_deadlock(BlockState& block) {
    const Launch& launch = *block.worker->launch;
    WarpState* first = nullptr;
    uint32_t first_lanes = 0, first_site = kNoSite;
    char text[sizeof launch.error.text];
    size_t used = 0;
    for (uint32_t id = 0; id < kBarriers; id++) {
        if (!block.barriers[id].warps) continue;
        uint32_t lanes[kMaxWarps] = {};
        for (uint32_t i = 0; i < block.warp_count; i++) {
            lanes[i] = lanes_waiting(&block.warps[i], id);
            if (!lanes[i] || first) continue;
            first = &block.warps[i];
            first_lanes = lanes[i];
            first_site = block.barriers[id].site;
        }
        char threads[120];
        list_threads(threads, sizeof threads, lanes, block.warp_count);
        const Barrier& b = block.barriers[id];
        int n = snprintf(text + used, sizeof text - used, "%sthreads %s wait at barrier %u, where %u of %u arrived",
                         used ? "; " : "", threads, id, b.arrived, b.count ? b.count : block.live);
        used += size_t(n);
        if (used + 16 >= sizeof text) break;
    }
    if (!first) {  // a warp waits for lanes that can never come
        for (uint32_t i = 0; i < block.warp_count && !first; i++)
            if (block.warps[i].status == WarpStatus::kWaiting) first = &block.warps[i];
        first_lanes = first->live;
        snprintf(text, sizeof text, "the warp waits, and nothing can wake it");
    }
    describe(first, kDeadlock, first_site, first_lanes);
    describe_text(first, "%s", text);
}
