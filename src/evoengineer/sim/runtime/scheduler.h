// A launch under way (Run) and the host threads that carry it out (Worker). Private to the core of
// the runtime; operations need runtime.h only.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime.h"

// One launch, shared by its workers.
struct Run {
    Launch* launch;
    uint64_t blocks;                // of the grid
    uint64_t chunk;                 // blocks a worker takes at a time
    std::atomic<uint64_t> next{0};  // first block that nobody has taken
    std::atomic<uint64_t> stop{~0ull};  // lowest block that failed: higher ones need not run
    std::atomic<uint32_t> resident{0};
    uint32_t workers;
    uint32_t warp_count;            // of a block
    uint32_t block_threads;
    uint32_t mxcsr;
    int64_t first_quantum;          // Warp::ticks of a warp that starts
    bool spins;                     // kSpins or kCooperative: warps yield, blocks become resident
    bool probing = false;           // to see whether all that is left only waits: warps yield at every back edge
    bool moved = false;             // since then, some lanes have left their loop
    bool solo;                      // no warp ever waits: all share the worker's one fibre
    double deadline;                // on the monotonic clock; 0 = none
    std::atomic<uint64_t> spent{0}; // instructions so far (totals.h)
    std::vector<uint32_t> sizes;    // instructions of each block of all functions
    std::vector<uint32_t> idling;   // those of loops that only wait
    std::vector<Busy> busiest;      // of all workers
    std::mutex mutex;               // guards the error record
    std::mutex compiling;
    std::vector<uint32_t> tids;     // [warp][3][32]
    std::vector<uint32_t> exist;    // [warp]
};

// Why a fibre handed control back to its worker.
enum class Request : uint8_t {
    kTurns,    // it has nothing to do: the warp whose turn it is has a fibre of its own, or all have had their turn
    kFailed, kYield, kWait,  // the warp that runs has failed, lets others run, waits
    kService,
};

struct Backoff {
    uint16_t skip;   // attempts to leave out
    uint8_t shift;
};

constexpr uint32_t kRecent = 8;

// A host thread's part in launches; lives as long as the process.
struct Worker {
    Run* run = nullptr;
    Launch* launch = nullptr;
    void* native_sp = nullptr;      // the thread's own stack while a fibre runs
    Request request = Request::kTurns;
    Fibre* running = nullptr;       // the fibre that runs, or ran last
    WarpState* now = nullptr;       // the warp that runs, or ran last
    std::vector<Fibre*> free_fibres;
    void (*service)(Worker&, void*) = nullptr;  // to be called on the thread's own stack
    void* service_argument = nullptr;
    ErrorRecord record;             // of the warp that failed last
    std::vector<Cache> caches;
    std::vector<Backoff> backoff;   // per block of the kernel: returns to FAST that did not work out
    std::vector<BlockState*> residents;  // pool; a launch uses the first few
    std::vector<BlockState*> free_blocks, active;
    Allocation recent[kRecent];     // allocations looked up lately
    uint32_t recent_next = 0;
    uint64_t recent_generation = 0;
    std::vector<uint64_t> totals, idle;  // per block of all functions: executions, and lanes that took no part
    uint64_t accounted = 0;         // instructions that Run::spent has of it
    uint64_t worked = 0;            // the same without rounds of loops that only wait
    uint64_t attributed = 0;        // of these: known to be some block's
    std::vector<Busy> busiest;
};

std::atomic<uint64_t>& begun_blocks();  // of the launch under way: for whoever wants to know how far it is

double monotonic_seconds();
bool past_deadline(const Run& run);
void describe_late(WarpState* w);

void work(Worker& k, Run& run);  // scheduler.cpp

// blocks.cpp
BlockState* prepare_block(Worker& k, size_t index);  // for the launch; null when memory is refused
void place_block(BlockState& b, const Launch& launch, uint64_t index);
void begin_block(BlockState& b, const Launch& launch);
void begin_warp(WarpState& w, const BlockState& b, const Launch& launch);

// Leaves the fibre, which is the warp's own from now on; returns when the worker resumes it (never after kFailed).
void leave(WarpState* w, Request request);
// Runs `service` on the worker's own stack, which has room for anything and default arithmetic.
void on_native_stack(WarpState* w, void (*service)(Worker&, void*), void* argument);

// Fills the worker's error record for a warp (report.cpp).
void describe(WarpState* w, uint32_t code, uint32_t site, uint32_t lanes);
// The same for an access: also what lies at `address`.
void describe_access(WarpState* w, uint32_t code, uint32_t site, uint32_t lanes, uint64_t address, uint64_t bytes,
                     Access access);
void describe_text(WarpState* w, const char* format, ...) __attribute__((format(printf, 2, 3)));

// The next warp of the block that can run in this turn of all; null if there is none.
inline WarpState* next_in_turn(BlockState& b) {
    for (; b.turn < b.warp_count; b.turn++) {
        WarpState* w = &b.warps[b.worker->launch->flags & kReversed ? b.warp_count - 1 - b.turn : b.turn];
        if (can_run(*w)) return w;
    }
    return nullptr;
}

// The warp needs its fibre no longer: all that it is is in memory.
inline void come_to_rest(WarpState* w) {
    w->fibre = nullptr;
    w->spins = w->waited = 0;
}

// dispatch.cpp: runs the warp, from its start or from where it rests, and in FAST those that follow it in turn, until
// one of them, Worker::now, has ended; false: until it waits at a barrier and no other can go on in FAST.
bool run_warp(WarpState* w);

// barrier.cpp
struct Arrival {
    uint32_t id, count, kind;
    uint32_t lanes, predicate;   // of bar.red
    uint32_t block, site;        // block of the kernel (or kNoBlock), and its site
};
void begin_barriers(BlockState& block);
// Counts lanes in. Whoever waits must be marked as waiting before: the last one to come lets go.
void barrier_arrive(WarpState* w, const Arrival& arrival);
uint32_t barrier_result(uint32_t kind, uint32_t ones, uint32_t zeros);
// Lanes end for good; `last_block` is the last block of the kernel that they ran, or kNoBlock.
void exit_lanes(WarpState* w, uint32_t lanes, uint32_t last_block);
uint32_t lanes_waiting(const WarpState* w, uint32_t id);
void describe_deadlock(BlockState& block);

// calls.cpp: gives every lane's part of `bytes` bytes of local memory another content.
void fill_local(WarpState* w, uint64_t base, uint32_t bytes, uint64_t seed);

// checks.cpp
void begin_launch_checks();
void begin_checks(BlockState& block);                     // before a block's warps start
void begin_local_checks(WarpState* w, uint64_t base, uint64_t bytes, bool defined);  // checks_init.cpp
void begin_instruction(WarpState* w);                     // accesses of one instruction do not race
void record_access(WarpState* w, uint32_t site, uint32_t lane, uint64_t address, uint64_t bytes,
                   Access access);                        // after the bounds check
void race_barrier_arrived(WarpState* w, uint32_t id, uint32_t lanes);
void race_barrier_released(BlockState& block, uint32_t id, bool everybody);
