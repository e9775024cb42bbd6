// The table of texture and surface objects. See texture.h.
#include "texture.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime.h"

namespace {

// A handle is kHandleMark, the slot's generation and its number, so that a stale handle is found out.
constexpr uint64_t kHandleMark = 0x7e00000000000000ull;
constexpr uint32_t kSlots = 1u << 16;

struct Slot {
    TextureObject object;
    uint32_t generation = 0;
    std::atomic<uint64_t> verified{~0ull};  // memory_generation() when its memory was last found live
};

// Slots never move or go, so that kernels need no lock to read them.
std::atomic<Slot*> slots[kSlots];
std::atomic<uint32_t> used{0};
std::vector<uint32_t> vacant;
std::mutex mutex;

Slot* find(uint64_t handle) {
    const uint32_t number = handle & 0xffff, generation = uint32_t(handle >> 16);
    if ((handle & 0xffff000000000000ull) != kHandleMark || number >= used.load(std::memory_order_acquire))
        return nullptr;
    Slot* slot = slots[number].load(std::memory_order_acquire);
    return slot->generation == generation && slot->object.kind != kNoObject ? slot : nullptr;
}

bool live(const TextureObject& object) {
    for (uint32_t i = 0; i < object.level_count; i++) {
        const TextureLevel& level = object.levels[i];
        const uint64_t slices = object.layers ? object.layers : level.depth;
        const uint64_t bytes = (slices - 1) * level.slice_bytes + (level.height - 1) * level.row_bytes +
                               uint64_t(level.width) * object.element_bytes();
        Allocation found;
        if (!memory_find(level.address, &found) || found.state != kStateLive) return false;
        if (level.address + bytes > found.start + found.bytes) return false;
    }
    return true;
}

void clear(Slot& slot, uint32_t number) {
    slot.object.kind = kNoObject;
    slot.generation++;
    vacant.push_back(number);
}

}  // namespace

const TextureObject& texture_of(Warp* w, uint32_t site, uint32_t lane, uint64_t handle, ObjectKind kind) {
    Slot* slot = find(handle);
    const char* name = kind == kTexture ? "texture" : "surface";
    if (slot == nullptr || slot->object.kind != kind)
        fail(state(w), kInvalidCall, site, 1u << lane, "0x%llx is not a %s object (never created, or destroyed)",
             static_cast<unsigned long long>(handle), name);
    const uint64_t now = memory_generation();
    if (slot->verified.load(std::memory_order_relaxed) != now) {
        if (!live(slot->object))
            fail(state(w), kFreed, site, 1u << lane, "the memory of %s object 0x%llx has been freed", name,
                 static_cast<unsigned long long>(handle));
        slot->verified.store(now, std::memory_order_relaxed);
    }
    return slot->object;
}

extern "C" uint64_t rt_texture_create(const TextureObject* object) {
    const std::lock_guard<std::mutex> lock(mutex);
    uint32_t number;
    if (!vacant.empty()) {
        number = vacant.back();
        vacant.pop_back();
    } else {
        number = used.load();
        if (number == kSlots) return 0;
        slots[number].store(new Slot, std::memory_order_release);
        used.store(number + 1, std::memory_order_release);
    }
    Slot& slot = *slots[number].load();
    slot.object = *object;
    slot.verified.store(~0ull);
    return kHandleMark | uint64_t(slot.generation) << 16 | number;
}

extern "C" int32_t rt_texture_destroy(uint64_t handle, uint32_t kind) {
    const std::lock_guard<std::mutex> lock(mutex);
    Slot* slot = find(handle);
    if (slot == nullptr || slot->object.kind != kind) return 1;
    clear(*slot, handle & 0xffff);
    return 0;
}

extern "C" void rt_texture_destroy_all() {
    const std::lock_guard<std::mutex> lock(mutex);
    for (uint32_t number = 0; number < used.load(); number++) {
        Slot& slot = *slots[number].load();
        if (slot.object.kind != kNoObject) clear(slot, number);
    }
}

extern "C" uint32_t rt_texture_kind(uint64_t handle) {
    const Slot* slot = find(handle);
    return slot == nullptr ? uint32_t(kNoObject) : slot->object.kind;
}

extern "C" uint32_t rt_texture_object_bytes() { return sizeof(TextureObject); }
