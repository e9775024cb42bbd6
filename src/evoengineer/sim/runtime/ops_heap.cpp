// malloc and free in kernels.
//
// Every allocation is an entry of the allocation table (memory.h), so that accesses past its end or
// after free are found like those to cudaMalloc'ed memory. The heap has a size of its own
// (cudaLimitMallocHeapSize): beyond it malloc returns null, as on a device.
#include <atomic>
#include <mutex>

#include "lanes.h"
#include "runtime.h"
#include "totals.h"

namespace {

constexpr uint64_t kDefaultLimitBytes = 8ull << 20;
constexpr uint64_t kMallocWork = 100;  // instructions: what a call takes

std::atomic<uint64_t> limit_bytes{kDefaultLimitBytes};
std::mutex guard;  // makes "is there room, then take it" one step

uint64_t allocate(uint64_t bytes) {
    if (bytes == 0) bytes = 1;  // CUDA: a unique pointer, not null
    std::lock_guard<std::mutex> lock(guard);
    uint64_t used = rt_memory_used(kKindHeap), limit = limit_bytes;
    if (bytes > limit || used > limit - bytes) return 0;
    return rt_alloc(kKindHeap, bytes);
}

// What is wrong with freeing `address`; null when it was freed.
const char* release(uint64_t address) {
    Allocation found;
    if (!memory_find(address, &found)) return "is not in an allocation";
    if (found.kind != kKindHeap) return "was not allocated by malloc in a kernel";
    if (found.start != address) return "is not the start of an allocation";
    std::lock_guard<std::mutex> lock(guard);
    return rt_free_allocation(address) == 0 ? nullptr : "was freed already";
}

}  // namespace

extern "C" {

void rt_heap_limit(uint64_t bytes) { limit_bytes = bytes; }

void rt_malloc(Warp* w, uint32_t mask, uint64_t* dst, const uint64_t* bytes) {
    charge(state(w), kMallocWork * uint64_t(__builtin_popcount(mask)));
    for_each_lane(mask, [&](uint32_t i) {
        dst[i] = allocate(bytes[i]);
        // Who had the memory before and freed it is ordered with whoever gets it now.
        if (dst[i] && state(w)->worker && (launch_of(state(w)).flags & kCheckRace)) race_forget(dst[i], bytes[i]);
    });
}

void rt_free(Warp* w, uint32_t mask, const uint64_t* pointer) {
    for_each_lane(mask, [&](uint32_t i) {
        if (pointer[i] == 0) return;
        if (const char* problem = release(pointer[i]))
            fail(state(w), kInvalidFree, w->site, 1u << i, "free(0x%llx) in a kernel: the pointer %s",
                 static_cast<unsigned long long>(pointer[i]), problem);
    });
}

}  // extern "C"
