// Device memory that the candidate's tensors live in.
//
// Each block may carry guard bands, is poisoned before the candidate sees it, and is never handed out twice
// within one call: what a call releases becomes usable again only after `settle`, outside the timed region, with
// fresh poison. The runner is the only user of these functions; a candidate reaches them through EvoHost.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "evo/abi.h"

struct AllocationPolicy {
    size_t guard_bytes = 256;  // in front of and behind each block; 0 where the device checks bounds itself
    bool poison = true;        // fill with all-ones bytes: NaN in every floating-point format
    bool reuse = true;         // keep released blocks; false: give them back, so that every block is new
};

struct GuardDamage {
    std::string what;  // "argument 2", "allocation of 4096 bytes"
    bool before;       // in front of the block, or behind it
    size_t distance;   // bytes from the block's edge to the nearest damage
};

void set_policy(const AllocationPolicy& policy);

EvoStorage* allocate_storage(size_t bytes, int32_t device_type, EvoError* error);
EvoStorage* adopt_storage(void* data, size_t bytes, int32_t device_type, void (*destroy)(void*, void*), void* closure);
void retain_storage(EvoStorage* storage);
void release_storage(EvoStorage* storage);
void name_storage(EvoStorage* storage, const std::string& name);

// Between calls: released blocks are checked, poisoned and made available again.
void settle();
// Damage found since the last time, over all live and settled blocks.
std::vector<GuardDamage> take_damage();
