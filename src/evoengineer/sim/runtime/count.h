// Counting what sampled blocks of a launch do, for the timing model.
//
// A block whose index is in Launch::samples runs in SLOW only, in the form that reports every access
// (BlockInfo::count_fn). Its executions of basic blocks, its accesses per site and a bounded trace of its
// sectors go into a Counted of its own, so that nothing depends on which worker runs it, or when.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime.h"
#include "sectors.h"

enum TraceKind : uint8_t { kTraceLoad = 0, kTraceBypass = 1, kTraceStore = 2, kTraceAtomic = 3, kTraceLocalLoad = 4,
                           kTraceLocalStore = 5, kTraceKinds = 6 };

// Per site; Python mirrors it.
struct SiteCount {
    uint64_t requests[4];   // warp instructions by where they went: global, shared, local, elsewhere
    uint64_t lanes;         // active lanes
    uint64_t sectors;       // 32-byte sectors of global and local requests
    uint64_t lines;         // 128-byte lines of them
    uint64_t wavefronts;    // of shared requests
    uint64_t least;         // wavefronts that the same shared requests need without conflicts
    uint64_t serial;        // summed over requests: lanes at an atomic's busiest address, words of constant memory
    int64_t stride;         // bytes between the first two active lanes of the first request
    uint64_t traced;        // sectors in the trace
    uint64_t queue;         // of compare-and-swaps: those that must follow one another, at the busiest word of the block
};

struct Access4 {            // one request in the trace
    uint64_t time;          // instructions that the warp had run
    uint32_t first;         // into Counted::sectors
    uint32_t site;
    uint16_t warp;
    uint8_t count;
    uint8_t kind;           // TraceKind
};

// Atomics that the machine does by comparing and swapping: in a loop of its own, or as the program says.
enum Swap : uint8_t { kNoSwap, kRetriedSwap, kOwnSwap };

struct AtomicLine {         // atomics in one line of memory; Python mirrors it
    uint64_t sectors;       // of warps whose lanes have several addresses in it, none of them crowded
    uint64_t same;          // lanes that come to one address in turn: integers
    uint64_t same_floats;   // the same: floating-point numbers
    uint64_t swaps;         // at its busiest word: compare-and-swaps of the program's own that may succeed
};

// The last shared request of a site: how lanes lie to each other, and what that takes. Where the whole request lies makes
// no difference, and requests of a site are nearly always alike.
struct SharedPattern {
    uint32_t lanes = 0, bytes = 0, phase = 0;  // the phase: of the first lane's address within a bank
    uint32_t wavefronts = 0, least = 0;
    uint32_t from_first[kLanes];               // of active lanes; 0 of the others
};

struct Counted {
    uint64_t index = 0;     // linear index of the block in the grid
    uint32_t warps = 0, blocks = 0;
    std::vector<uint32_t> executions;   // [warp][block of any function]
    std::vector<uint64_t> lanes;        // [block]
    std::vector<SiteCount> sites;
    std::vector<Access4> trace;
    std::vector<uint64_t> sectors;
    std::vector<uint64_t> traced;       // [warp] requests so far
    SectorMap<uint8_t> beyond;          // after the trace was full: bit 0 read, bit 1 written; a footprint goes on
    std::unordered_map<uint64_t, AtomicLine> atomics;  // by line of 128 bytes
    std::unordered_map<uint64_t, uint64_t> swaps;      // by word and site: compare-and-swaps that follow one another
    std::vector<SharedPattern> patterns;               // [site]
};

// The record of the sampled block, or null. `begin_counting` empties all records.
void begin_counting(const Launch& launch);
Counted* counted_of(const Launch& launch, uint64_t index);
const std::vector<Counted>& counted_blocks();
uint32_t counting_threads();  // of the launch that was counted, at least one

void count_block(WarpState* w, uint32_t number, uint32_t instructions, uint32_t lanes);
void count_access(WarpState* w, uint32_t site, uint32_t lanes, const uint64_t* addresses, uint32_t bytes, Access access,
                  bool bypass, bool floats = false, Swap swap = kNoSwap);

// Is the warp's block sampled? Without a warp the operation alone is tried.
inline bool counting(Warp* w) { return w && state(w)->block->counted; }

// The same for a site as it is described (and as ptxas has changed it); nothing unless the block is sampled.
void count_site(WarpState* w, uint32_t site, uint32_t mask, const uint64_t* addresses);

extern "C" void rt_counted(Warp*, uint32_t site, uint32_t mask, const uint64_t* addresses);
