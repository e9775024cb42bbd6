// What the client knows about memory: who owns an address, and where copies may go.
#pragma once
#include "client.h"

enum class Where {
    kPageable,    // the program's own memory: goes through the staging area
    kHostArena,   // pinned or managed: both processes see it at the same address
    kRegistered,  // cudaHostRegister: seen by the device at another address, see device_address
    kDevice,
};

struct Allocation {
    uint64_t bytes = 0;
    uint32_t kind = kDeviceMemory;  // AllocationKind
    unsigned flags = 0;
    bool variable = false;      // a __device__ variable or registered memory: not for cudaFree
    bool graph_owned = false;   // made by a graph's allocation node: lives as long as the graph
};

struct Place {
    Where where;
    uint64_t device_address;  // what the device process calls it (not for kPageable)
    uint64_t left;            // bytes from here to the end of the allocation
    bool managed;
};

// Classifies an address. False: an address of the device's or the shared arena without allocation.
bool locate(const void* address, Place* place);
// The allocation that holds the address, or null. `start` receives where it begins.
const Allocation* find_allocation(uint64_t address, uint64_t* start);
const Allocation* nearest_allocation(uint64_t address, uint64_t* start);

int allocate(uint64_t bytes, uint32_t kind, unsigned flags, void** address);
int release(void* address, bool host);
void mark_graph_owned(void* address);
int release_graph_owned(void* address);
void note_variable(uint64_t address, uint64_t bytes);
void forget_variable(uint64_t address);
void forget_all_memory();
