// What the caches make of the traces of sampled blocks (count.h).
//
// Each block is replayed by itself: its warps in turn, some instructions each, through its share of an L1 cache and then
// its share of the L2 cache. A sector that the block has not touched before is *cold*: whether another block
// brought it into the L2 is decided by the timing model, from where each block's footprint lies
// (Footprint). L1 is written through and keeps 128-byte lines of four sectors; local memory is written back.
//
// DRAM is read in units of two sectors, again each time that the L2 has lost them. A store makes its sector in L2
// dirty, and what becomes dirty is written to DRAM once: when its line has to go, or after the block's end. A sector
// that is stored to again while it is dirty costs nothing more; stored to after it was lost, it is written again.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "count.h"
#include "memory.h"

namespace {

constexpr uint64_t kLately = 16;  // instructions of a warp: accesses that are under way together
// A scheduler stays with a warp until it has to wait for data: so many instructions, about, before others have their turn.
constexpr uint64_t kTurn = 32;
enum Origin : uint8_t { kFromL1, kFromL2, kFromAfar, kOrigins };

// Lines of four sectors, least recently used of its set goes first. A block's share of a cache has few lines: they are in
// few sets, so that no line has to go for want of a place while others are free.
class Cache4 {
public:
    explicit Cache4(uint64_t bytes)
        : sets_(std::max<uint64_t>(bytes / kLine / kWays, 1)), ways_(std::max<uint64_t>(bytes / kLine / sets_, kWays)) {
        tags_.assign(sets_ * ways_, kNone);
        used_.assign(sets_ * ways_, 0);
        lines_.resize(sets_ * ways_);
    }

    // Is the sector there? If not, its line gets a place for it. `arriving` is where a sector that is still on its way
    // comes from: one that was asked for in the same stretch of code, as the next will hardly start without it.
    bool touch(uint64_t sector, uint64_t time = 0, Origin* arriving = nullptr) {
        const uint64_t tag = sector / 4, first = first_of(tag);
        const uint8_t bit = uint8_t(1u << (sector % 4));
        uint64_t at = find(tag, first);
        const bool there = at < first + ways_;
        evicted = {};
        if (!there) {
            at = uint64_t(std::min_element(&used_[first], &used_[first] + ways_) - used_.data());
            if (lines_[at].dirty) evicted = {tags_[at], lines_[at].dirty};
            tags_[at] = tag;
            lines_[at] = {};
        }
        used_[at] = ++now_;
        Line& line = lines_[at];
        const bool hit = line.valid & bit;
        line.valid |= bit;
        last_ = &line.fills[sector % 4];
        if (hit && arriving && time == last_->time) *arriving = last_->from;
        return hit;
    }

    // A store to a sector that was touched just now: does it make a clean one dirty?
    bool soil(uint64_t sector) {
        const uint64_t first = first_of(sector / 4), at = find(sector / 4, first);
        if (at == first + ways_) return true;
        const uint8_t bit = uint8_t(1u << (sector % 4));
        const bool clean = !(lines_[at].dirty & bit);
        lines_[at].dirty |= bit;
        return clean;
    }

    // The line that had to go for the sector touched last, if some of it was dirty.
    struct Evicted {
        uint64_t tag = 0;
        uint8_t dirty = 0;
    } evicted;

    // Where the sector that was missing last is fetched from.
    void fetch(uint64_t time, Origin from) { *last_ = {time, from}; }

private:
    static constexpr uint64_t kLine = 128, kNone = ~0ull, kWays = 16;  // at least
    struct Fill {
        uint64_t time = 0;
        Origin from = kFromL1;
    };
    struct Line {
        uint8_t valid = 0, dirty = 0;
        Fill fills[4];
    };
    // By the upper bits of the product, which spread neighbours evenly over any number of sets.
    uint64_t first_of(uint64_t tag) const { return ((tag * 0x9e3779b97f4a7c15ull >> 32) * sets_ >> 32) * ways_; }
    uint64_t find(uint64_t tag, uint64_t first) const {
        return uint64_t(std::find(&tags_[first], &tags_[first] + ways_, tag) - tags_.data());
    }
    uint64_t sets_, ways_, now_ = 0;
    std::vector<uint64_t> tags_, used_;
    std::vector<Line> lines_;
    Fill* last_ = nullptr;
};

constexpr uint64_t kElsewhere = 1ull << 62;  // local memory
enum LocalWay { kToL2, kFromDram, kToDram, kVisits, kLocalWays };
constexpr uint8_t kPromoted = 4;  // came along with its neighbour

// Sectors that a block has touched, in an open hash table: bit 0 read, bit 1 written.
class Seen {
public:
    explicit Seen(size_t most) {
        size_t size = 1024;
        while (size < most * 4) size *= 2;  // room for sectors that come along
        keys_.assign(size, ~0ull);
        marks_.assign(size, 0);
    }
    uint8_t& mark(uint64_t sector) {
        size_t at = place(sector);
        keys_[at] = sector;
        return marks_[at];
    }
    bool touched(uint64_t sector) const {
        size_t at = place(sector);
        return keys_[at] == sector && marks_[at] & 3;
    }
    template <class F>
    void each(F&& call) const {
        for (size_t i = 0; i < keys_.size(); i++)
            if (keys_[i] != ~0ull && marks_[i] & 3) call(keys_[i]);
    }

private:
    size_t place(uint64_t sector) const {
        size_t at = (sector * 0x9e3779b97f4a7c15ull >> 24) & (keys_.size() - 1);
        while (keys_[at] != ~0ull && keys_[at] != sector) at = (at + 1) & (keys_.size() - 1);
        return at;
    }
    std::vector<uint64_t> keys_;
    std::vector<uint8_t> marks_;
};

// Of every sample: the sectors of allocations that it touches, ascending.
std::vector<std::vector<uint64_t>>& touched_sectors() {
    static std::vector<std::vector<uint64_t>> sectors;
    return sectors;
}

// Pages of all channels together: what lies within so many bytes can be fetched without opening others.
constexpr uint64_t kPageSectors = 512;
constexpr uint64_t kChunkSectors = 8;  // neighbours that lie in one channel

// When a page last had something fetched or written.
class Pages {
public:
    explicit Pages(size_t most) {
        size_t size = 256;
        while (size < most * 2) size *= 2;
        keys_.assign(size, ~0ull);
        times_.assign(size, 0);
    }
    bool lately(uint64_t page, uint64_t time, uint64_t window = kLately) {
        size_t at = place(page);
        const uint64_t before = times_[at];  // of another warp that had its turn, it may lie ahead
        bool found = keys_[at] == page && (before / kTurn == time / kTurn || time - before <= window);
        keys_[at] = page;
        times_[at] = time;
        return found;
    }

private:
    size_t place(uint64_t page) const {
        size_t at = (page * 0x9e3779b97f4a7c15ull >> 24) & (keys_.size() - 1);
        while (keys_[at] != ~0ull && keys_[at] != page) at = (at + 1) & (keys_.size() - 1);
        return at;
    }
    std::vector<uint64_t> keys_, times_;
};

}  // namespace

extern "C" {

// Sectors of traced requests by what became of them; Python mirrors these structs. Sums over samples are
// weighted: a sample stands for other blocks of the grid.
struct SiteCache {
    double l1_hits, l2_hits, cold, stores, cold_stores;
    double requests[kOrigins];  // loads by where the last of their sectors comes from
    double local[kLocalWays];   // sectors of local memory that L1 could not keep, and visits of DRAM for them
    uint64_t allocation;        // where its first access was, 0: not in one
};
// What one sampled block touches of one allocation.
struct Footprint {
    uint64_t sample, allocation, allocation_bytes, low, high, cold_reads, cold_writes;
    uint64_t runs;       // contiguous stretches
    uint64_t refetched;  // sectors read again after the block's part of L2 had lost them
    uint64_t rewritten;  // sectors written again after that
    uint64_t jumps;      // sectors fetched or written where nothing near them was, shortly before
    uint64_t late;       // of cold_reads and cold_writes: those after the trace was full
    uint64_t chunks;     // visits of 256 bytes, each to one channel
    uint64_t lines;      // of 128 bytes, that it touches any of
};
struct SiteTotal { double requests[4], lanes, sectors, lines, wavefronts, least, serial, traced, stride, queue; };

uint32_t rt_replay(uint64_t l1_bytes, uint64_t l2_bytes, const double* weights, SiteCache* sites, Footprint* prints,
                   uint32_t room) {
    uint32_t used = 0;
    touched_sectors().assign(counted_blocks().size(), {});
    for (size_t sample = 0; sample < counted_blocks().size(); sample++) {
        const Counted& c = counted_blocks()[sample];
        std::vector<uint32_t> order(c.trace.size());
        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            const Access4 &x = c.trace[a], &y = c.trace[b];
            if (x.time / kTurn != y.time / kTurn) return x.time / kTurn < y.time / kTurn;
            return x.warp != y.warp ? x.warp < y.warp : x.time < y.time;
        });
        Cache4 l1(l1_bytes), l2(l2_bytes);
        Pages pages(c.sectors.size()), read_chunks(c.sectors.size()), written_chunks(c.sectors.size());
        Seen seen(c.sectors.size() + c.beyond.size());
        Allocation last{};
        uint32_t current = 0;
        const uint32_t first = used;
        const double weight = weights[sample];
        auto print = [&](uint64_t address) -> Footprint* {
            if (address - last.start >= last.bytes && !memory_find(address, &last)) return nullptr;
            if (current < used && current >= first && prints[current].allocation == last.start) return &prints[current];
            for (uint32_t i = first; i < used; i++)
                if (prints[i].allocation == last.start) return &prints[current = i];
            if (used == room) return &prints[current = room - 1];  // too many to tell apart, but never for nothing
            prints[used] = {sample, last.start, last.bytes, ~0ull, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
            return &prints[current = used++];
        };
        for (uint32_t i : order) {
            const Access4& a = c.trace[i];
            SiteCache& s = sites[a.site];
            const bool local = a.kind >= kTraceLocalLoad, loads = a.kind != kTraceStore && a.kind != kTraceLocalStore;
            uint64_t fetched_before = ~0ull, visited = ~0ull;
            Origin last_from = kFromL1;
            // Local memory is reused by the block that comes next: what L2 has not lost by then is never written to DRAM.
            auto touch_l2 = [&](uint64_t sector) {
                const bool there = l2.touch(sector);
                if (l2.evicted.dirty && l2.evicted.tag * 4 >= kElsewhere) {
                    s.local[kToDram] += weight * __builtin_popcount(l2.evicted.dirty);
                    s.local[kVisits] += weight;
                }
                return there;
            };
            for (uint32_t j = 0; j < a.count; j++) {
                const uint64_t address = c.sectors[a.first + j] * 32;
                Footprint* p = local ? nullptr : print(address);
                // Numbered by allocation, so that nothing depends on where memory happens to lie.
                const uint64_t sector = p ? (uint64_t(p - prints - first + 1) << 40) + (address - p->allocation) / 32
                                          : kElsewhere + address / 32;
                uint8_t& mark = seen.mark(sector);
                const bool fresh = !(mark & 3), unwritten = !(mark & 2), promoted = mark == kPromoted;
                mark |= loads ? 1 : 2;
                if (a.kind == kTraceAtomic) mark |= 2;
                const bool through_l1 = a.kind == kTraceLoad || local;
                if (through_l1) {
                    Origin from = kFromL1;
                    const bool hit = l1.touch(sector, a.time, &from);
                    for (uint32_t k = 0; k < 4; k++) {  // only local memory is dirty in L1
                        if (!(l1.evicted.dirty >> k & 1)) continue;
                        touch_l2(l1.evicted.tag * 4 + k);
                        l2.soil(l1.evicted.tag * 4 + k);
                        s.local[kToL2] += weight;
                    }
                    if (a.kind == kTraceLocalStore) l1.soil(sector);
                    if (hit) {
                        s.l1_hits += weight;
                        last_from = std::max(last_from, from);
                        continue;
                    }
                    if (a.kind == kTraceLocalStore) continue;  // written back when its line has to go
                }
                const bool known = touch_l2(sector) && (!fresh || promoted);
                uint32_t fetched = 0, written = 0;  // sectors
                if (!loads || a.kind == kTraceAtomic) written = l2.soil(sector);
                if (!loads) {
                    s.stores += weight;
                    if (unwritten) s.cold_stores += weight;
                } else if (known && j && fetched_before == (sector ^ 1)) {
                    s.cold += weight;  // both halves were asked for at once
                } else if (known) {
                    s.l2_hits += weight;
                } else {
                    fetched_before = sector;
                    s.cold += weight;
                    fetched = 1;
                    if (!local && a.kind != kTraceAtomic) {  // memory is read in units of two sectors
                        uint8_t& other = seen.mark(sector ^ 1);
                        if (other == 0) other = kPromoted;
                        if (!touch_l2(sector ^ 1)) fetched = 2;
                    } else if (local && !fresh) {
                        s.local[kFromDram] += weight;
                        if (visited != sector / 4) s.local[kVisits] += weight;
                        visited = sector / 4;
                    }
                }
                if (loads) {
                    const Origin from = known ? kFromL2 : kFromAfar;
                    last_from = std::max(last_from, from);
                    if (through_l1) l1.fetch(a.time, from);
                }
                if (!p) continue;
                if (!s.allocation) s.allocation = p->allocation;
                p->low = std::min(p->low, address);
                p->high = std::max(p->high, address + 32);
                (unwritten ? p->cold_writes : p->rewritten) += written;
                if (fetched) (fresh && !promoted ? p->cold_reads : p->refetched) += fetched;
                if (!fetched && !written) continue;
                if (!pages.lately(sector / kPageSectors, a.time)) p->jumps++;
                const uint64_t chunk = sector / kChunkSectors;
                if (fetched && !read_chunks.lately(chunk, a.time)) p->chunks++;
                // What was stored at different times to neighbours leaves the L2 together.
                if (written && !written_chunks.lately(chunk, a.time, unwritten ? ~0ull : kLately)) p->chunks++;
            }
            if (loads) s.requests[last_from] += weight;
        }
        std::vector<std::pair<uint64_t, uint8_t>> rest;
        c.beyond.each([&](uint64_t sector, uint8_t bits) { rest.emplace_back(sector, bits); });
        std::sort(rest.begin(), rest.end());
        uint64_t page_before = ~0ull, chunk_before = ~0ull;
        for (auto [where, bits] : rest) {
            const uint64_t address = where * 32;
            Footprint* p = print(address);
            if (!p) continue;
            const uint64_t sector = (uint64_t(p - prints - first + 1) << 40) + (address - p->allocation) / 32;
            uint8_t& mark = seen.mark(sector);
            const uint32_t fetched = (bits & 1) && !mark, written = (bits & 2) && !(mark & 2);
            mark |= bits;
            p->low = std::min(p->low, address);
            p->high = std::max(p->high, address + 32);
            p->cold_reads += fetched;
            p->cold_writes += written;
            p->late += fetched + written;
            if ((fetched || written) && sector / kPageSectors != page_before) p->jumps++;
            if ((fetched || written) && sector / kChunkSectors != chunk_before) p->chunks++;
            page_before = sector / kPageSectors;
            chunk_before = sector / kChunkSectors;
        }
        seen.each([&](uint64_t sector) {
            const uint64_t owner = sector >> 40;
            if (!owner || owner > used - first) return;
            Footprint& p = prints[first + owner - 1];
            if (!seen.touched(sector - 1)) p.runs++;
            uint64_t below = sector;
            while (below % 4 && !seen.touched(below - 1)) below--;
            if (below % 4 == 0) p.lines++;  // none of its line lies lower
            touched_sectors()[sample].push_back(p.allocation / 32 + (sector & ((1ull << 40) - 1)));
        });
        std::sort(touched_sectors()[sample].begin(), touched_sectors()[sample].end());
    }
    return used;
}

// Of an allocation, bytes in sectors that both samples touch, since the last replay.
uint64_t rt_common(uint32_t one, uint32_t other, uint64_t start, uint64_t bytes) {
    auto part = [&](uint32_t sample) {
        const std::vector<uint64_t>& all = touched_sectors()[sample];
        return std::pair(std::lower_bound(all.begin(), all.end(), start / 32),
                         std::lower_bound(all.begin(), all.end(), (start + bytes + 31) / 32));
    };
    auto [a, a_end] = part(one);
    auto [b, b_end] = part(other);
    uint64_t common = 0;
    while (a != a_end && b != b_end) {
        if (*a == *b) common++, ++a, ++b;
        else if (*a < *b) ++a;
        else ++b;
    }
    return 32 * common;
}

// Totals over all samples, weighted: executions and lanes per block, the executions of the warp that ran it
// most, what sites did, and the PTX instructions run by the warps of each of four schedulers.
void rt_count_totals(const double* weights, const uint32_t* instructions, double* executions, double* lanes,
                     double* most, SiteTotal* sites, double* schedulers) {
    for (size_t sample = 0; sample < counted_blocks().size(); sample++) {
        const Counted& c = counted_blocks()[sample];
        const double weight = weights[sample];
        for (uint32_t b = 0; b < c.blocks; b++) {
            uint32_t top = 0;
            for (uint32_t w = 0; w < c.warps; w++) {
                uint32_t n = c.executions[size_t(w) * c.blocks + b];
                executions[b] += weight * n;
                schedulers[w % 4] += weight * n * (instructions[b] + 1);
                top = std::max(top, n);
            }
            most[b] += weight * top;
            lanes[b] += weight * double(c.lanes[b]);
        }
        for (size_t i = 0; i < c.sites.size(); i++) {
            const SiteCount& s = c.sites[i];
            SiteTotal& t = sites[i];
            if (t.stride == 0) t.stride = double(s.stride);
            for (uint32_t k = 0; k < 4; k++) t.requests[k] += weight * double(s.requests[k]);
            t.lanes += weight * double(s.lanes);
            t.sectors += weight * double(s.sectors);
            t.lines += weight * double(s.lines);
            t.wavefronts += weight * double(s.wavefronts);
            t.least += weight * double(s.least);
            t.serial += weight * double(s.serial);
            t.traced += weight * double(s.traced);
            t.queue += weight * double(s.queue);
        }
    }
}

// The line of global memory whose atomics take longest, all samples together, and how many samples use the most
// shared line.
void rt_count_atomics(AtomicLine* most, uint64_t* sharing) {
    // Roughly as the model weighs them; all figures count, so that equal lines do not depend on the order of the map.
    auto weight = [](const AtomicLine& a) {
        const uint64_t swapped = 300 * a.swaps;
        return std::tuple(5 * a.sectors + a.same + 3 * a.same_floats + swapped, a.sectors, a.same, a.same_floats, a.swaps);
    };
    std::unordered_map<uint64_t, AtomicLine> sums;
    std::unordered_map<uint64_t, uint32_t> blocks;
    *most = {};
    *sharing = 0;
    for (const Counted& c : counted_blocks())
        for (auto& [line, part] : c.atomics) {
            if (!in_device_arena(line * 128) && !in_host_arena(line * 128)) continue;
            AtomicLine& sum = sums[line];
            sum = {sum.sectors + part.sectors, sum.same + part.same, sum.same_floats + part.same_floats,
                   sum.swaps + part.swaps};
            *sharing = std::max<uint64_t>(*sharing, ++blocks[line]);
        }
    for (auto& [line, sum] : sums)
        if (weight(sum) > weight(*most)) *most = sum;
}

void rt_count_release() {
    begin_counting(Launch{});
    touched_sectors().clear();
}

}  // extern "C"
