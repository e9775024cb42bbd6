// What a warp keeps in memory besides what is shared: its register files and its threads' local memory.
#pragma once
#include <cstddef>
#include <cstdint>

// One mapping, reserved and not committed: only touched pages cost memory.
struct WarpMemory {
    uint8_t* mapping = nullptr;
    size_t mapping_bytes = 0;
    uint8_t* frames = nullptr;     // register files of activations, [frames, frames_end)
    uint8_t* frames_end = nullptr;
    uint8_t* locals = nullptr;     // local memory of activations, [locals, locals_end)
    uint8_t* locals_end = nullptr;
    uint8_t* local_shadow = nullptr;  // initialised bytes of the local area, once asked for
};

// Areas of at least that size in place of what there was; false when the system refuses.
bool warp_memory_reserve(WarpMemory& memory, size_t frame_bytes, size_t local_bytes);
// Makes sure that there is a local_shadow.
void warp_memory_need_shadow(WarpMemory& memory);
