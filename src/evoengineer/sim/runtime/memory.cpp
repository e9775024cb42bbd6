// Arenas, allocator and allocation table. Neighbours are kept apart by a gap that belongs to nobody,
// and freed ranges stay in the table for a while, so that small overruns and uses after free are
// seen for what they are.
#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "noise.h"

namespace {

constexpr uint64_t kAlign = 256;                    // alignment of allocations, and the least gap
constexpr uint64_t kLarge = 1ull << 20;             // from here on whole pages, given back when freed
constexpr uint64_t kPage = 4096;
constexpr uint64_t kShadow = 0x400000000000ull;     // shadow byte of kDeviceArena + i: kShadow + i
constexpr uint8_t kDefined = 0xff;                  // shadow of a byte whose bits are all defined
constexpr size_t kQuarantineEntries = 4096;
constexpr uint64_t kQuarantineBytes = 8ull << 30;   // address space only

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

struct Entry {
    Allocation allocation;
    uint64_t reserved_bytes;  // with the gap
};

// Free address ranges of one arena, best fit, neighbours merged.
class FreeRanges {
public:
    void add(uint64_t start, uint64_t bytes) {
        auto next = by_start_.lower_bound(start);
        if (next != by_start_.end() && start + bytes == next->first) {
            bytes += next->second;
            remove(next++);
        }
        if (next != by_start_.begin()) {
            auto before = std::prev(next);
            if (before->first + before->second == start) {
                start = before->first;
                bytes += before->second;
                remove(before);
            }
        }
        by_start_.emplace(start, bytes);
        by_size_.emplace(bytes, start);
    }

    uint64_t take(uint64_t bytes) {
        auto fit = by_size_.lower_bound(bytes);
        if (fit == by_size_.end()) return 0;
        uint64_t start = fit->second, size = fit->first;
        remove(by_start_.find(start));
        if (size > bytes) add(start + bytes, size - bytes);
        return start;
    }

    void clear() {
        by_start_.clear();
        by_size_.clear();
    }

private:
    void remove(std::map<uint64_t, uint64_t>::iterator range) {
        auto same = by_size_.equal_range(range->second);
        for (auto it = same.first; it != same.second; ++it) {
            if (it->second == range->first) {
                by_size_.erase(it);
                break;
            }
        }
        by_start_.erase(range);
    }

    std::map<uint64_t, uint64_t> by_start_;
    std::multimap<uint64_t, uint64_t> by_size_;
};

struct Memory {
    std::shared_mutex mutex;
    std::map<uint64_t, Entry> table;  // by start; live and quarantined
    std::deque<uint64_t> quarantine;
    uint64_t quarantine_bytes = 0;
    FreeRanges device, host;
    uint64_t device_bytes = 0, host_bytes = 0;
    uint64_t used[kKindArray + 1] = {};
    int fd = -1;
    std::atomic<uint64_t> generation{1};
    std::atomic<bool> tracking{false};
    bool shadow_mapped = false;
};

constexpr uint64_t kDeviceStart = kDeviceArena + (2u << 20);  // addresses below are never handed out

Memory& memory() {
    static Memory* only = new Memory;  // never destroyed: workers may outlive static destructors
    return *only;
}

// A file for host memory whose size nobody can change: a client that cut it short would have us fault.
int new_host_file(uint64_t bytes) {
    int fd = memfd_create("evoengineer-host-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -errno;
    if (ftruncate(fd, off_t(bytes)) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

void offer_all(Memory& m) {
    m.device.clear();
    m.host.clear();
    m.device.add(kDeviceStart, m.device_bytes - (kDeviceStart - kDeviceArena));
    m.host.add(kHostArena + kStagingBytes, m.host_bytes - kStagingBytes);
}

bool is_host_kind(uint32_t kind) { return kind == kKindManaged || kind == kKindPinned; }

// Module variables start out as zero or with their initial value; host memory is written unseen.
bool starts_initialised(uint32_t kind) { return kind != kKindDevice && kind != kKindHeap; }

// Gives the bytes that nobody has written another content: runs of them, each by its place.
void fill_undefined(const Allocation& a, uint64_t seed) {
    const uint8_t* shadow = memory_shadow(a.start);
    if (!shadow || a.state != kStateLive || starts_initialised(a.kind)) return;
    const uint8_t *at = shadow, *last = shadow + a.bytes;
    while (at < last && (at = static_cast<const uint8_t*>(memchr(at, 0, size_t(last - at))))) {
        const uint8_t* end = std::find_if(at, last, [](uint8_t bits) { return bits != 0; });
        const uint64_t offset = uint64_t(at - shadow);
        fill_noise(reinterpret_cast<void*>(a.start + offset), uint64_t(end - at), seed + offset);
        at = end;
    }
}

void* map_fixed(uint64_t address, uint64_t bytes, int flags, int fd) {
    void* want = reinterpret_cast<void*>(address);
    void* got = mmap(want, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                     fd, 0);
    if (got != MAP_FAILED && got != want) {  // an old kernel takes the address as a hint
        munmap(got, bytes);
        errno = EEXIST;
        return MAP_FAILED;
    }
    return got;
}

void give_back_pages(const Memory& m, uint64_t start, uint64_t bytes) {
    uint64_t from = round_up(start, kPage), to = (start + bytes) / kPage * kPage;
    if (from >= to) return;
    if (in_device_arena(start))
        madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
    else
        fallocate(m.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(from - kHostArena),
                  off_t(to - from));
}

void release(Memory& m, std::map<uint64_t, Entry>::iterator it) {
    uint64_t start = it->first, bytes = it->second.reserved_bytes;
    (in_device_arena(start) ? m.device : m.host).add(start, bytes);
    m.table.erase(it);
}

void drain_quarantine(Memory& m, size_t entries, uint64_t bytes) {
    while (m.quarantine.size() > entries || m.quarantine_bytes > bytes) {
        auto it = m.table.find(m.quarantine.front());
        m.quarantine.pop_front();
        m.quarantine_bytes -= it->second.reserved_bytes;
        release(m, it);
    }
}

void set_shadow(uint64_t address, uint64_t bytes, uint8_t value) {
    uint8_t* shadow = memory_shadow(address);
    if (!shadow) return;
    if (!value && bytes >= kLarge && reinterpret_cast<uint64_t>(shadow) % kPage == 0)
        madvise(shadow, bytes, MADV_DONTNEED);  // zero without committing pages
    else
        memset(shadow, value, bytes);
}

}  // namespace

uint8_t* memory_shadow(uint64_t address) {
    if (!memory().tracking.load(std::memory_order_relaxed) || !in_device_arena(address)) return nullptr;
    return reinterpret_cast<uint8_t*>(kShadow + (address - kDeviceArena));
}

uint64_t memory_generation() { return memory().generation.load(std::memory_order_acquire); }

bool memory_find(uint64_t address, Allocation* out) {
    Memory& m = memory();
    std::shared_lock<std::shared_mutex> lock(m.mutex);
    auto it = m.table.upper_bound(address);
    if (it == m.table.begin()) return false;
    --it;
    const Allocation& a = it->second.allocation;
    if (address - a.start >= a.bytes) return false;
    *out = a;
    return true;
}

bool memory_nearest(uint64_t address, Allocation* out) {
    Memory& m = memory();
    std::shared_lock<std::shared_mutex> lock(m.mutex);
    auto after = m.table.upper_bound(address);
    const Allocation* best = nullptr;
    if (after != m.table.begin()) best = &std::prev(after)->second.allocation;
    if (after != m.table.end()) {
        const Allocation& next = after->second.allocation;
        uint64_t past_end = best ? address - best->start - (best->bytes ? best->bytes - 1 : 0) : 0;
        bool inside = best && address - best->start < best->bytes;
        if (!best || (!inside && next.start - address < past_end)) best = &next;
    }
    if (!best) return false;
    *out = *best;
    return true;
}

extern "C" {

int rt_memory_init(uint64_t device_bytes, uint64_t host_bytes) {
    Memory& m = memory();
    std::unique_lock<std::shared_mutex> lock(m.mutex);
    if (m.fd >= 0) return m.fd;
    if (host_bytes <= kStagingBytes) return -EINVAL;
    int fd = new_host_file(host_bytes);
    if (fd < 0) return fd;
    bool device_mapped = false;
    if (map_fixed(kDeviceArena, device_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1) != MAP_FAILED) {
        device_mapped = true;
        if (map_fixed(kHostArena, host_bytes, MAP_SHARED, fd) != MAP_FAILED) {
            madvise(reinterpret_cast<void*>(kDeviceArena), device_bytes, MADV_HUGEPAGE);
            m.fd = fd;
            m.device_bytes = device_bytes;
            m.host_bytes = host_bytes;
            offer_all(m);
            return fd;
        }
    }
    int error = errno;
    if (device_mapped) munmap(reinterpret_cast<void*>(kDeviceArena), device_bytes);
    close(fd);
    return -error;
}

int rt_memory_renew() {
    Memory& m = memory();
    std::unique_lock<std::shared_mutex> lock(m.mutex);
    int fd = new_host_file(m.host_bytes);
    if (fd < 0) return fd;
    void* host = reinterpret_cast<void*>(kHostArena);
    if (mmap(host, m.host_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) != host) {
        int error = errno;
        close(fd);
        return -error;
    }
    close(m.fd);
    m.fd = fd;
    madvise(reinterpret_cast<void*>(kDeviceArena), m.device_bytes, MADV_DONTNEED);
    if (m.shadow_mapped) madvise(reinterpret_cast<void*>(kShadow), m.device_bytes, MADV_DONTNEED);
    m.table.clear();
    m.quarantine.clear();
    m.quarantine_bytes = 0;
    memset(m.used, 0, sizeof m.used);
    offer_all(m);
    m.generation.fetch_add(1, std::memory_order_release);
    return fd;
}

uint64_t rt_alloc(uint32_t kind, uint64_t bytes) {
    Memory& m = memory();
    if (kind == kKindNone || kind > kKindArray || bytes > (1ull << 44)) return 0;
    std::unique_lock<std::shared_mutex> lock(m.mutex);
    FreeRanges& ranges = is_host_kind(kind) ? m.host : m.device;
    // (Large starts are not page-aligned when small ones precede them; they need not be.)
    uint64_t unit = bytes >= kLarge ? kPage : kAlign;
    uint64_t reserved = round_up(bytes ? bytes : 1, unit) + unit;
    uint64_t start = ranges.take(reserved);
    if (!start && !m.quarantine.empty()) {
        drain_quarantine(m, 0, 0);
        start = ranges.take(reserved);
    }
    if (!start) return 0;
    m.table.emplace(start, Entry{{start, bytes, kStateLive, kind}, reserved});
    m.used[kind] += bytes;
    if (kind != kKindHeap) m.generation.fetch_add(1, std::memory_order_release);
    set_shadow(start, reserved, starts_initialised(kind) ? kDefined : 0);
    return start;
}

int32_t rt_free_allocation(uint64_t address) {
    Memory& m = memory();
    std::unique_lock<std::shared_mutex> lock(m.mutex);
    auto it = m.table.find(address);
    if (it == m.table.end()) return 1;
    Allocation& a = it->second.allocation;
    if (a.state == kStateFreed) return 2;
    a.state = kStateFreed;
    m.used[a.kind] -= a.bytes;
    if (a.kind != kKindHeap) m.generation.fetch_add(1, std::memory_order_release);
    if (a.bytes >= kLarge) give_back_pages(m, a.start, a.bytes);
    m.quarantine.push_back(address);
    m.quarantine_bytes += it->second.reserved_bytes;
    drain_quarantine(m, kQuarantineEntries, kQuarantineBytes);
    return 0;
}

uint64_t rt_allocations(uint64_t* out, uint64_t room) {
    Memory& m = memory();
    std::shared_lock<std::shared_mutex> lock(m.mutex);
    uint64_t count = 0;
    for (const auto& [start, entry] : m.table) {
        if (entry.allocation.state != kStateLive) continue;
        if (count < room) {
            out[3 * count] = start;
            out[3 * count + 1] = entry.allocation.bytes;
            out[3 * count + 2] = entry.allocation.kind;
        }
        count++;
    }
    return count;
}

int32_t rt_find(uint64_t address, uint64_t* start, uint64_t* bytes, uint32_t* state, uint32_t* kind) {
    Allocation a{};
    int32_t found = memory_find(address, &a) ? 1 : memory_nearest(address, &a) ? 0 : -1;
    *start = a.start;
    *bytes = a.bytes;
    *state = a.state;
    *kind = a.kind;
    return found;
}

uint64_t rt_memory_used(uint32_t kind) {
    Memory& m = memory();
    std::shared_lock<std::shared_mutex> lock(m.mutex);
    if (kind) return kind <= kKindArray ? m.used[kind] : 0;
    uint64_t total = 0;
    for (uint64_t each : m.used) total += each;
    return total;
}

void rt_free_all(uint32_t kind) {
    Memory& m = memory();
    std::unique_lock<std::shared_mutex> lock(m.mutex);
    drain_quarantine(m, 0, 0);
    for (auto it = m.table.begin(); it != m.table.end();) {
        auto here = it++;
        const Allocation& a = here->second.allocation;
        if (kind && a.kind != kind) continue;
        m.used[a.kind] -= a.bytes;
        give_back_pages(m, a.start, a.bytes);
        release(m, here);
    }
    m.generation.fetch_add(1, std::memory_order_release);
}

void rt_track_initialised(int32_t on, uint64_t noise) {
    Memory& m = memory();
    std::unique_lock<std::shared_mutex> lock(m.mutex);
    if (!on) {
        if (noise && m.tracking)
            for (auto& [start, entry] : m.table) fill_undefined(entry.allocation, noise + start);
        m.tracking = false;
        return;
    }
    if (!m.shadow_mapped) {
        if (map_fixed(kShadow, m.device_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1) == MAP_FAILED) return;
        m.shadow_mapped = true;
    }
    m.tracking = true;
    for (auto& [start, entry] : m.table) set_shadow(start, entry.allocation.bytes, kDefined);
}

void rt_mark_initialised(uint64_t address, uint64_t bytes) { set_shadow(address, bytes, kDefined); }

void rt_copy_initialised(uint64_t to, uint64_t from, uint64_t bytes) {
    uint8_t* to_shadow = memory_shadow(to);
    if (!to_shadow) return;
    if (const uint8_t* from_shadow = memory_shadow(from))
        memmove(to_shadow, from_shadow, bytes);
    else
        memset(to_shadow, kDefined, bytes);
}

uint64_t rt_first_undefined(uint64_t address, uint64_t bytes) {
    const uint8_t* shadow = memory_shadow(address);
    uint64_t at = shadow ? 0 : bytes;
    for (uint64_t word; at + 8 <= bytes; at += 8) {
        memcpy(&word, shadow + at, 8);
        if (~word) break;
    }
    while (at < bytes && shadow[at] == kDefined) at++;
    return at;
}

}  // extern "C"
