// Mapping the memory of warps.
#include "warp_memory.h"

#include <sys/mman.h>

#include <atomic>

namespace {

constexpr size_t kPage = 4096;

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

void* reserve(size_t bytes) {
    void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapping == MAP_FAILED ? nullptr : mapping;
}

void release(WarpMemory& memory) {
    if (memory.local_shadow) munmap(memory.local_shadow, size_t(memory.locals_end - memory.locals));
    if (memory.mapping) munmap(memory.mapping, memory.mapping_bytes);
    memory = WarpMemory();
}

}  // namespace

bool warp_memory_reserve(WarpMemory& memory, size_t frame_bytes, size_t local_bytes) {
    release(memory);
    // Equal offsets within pages would make the warps of a block compete for the same cache sets.
    static std::atomic<uint32_t> reserved{0};
    size_t colour = reserved.fetch_add(1) % 12 * 320;
    size_t frames = whole_pages(frame_bytes + kPage);
    size_t bytes = frames + whole_pages(local_bytes);
    void* mapping = reserve(bytes);
    if (!mapping) return false;
    madvise(mapping, bytes, MADV_NOHUGEPAGE);  // a huge page per warp would waste gigabytes
    memory.mapping = static_cast<uint8_t*>(mapping);
    memory.mapping_bytes = bytes;
    memory.frames = memory.mapping + colour;
    memory.frames_end = memory.mapping + frames;
    memory.locals = memory.frames_end;
    memory.locals_end = memory.mapping + bytes;
    return true;
}

void warp_memory_need_shadow(WarpMemory& memory) {
    if (!memory.local_shadow) memory.local_shadow = static_cast<uint8_t*>(reserve(size_t(memory.locals_end - memory.locals)));
}
