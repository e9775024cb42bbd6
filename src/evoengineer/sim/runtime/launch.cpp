// rt_launch and what compiled code calls to let time pass.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "count.h"
#include "interrupt.h"
#include "pool.h"
#include "totals.h"

namespace {

constexpr int64_t kQuantum = 1 << 20;     // back edges between two calls of rt_tick
constexpr int64_t kSpinQuantum = 256;     // the same where warps may wait for each other in loops
constexpr int64_t kLeastSpinQuantum = 8;  // for one that has done nothing else for a while
constexpr uint32_t kSpinsPerAccount = 64;  // adding up takes longer than so short a slice
constexpr uint32_t kFlushToZero = 0x8040;  // FTZ and DAZ in mxcsr
constexpr uint32_t kDefaultMxcsr = 0x1f80;

int64_t quantum(const Run& run, uint32_t spins) {
    if (run.probing) return 0;
    return run.spins ? std::max(kSpinQuantum >> std::min(spins, 8u), kLeastSpinQuantum) : kQuantum;
}

// Whether the warp waits in a loop, and is still in the one it was in.
void note_wait(Run& run, WarpState* w) {
    const bool waits = run.launch->sites[w->site].access == kWaitLoop;
    if (waits && w->site == w->wait_site) {
        w->waited++;
        return;
    }
    w->wait_site = waits ? w->site : kNoSite;
    w->waited = 0;
    run.moved = true;
}

void fill_threads(Run& run, const Launch& launch) {
    run.tids.assign(size_t(run.warp_count) * 3 * kLanes, 0);
    run.exist.assign(run.warp_count, 0);
    for (uint32_t t = 0; t < run.warp_count * kLanes; t++) {
        uint32_t warp = t / kLanes, lane = t % kLanes;
        uint32_t* tids = &run.tids[size_t(warp) * 3 * kLanes];
        tids[lane] = t % launch.block[0];
        tids[kLanes + lane] = t / launch.block[0] % launch.block[1];
        tids[2 * kLanes + lane] = t / launch.block[0] / launch.block[1];
        if (t < run.block_threads) run.exist[warp] |= 1u << lane;
    }
}

void work_part(Worker& k, void* run) { work(k, *static_cast<Run*>(run)); }

}  // namespace

bool past_deadline(const Run& run) {
    return interrupted() || (run.deadline != 0 && monotonic_seconds() > run.deadline);
}

void describe_late(WarpState* w) {
    describe(w, kWallLimit, w->site, w->live);
    if (interrupted()) describe_text(w, "the program ended while the kernel ran");
    else describe_text(w, "the kernel has run for more than %g seconds", w->worker->launch->wall_limit_seconds);
}

double monotonic_seconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

void leave(WarpState* w, Request request) {
    Worker& k = *w->worker;
    k.request = request;
    if (request == Request::kWait) w->status = WarpStatus::kWaiting;
    w->fibre = k.running;
    fibre_leave(&w->fibre->sp, k.native_sp);
    k.now = w;
}

void on_native_stack(WarpState* w, void (*service)(Worker&, void*), void* argument) {
    w->worker->service = service;
    w->worker->service_argument = argument;
    leave(w, Request::kService);
}

const Launch& launch_of(const WarpState* w) { return *w->worker->launch; }
uint64_t block_index(const WarpState* w) { return w->block->index; }

std::atomic<uint64_t>& begun_blocks() {
    static std::atomic<uint64_t> count{0};
    return count;
}

static std::atomic<uint64_t> all_blocks{0};

extern "C" {

void rt_progress(uint64_t* begun, uint64_t* blocks) {
    *begun = begun_blocks().load();
    *blocks = all_blocks.load();
}

int32_t rt_launch(Launch* launch) {
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> lock(one_at_a_time);
    memset(&launch->error, 0, sizeof launch->error);
    Run run;
    run.launch = launch;
    run.blocks = uint64_t(launch->grid[0]) * launch->grid[1] * launch->grid[2];
    run.block_threads = launch->block[0] * launch->block[1] * launch->block[2];
    if (run.blocks == 0 || run.block_threads == 0) return kNoError;
    if (launch->flags & kSampledOnly) run.blocks = launch->chosen_count;
    if (run.blocks == 0) return kNoError;
    run.warp_count = (run.block_threads + kLanes - 1) / kLanes;
    if (run.warp_count > kMaxWarps) {
        launch->error.code = kUnsupported;
        snprintf(launch->error.text, sizeof launch->error.text, "a block of %u threads: the most is 1024",
                 run.block_threads);
        return kUnsupported;
    }
    uint32_t flags = launch->flags;
    run.spins = flags & (kSpins | kCooperative);
    run.solo = !run.spins && !((flags & kUsesBarrier) && run.warp_count > 1);
    run.mxcsr = kDefaultMxcsr | (flags & kFlushDenormals ? kFlushToZero : 0);
    run.deadline = launch->wall_limit_seconds > 0 ? monotonic_seconds() + launch->wall_limit_seconds : 0;
    run.first_quantum = quantum(run, 0);
    run.workers = flags & (kOrdered | kCheckRace) ? 1 : uint32_t(std::min<uint64_t>(std::max(launch->threads, 1u), run.blocks));
    run.chunk = std::clamp<uint64_t>(run.blocks / (uint64_t(run.workers) * 32), 1, 256);
    begun_blocks() = 0;
    all_blocks = run.blocks;
    fill_threads(run, *launch);
    if (flags & kCheckRace) begin_launch_checks();
    begin_totals(run);
    if (launch->sample_count) begin_counting(*launch);
    if (rt_output_begin) rt_output_begin(launch);
    run_on_workers(run.workers, work_part, &run);
    end_totals(run);
    if (rt_output_end) rt_output_end(launch);
    return int32_t(launch->error.code);
}

void rt_tick(Warp* warp) {
    WarpState* w = state(warp);
    Run& run = *w->worker->run;
    uint64_t used = uint64_t(w->ticks_given - w->ticks);
    w->clock += used;
    if (w->block->index >= run.stop.load(std::memory_order_relaxed)) leave(w, Request::kFailed);
    if (!run.spins || w->spins % kSpinsPerAccount == 0) {
        account(*w->worker);
        if (past_limit(run)) fail_limit(w);
    }
    if (!run.spins && past_deadline(run)) {  // else looked at between slices
        describe_late(w);
        leave(w, Request::kFailed);
    }
    if (run.spins) {
        w->spins++;
        note_wait(run, w);
    }
    w->ticks = w->ticks_given = quantum(run, w->spins);
    if (run.spins) leave(w, Request::kYield);
}

void rt_yield(Warp* warp) {
    WarpState* w = state(warp);
    w->clock += 32;
    if (!w->worker->run->solo) leave(w, Request::kYield);
}

uint64_t rt_clock(Warp* warp) { return warp->clock += 32; }

uint32_t rt_sizeof_warp() { return sizeof(Warp); }
uint32_t rt_sizeof_conversion() { return sizeof(Conversion); }
uint32_t rt_sizeof_block_info() { return sizeof(BlockInfo); }
uint32_t rt_sizeof_function() { return sizeof(Function); }
uint32_t rt_sizeof_site() { return sizeof(Site); }
uint32_t rt_sizeof_error_record() { return sizeof(ErrorRecord); }
uint32_t rt_sizeof_launch() { return sizeof(Launch); }
uint32_t rt_sizeof_undefined_note() { return sizeof(UndefinedNote); }

}  // extern "C"
