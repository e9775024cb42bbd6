// Stream-ordered allocation and memory pools. One queue for all streams makes every allocation
// valid from the call on; freeing takes its place in the queue.
#include <string.h>

#include <set>

#include "graphs.h"

struct MemoryPool {
    uint64_t attributes[9] = {0, 1, 1, 1, 0, 0, 0, 0, 0};  // by cudaMemPoolAttr
    uint64_t used = 0;
    int access = 3;  // cudaMemAccessFlagsProtReadWrite
};

namespace {

enum : int { kReservedCurrent = 5, kReservedHigh = 6, kUsedCurrent = 7, kUsedHigh = 8 };

struct State {
    MemoryPool standard;
    MemoryPool* current = &standard;
    std::set<MemoryPool*> pools{&standard};
    std::map<uint64_t, std::pair<MemoryPool*, uint64_t>> owners;
};

State& state() {
    static State* one = new State;
    return *one;
}

bool is_pool(MemoryPool* pool) { return state().pools.count(pool); }

void account(MemoryPool* pool, int64_t bytes) {
    uint64_t* a = pool->attributes;
    a[kUsedCurrent] += bytes;
    a[kReservedCurrent] = a[kUsedCurrent];
    a[kUsedHigh] = std::max(a[kUsedHigh], a[kUsedCurrent]);
    a[kReservedHigh] = std::max(a[kReservedHigh], a[kReservedCurrent]);
}

int allocate_from(void** address, size_t bytes, MemoryPool* pool, cudaStream_t handle) {
    Stream* stream = stream_of(handle);
    if (!address || !is_pool(pool)) return cudaErrorInvalidValue;
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (int status = allocate(bytes, kDeviceMemory, 0, address)) return status;
    if (stream->capture) {
        mark_graph_owned(*address);
        stream->capture->graph->allocations.push_back(*address);
        Work work;
        work.kind = WorkKind::kAlloc;
        work.address = reinterpret_cast<uint64_t>(*address);
        work.bytes = bytes;
        return enqueue(handle, work);
    }
    state().owners[reinterpret_cast<uint64_t>(*address)] = {pool, bytes};
    account(pool, int64_t(bytes));
    return cudaSuccess;
}

bool counter_is_wide(int attribute) { return attribute >= 4; }

}  // namespace

API cudaError_t cudaMallocAsync(void** address, size_t bytes, cudaStream_t stream) {
    ENTER();
    return done(allocate_from(address, bytes, state().current, stream));
}
PER_THREAD(cudaMallocAsync)

API cudaError_t cudaMallocFromPoolAsync(void** address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    ENTER();
    return done(allocate_from(address, bytes, pool, stream));
}
PER_THREAD(cudaMallocFromPoolAsync)

API cudaError_t cudaFreeAsync(void* address, cudaStream_t handle) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!stream) return done(cudaErrorInvalidResourceHandle);
    if (!address) return done(cudaErrorInvalidValue);
    if (stream->capture) {
        Work work;
        work.kind = WorkKind::kFree;
        work.address = reinterpret_cast<uint64_t>(address);
        return done(enqueue(handle, work));
    }
    auto found = state().owners.find(reinterpret_cast<uint64_t>(address));
    if (found != state().owners.end()) {
        account(found->second.first, -int64_t(found->second.second));
        state().owners.erase(found);
    }
    return done(release(address, false));
}
PER_THREAD(cudaFreeAsync)

API cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    ENTER();
    if (!pool || !properties) return done(cudaErrorInvalidValue);
    *pool = new MemoryPool;
    state().pools.insert(*pool);
    return cudaSuccess;
}

API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    ENTER();
    State& s = state();
    if (!is_pool(pool) || pool == &s.standard) return done(cudaErrorInvalidValue);
    if (s.current == pool) s.current = &s.standard;
    s.pools.erase(pool);
    for (auto it = s.owners.begin(); it != s.owners.end();)
        it = it->second.first == pool ? s.owners.erase(it) : std::next(it);
    delete pool;
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    ENTER();
    if (device || !pool) return done(device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    *pool = &state().standard;
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    ENTER();
    if (device || !pool) return done(device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    *pool = state().current;
    return cudaSuccess;
}

API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    ENTER();
    if (device || !is_pool(pool)) return done(device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    state().current = pool;
    return cudaSuccess;
}

API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, int attribute, void* value) {
    ENTER();
    if (!is_pool(pool) || attribute < 1 || attribute > 8 || !value) return done(cudaErrorInvalidValue);
    pool->attributes[attribute] = counter_is_wide(attribute) ? *static_cast<uint64_t*>(value)
                                                             : uint64_t(*static_cast<int*>(value));
    return cudaSuccess;
}

API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void* value) {
    ENTER();
    if (!is_pool(pool) || attribute < 1 || attribute > 8 || !value) return done(cudaErrorInvalidValue);
    if (counter_is_wide(attribute)) *static_cast<uint64_t*>(value) = pool->attributes[attribute];
    else *static_cast<int*>(value) = int(pool->attributes[attribute]);
    return cudaSuccess;
}

API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
    ENTER();
    return done(is_pool(pool) ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t count) {
    ENTER();
    if (!is_pool(pool) || (count && !list)) return done(cudaErrorInvalidValue);
    for (size_t i = 0; i < count; ++i) {
        if (list[i].location.id != 0) return done(cudaErrorInvalidDevice);
        pool->access = list[i].flags;
    }
    return cudaSuccess;
}

API cudaError_t cudaMemPoolGetAccess(int* flags, cudaMemPool_t pool, cudaMemLocation* location) {
    ENTER();
    if (!flags || !is_pool(pool) || !location) return done(cudaErrorInvalidValue);
    *flags = location->id == 0 ? pool->access : 0;
    return cudaSuccess;
}
