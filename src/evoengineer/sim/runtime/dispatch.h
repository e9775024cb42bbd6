// Activations of functions in SLOW form: which lanes are to go on where.
#pragma once
#include "runtime.h"

enum class GroupStatus : uint8_t {
    kReady,     // to run the block (once members are there, if it starts with a warp-wide operation)
    kWaiting,   // at the barrier in front of the block
    kReleased,  // past that barrier
};

// Lanes that are to go on together at a block.
struct Group {
    uint32_t block;
    uint32_t lanes;
    uint32_t starved;     // dispatches in which it could have run and did not
    uint32_t ones, zeros; // kReleased: what the barrier collected
    uint8_t barrier;
    GroupStatus status;
};

struct Activation {
    Activation* parent;
    const Function* function_info;
    uint32_t function;    // index into Launch::functions
    uint32_t count;       // groups
    uint8_t* frame;
    uint64_t local_base;
    uint32_t local_bytes; // per lane
    uint64_t args;        // parameters of a called function, in local memory too
    uint32_t args_bytes;  // per lane
    uint32_t favoured;    // lanes that run first, to end a starvation
    uint32_t favour_left; // for so many dispatches
    uint32_t running;     // block that runs now, for messages
    uint32_t given_up;    // block at which FAST has just given up: it runs in SLOW once; or kNoBlock
    Group groups[2 * kLanes];  // a lane is in one; `meet` makes new ones before it drops empty ones
};

void remove_group(Activation& a, uint32_t index);
// The member mask that a lane gives to the operation at the block's start.
uint32_t members_of(const Activation& a, const BlockInfo& info, uint32_t lane);
// Runs a block in its SLOW form and sends the lanes where it says.
void run_block(WarpState* w, Activation& a, uint32_t block, uint32_t lanes);

// A new activation of a function for the warp as it is now; it has no lanes yet.
void start_activation(Activation& a, WarpState* w, uint32_t function, uint8_t* frame);
// Runs the lanes from the function's start until all have returned or ended.
void enter_function(WarpState* w, Activation& a, uint32_t lanes);

struct LocalRange { uint64_t start, bytes; };

// Whether `address` lies in the local area of the warp's fibre at all.
bool is_local(const WarpState* w, uint64_t address);
// The lane's own local memory that holds the address (any activation); false if none does.
bool find_local(const WarpState* w, uint32_t lane, uint64_t address, LocalRange* range);
// The lane's own range nearest to the address, for messages.
bool nearest_local(const WarpState* w, uint32_t lane, uint64_t address, LocalRange* range);

// Scalars of FAST to vectors of SLOW, and back if every value has the scalar's form (convert.cpp).
void expand_scalars(uint8_t* frame, const Conversion* list, uint32_t count);
bool collapse_vectors(uint8_t* frame, const Conversion* list, uint32_t count);
