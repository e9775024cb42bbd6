// The contract between JIT-compiled kernels (codegen/), the runtime (runtime/*.cpp) and Python
// (which fills Launch through ctypes). Every struct here is plain data with a fixed layout.
//
// How a kernel runs. A kernel is compiled in three forms that share one register file (a *frame*):
//   FAST  one function per kernel; all 32 lanes of a warp active, in lockstep; values that are the
//         same in all lanes, or linear in the lane, are kept as scalars.
//   SLOW  one function per basic block; every value is a 32-lane vector, lanes carry a mask. The
//         dispatcher (dispatch.cpp) picks which block runs next and for which lanes.
//   MASKED one function per *region*, what lies between a divergent branch and its join (codegen/regions.py):
//         blocks under a mask, in the order in which the dispatcher would run them, in the forms of FAST.
// A warp starts in FAST if all 32 lanes exist. Where lanes part at a branch that has a region, FAST calls
// it and goes on at the join. It leaves FAST at other branches (or where an instruction has no fast
// form), and returns at a block with a `fast_entry` once all lanes are together again and the values that
// FAST keeps as scalars are found to have that form.
#pragma once
#include <cstdint>

constexpr uint32_t kLanes = 32;
constexpr uint32_t kFullMask = 0xffffffffu;

struct Launch;

// What compiled code sees of a warp. Codegen addresses these fields by offset: keep abi.py in step.
struct Warp {
    uint64_t shared_base;      //   0  address of the block's shared memory
    uint64_t params;           //   8  address of the kernel's parameter buffer
    uint64_t symbols;          //  16  uint64_t[]: address of module variable i
    uint64_t caches;           //  24  Cache[]: one per memory site, private to this worker thread
    int64_t ticks;             //  32  counts down at loop back edges; below zero: call rt_tick
    uint64_t local_base;       //  40  local memory of this activation; lane i owns
                               //      [local_base + i * local_bytes, + local_bytes)
    uint64_t tids;             //  48  uint32_t[3][32]: tid.x, tid.y, tid.z of each lane
    uint32_t shared_bytes;     //  56
    uint32_t warp_index;       //  60  within the block
    uint32_t ctaid[3];         //  64
    uint32_t nctaid[3];        //  76
    uint32_t exist;            //  88  lanes that exist (blockDim may not be a multiple of 32)
    uint32_t live;             //  92  lanes that exist and have not exited
    uint32_t next_block[2];    //  96  successors, see BlockFn
    uint32_t next_mask[2];     // 104
    uint64_t clock;            // 112  simulated cycles of this warp; rt_tick and rt_clock advance it
    uint32_t reduced;          // 120  result of the last bar.red
    uint32_t site;             // 124  for messages of rt_tick and of functions that are given no site
    uint32_t lane_next[32];    // 128  successor of each lane, for indirect branches
    uint64_t args;             // 256  in a called function: its parameter area, see Function
    uint64_t results;          // 264  in a called function: its return area
    uint64_t totals;           // 272  uint64_t[]: how often this worker's warps have run each block of each function
    uint64_t idle;             // 280  the same for lanes that took no part
    uint32_t rounds;           // 288  a region that hands over: blocks that it has run
    uint32_t entry;            // 292  of FAST, where the warp goes on when it is at rest
    uint8_t* frame;            // 296  the kernel's register file
    // Fields past this point belong to the runtime (see WarpState in runtime.h).
};

// Return value of a block function or of FAST: where the lanes in the mask go.
enum Next : int32_t {
    kExit = 0,     // they leave the function (for a kernel: exit)
    kOne = 1,      // all to next_block[0]
    kTwo = 2,      // next_mask[i] to next_block[i]; together they are the mask given
    kScatter = 3,  // lane i to lane_next[i]
    kExitThread = 4,  // `exit` inside a called function: they end for good
    kJoined = 5,   // of a region: all lanes are at its join
    kBarrier = 6,  // of FAST: the warp waits at a barrier and no other may go on (rt_barrier)
};

using BlockFn = int32_t (*)(Warp*, uint8_t* frame, uint32_t mask);
// FAST: runs from fast entry `entry` (0 is the kernel's start). kOne/kTwo mean "go on in SLOW there". At a barrier it
// goes on with the warp that rt_barrier names, from that warp's own `entry`: the last one of these is who has come to an
// end (Worker::now).
using FastFn = int32_t (*)(Warp*, uint8_t* frame, uint32_t entry);

enum BlockFlags : uint32_t {
    kBlockWarpSync = 1,   // starts with an instruction that waits for the lanes of a member mask
    kBlockBarrier = 2,    // has a bar/barrier at its head: it is performed before the block's function is called, or
                          // FAST at the block's entry
    kBlockExitOnly = 4,   // does nothing but ret/exit: lanes that go there are gone at once
    kBlockMemberSlot = 8, // `member` is the frame offset of uint32_t[32]; else it is the mask itself
    kBlockIdSlot = 16,    // the same for barrier_id
    kBlockCountSlot = 32, // the same for barrier_count
    kBlockBackEdge = 64,  // target of a back edge (loop header)
    kBlockMeeting = 128,  // with kBlockWarpSync: bar.warp.sync, members may be at different ones
    kBlockWaits = 256,    // part of a loop that only waits (codegen/waiting.py)
};

enum BarrierKind : uint32_t { kBarSync = 0, kBarArrive = 1, kBarRedPopc = 2, kBarRedAnd = 3, kBarRedOr = 4 };

// How a live-in value that FAST keeps as scalars maps to its SLOW vector, and back.
struct Conversion {
    uint32_t scalar_offset;  // frame offset of `segments` scalars of `bytes` bytes each
    uint32_t vector_offset;  // frame offset of 32 values of `bytes` bytes; predicates: one uint32_t mask
    uint8_t bytes;           // 0 predicate (scalar: one byte, 0 or 1), 1, 2, 4, 8
    uint8_t segments;        // 1, 2, 4, 8: lane i = scalar[i / L] + steps[i], L = 32 / segments
    uint16_t reserved;
    uint32_t reserved2;
    const int64_t* steps;    // 32 of them
};

struct BlockInfo {
    BlockFn fn;              // null until first needed: the dispatcher then calls Launch::compile
    uint32_t flags;
    int32_t fast_entry;      // entry number of FAST for this block, or -1
    uint32_t first_conversion, conversions;  // into Function::conversions; the block's live-ins
    uint32_t member;         // kBlockWarpSync: member mask, or slot; kBlockBarrier: its source line, hashed, or 0
    uint32_t barrier_id;     // kBlockBarrier: number, or slot
    uint32_t barrier_count;  // threads expected, 0 = all of the block; or slot
    uint32_t barrier_kind;
    uint32_t barrier_pred;   // kBarRed*: frame offset of the predicate (one uint32_t mask)
    uint32_t site;           // for messages: source position of the first instruction
    BlockFn count_fn;        // the form that reports its accesses (count.h); null until first needed
    uint32_t instructions;   // of PTX
    uint32_t idles;          // of a loop that only waits: its rounds are no work
    BlockFn region_fn;       // of a divergent branch: runs both sides under a mask (codegen/masked.py); null until needed
};
// Added to the block number given to Launch::compile: which of its functions is wanted.
constexpr uint32_t kCountForm = 0x80000000u, kRegionForm = 0x40000000u;

// Launch::functions[0] is the kernel, the others are device functions that may be called.
// A call passes arguments lane-major: lane i's parameters are at args + i * param_bytes, laid out as
// PTX does; results likewise.
struct Function {
    BlockInfo* blocks;
    Conversion* conversions;
    const uint64_t* reach;   // block_count rows of reach_words: bit j of row i = j reachable from i
    FastFn fast;             // kernel only; may be null (then everything runs in SLOW)
    uint32_t block_count;
    uint32_t reach_words;
    uint32_t frame_bytes;    // multiple of 64; frames are 64-byte aligned
    uint32_t local_bytes;    // per lane
    uint32_t param_bytes;    // per lane (called functions)
    uint32_t result_bytes;   // per lane (called functions)
    uint32_t first_count;    // number of its first block among all blocks of all functions
    uint32_t reserved;
};

enum Space : uint8_t { kGeneric = 0, kGlobal = 1, kShared = 2, kLocal = 3, kConst = 4, kParam = 5 };
enum Access : uint8_t {
    kLoad = 0, kStore = 1, kAtomic = 2, kNoAccess = 3,
    kWaitLoop = 4,  // no access either: a branch back into a loop that only waits (codegen/waiting.py)
};

// A place in the program that may fail. Python knows its source line and text.
struct Site {
    uint32_t bytes;   // per lane
    uint8_t align;    // in bytes
    uint8_t space;    // Space
    uint8_t access;   // Access
    uint8_t lanes;    // that one inline check of FAST covers: per-lane checks must leave room for them
};

// Inline bounds check: an access at `a` is good if rotr(a - base, log2(align)) <= last, unsigned.
// (A misaligned address rotates into a huge number.) `last` = (length - span) >> log2(align), where
// span is what the site touches at once from `a`. The initial state misses: base = ~0, last = 0.
struct Cache { uint64_t base, last; };

enum LaunchFlags : uint32_t {
    kUsesBarrier = 1,     // warps of a block wait for each other
    kOrdered = 2,         // result depends on the order of blocks (atomics with results, volatile …):
                          // one worker, blocks in ascending order
    kSpins = 4,           // may wait for other warps or blocks in a loop: rt_tick yields, often;
                          // when every resident block only spins, further blocks become resident
    kCooperative = 8,     // all blocks resident at once; grid barrier available
    kFlushDenormals = 16, // set FTZ and DAZ while compiled code runs
    kCheckAccess = 32,    // code was compiled with rt_access at every memory site
    kCheckRace = 64,
    kCheckInit = 128,
    kSampledOnly = 256,   // of the grid, run only the blocks in Launch::chosen
    kReversed = 512,      // the last block of the grid comes first, and of a block the last warp
    kShares = 1024,       // blocks share work out among themselves, by a counter that they ask in a loop: as many
                          // as fit on the card are resident from the start, as the first would else take it all
    kRehearsal = 2048,    // what it does will be undone: it prints nothing
};

enum ErrorCode : uint32_t {
    kNoError = 0,
    kOutOfBounds, kMisaligned, kFreed, kUninitialised, kRace, kBarrierDivergence, kDeadlock,
    kMissingMembers, kInstructionBudget, kWallLimit, kTrap, kAssert, kStackOverflow, kInvalidCall,
    kIllegalInstruction, kWriteToConst, kInvalidFree, kUnsupported,
};

struct ErrorRecord {
    uint32_t code;             // ErrorCode
    uint32_t function;         // index into Launch::functions
    uint32_t site;
    uint32_t access;           // Access
    uint32_t space;            // Space the address lies in (resolved for generic accesses)
    uint32_t ctaid[3];
    uint32_t tid[3];           // of the first offending lane
    uint32_t lanes;            // mask of offending (or waiting, or missing) lanes
    uint32_t other_tid[3];     // race: the other thread
    uint32_t other_site;       // race: its site
    uint64_t address;
    uint64_t bytes;
    uint64_t allocation;       // nearest allocation: start, size, state (see memory.h), 0 if none
    uint64_t allocation_bytes;
    uint32_t allocation_state;
    uint32_t other_ctaid[3];   // race: the other thread's block
    char text[512];            // further detail, plain English
};

// Undefined bits that a launch put into device memory (--check init): whose, and where they had been read.
struct UndefinedNote {
    uint64_t address, bytes;
    uint32_t site;             // of the store
    uint32_t read_site;        // of the thread's latest read of undefined bits, ~0 = none
    uint32_t function;
    uint32_t ctaid[3];
    uint32_t tid[3];
    uint32_t reserved;
};

struct Busy { uint64_t block, instructions; };  // a block of the grid, and what its warps ran
constexpr uint32_t kBusiest = 8;

struct Launch {
    Function* functions;
    Site* sites;
    uint8_t* params;
    uint64_t* symbols;
    void (*compile)(uint32_t function, uint32_t block);  // fills BlockInfo::fn; any worker may call
    uint32_t function_count;
    uint32_t site_count;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;     // static + dynamic
    uint32_t flags;
    uint32_t threads;
    uint32_t max_resident;     // blocks that may be resident at once (kSpins, kCooperative)
    uint64_t instruction_limit;  // of all warps together before kInstructionBudget; 0 = none
    double wall_limit_seconds; // 0 = none
    const uint64_t* samples;   // blocks to be counted, ascending; see count.h
    uint32_t sample_count;
    uint32_t count_total;      // blocks of all functions
    const uint8_t* count_bytes;  // per site: bytes per lane of the machine instruction, 0 = merged away; see count.cpp
    uint64_t trace_limit;      // accesses kept per warp, for the cache model
    uint64_t clock_start;      // simulated cycles when the launch starts
    const uint64_t* chosen;    // kSampledOnly: the blocks to run, in this order, the samples among them
    uint64_t chosen_count;
    // Numbers drawn from this are what shared and local memory and registers hold that nobody has written; 0: zeros, or
    // what was there.
    uint64_t noise;
    uint32_t zeroed_start;     // shared memory that the system keeps for itself: zeros when a block starts
    uint32_t zeroed_bytes;
    // Out: what every block of the grid did, counted or not (totals.h).
    uint64_t* totals;          // executions by warps, of each block of all functions (count_total of them)
    uint64_t* total_lanes;     // the same by lanes
    uint64_t instructions;     // of PTX, by warps
    Busy busiest[kBusiest];    // the blocks of the grid with the most instructions, most first
    ErrorRecord error;         // out; code kNoError when the launch went well
};
