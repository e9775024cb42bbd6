// Device and host-visible memory: two arenas at fixed addresses, and the table of allocations that
// every bounds check goes by. Addresses handed out are addresses in this process.
#pragma once
#include <cstddef>
#include <cstdint>

constexpr uint64_t kDeviceArena = 0x300000000000ull, kDeviceArenaBytes = 1ull << 44;
constexpr uint64_t kHostArena = 0x200000000000ull;
constexpr uint64_t kStagingBytes = 64ull << 20;  // start of the host arena, used for copies
constexpr uint64_t kFunctionBase = 0x100000000000ull;  // address of function i: base + 16 * i

enum AllocationKind : uint32_t {
    kKindNone = 0,
    kKindDevice = 1,
    kKindManaged = 2,
    kKindPinned = 3,
    kKindHeap = 4,      // malloc in a kernel
    kKindSymbol = 5,    // module variable
    kKindConstant = 6,  // module variable in constant memory: kernels may not write it
    kKindArray = 7,     // texture or surface array: plain loads and stores may not touch it
};

enum AllocationState : uint32_t { kStateNone = 0, kStateLive = 1, kStateFreed = 2 };

struct Allocation {
    uint64_t start;
    uint64_t bytes;     // as asked for
    uint32_t state;     // AllocationState
    uint32_t kind;      // AllocationKind
};

// Finds the allocation (live or freed) that holds `address`; false when there is none.
bool memory_find(uint64_t address, Allocation* out);
// The allocation nearest to `address`, for messages; false when nothing was ever allocated there.
bool memory_nearest(uint64_t address, Allocation* out);
// Changes whenever an allocation appears or goes (kernel heap apart), so that copies can be cached.
uint64_t memory_generation();

inline bool in_device_arena(uint64_t address) { return address - kDeviceArena < kDeviceArenaBytes; }
inline bool in_host_arena(uint64_t address) { return address - kHostArena < (1ull << 44); }

// Tracking of initialised memory (--check init): one shadow byte per byte of device memory, its bits set
// where they are defined; null while tracking is off, or for an address that is not tracked.
uint8_t* memory_shadow(uint64_t address);

extern "C" {
int rt_memory_init(uint64_t device_bytes, uint64_t host_bytes);  // fd of the host arena; -errno
// All contents and allocations gone, host memory in a new file that no earlier client can reach: its fd.
int rt_memory_renew();
uint64_t rt_allocations(uint64_t* out, uint64_t room);  // live ones: start, bytes, kind; how many there are
uint64_t rt_alloc(uint32_t kind, uint64_t bytes);                // 0 when there is no room
int32_t rt_free_allocation(uint64_t address);  // 0, 1 not the start of an allocation, 2 freed already
int32_t rt_find(uint64_t address, uint64_t* start, uint64_t* bytes, uint32_t* state,
                uint32_t* kind);  // 1 inside an allocation, 0 nearest one returned, -1 none at all
uint64_t rt_memory_used(uint32_t kind);  // bytes of live allocations of the kind; 0 = all kinds
void rt_free_all(uint32_t kind);         // 0 = all kinds; nothing is quarantined (device reset)
// What exists already counts as initialised. Off: what nobody has written holds numbers drawn from `noise`; 0: what it did.
void rt_track_initialised(int32_t on, uint64_t noise);
void rt_mark_initialised(uint64_t address, uint64_t bytes);
void rt_copy_initialised(uint64_t to, uint64_t from, uint64_t bytes);  // for copies on the device
uint64_t rt_first_undefined(uint64_t address, uint64_t bytes);  // offset of the first byte that is not defined, or `bytes`
}
