// What the files of the race check share. A race: two accesses to the same bytes by different threads of a
// launch, at least one writes, not both are atomic (or volatile, relaxed …), and nothing orders them.
//
// What orders two accesses:
//   within a block   a barrier of the whole block begins a new *phase*; within a phase, warp-wide operations
//                    and barriers of some threads join the vector clocks of their threads.
//   anywhere         a *release* (fence, then an atomic or volatile store) whose location another thread then
//                    *acquires* (an atomic whose result is used, a volatile or acquire load). Threads of one
//                    block join their vector clocks; between blocks, a vector of epochs per block tells how
//                    much of every other block it has seen. An epoch of a block ends at its fences.
// Writing a value that is there already does no harm and is no race.
#pragma once
#include <cstdint>
#include <vector>

#include "dispatch.h"
#include "scheduler.h"

// How an instruction orders memory; codegen/races.py passes it on.
enum Order : uint32_t {
    kStrong = 1,   // atomic, volatile, relaxed: two of them never race
    kAcquire = 2,  // sees what was released at its address
    kRelease = 4,  // releases what fences have covered
    kFencing = 8,  // .release, .acq_rel: a fence and a release in one
    kOfBlock = 16, // .cta: all this among the threads of a block only
};

// What is known of the values of a store: `count` vectors of 32 elements of `element` bytes.
struct Stored {
    const uint8_t* data = nullptr;
    uint32_t element = 0;
    // Byte `i` of what the lane stores.
    uint8_t byte(uint32_t lane, uint32_t i) const {
        return data[(uint64_t(i / element) * kLanes + lane) * element + i % element];
    }
};

struct SharedMark {
    uint32_t phase;   // 0 = none
    uint32_t time;    // on the clock of the thread
    uint32_t serial;  // instruction that did it
    uint32_t site;
    uint16_t thread;  // in the block
    uint16_t strong;
};

struct ByteMarks {
    SharedMark write;
    SharedMark reads[2];
};

// Among whom an access is strong.
enum Scope : uint16_t { kOfNobody, kOfCard, kOfItsBlock };

struct GlobalMark {
    uint32_t block;   // its turn in the launch + 1; 0 = none
    uint32_t epoch;   // of the block
    uint32_t phase, time, serial, site;
    uint16_t thread;
    uint16_t strong;  // Scope

    bool strong_with(const GlobalMark& other) const {
        return strong && other.strong && (block == other.block || (strong == kOfCard && other.strong == kOfCard));
    }
};

struct UndefinedReads;

struct RaceState {
    uint32_t phase = 0;   // never starts again, so that marks of earlier blocks are old
    uint32_t serial = 0;
    uint32_t threads = 0; // room for, a multiple of 32
    bool clocks_moved = false;   // since the phase began
    bool across_warps = false;   // also between warps
    std::vector<ByteMarks> bytes;
    std::vector<uint8_t> defined;            // bits of shared memory; checks_init.cpp
    UndefinedReads* undefined = nullptr;     // once there was one
    std::vector<uint32_t> clocks;  // [thread][of thread]
    std::vector<uint32_t> joined[kBarriers];
    // Between blocks.
    uint32_t block = 0;            // turn in the launch + 1
    uint32_t epoch = 1;
    uint32_t fenced = 0;           // epochs up to here are covered by a fence
    std::vector<uint32_t> seen;    // of block i (turn + 1): the last epoch that is ordered before us
    std::vector<uint32_t> fence_times;  // of each thread: its clock at its last fence, in this phase

    uint32_t* clock(uint32_t thread) { return clocks.data() + size_t(thread) * threads; }
};

inline void join_clocks(uint32_t* into, const uint32_t* from, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) into[i] = into[i] > from[i] ? into[i] : from[i];
}

// One lane's access to one space.
struct Touch {
    WarpState* w;
    uint32_t site, lane;
    uint64_t address, bytes;
    Access access;
    uint32_t order;
    const Stored* stored;           // null: values unknown
    const uint64_t* addresses;      // of all lanes, with `stored`
    uint32_t thread() const { return w->warp_index * kLanes + lane; }
    bool writes() const { return access != kLoad; }
    Scope strong() const {
        if (access != kAtomic && !(order & kStrong)) return kOfNobody;
        return order & kOfBlock ? kOfItsBlock : kOfCard;
    }
    // Does the store leave the byte at `at` as it is?
    bool keeps(uint64_t at) const {
        return stored && stored->byte(lane, uint32_t(at - address)) == *reinterpret_cast<const uint8_t*>(at);
    }
    // Does another lane of the same store give the byte at `at` the same value?
    bool agrees(uint32_t other_thread, uint64_t at) const {
        uint32_t other = other_thread % kLanes;
        return stored && stored->byte(lane, uint32_t(at - address)) ==
                             stored->byte(other, uint32_t(at - addresses[other]));
    }
};

struct OtherThread {
    uint32_t thread, site;
    uint64_t block;  // turn in the launch
    bool wrote, strong, at_once;
};
[[noreturn]] void fail_race(const Touch& t, uint64_t at, const OtherThread& other);

void begin_init_checks(RaceState& r, uint64_t shared_bytes);  // checks_init.cpp
void record_shared(const Touch& t);
void record_global(const Touch& t);  // checks_global.cpp
void forget_global();                // before each launch

// checks_sync.cpp. Ends of locations that were released in this block's shared memory: `forget_released`.
void acquire(WarpState* w, uint32_t lane, uint64_t address, bool whole_card);
void release(WarpState* w, uint32_t lane, uint64_t address, bool whole_card);
void fence(WarpState* w, uint32_t lanes, bool whole_card);
void forget_released(uint64_t start, uint64_t bytes);
void forget_all_released();
