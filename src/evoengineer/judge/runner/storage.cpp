#include "storage.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <mutex>

namespace {

constexpr int kPoison = 0xff, kGuard = 0xa5;

struct Block {
    EvoStorage storage;  // first: the candidate's pointer to it is ours
    std::atomic<int> references;
    unsigned char* base;  // of the whole allocation, guards included; null when adopted
    void (*destroy)(void*, void*);
    void* closure;
    std::string name;
};

std::mutex lock;  // candidates may allocate from threads of their own
AllocationPolicy policy;
std::list<Block*> live, released;
std::multimap<size_t, unsigned char*> available;  // poisoned, by size of the block
std::vector<GuardDamage> damage;

size_t rounded(size_t bytes) { return (bytes + 255) & ~size_t(255); }

// The rear guard begins right behind the last byte, not at the next multiple of 256.
bool fill(unsigned char* base, size_t bytes) {
    size_t guard = policy.guard_bytes;
    bool good = true;
    if (guard) {
        good &= cudaMemset(base, kGuard, guard) == cudaSuccess;
        good &= cudaMemset(base + guard + bytes, kGuard, rounded(bytes) - bytes + guard) == cudaSuccess;
    }
    if (policy.poison && bytes) good &= cudaMemset(base + guard, kPoison, bytes) == cudaSuccess;
    return good;
}

void look_at_guards(const Block* block) {
    size_t guard = policy.guard_bytes;
    if (!guard || !block->base) return;
    size_t bytes = block->storage.bytes, behind = rounded(bytes) - bytes + guard;
    std::vector<unsigned char> band(std::max(guard, behind));
    if (cudaMemcpy(band.data(), block->base, guard, cudaMemcpyDeviceToHost) != cudaSuccess) return;
    for (size_t i = guard; i-- > 0;)
        if (band[i] != kGuard) {
            damage.push_back({block->name, true, guard - i});
            break;
        }
    if (cudaMemcpy(band.data(), block->base + guard + bytes, behind, cudaMemcpyDeviceToHost) != cudaSuccess) return;
    for (size_t i = 0; i < behind; i++)
        if (band[i] != kGuard) {
            damage.push_back({block->name, false, i});
            break;
        }
}

}  // namespace

void set_policy(const AllocationPolicy& given) { policy = given; }

EvoStorage* allocate_storage(size_t bytes, int32_t device_type, EvoError* error) {
    std::lock_guard<std::mutex> hold(lock);
    auto block = new Block{};
    block->references = 1;
    block->name = "allocation of " + std::to_string(bytes) + " bytes";
    if (device_type == EVO_CPU) {
        block->storage = {aligned_alloc(256, std::max<size_t>(rounded(bytes), 256)), bytes, EVO_CPU, 0};
        block->destroy = [](void* data, void*) { free(data); };
        if (block->storage.data) memset(block->storage.data, kPoison, bytes);
    } else {
        auto found = available.find(bytes);
        if (found != available.end()) {
            block->base = found->second;
            available.erase(found);
        } else {
            void* memory = nullptr;
            size_t whole = policy.guard_bytes ? rounded(bytes) + 2 * policy.guard_bytes : std::max<size_t>(bytes, 1);
            cudaError_t status = cudaMalloc(&memory, whole);
            if (status == cudaSuccess && !fill(static_cast<unsigned char*>(memory), bytes)) status = cudaGetLastError();
            if (status != cudaSuccess) {
                error->kind = EVO_ERROR_MEMORY;
                error->code = status;
                snprintf(error->message, sizeof error->message, "cannot allocate %zu bytes on the device: %s", bytes,
                         cudaGetErrorString(status));
                delete block;
                return nullptr;
            }
            block->base = static_cast<unsigned char*>(memory);
        }
        block->storage = {block->base + policy.guard_bytes, bytes, EVO_CUDA, 0};
    }
    live.push_back(block);
    return &block->storage;
}

EvoStorage* adopt_storage(void* data, size_t bytes, int32_t device_type, void (*destroy)(void*, void*), void* closure) {
    std::lock_guard<std::mutex> hold(lock);
    auto block = new Block{};
    block->storage = {data, bytes, device_type, 0};
    block->references = 1;
    block->destroy = destroy;
    block->closure = closure;
    live.push_back(block);
    return &block->storage;
}

void retain_storage(EvoStorage* storage) { reinterpret_cast<Block*>(storage)->references++; }

void release_storage(EvoStorage* storage) {
    auto block = reinterpret_cast<Block*>(storage);
    if (--block->references > 0) return;
    std::lock_guard<std::mutex> hold(lock);
    live.remove(block);
    if (block->base) {
        released.push_back(block);
        return;
    }
    if (block->destroy) block->destroy(block->storage.data, block->closure);
    delete block;
}

void name_storage(EvoStorage* storage, const std::string& name) { reinterpret_cast<Block*>(storage)->name = name; }

void settle() {
    std::lock_guard<std::mutex> hold(lock);
    for (Block* block : released) {
        look_at_guards(block);
        if (policy.reuse && fill(block->base, block->storage.bytes))
            available.emplace(block->storage.bytes, block->base);
        else
            cudaFree(block->base);
        delete block;
    }
    released.clear();
}

std::vector<GuardDamage> take_damage() {
    std::lock_guard<std::mutex> hold(lock);
    for (Block* block : live) look_at_guards(block);
    return std::move(damage);
}
