// Fibres: the stacks that warps run on, and the switch between them.
//
// A fibre is a machine stack above a guard page. It is reserved, not committed: only touched pages cost
// memory. An abandoned fibre (its warp failed) is simply reset; nothing is ever unwound through compiled code.
#pragma once
#include <cstddef>
#include <cstdint>

struct Fibre {
    void* sp = nullptr;            // saved stack pointer while it does not run
    uint8_t* mapping = nullptr;
    uint8_t* stack_low = nullptr;  // lowest usable stack address
    uint8_t* stack_top = nullptr;
};

// Saves the callee-saved state on the current stack, stores the stack pointer to *save and goes on
// with the stack pointer `to`: a fibre's (enter), or the worker's own (leave).
extern "C" void fibre_enter(void** save, void* to);
extern "C" void fibre_leave(void** save, void* to);

bool fibre_create(Fibre& fibre);  // false when the system refuses

// The next switch to the fibre calls entry(argument) on a fresh stack; entry must never return.
// `mxcsr` is the floating-point control word that entry runs with.
void fibre_reset(Fibre& fibre, void (*entry)(void*), void* argument, uint32_t mxcsr);
