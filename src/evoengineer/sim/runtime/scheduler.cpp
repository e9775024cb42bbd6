// A worker's part of a launch: runs blocks of the grid, their warps in turn.
//
// Blocks are handed out in ascending order of their place: their index, or counted from the end of the grid (kReversed).
// When a block fails, blocks before it still finish, so that the error reported is that of the first block in that
// order, whatever the number of workers.
#include "totals.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>


namespace {

void resume(Worker& k, Fibre* fibre) {
    k.running = fibre;
    for (;;) {
        fibre_enter(&k.native_sp, fibre->sp);
        if (k.request != Request::kService) return;
        k.service(k, k.service_argument);
    }
}

// A fibre for entry(argument); null when the system refuses.
Fibre* take_fibre(Worker& k, void (*entry)(void*), void* argument) {
    Fibre* fibre;
    if (!k.free_fibres.empty()) {
        fibre = k.free_fibres.back();
        k.free_fibres.pop_back();
    } else {
        fibre = new Fibre();
        if (!fibre_create(*fibre)) {
            delete fibre;
            return nullptr;
        }
    }
    fibre_reset(*fibre, entry, argument, k.run->mxcsr);
    return fibre;
}

// A warp's fibre is not needed any more, whatever it was doing.
void drop_fibre(Worker& k, WarpState& w) {
    if (w.fibre) k.free_fibres.push_back(w.fibre);
    w.fibre = nullptr;
}

// Keeps the record of the lowest block that failed.
void keep_record(Worker& k, uint64_t block) {
    Run& run = *k.run;
    std::lock_guard<std::mutex> lock(run.mutex);
    if (block >= run.stop.load()) return;
    run.stop = block;
    run.launch->error = k.record;
}

void out_of_fibres(Worker& k) {
    memset(&k.record, 0, sizeof k.record);
    k.record.code = kUnsupported;
    k.record.site = kNoSite;
    snprintf(k.record.text, sizeof k.record.text,
             "the system has no room for the stacks of %zu resident blocks of %u warps (see vm.max_map_count)",
             k.active.size() + 1, k.run->warp_count);
    keep_record(k, 0);
}

// Takes the next blocks, [first, last); false when there are none left that need to run.
bool take(Worker& k, uint64_t count, uint64_t* first, uint64_t* last) {
    Run& run = *k.run;
    *first = run.next.fetch_add(count);
    begun_blocks().store(*first + count, std::memory_order_relaxed);
    *last = std::min(*first + count, run.blocks);
    return *first < std::min(run.blocks, run.stop.load());
}

// --- no warp waits: one fibre runs everything ---

void solo_main(void* argument) {
    auto* w = static_cast<WarpState*>(argument);
    Worker& k = *w->worker;
    Run& run = *k.run;
    const Launch& launch = *k.launch;
    BlockState& b = *w->block;
    const uint32_t warps = run.warp_count;
    const bool simple = !launch.shared_bytes && !(launch.flags & (kUsesBarrier | kCheckRace | kCheckInit));
    uint64_t first, last;
    while (take(k, run.chunk, &first, &last)) {
        if (past_deadline(run)) {
            place_block(b, launch, first);
            begin_warp(*w, b, launch);
            describe_late(w);
            leave(w, Request::kFailed);
        }
        place_block(b, launch, first);
        for (;;) {
            if (!simple) begin_block(b, launch);
            for (uint32_t turn = 0; turn < warps; turn++) {
                const uint32_t i = launch.flags & kReversed ? warps - 1 - turn : turn;
                w->warp_index = i;
                w->tids = reinterpret_cast<uint64_t>(&run.tids[size_t(i) * 3 * kLanes]);
                w->exist = run.exist[i];
                begin_warp(*w, b, launch);
                if (!run_warp(w)) leave(w, Request::kWait);
            }
            account_block(k, b);
            if (past_limit(run)) fail_limit(w);
            if (++b.index == last || b.index >= run.stop.load(std::memory_order_relaxed)) break;
            if (launch.sample_count || (launch.flags & (kReversed | kSampledOnly)) || ++b.ctaid[0] == launch.grid[0]) place_block(b, launch, b.index);
        }
    }
    leave(w, Request::kTurns);
    abort();
}

void run_solo(Worker& k) {
    BlockState* b = prepare_block(k, 0);
    Fibre* fibre = b ? take_fibre(k, solo_main, &b->warps[0]) : nullptr;
    if (!fibre) return out_of_fibres(k);
    resume(k, fibre);
    drop_fibre(k, b->warps[0]);
    if (k.request == Request::kWait) {  // the block's only warp waits
        describe_deadlock(*b);
        k.request = Request::kFailed;
    }
    if (k.request == Request::kFailed) keep_record(k, b->index);
}

// --- warps that wait for each other ---

// Makes the next block of the grid resident; false if there is none.
bool admit(Worker& k) {
    Run& run = *k.run;
    uint64_t first, last;
    if (!take(k, 1, &first, &last)) return false;
    BlockState* b;
    if (!k.free_blocks.empty()) {
        b = k.free_blocks.back();
        k.free_blocks.pop_back();
    } else {
        b = prepare_block(k, k.active.size());
        if (!b) {
            out_of_fibres(k);
            return false;
        }
    }
    place_block(*b, *k.launch, first);
    begin_block(*b, *k.launch);
    b->running = run.warp_count;
    for (uint32_t i = 0; i < run.warp_count; i++) begin_warp(b->warps[i], *b, *k.launch);
    k.active.push_back(b);
    run.resident++;
    return true;
}

enum class Slice { kNothing, kSpun, kProgress, kFailed };

constexpr uint32_t kMostRounds = 32;  // of turns, before the worker looks at the time

// What fibres run: warps of a block that are at rest, in turn. One that has to wait in the middle of something leaves
// the fibre; whoever resumes it then makes this fibre go on from there.
void run_turns(void* argument) {
    BlockState& b = *static_cast<BlockState*>(argument);
    Worker& k = *b.worker;
    const bool alone = k.active.size() == 1 && !k.run->spins && !(k.launch->flags & kRehearsal);
    for (uint32_t rounds = alone ? kMostRounds : 1;;) {
        WarpState* w = next_in_turn(b);
        if (!w && --rounds) {
            b.turn = 0;
            w = next_in_turn(b);
        }
        if (!w || w->fibre) break;
        const bool ended = run_warp(w);
        come_to_rest(k.now);
        if (!ended) continue;
        k.now->status = WarpStatus::kDone;
        b.running--;
    }
    k.request = Request::kTurns;
    fibre_leave(&k.running->sp, k.native_sp);
    abort();
}

// Gives every warp of the block that can run a turn.
Slice run_slice(Worker& k, BlockState& b) {
    Slice result = Slice::kNothing;
    b.turn = 0;
    while (WarpState* w = next_in_turn(b)) {
        Fibre* fibre = w->fibre;
        if (!fibre) fibre = take_fibre(k, run_turns, &b);
        if (!fibre) {
            out_of_fibres(k);
            return Slice::kFailed;
        }
        resume(k, fibre);
        if (k.request == Request::kTurns) {
            k.free_fibres.push_back(fibre);
            result = Slice::kProgress;
            continue;
        }
        w = k.now;
        b.turn++;
        switch (k.request) {
            case Request::kFailed:
                return Slice::kFailed;
            case Request::kWait:
                w->spins = w->waited = 0;
                result = Slice::kProgress;
                break;
            default:
                w->status = WarpStatus::kSpinning;
                if (result == Slice::kNothing) result = Slice::kSpun;
                break;
        }
    }
    return result;
}

// Drops a resident block; its warps may be in the middle of anything.
void retire(Worker& k, size_t position, bool abandoned) {
    BlockState* b = k.active[position];
    k.active.erase(k.active.begin() + long(position));
    k.run->resident--;
    if (abandoned) {
        for (uint32_t i = 0; i < b->warp_count; i++) {
            WarpState& w = b->warps[i];
            if (w.async && rt_async_finish) rt_async_finish(&w);
            drop_fibre(k, w);
        }
    }
    k.free_blocks.push_back(b);
}

// --- blocks that wait for each other for ever ---

constexpr uint32_t kLeastWaits = 64;     // calls of rt_tick from a waiting loop before anything is suspected
constexpr uint32_t kPatience = 256;      // rounds from barrier to barrier, none of them a warp's last
constexpr uint32_t kProbeRounds = 512;   // more than it takes every group of lanes to have its turn

// Does every warp that could run wait in a loop, for at least so long?
bool all_wait(const Worker& k, uint32_t ticks) {
    for (const BlockState* b : k.active)
        for (uint32_t i = 0; i < b->warp_count; i++) {
            const WarpState& w = b->warps[i];
            if (w.status == WarpStatus::kWaiting || w.status == WarpStatus::kDone) continue;
            if (w.wait_site == kNoSite || w.waited < ticks) return false;
        }
    return true;
}

void describe_stuck(Worker& k) {
    const Run& run = *k.run;
    WarpState* first = nullptr;
    for (BlockState* b : k.active)
        for (uint32_t i = 0; i < b->warp_count && !first; i++)
            if (b->warps[i].status == WarpStatus::kSpinning) first = &b->warps[i];
    describe(first, kDeadlock, first->wait_site, first->live);
    if (run.next.load() < run.blocks)
        describe_text(first, "this thread waits in a loop, as all others do, for blocks that cannot start: %zu of %llu "
                      "fit on the card at once", k.active.size(), static_cast<unsigned long long>(run.blocks));
    else
        describe_text(first, "this thread waits in a loop, as all others do that have not ended, and none is left to "
                      "change what it waits for");
}

// Nothing has moved in this round, and no further block may start. Suspects a deadlock, then makes sure: if every warp
// goes round its waiting loop and nowhere else, nothing can ever change. Returns whether it is one.
bool is_stuck(Worker& k, uint32_t* rounds) {
    Run& run = *k.run;
    if (run.workers > 1) return false;
    if (run.probing && !run.moved) return ++*rounds > kProbeRounds && all_wait(k, kLeastWaits);
    const bool suspect = !run.probing && all_wait(k, kLeastWaits);
    *rounds = 0;
    run.moved = false;
    run.probing = suspect;
    return false;
}

void run_resident(Worker& k) {
    Run& run = *k.run;
    const Launch& launch = *k.launch;
    k.active.clear();
    k.free_blocks.clear();
    uint32_t rounds = 0, idle = 0;
    uint64_t wanted = 1;
    if (launch.flags & kCooperative) wanted = (run.blocks + run.workers - 1) / run.workers;
    else if (launch.flags & kShares) wanted = std::max(launch.max_resident / run.workers, 1u);
    for (uint64_t i = 0; i < wanted && admit(k); i++) {}
    while (!k.active.empty()) {
        bool progress = false, ended = false;
        for (size_t i = 0; i < k.active.size();) {
            BlockState& b = *k.active[i];
            if (b.index >= run.stop.load()) {
                retire(k, i, true);
                continue;
            }
            const uint32_t running = b.running;
            Slice slice = run_slice(k, b);
            ended |= b.running < running;
            const bool rehearsal = launch.flags & kRehearsal;
            if (rehearsal || k.active.size() > 1) attribute(k, b);  // else it is all the block's
            if (rehearsal && past_limit(run)) {  // others may go on for a while before they look
                describe_limit(k);
                if (launch.error.code == kNoError) keep_record(k, b.index);
                run.stop = 0;
            }
            if (slice == Slice::kNothing && b.running) {
                describe_deadlock(b);
                slice = Slice::kFailed;
            }
            progress |= slice == Slice::kProgress;
            if (slice == Slice::kFailed) {
                keep_record(k, b.index);
                retire(k, i, true);
            } else if (b.running == 0) {
                account_block(k, b);
                if (past_limit(run)) {
                    describe_limit(k);
                    keep_record(k, b.index);
                }
                retire(k, i, false);
                if (k.active.size() < wanted) admit(k);
            } else {
                i++;
            }
        }
        if (past_deadline(run) && !k.active.empty()) {
            describe_late(&k.active[0]->warps[0]);
            keep_record(k, k.active[0]->index);
        }
        if (progress) run.probing = false;
        idle = ended ? 0 : idle + 1;
        if (!run.spins || (progress && idle < kPatience)) continue;
        idle = 0;
        // Everything only spins, maybe through barriers (`while (__syncthreads_and(…))`): what it waits for may be in
        // blocks that have not started.
        wanted = k.active.size() * 2;
        if (k.active.size() == 1) attribute(k, *k.active[0]);
        bool more = false;
        uint32_t limit = launch.flags & kCooperative ? ~0u : std::max(launch.max_resident, 1u);
        while (k.active.size() < wanted && run.resident.load() < limit && admit(k)) more = true;
        wanted = std::max<uint64_t>(k.active.size(), 1);
        if (more || progress) continue;
        if (!k.active.empty() && is_stuck(k, &rounds)) {
            describe_stuck(k);
            keep_record(k, k.active[0]->index);
            run.stop = 0;
        }
        sched_yield();
    }
}

}  // namespace

void work(Worker& k, Run& run) {
    k.run = &run;
    k.launch = run.launch;
    k.caches.assign(run.launch->site_count, Cache{~0ull, 0});
    k.backoff.assign(run.launch->functions[0].block_count, Backoff{0, 0});
    k.recent_generation = 0;
    begin_worker_totals(k);
    if (run.solo) run_solo(k);
    else run_resident(k);
    end_worker_totals(k);
    for (BlockState* b : k.residents)
        for (uint32_t i = 0; i < kMaxWarps; i++)
            if (b->warps[i].async && rt_async_finish) rt_async_finish(&b->warps[i]);
}
