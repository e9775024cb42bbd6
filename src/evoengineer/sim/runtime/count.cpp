// See count.h.
#include "count.h"

#include <algorithm>
#include <cstring>

#include "dispatch.h"
#include "scheduler.h"

namespace {

constexpr uint8_t kSpecial = 0x80;         // in Launch::count_bytes: loads past L1, atomics that one lane does for all
constexpr uint64_t kLocalArena = 0x500000000000ull;
constexpr uint8_t kFloats = 0x40;          // of atomics, which are never that wide
constexpr uint8_t kSwaps = 0x20;           // of atomics: compares and swaps, with kSpecial as the program says, else in a loop
constexpr size_t kMostLines = 1 << 16;       // told apart among a block's atomics

std::vector<Counted>& records() {
    static auto* only = new std::vector<Counted>;
    return *only;
}

// Sorted distinct values of `value >> shift` over the bytes that the lanes touch.
uint32_t distinct(const uint64_t* addresses, uint32_t lanes, uint32_t bytes, uint32_t shift, uint64_t* out) {
    uint32_t count = 0;
    bool sorted = true;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint64_t address = addresses[__builtin_ctz(rest)];
        for (uint64_t unit = address >> shift, last = (address + bytes - 1) >> shift; unit <= last; unit++) {
            if (count && out[count - 1] == unit) continue;
            if (count && out[count - 1] > unit) sorted = false;
            out[count++] = unit;
        }
    }
    if (!sorted) {
        std::sort(out, out + count);
        count = uint32_t(std::unique(out, out + count) - out);
    }
    return count;
}

// Do all lanes of `lanes` (of 32, or of 16) have the address of the lane whose number differs in `bit`?
bool paired(const uint64_t* addresses, uint32_t lanes, uint32_t bit) {
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t lane = uint32_t(__builtin_ctz(rest));
        if ((lanes >> (lane ^ bit) & 1) && addresses[lane] != addresses[lane ^ bit]) return false;
    }
    return true;
}

// How often the banks must be read for these lanes at once.
uint32_t turns(const uint64_t* addresses, uint32_t lanes, uint32_t bytes, uint32_t* least) {
    uint64_t words[128];
    uint32_t count = 0, most = 1;
    uint8_t in_bank[32] = {};
    bool ordered = true;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint64_t word = addresses[__builtin_ctz(rest)] / 4;
        for (uint32_t j = 0; j < (bytes + 3) / 4 && count < 128; j++) {
            if (count && words[count - 1] > word + j) ordered = false;
            words[count++] = word + j;
        }
    }
    if (!ordered) std::sort(words, words + count);
    count = uint32_t(std::unique(words, words + count) - words);
    for (uint32_t i = 0; i < count; i++) most = std::max<uint32_t>(most, ++in_bank[words[i] % 32]);
    *least += std::max(1u, (count + 31) / 32);
    return most;
}

// Wavefronts of a shared memory request. Lanes with 8 bytes come in two halves, with 16 bytes in quarters,
// but two parts go together if neighbouring lanes (or those two apart) want the same.
uint32_t wavefronts(const uint64_t* addresses, uint32_t lanes, uint32_t bytes, uint32_t* least) {
    *least = 0;
    if (bytes <= 4) return turns(addresses, lanes, bytes, least);
    const uint32_t whole = bytes <= 8 ? 32 : 16;
    uint32_t total = 0;
    for (uint32_t first = 0; first < kLanes; first += whole) {
        uint32_t part = whole == 32 ? lanes : lanes >> first & 0xffff;
        if (!part) continue;
        const uint64_t* own = addresses + first;
        if (paired(own, part, 1) || paired(own, part, 2)) {
            total += turns(own, part, bytes, least);
            continue;
        }
        uint32_t low = whole == 32 ? part & 0xffff : part & 0xff, half = whole / 2;
        if (low) total += turns(own, low, bytes, least);
        if (part >> half) total += turns(own + half, part >> half, bytes, least);
    }
    return total;
}

// The same for `offsets` into shared memory, remembered from request to request of a site.
const SharedPattern& shared_pattern(Counted& c, uint32_t site, const uint64_t* offsets, uint32_t lanes, uint32_t bytes) {
    const uint64_t start = offsets[__builtin_ctz(lanes)];
    SharedPattern now;
    now.lanes = lanes;
    now.bytes = bytes;
    now.phase = start % 4;
    for (uint32_t i = 0; i < kLanes; i++) now.from_first[i] = lanes >> i & 1 ? uint32_t(offsets[i] - start) : 0;
    SharedPattern& last = c.patterns[site];
    if (last.lanes == lanes && last.bytes == bytes && last.phase == now.phase &&
        !memcmp(last.from_first, now.from_first, sizeof now.from_first))
        return last;
    now.wavefronts = wavefronts(offsets, lanes, bytes, &now.least);
    return last = now;
}

// So many lanes at one address take as long as a sector with several addresses, at least: as the model weighs them.
constexpr uint32_t kCrowd = 6, kFloatCrowd = 2;

// A word is swapped by one lane at a time, of whatever warp: the others that had seen the same old value try again.
// Of a loop of the program's own one lane gets through with each request, of the machine's loop all do in the end.
void queue_swaps(Counted& c, uint32_t site, uint64_t address, uint32_t lanes, Swap swap) {
    const uint64_t key = address / 4 * 4096 + site % 4096;
    if (c.swaps.size() >= kMostLines && !c.swaps.count(key)) return;
    const uint64_t count = c.swaps[key] += swap == kOwnSwap ? 1 : lanes;
    c.sites[site].queue = std::max(c.sites[site].queue, count);
    if (swap == kOwnSwap) {
        AtomicLine& line = c.atomics[address / 128];
        line.swaps = std::max(line.swaps, count);
    }
}

// Lanes at the busiest address of an atomic request; what each line gets is noted. One that is retried compares and
// swaps whole words: it loads them, and goes round until every lane of a word has had its turn.
uint32_t count_atomic(Counted& c, uint32_t site, const uint64_t* given, uint32_t lanes, bool floats, Swap swap) {
    const bool retried = swap == kRetriedSwap;
    uint64_t addresses[kLanes];
    for (uint32_t i = 0; i < kLanes; i++) addresses[i] = retried ? given[i] & ~3ull : given[i];
    struct Part {
        uint64_t line;
        uint32_t addresses, lanes, most;
        uint32_t crowd[4];  // lanes at the busiest address of each sector
    } parts[kLanes];
    uint32_t found = 0, most = 0;
    for (uint32_t rest = lanes; rest;) {
        uint64_t address = addresses[__builtin_ctz(rest)], line = address / 128;
        uint32_t same = 0, at = 0;
        for (uint32_t r = rest; r; r &= r - 1)
            if (addresses[__builtin_ctz(r)] == address) same |= r & -r;
        rest &= ~same;
        uint32_t count = uint32_t(__builtin_popcount(same));
        most = std::max(most, count);
        if (swap != kNoSwap) queue_swaps(c, site, address, count, swap);
        while (at < found && parts[at].line != line) at++;
        if (at == found) parts[found++] = {line, 0, 0, 0, {}};
        parts[at].addresses++;
        parts[at].lanes += count;
        parts[at].most = std::max(parts[at].most, count);
        uint32_t& crowd = parts[at].crowd[address / 32 % 4];
        crowd = std::max(crowd, count);
    }
    for (const Part* part = parts; part < parts + found; part++) {
        if (c.atomics.size() >= kMostLines && !c.atomics.count(part->line)) continue;
        AtomicLine& line = c.atomics[part->line];
        const uint32_t n = part->lanes;
        uint64_t& same = floats ? line.same_floats : line.same;
        if (part->addresses > 1) {  // addresses of a sector side by side, but the lanes of one address in turn
            for (uint32_t crowd : part->crowd)
                if (retried) line.sectors += crowd ? 1 + part->most : 0;
                else if (crowd >= (floats ? kFloatCrowd : kCrowd)) same += crowd;
                else line.sectors += crowd > 0;
        } else if (retried) line.same += n + n * (n + 1) / 2;  // in each round all that are left
        else same += n;
    }
    return most;
}

void keep(WarpState* w, Counted& c, uint32_t site, TraceKind kind, const uint64_t* sectors, uint32_t count) {
    if (c.traced[w->warp_index]++ >= w->worker->launch->trace_limit) {
        const uint8_t bits = kind == kTraceAtomic ? 3 : kind == kTraceStore ? 2 : 1;
        const bool local = kind == kTraceLocalLoad || kind == kTraceLocalStore;
        for (uint32_t i = 0; i < count && !local; i++) c.beyond.at(sectors[i]) |= bits;
        return;
    }
    for (uint32_t at = 0; at < count; at += 128) {
        uint32_t part = std::min(count - at, 128u);
        c.trace.push_back({w->counted_time, uint32_t(c.sectors.size()), site, uint16_t(w->warp_index),
                           uint8_t(part), kind});
        c.sectors.insert(c.sectors.end(), sectors + at, sectors + at + part);
    }
    c.sites[site].traced += count;
}

// Where a thread's local memory lies on a device: words of neighbouring lanes are neighbours.
void spread_locals(const WarpState* w, uint32_t lanes, const uint64_t* addresses, uint64_t* out) {
    uint64_t bytes = w->activation ? w->activation->local_bytes : w->worker->launch->functions[0].local_bytes;
    uint64_t base = kLocalArena + (uint64_t(w->block->index) << 32) + (uint64_t(w->warp_index) << 26);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t lane = uint32_t(__builtin_ctz(rest));
        uint64_t offset = (addresses[lane] - w->local_base - lane * bytes) & 0xffff;
        out[lane] = base + offset / 4 * 128 + lane * 4 + offset % 4;
    }
}

// Where an access goes: each is a unit of its own.
enum Where { kToGlobal, kToShared, kToLocal, kToOther };

Where where_to(const WarpState* w, uint64_t address) {
    if (address - w->shared_base < w->shared_bytes) return kToShared;
    if (is_local(w, address)) return kToLocal;
    return in_device_arena(address) || in_host_arena(address) ? kToGlobal : kToOther;
}

// Of these lanes, those that go where the first of them goes. Only a generic address may lie anywhere.
uint32_t together(const WarpState* w, uint32_t site, uint32_t lanes, const uint64_t* addresses) {
    if (w->worker->launch->sites[site].space != kGeneric) return lanes;
    const Where first = where_to(w, addresses[__builtin_ctz(lanes)]);
    uint32_t found = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        if (where_to(w, addresses[__builtin_ctz(rest)]) == first) found |= rest & -rest;
    return found;
}

uint32_t threads_of_launch = 1;

}  // namespace

void begin_counting(const Launch& launch) {
    threads_of_launch = launch.threads;
    auto& all = records();
    all.clear();
    all.resize(launch.sample_count);
    uint32_t warps = (launch.block[0] * launch.block[1] * launch.block[2] + kLanes - 1) / kLanes;
    for (uint32_t i = 0; i < launch.sample_count; i++) {
        Counted& c = all[i];
        c.index = launch.samples[i];
        c.warps = warps;
        c.blocks = launch.count_total;
        c.executions.assign(size_t(warps) * c.blocks, 0);
        c.lanes.assign(c.blocks, 0);
        c.sites.assign(launch.site_count, SiteCount{});
        c.traced.assign(warps, 0);
        c.patterns.assign(launch.site_count, SharedPattern());
    }
}

Counted* counted_of(const Launch& launch, uint64_t index) {
    const uint64_t* end = launch.samples + launch.sample_count;
    const uint64_t* found = std::lower_bound(launch.samples, end, index);
    return found != end && *found == index ? &records()[size_t(found - launch.samples)] : nullptr;
}

const std::vector<Counted>& counted_blocks() { return records(); }

uint32_t counting_threads() { return std::max(threads_of_launch, 1u); }

void count_block(WarpState* w, uint32_t number, uint32_t instructions, uint32_t lanes) {
    Counted& c = *w->block->counted;
    c.executions[size_t(w->warp_index) * c.blocks + number]++;
    c.lanes[number] += uint32_t(__builtin_popcount(lanes));
    w->counted_time += instructions;  // the clock that a kernel can read goes on as in blocks that are not counted
}

void count_access(WarpState* w, uint32_t site, uint32_t lanes, const uint64_t* addresses, uint32_t bytes, Access access,
                  bool bypass, bool floats, Swap swap) {
    Counted& c = *w->block->counted;
    if (!lanes || site >= c.sites.size()) return;
    SiteCount& s = c.sites[site];
    if (const uint32_t same = together(w, site, lanes, addresses); same != lanes) {
        count_access(w, site, lanes & ~same, addresses, bytes, access, bypass, floats, swap);
        lanes = same;
    }
    uint32_t first = uint32_t(__builtin_ctz(lanes));
    uint64_t total = s.requests[0] + s.requests[1] + s.requests[2];
    if (!total && (lanes & (lanes - 1)))
        s.stride = int64_t(addresses[__builtin_ctz(lanes & (lanes - 1))] - addresses[first]);
    s.lanes += uint32_t(__builtin_popcount(lanes));
    if (access == kAtomic) s.serial += count_atomic(c, site, addresses, lanes, floats, swap);
    uint64_t units[kLanes * 9 + 8];
    if (w->worker->launch->sites[site].space == kConst) {  // a cache of its own, one word for all lanes at a time
        s.requests[3]++;
        s.serial += distinct(addresses, lanes, std::min(bytes, 4u), 2, units);
        return;
    }
    if (addresses[first] - w->shared_base < w->shared_bytes) {
        uint64_t offsets[kLanes];
        for (uint32_t i = 0; i < kLanes; i++) offsets[i] = (addresses[i] - w->shared_base) & ~uint64_t(bytes > 4 ? bytes - 1 : 0);
        const SharedPattern& pattern = shared_pattern(c, site, offsets, lanes, bytes);
        s.requests[1]++;
        s.wavefronts += pattern.wavefronts;
        s.least += pattern.least;
        return;
    }
    bool local = is_local(w, addresses[first]);
    if (local) {
        uint64_t spread[kLanes] = {};
        spread_locals(w, lanes, addresses, spread);
        uint32_t words = std::max(1u, bytes / 4), count = 0;
        s.requests[2]++;
        for (uint32_t j = 0; j < words; j++) {
            uint64_t moved[kLanes];
            for (uint32_t i = 0; i < kLanes; i++) moved[i] = spread[i] + j * 128;
            count += distinct(moved, lanes, std::min(bytes, 4u), 5, units + count);
        }
        s.sectors += count;
        s.lines += words;
        keep(w, c, site, access == kLoad ? kTraceLocalLoad : kTraceLocalStore, units, count);
        return;
    }
    if (!in_device_arena(addresses[first]) && !in_host_arena(addresses[first])) {
        s.requests[3]++;
        return;
    }
    s.requests[0]++;
    bytes = std::min(bytes, 256u);
    s.lines += distinct(addresses, lanes, bytes, 7, units);
    uint32_t count = distinct(addresses, lanes, bytes, 5, units);
    s.sectors += count;
    TraceKind kind = access == kAtomic ? kTraceAtomic : access == kStore ? kTraceStore : bypass ? kTraceBypass : kTraceLoad;
    keep(w, c, site, kind, units, count);
}

// Compiled code of the counting form calls this in place of its inline bounds check.
extern "C" void rt_counted(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* addresses) {
    WarpState* w = state(warp);
    rt_checkv(w, site, mask, addresses);
    count_site(w, site, mask, addresses);
}

void count_site(WarpState* w, uint32_t site, uint32_t mask, const uint64_t* addresses) {
    if (!w->block->counted) return;
    const Launch& launch = *w->worker->launch;
    const Site& s = launch.sites[site];
    uint8_t width = launch.count_bytes ? launch.count_bytes[site] : uint8_t(s.bytes);
    const bool special = width & kSpecial, atomic = s.access == kAtomic, floats = atomic && width & kFloats;
    const Swap swap = !atomic || !(width & kSwaps) ? kNoSwap : special ? kOwnSwap : kRetriedSwap;
    if (special && atomic && swap == kNoSwap) mask &= -mask;
    width &= uint8_t(~(kSpecial | (atomic ? kFloats | kSwaps : 0)));
    if (width) count_access(w, site, mask, addresses, width, Access(s.access), special, floats, swap);
}
