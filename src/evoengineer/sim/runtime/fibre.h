// Fibres: the stacks that warps run on, and the switch between them.
//
// A fibre owns one mapping: a guard page, the machine stack, then room for frames and local memory.
// All of it is reserved, not committed: only touched pages cost memory. An abandoned fibre (its warp
// failed) is simply reset; nothing is ever unwound through compiled code.
#pragma once
#include <cstddef>
#include <cstdint>

struct Fibre {
    void* sp = nullptr;            // saved stack pointer while it does not run
    uint8_t* mapping = nullptr;
    size_t mapping_bytes = 0;
    uint8_t* stack_low = nullptr;  // lowest usable stack address
    uint8_t* stack_top = nullptr;
    uint8_t* frames = nullptr;     // register files of activations, [frames, frames_end)
    uint8_t* frames_end = nullptr;
    uint8_t* locals = nullptr;     // local memory of activations, [locals, locals_end)
    uint8_t* locals_end = nullptr;
    uint8_t* local_shadow = nullptr;  // initialised bytes of the local area, once asked for
};

// Saves the callee-saved state on the current stack, stores the stack pointer to *save and goes on
// with the stack pointer `to`: a fibre's (enter), or the worker's own (leave).
extern "C" void fibre_enter(void** save, void* to);
extern "C" void fibre_leave(void** save, void* to);

// Maps a fibre whose frame and local areas are at least so large; false when the system refuses.
bool fibre_create(Fibre& fibre, size_t frame_bytes, size_t local_bytes);
void fibre_destroy(Fibre& fibre);
// Makes sure that there is a local_shadow.
void fibre_need_shadow(Fibre& fibre);

// The next switch to the fibre calls entry(argument) on a fresh stack; entry must never return.
// `mxcsr` is the floating-point control word that entry runs with.
void fibre_reset(Fibre& fibre, void (*entry)(void*), void* argument, uint32_t mxcsr);
