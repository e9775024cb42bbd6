// Allocation: device, pinned, managed and registered memory, and questions about pointers.
#include "memory.h"

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <memory>

namespace {

struct Registered { uint64_t bytes, alias, page_start, page_bytes; unsigned flags; };

struct Memory {
    std::map<uint64_t, Allocation> allocations;  // by start, in the device's and the shared arena
    std::map<uint64_t, Registered> registered;   // by host address
};

Memory& memory() {
    static Memory* one = new Memory;
    return *one;
}

bool in_arena(uint64_t address) {
    const HelloResult& l = device_info().layout;
    return (address >= l.device_base && address < l.device_base + l.device_bytes) ||
           (address >= l.host_base && address < l.host_base + l.host_bytes);
}

const Registered* find_registered(uint64_t address, uint64_t* start) {
    auto& all = memory().registered;
    auto next = all.upper_bound(address);
    if (next == all.begin()) return nullptr;
    --next;
    if (address >= next->first + next->second.bytes) return nullptr;
    *start = next->first;
    return &next->second;
}

constexpr size_t kPitchAlignment = 512;

// Puts the memory at `from` in the place of a program's pages, with what these hold. The pages may be the caller's own
// stack, which must not change between the copy and the exchange: both are done on a stack of our own.
struct Exchange {
    void *pages, *from;
    size_t bytes, old_bytes;  // mremap with old size 0 makes a second mapping of shared pages
    bool done;
    ucontext_t caller, own;
};

void exchange_on_own_stack(unsigned high, unsigned low) {
    auto* e = reinterpret_cast<Exchange*>(uint64_t(high) << 32 | low);
    memcpy(e->from, e->pages, e->bytes);
    e->done = mremap(e->from, e->old_bytes, e->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, e->pages) == e->pages;
}

bool exchange_pages(void* pages, size_t bytes, void* from, size_t old_bytes) {
    constexpr size_t kStackBytes = 64 << 10, kRoomBelow = 1 << 20;
    char here;
    // The kernel lets a stack grow from its lowest page: that must not be one of those which leave it.
    if (pages <= &here && &here < static_cast<char*>(pages) + bytes)
        *(static_cast<volatile char*>(pages) - kRoomBelow) = 0;
    auto e = std::make_unique<Exchange>();
    *e = {pages, from, bytes, old_bytes, false, {}, {}};
    auto stack = std::make_unique<char[]>(kStackBytes);
    getcontext(&e->own);
    e->own.uc_stack.ss_sp = stack.get();
    e->own.uc_stack.ss_size = kStackBytes;
    e->own.uc_link = &e->caller;
    auto address = reinterpret_cast<uint64_t>(e.get());
    makecontext(&e->own, reinterpret_cast<void (*)()>(exchange_on_own_stack), 2, unsigned(address >> 32),
                unsigned(address));
    swapcontext(&e->caller, &e->own);
    return e->done;
}

}  // namespace

const Allocation* nearest_allocation(uint64_t address, uint64_t* start) {
    auto& all = memory().allocations;
    if (all.empty()) return nullptr;
    auto next = all.upper_bound(address);
    if (next == all.begin()) {
        *start = next->first;
        return &next->second;
    }
    auto before = std::prev(next);
    uint64_t end = before->first + before->second.bytes;
    if (next != all.end() && address >= end && next->first - address < address - end) before = next;
    *start = before->first;
    return &before->second;
}

const Allocation* find_allocation(uint64_t address, uint64_t* start) {
    auto& all = memory().allocations;
    auto next = all.upper_bound(address);
    if (next == all.begin()) return nullptr;
    --next;
    if (address >= next->first + next->second.bytes) return nullptr;
    *start = next->first;
    return &next->second;
}

bool locate(const void* pointer, Place* place) {
    uint64_t address = reinterpret_cast<uint64_t>(pointer), start;
    if (!in_arena(address)) {
        if (const Registered* r = find_registered(address, &start)) {
            *place = {Where::kRegistered, r->alias + (address - start), r->bytes - (address - start), false};
            return true;
        }
        *place = {Where::kPageable, 0, ~0ull, false};
        return true;
    }
    const Allocation* allocation = find_allocation(address, &start);
    if (!allocation) return false;
    bool managed = allocation->kind == kManagedMemory;
    bool host = managed || allocation->kind == kPinnedMemory;
    Where where = host ? Where::kHostArena : Where::kDevice;
    *place = {where, address, start + allocation->bytes - address, managed};
    return true;
}

int allocate(uint64_t bytes, uint32_t kind, unsigned flags, void** address) {
    *address = nullptr;
    if (bytes == 0) return cudaSuccess;
    uint64_t start;
    AllocBody body{bytes, kind, 256};
    if (int status = call(kAlloc, body, &start)) return status;
    memory().allocations[start] = Allocation{bytes, kind, flags, false, false};
    *address = reinterpret_cast<void*>(start);
    return cudaSuccess;
}

int release(void* pointer, bool host) {
    if (!pointer) return synchronize();
    auto& all = memory().allocations;
    auto found = all.find(reinterpret_cast<uint64_t>(pointer));
    if (found == all.end() || found->second.variable) return cudaErrorInvalidValue;
    if (host != (found->second.kind == kPinnedMemory)) return cudaErrorInvalidValue;
    if (found->second.graph_owned) return cudaSuccess;
    AddressBody body{found->first};
    all.erase(found);
    return call(kFree, body);
}

void mark_graph_owned(void* address) {
    memory().allocations[reinterpret_cast<uint64_t>(address)].graph_owned = true;
}

int release_graph_owned(void* address) {
    auto found = memory().allocations.find(reinterpret_cast<uint64_t>(address));
    if (found == memory().allocations.end()) return cudaSuccess;
    found->second.graph_owned = false;
    return release(address, false);
}

void note_variable(uint64_t address, uint64_t bytes) {
    const HelloResult& l = device_info().layout;
    bool shared = address >= l.host_base && address < l.host_base + l.host_bytes;
    memory().allocations[address] = {bytes, shared ? kManagedMemory : kDeviceMemory, 0, true, false};
}

void forget_variable(uint64_t address) { memory().allocations.erase(address); }

void forget_all_memory() { memory().allocations.clear(); }

API cudaError_t cudaMalloc(void** address, size_t bytes) {
    ENTER();
    if (!address) return done(cudaErrorInvalidValue);
    return done(allocate(bytes, kDeviceMemory, 0, address));
}

API cudaError_t cudaFree(void* address) {
    ENTER();
    return done(release(address, false));
}

API cudaError_t cudaMallocPitch(void** address, size_t* pitch, size_t width, size_t height) {
    ENTER();
    if (!address || !pitch) return done(cudaErrorInvalidValue);
    *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    return done(allocate(*pitch * height, kDeviceMemory, 0, address));
}

API cudaError_t cudaMalloc3D(cudaPitchedPtr* result, cudaExtent extent) {
    ENTER();
    if (!result) return done(cudaErrorInvalidValue);
    size_t pitch = (extent.width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    result->pitch = pitch;
    result->xsize = extent.width;
    result->ysize = extent.height;
    return done(allocate(pitch * extent.height * extent.depth, kDeviceMemory, 0, &result->ptr));
}

API cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned flags) {
    ENTER();
    if (!address || (flags & ~7u)) return done(cudaErrorInvalidValue);
    return done(allocate(bytes, kPinnedMemory, flags, address));
}

API cudaError_t cudaMallocHost(void** address, size_t bytes) { return cudaHostAlloc(address, bytes, 0); }

API cudaError_t cudaFreeHost(void* address) {
    ENTER();
    if (!address) return cudaSuccess;
    return done(release(address, true));
}

API cudaError_t cudaMallocManaged(void** address, size_t bytes, unsigned flags) {
    ENTER();
    if (!address || bytes == 0 || (flags != 1 && flags != 2)) return done(cudaErrorInvalidValue);
    return done(allocate(bytes, kManagedMemory, flags, address));
}

// Registering moves the pages of the range into the memory both processes share, at the same
// address here; whatever else lies on these pages goes with them.
API cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
    ENTER();
    if (!pointer || !bytes) return done(cudaErrorInvalidValue);
    uint64_t address = reinterpret_cast<uint64_t>(pointer), start;
    if (in_arena(address) || find_registered(address, &start))
        return done(cudaErrorHostMemoryAlreadyRegistered);
    uint64_t page = sysconf(_SC_PAGESIZE);
    uint64_t first = address / page * page, last = (address + bytes + page - 1) / page * page;
    HostRangeBody body{first, last - first};
    uint64_t result[2];
    if (int status = call(kHostRegister, body, &result)) return done(status);
    uint64_t shared = result[0];  // where both processes see the pages, inside the shared arena
    uint64_t alias = result[1];   // the same address as ours when the device process could map it there
    void* pages = reinterpret_cast<void*>(first);
    if (!exchange_pages(pages, last - first, reinterpret_cast<void*>(shared), 0)) return done(cudaErrorInvalidValue);
    alias += address - first;
    memory().registered[address] = {bytes, alias, first, last - first, flags};
    memory().allocations[alias] = {bytes, kPinnedMemory, flags, true, false};  // the device's view of it
    return cudaSuccess;
}

API cudaError_t cudaHostUnregister(void* pointer) {
    ENTER();
    auto found = memory().registered.find(reinterpret_cast<uint64_t>(pointer));
    if (found == memory().registered.end()) return done(cudaErrorHostMemoryNotRegistered);
    Registered r = found->second;
    if (int status = synchronize()) return done(status);
    void* copy = mmap(nullptr, r.page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) return done(cudaErrorMemoryAllocation);
    exchange_pages(reinterpret_cast<void*>(r.page_start), r.page_bytes, copy, r.page_bytes);
    memory().allocations.erase(r.alias);
    memory().registered.erase(found);
    return done(call(kHostUnregister, AddressBody{r.page_start}));
}

API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
    ENTER();
    Place place;
    if (!device || flags || !locate(host, &place) || place.where == Where::kPageable ||
        place.where == Where::kDevice)
        return done(cudaErrorInvalidValue);
    *device = reinterpret_cast<void*>(place.device_address);
    return cudaSuccess;
}

API cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
    ENTER();
    uint64_t start;
    const Allocation* a = find_allocation(reinterpret_cast<uint64_t>(host), &start);
    if (!flags || !a || a->kind != kPinnedMemory) return done(cudaErrorInvalidValue);
    *flags = a->flags | 2;  // everything is mapped
    return cudaSuccess;
}

API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    ENTER();
    if (!attributes) return done(cudaErrorInvalidValue);
    memset(attributes, 0, sizeof *attributes);
    attributes->device = -2;
    void* itself = const_cast<void*>(pointer);
    Place place;
    if (!locate(pointer, &place) || place.where == Where::kPageable) {
        attributes->hostPointer = itself;
        return cudaSuccess;
    }
    attributes->device = 0;
    attributes->type = place.where == Where::kDevice ? 2 : place.managed ? 3 : 1;
    attributes->devicePointer = reinterpret_cast<void*>(place.device_address);
    if (place.where != Where::kDevice) attributes->hostPointer = itself;
    return cudaSuccess;
}

API cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    ENTER();
    uint64_t result[2];
    if (int status = call(kMemoryInfo, AddressBody{0}, &result)) return done(status);
    if (free) *free = result[0];
    if (total) *total = result[1];
    return cudaSuccess;
}
