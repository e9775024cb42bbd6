// Warp-wide operations whose members stand at different places of the code (exchange.cpp).
#pragma once
#include "runtime.h"

// Nothing else can run: has lanes at different operations of one kind do them together, if that makes
// their member masks complete.
bool exchange_across(WarpState* w, Activation& a);

// What an operation takes from each lane; members and values may be null.
struct Operands {
    const uint32_t* members;
    const void* values;
    uint32_t bytes;  // of a value
    uint32_t bits;   // predicates
    alignas(64) uint32_t all_members[kLanes];
    alignas(64) uint64_t all_values[kLanes];
};

// For an operation while WarpState::exchange is set: replaces this group's operands by those of all lanes
// that take part, and returns these lanes.
uint32_t exchange_operands(Warp* warp, uint32_t mask, Operands& o);
