// Copies and fills that a client asks for. Its addresses are not to be trusted: both sides must lie wholly
// inside live allocations, or, where host memory is meant, inside the staging area.
#include <algorithm>
#include <cstring>

#include "interrupt.h"
#include "memory.h"
#include "noise.h"

namespace {

constexpr uint64_t kRowsAtOnce = 1 << 16;    // between two looks at the interrupt
constexpr uint64_t kBytesAtOnce = 64 << 20;

enum Outcome : int32_t { kDone = 0, kBadTarget = 1, kBadSource = 2, kInterrupted = 3 };

struct Rows {
    uint64_t start, pitch, width, height;
    // Bytes from the first to the last; all ones if that is more than anything can hold.
    uint64_t span() const {
        auto wide = static_cast<unsigned __int128>(height - 1) * pitch + width;
        return wide >> 63 ? ~0ull : uint64_t(wide);
    }
};

bool inside(const Rows& rows, bool may_be_staged) {
    if (rows.height > 1 && rows.pitch < rows.width) return false;
    uint64_t span = rows.span(), offset = rows.start - kHostArena;
    if (may_be_staged && offset < kStagingBytes) return span <= kStagingBytes - offset;
    Allocation a;
    if (!memory_find(rows.start, &a) || a.state != kStateLive) return false;
    return span <= a.bytes - (rows.start - a.start);
}

// Calls each(offset of the part's first row, rows) until all are done; false when interrupted.
template <class Each> bool in_parts(const Rows& rows, Each each) {
    uint64_t at_once = std::clamp<uint64_t>(kBytesAtOnce / rows.width, 1, kRowsAtOnce);
    for (uint64_t row = 0; row < rows.height; row += at_once) {
        if (interrupted()) return false;
        for (uint64_t i = row; i < std::min(row + at_once, rows.height); i++) each(i);
    }
    return true;
}

void fill(uint8_t* to, uint64_t bytes, uint32_t value, uint32_t element) {
    if (element == 1) {
        memset(to, int(value & 255), bytes);
    } else if (element == 2) {
        std::fill_n(reinterpret_cast<uint16_t*>(to), bytes / 2, uint16_t(value));
    } else {
        std::fill_n(reinterpret_cast<uint32_t*>(to), bytes / 4, value);
    }
}

}  // namespace

extern "C" {

// Memory that a client was given and has not written yet: see noise.h.
void rt_fill_noise(uint64_t address, uint64_t bytes, uint64_t seed) {
    fill_noise(reinterpret_cast<void*>(address), bytes, seed);
}

// Whether `bytes` bytes at an address belong to one live allocation.
int32_t rt_is_live(uint64_t address, uint64_t bytes) {
    return inside({address, bytes, bytes, 1}, false) ? 1 : 0;
}

int32_t rt_transfer_copy(uint64_t target, uint64_t target_pitch, uint64_t source, uint64_t source_pitch,
                         uint64_t width, uint64_t height) {
    if (!width || !height) return kDone;
    Rows to{target, target_pitch, width, height}, from{source, source_pitch, width, height};
    if (!inside(to, true)) return kBadTarget;
    if (!inside(from, true)) return kBadSource;
    bool done = in_parts(to, [&](uint64_t row) {
        uint64_t a = target + row * target_pitch, b = source + row * source_pitch;
        memmove(reinterpret_cast<void*>(a), reinterpret_cast<const void*>(b), width);
        rt_copy_initialised(a, b, width);
    });
    return done ? kDone : kInterrupted;
}

int32_t rt_transfer_write(uint64_t target, const void* data, uint64_t bytes) {
    if (!bytes) return kDone;
    if (!inside({target, bytes, bytes, 1}, false)) return kBadTarget;
    memcpy(reinterpret_cast<void*>(target), data, bytes);
    rt_mark_initialised(target, bytes);
    return kDone;
}

// `width` elements of `element` bytes (1, 2 or 4) per row; the target is a multiple of that.
int32_t rt_transfer_fill(uint64_t target, uint64_t pitch, uint64_t width, uint64_t height, uint32_t value,
                         uint32_t element) {
    if (!width || !height) return kDone;
    if (width > (1ull << 48) || target % element || (height > 1 && pitch % element)) return kBadTarget;
    Rows to{target, pitch, width * element, height};
    if (!inside(to, false)) return kBadTarget;
    bool done = in_parts(to, [&](uint64_t row) {
        uint64_t at = target + row * pitch;
        fill(reinterpret_cast<uint8_t*>(at), to.width, value, element);
        rt_mark_initialised(at, to.width);
    });
    return done ? kDone : kInterrupted;
}

}  // extern "C"
