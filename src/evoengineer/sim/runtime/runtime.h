// What the files of the runtime share: the state of warps, blocks and workers of a launch.
//
// Compiled code sees only `Warp` (abi.h); every Warp* that reaches an rt_ function is a WarpState*.
// A launch is run by workers (host threads). A worker holds one or more resident blocks. Their warps take turns on
// one fibre as long as they stop at barriers in FAST: all that they are is in memory then. A warp that has to wait in
// the middle of anything else keeps the fibre, and the others go on with another one.
#pragma once
#include "abi.h"
#include "fibre.h"
#include "memory.h"
#include "warp_memory.h"

struct Activation;
struct Counted;
struct BlockState;
struct RaceState;
struct Run;
struct Worker;

constexpr uint32_t kNoSite = 0xffffffffu;
constexpr uint32_t kNoBlock = 0xffffffffu;
constexpr uint32_t kBarriers = 16;
constexpr uint32_t kMaxWarps = 32;  // of a block

enum class WarpStatus : uint8_t { kRunnable, kSpinning, kWaiting, kDone };

struct WarpState : Warp {
    Worker* worker;
    BlockState* block;
    Activation* activation;    // innermost SLOW activation; null if FAST has not left yet
    Fibre* fibre;              // that it is in the middle of something on; null: it is at rest
    WarpMemory* memory;
    uint8_t* frames_top;       // free part of the frame area
    uint8_t* locals_top;       // free part of the local area
    int64_t ticks_given;       // what `ticks` was set to at the last rt_tick
    uint64_t counted_time;     // of a sampled block's warp: instructions so far (count.h)
    uint32_t bulk_groups[kLanes];  // ops_bulk.cpp: groups that each lane has committed
    void* async;               // ops_async.cpp: copies under way; rt_async_finish gets rid of it
    uint32_t fast_wait;        // barrier that FAST waits at + 1, 0 = none
    uint32_t fast_kind;        // of that barrier (BarrierKind)
    struct Exchange* exchange; // exchange.cpp: an operation that lanes elsewhere take part in
    uint32_t barrier_line;     // of the barrier it came to last (BlockInfo::member), 0 = none
    uint32_t spins;            // slices in a row that ended in rt_tick or rt_yield
    uint32_t wait_site;        // of the loop that it waits in (kWaitLoop), or kNoSite
    uint32_t waited;           // calls of rt_tick in a row from there
    WarpStatus status;
};

struct Barrier {
    uint32_t arrived;          // threads so far
    uint32_t count;            // as asked for by the first to arrive; 0 = all of the block
    uint32_t generation;       // completed so far
    uint32_t ones, zeros;      // predicates seen by bar.red
    uint32_t warps;            // warps with threads waiting here
    uint32_t block;            // where the first thread arrived: block number of the kernel,
                               // or kNoBlock in a called function
    uint32_t site;             // the same, for messages
    bool one_way;              // some only arrived (bar.arrive) and do not wait
    uint32_t seen[kMaxWarps];  // per warp, lanes of an incomplete arrival (counted barriers)
};

// Threads that have exited, by the last block that they ran (barrier divergence, see barrier.cpp).
struct ExitMark { uint32_t block, warp, lanes, barrier_line; };
constexpr uint32_t kExitMarks = 32;

struct BlockState {
    Worker* worker;
    uint64_t index;            // linear index among the blocks to run, which is mostly the grid
    uint32_t ctaid[3];
    uint32_t warp_count;
    uint32_t threads;          // that exist
    uint32_t live;             // threads that have not exited
    uint32_t running;          // warps that are not done
    uint32_t turn;             // of the warps in turn, the one that runs, or is to run next
    uint32_t used_barriers;    // bit set of barriers to reset before the next block
    uint32_t exit_marks;
    void* bulk;                // ops_bulk.cpp: copies that nobody has waited for yet
    uint64_t work;             // instructions of its warps so far, as far as they are attributed (totals.h)
    bool active;
    uint8_t* shared;
    uint64_t shared_room;      // bytes mapped there
    WarpState* warps;
    WarpMemory* memories;
    RaceState* races;          // checks.cpp
    Counted* counted;          // count.h; null unless the block is sampled
    Barrier barriers[kBarriers];
    ExitMark exits[kExitMarks];
};

// May it run?
inline bool can_run(const WarpState& w) { return w.status != WarpStatus::kWaiting && w.status != WarpStatus::kDone; }

inline WarpState* state(Warp* w) { return static_cast<WarpState*>(w); }

// Fills the error record and leaves the fibre for good. The first three name what the text is about.
[[noreturn]] void fail(WarpState* w, uint32_t code, uint32_t site, uint32_t lanes, const char* format,
                       ...) __attribute__((format(printf, 5, 6)));
// The same for a bad access: finds out what lies at `address`.
[[noreturn]] void fail_access(WarpState* w, uint32_t code, uint32_t site, uint32_t lanes,
                              uint64_t address, uint64_t bytes, Access access);

const Launch& launch_of(const WarpState* w);
uint64_t block_index(const WarpState* w);

// Bounds (and, if asked for, race and initialisation) checks of `bytes` bytes per lane, for
// operations whose access is not described by their site alone. Does not return on error.
void check_lanes(WarpState* w, uint32_t site, uint32_t lanes, const uint64_t* addresses,
                 uint32_t bytes, Access access);
// The same for one lane.
void check_lane(WarpState* w, uint32_t site, uint32_t lane, uint64_t address, uint64_t bytes,
                Access access);
// For operations on whole lines (--check init): replaces addresses by those of their undefined bits, copied to `room`;
// whether there are any. And the reverse: `undefined` may be null. (checks_init.cpp)
bool undefined_lines(WarpState* w, uint32_t site, uint32_t mask, uint64_t* addresses, uint32_t bytes, uint8_t* room);
void define_lines(WarpState* w, uint32_t site, uint32_t mask, const uint64_t* addresses, uint32_t bytes,
                  const uint8_t* undefined);
// A copy of `take` bytes; the rest of `bytes` becomes defined.
void copy_defined(WarpState* w, uint64_t to, uint64_t from, uint32_t take, uint32_t bytes);
// Memory that changes hands: earlier accesses to it do not count in the race check (checks_global.cpp).
void race_forget(uint64_t start, uint64_t bytes);

extern "C" {
// Called by compiled code; each group is in the file named.
int32_t rt_launch(Launch*);                                                    // scheduler.cpp
void rt_tick(Warp*);
void rt_yield(Warp*);
uint64_t rt_clock(Warp*);
void rt_check1(Warp*, uint32_t site, uint64_t address, uint64_t span);         // bounds.cpp
void rt_checkv(Warp*, uint32_t site, uint32_t mask, const uint64_t* addresses);
void rt_access(Warp*, uint32_t site, uint32_t mask, const uint64_t* addresses);  // checks.cpp
void rt_access_ordered(Warp*, uint32_t site, uint32_t mask, const uint64_t* addresses, uint32_t order);
void rt_access_store(Warp*, uint32_t site, uint32_t mask, const uint64_t* addresses, uint32_t order,
                     const uint8_t* data, uint32_t element);
void rt_fenced(Warp*, uint32_t mask, uint32_t whole_card);
void rt_undefined_load(Warp*, uint32_t site, uint32_t mask, const uint64_t* addresses, uint8_t* out,
                       uint32_t element, uint32_t count);                      // checks_init.cpp
void rt_undefined_used(Warp*, uint32_t site, uint32_t lanes, uint32_t use, const uint32_t* sites, uint32_t count);
Warp* rt_barrier(Warp*);                                                      // barrier.cpp
int32_t rt_region(Warp*, uint8_t* frame, uint32_t branch, uint32_t taken);      // dispatch.cpp
void rt_call(Warp*, uint32_t mask, uint32_t function, const uint8_t* args, uint8_t* results,
             uint32_t site);                                                   // dispatch.cpp
void rt_call_indirect(Warp*, uint32_t mask, const uint64_t* targets, const uint8_t* args,
                      uint32_t param_bytes, uint8_t* results, uint32_t result_bytes, uint32_t site);
[[noreturn]] void rt_fail(Warp*, uint32_t code, uint32_t site, uint32_t mask, const char* text);
void rt_warp_synced(Warp*, uint32_t mask);  // lanes in mask have synchronised (race check)

// Hooks that other files may define; absent ones are skipped.
void rt_async_finish(Warp*) __attribute__((weak));   // last lane has exited and Warp::async is set
void rt_output_begin(Launch*) __attribute__((weak)); // before and after the blocks of a launch
void rt_output_end(Launch*) __attribute__((weak));
}
