// Exact totals of a launch: how often each basic block ran, over every block of the grid.
//
// FAST adds to Warp::totals at the end of each basic block, the dispatcher does so for SLOW. A worker's sums are
// turned into instructions after every block of the grid (and now and then within long ones), held against the
// launch's limit, and added up when the worker is done. Nothing here depends on time or on the number of workers.
#pragma once
#include "scheduler.h"

void begin_totals(Run& run);              // once per launch
void begin_worker_totals(Worker& k);
void end_worker_totals(Worker& k);        // adds them to the launch's
void end_totals(Run& run);

// Instructions since the last time, by this worker's warps. Also whether the launch has had too many by now.
uint64_t account(Worker& k);
bool past_limit(const Run& run);
void attribute(Worker& k, BlockState& b);      // what was run since the last time is the block's work
void account_block(Worker& k, BlockState& b);  // when a block of the grid is done
[[noreturn]] void fail_limit(WarpState* w);
void describe_limit(Worker& k);

// What takes us time or memory beyond its instructions: that, too, is held against the limit. May not return: nothing
// that needs a destructor may be alive.
inline void charge(WarpState* w, uint64_t instructions) {
    if (!w->worker) return;
    Run& run = *w->worker->run;
    run.spent.fetch_add(instructions, std::memory_order_relaxed);
    if (past_limit(run)) fail_limit(w);
}

// The same for memory of a warp's own that is filled for it, where its launch cannot be ended yet.
inline void charge_filling(WarpState* w, uint64_t bytes) {
    constexpr uint64_t kBytesAnInstruction = 64;
    w->worker->run->spent.fetch_add(bytes / kBytesAnInstruction, std::memory_order_relaxed);
}

inline void count_execution(WarpState* w, uint32_t number, uint32_t lanes) {
    Worker& k = *w->worker;
    k.totals[number]++;
    k.idle[number] += kLanes - uint32_t(__builtin_popcount(lanes));
}
