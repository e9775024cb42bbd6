// What the caches make of the traces of sampled blocks (count.h).
//
// Each block is replayed by itself: its warps in turn, some instructions each, through its share of an L1 cache and then
// its share of the L2 cache. A sector that the block has not touched before is *cold*: whether another block
// brought it into the L2 is decided by the timing model, from where each block's footprint lies
// (Footprint). L1 is written through and keeps 128-byte lines of four sectors; local memory is written back.
//
// DRAM is read in units of one sector or two, again each time that the L2 has lost them. A store makes its sector in L2
// dirty, and what becomes dirty is written to DRAM once: when its line has to go, or after the block's end. A sector
// that is stored to again while it is dirty costs nothing more; stored to after it was lost, it is written again.
#include <algorithm>
#include <atomic>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache.h"
#include "count.h"
#include "memory.h"
#include "pool.h"
#include "sectors.h"

enum LocalWay { kToL2, kFromDram, kToDram, kVisits, kLocalWays };

// Sectors of traced requests by what became of them; Python mirrors these structs. Sums over samples are
// weighted: a sample stands for other blocks of the grid.
struct SiteCache {
    double l1_hits, l2_hits, cold, stores, cold_stores;
    double requests[kOrigins];  // loads by where the last of their sectors comes from
    double local[kLocalWays];   // sectors of local memory that L1 could not keep, and visits of DRAM for them
    uint64_t allocation;        // where its first access was, 0: not in one
};
// A block's share of L1 and L2, and what DRAM delivers at a time.
struct Caches {
    uint64_t l1_bytes, l2_bytes, dram_unit_bytes;
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

namespace {

constexpr uint64_t kLately = 16;  // instructions of a warp: accesses that are under way together
// A scheduler stays with a warp until it has to wait for data: so many instructions, about, before others have their turn.
constexpr uint64_t kTurn = 32;

constexpr uint64_t kElsewhere = 1ull << 62;  // local memory
enum Mark : uint8_t { kRead = 1, kWritten = 2, kTouched = 3, kPromoted = 4 };  // the last: came along with its neighbour

// When something was last fetched or written.
struct Visit {
    uint64_t time = kNever;
    static constexpr uint64_t kNever = ~0ull;

    // Notes a visit: was there one shortly before? That of another warp that had its turn may lie ahead.
    bool lately(uint64_t now, uint64_t window = kLately) {
        const uint64_t before = std::exchange(time, now);
        return before != kNever && (before / kTurn == now / kTurn || now - before <= window);
    }
};

constexpr uint64_t kChunkSectors = 8;  // neighbours that lie in one channel
struct Chunk {
    uint8_t marks[kChunkSectors] = {};
    Visit read, written;
};
// Pages of all channels together: what lies within so many bytes can be fetched without opening others.
constexpr uint64_t kPageSectors = 512;

// What one sampled block does to the caches, by itself.
class Replay {
public:
    std::vector<SiteCache> sites;    // not weighted yet
    std::vector<Footprint> prints;
    std::vector<uint64_t> touched;   // sectors of allocations, ascending

    void run(const Counted& c, const Caches& caches, size_t room) {
        sites.assign(c.sites.size(), {});
        room_ = std::max<size_t>(room, 1);
        in_pairs_ = caches.dram_unit_bytes > 32;
        Cache4 l1(caches.l1_bytes), l2(caches.l2_bytes);
        for (uint32_t i : in_turns(c.trace)) request(c.trace[i], &c.sectors[c.trace[i].first], l1, l2);
        untraced(c.beyond);
        survey();
    }

private:
    // Warps have their turns one after the other; the trace has those of each warp in order.
    static std::vector<uint32_t> in_turns(const std::vector<Access4>& trace) {
        std::vector<std::pair<uint64_t, uint32_t>> keys(trace.size());
        for (uint32_t i = 0; i < trace.size(); i++) keys[i] = {trace[i].time / kTurn << 16 | trace[i].warp, i};
        std::sort(keys.begin(), keys.end());
        std::vector<uint32_t> order(trace.size());
        for (size_t i = 0; i < keys.size(); i++) order[i] = keys[i].second;
        return order;
    }

    // The footprint in the allocation that the address lies in; null: in none. Where there are too many to tell apart,
    // those that come last are one, which may be anywhere.
    Footprint* print(uint64_t address) {
        if (address - last_.start >= last_.bytes && !memory_find(address, &last_)) return nullptr;
        if (current_ < prints.size() && prints[current_].allocation == last_.start) return &prints[current_];
        for (current_ = 0; current_ < prints.size(); current_++)
            if (prints[current_].allocation == last_.start) return &prints[current_];
        uint64_t start = last_.start, bytes = last_.bytes;
        if (prints.size() + 1 >= room_) {
            if (!in_device_arena(address)) return nullptr;
            if (prints.size() == room_) return &prints[current_ = room_ - 1];
            start = kDeviceArena, bytes = kDeviceArenaBytes;
        }
        prints.push_back({0, start, bytes, ~0ull, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
        return &prints[current_];
    }

    // Sectors are numbered by allocation, so that nothing depends on where memory happens to lie.
    uint64_t number(uint64_t address, const Footprint* p) const {
        return p ? (uint64_t(p - prints.data() + 1) << 40) + (address - p->allocation) / 32 : kElsewhere + address / 32;
    }

    uint8_t& mark(uint64_t sector) { return chunks_.at(sector / kChunkSectors).marks[sector % kChunkSectors]; }

    void request(const Access4& a, const uint64_t* sectors, Cache4& l1, Cache4& l2) {
        SiteCache& s = sites[a.site];
        const bool local = a.kind >= kTraceLocalLoad, loads = a.kind != kTraceStore && a.kind != kTraceLocalStore;
        const bool atomic = a.kind == kTraceAtomic, through_l1 = a.kind == kTraceLoad || local;
        uint64_t fetched_before = ~0ull, visited = ~0ull;
        Origin last_from = kFromL1;
        // Local memory is reused by the block that comes next: what L2 has not lost by then is never written to DRAM.
        auto touch_l2 = [&](uint64_t sector) {
            const bool there = l2.touch(sector);
            if (l2.evicted.dirty && l2.evicted.tag * 4 >= kElsewhere) {
                s.local[kToDram] += __builtin_popcount(l2.evicted.dirty);
                s.local[kVisits]++;
            }
            return there;
        };
        for (uint32_t j = 0; j < a.count; j++) {
            const uint64_t address = sectors[j] * 32;
            Footprint* p = local ? nullptr : print(address);
            const uint64_t sector = number(address, p);
            uint8_t& own = mark(sector);
            const bool fresh = !(own & kTouched), unwritten = !(own & kWritten), promoted = own == kPromoted;
            own |= (loads ? kRead : kWritten) | (atomic ? kWritten : 0);
            if (through_l1) {
                Origin from = kFromL1;
                const bool hit = l1.touch(sector, a.time, &from);
                for (uint32_t k = 0; k < 4; k++) {  // only local memory is dirty in L1
                    if (!(l1.evicted.dirty >> k & 1)) continue;
                    touch_l2(l1.evicted.tag * 4 + k);
                    l2.soil(l1.evicted.tag * 4 + k);
                    s.local[kToL2]++;
                }
                if (a.kind == kTraceLocalStore) l1.soil(sector);
                if (hit) {
                    s.l1_hits++;
                    last_from = std::max(last_from, from);
                    continue;
                }
                if (a.kind == kTraceLocalStore) continue;  // written back when its line has to go
            }
            const bool known = touch_l2(sector) && (!fresh || promoted);
            uint32_t fetched = 0, written = 0;  // sectors
            if (!loads || atomic) written = l2.soil(sector);
            if (!loads) {
                s.stores++;
                if (unwritten) s.cold_stores++;
            } else if (in_pairs_ && known && j && fetched_before == (sector ^ 1)) {
                s.cold++;  // both halves were asked for at once
            } else if (known) {
                s.l2_hits++;
            } else {
                fetched_before = sector;
                s.cold++;
                fetched = 1;
                if (in_pairs_ && !local && !atomic) {  // its neighbour comes along
                    uint8_t& other = mark(sector ^ 1);
                    if (other == 0) other = kPromoted;
                    if (!touch_l2(sector ^ 1)) fetched = 2;
                } else if (local && !fresh) {
                    s.local[kFromDram]++;
                    if (visited != sector / 4) s.local[kVisits]++;
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
            if (!pages_.at(sector / kPageSectors).lately(a.time)) p->jumps++;
            Chunk& chunk = chunks_.at(sector / kChunkSectors);
            if (fetched && !chunk.read.lately(a.time)) p->chunks++;
            // What was stored at different times to neighbours leaves the L2 together.
            if (written && !chunk.written.lately(a.time, unwritten ? ~0ull : kLately)) p->chunks++;
        }
        if (loads) s.requests[last_from]++;
    }

    // What was touched after the trace was full.
    void untraced(const SectorMap<uint8_t>& beyond) {
        std::vector<std::pair<uint64_t, uint8_t>> rest;
        beyond.each([&](uint64_t sector, uint8_t bits) { rest.emplace_back(sector, bits); });
        std::sort(rest.begin(), rest.end());
        uint64_t page_before = ~0ull, chunk_before = ~0ull;
        for (auto [where, bits] : rest) {
            const uint64_t address = where * 32;
            Footprint* p = print(address);
            if (!p) continue;
            const uint64_t sector = number(address, p);
            uint8_t& own = mark(sector);
            const uint32_t fetched = (bits & kRead) && !own, written = (bits & kWritten) && !(own & kWritten);
            own |= bits;
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
    }

    // Which sectors were touched, and how many lines and stretches of each allocation.
    void survey() {
        constexpr uint64_t kWithin = (1ull << 40) - 1;
        struct Part {
            uint64_t first, number;  // the first sector by its address, and as it is numbered
            const uint8_t* marks;
        };
        std::vector<Part> parts;
        chunks_.each([&](uint64_t chunk, const Chunk& state) {
            const uint64_t number = chunk * kChunkSectors, owner = number >> 40;
            if (owner && owner <= prints.size())
                parts.push_back({prints[owner - 1].allocation / 32 + (number & kWithin), number, state.marks});
        });
        std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
            return a.first != b.first ? a.first < b.first : a.number < b.number;
        });
        uint64_t before = ~0ull;
        for (const Part& part : parts) {
            for (const uint8_t* line = part.marks; line < part.marks + kChunkSectors; line += 4)
                prints[(part.number >> 40) - 1].lines += ((line[0] | line[1] | line[2] | line[3]) & kTouched) != 0;
            for (uint64_t i = 0; i < kChunkSectors; i++) {
                if (!(part.marks[i] & kTouched)) continue;
                const uint64_t sector = part.number + i;
                if (sector != before + 1) prints[(sector >> 40) - 1].runs++;
                before = sector;
                touched.push_back(part.first + i);
            }
        }
    }

    size_t room_ = 1, current_ = 0;
    bool in_pairs_ = true;
    Allocation last_{};
    SectorMap<Chunk> chunks_;
    SectorMap<Visit> pages_;
};

void add(SiteCache& sum, const SiteCache& part, double weight) {
    sum.l1_hits += weight * part.l1_hits;
    sum.l2_hits += weight * part.l2_hits;
    sum.cold += weight * part.cold;
    sum.stores += weight * part.stores;
    sum.cold_stores += weight * part.cold_stores;
    for (uint32_t from = 0; from < kOrigins; from++) sum.requests[from] += weight * part.requests[from];
    for (uint32_t way = 0; way < kLocalWays; way++) sum.local[way] += weight * part.local[way];
    if (!sum.allocation) sum.allocation = part.allocation;
}

struct Job {
    Caches caches;
    uint32_t room;  // for footprints of each
    std::vector<Replay> replays;
    std::atomic<size_t> next{0};
};

void replay_some(Worker&, void* argument) {
    auto& job = *static_cast<Job*>(argument);
    for (size_t i; (i = job.next++) < job.replays.size();)
        job.replays[i].run(counted_blocks()[i], job.caches, job.room);
}

// Of every sample: the sectors of allocations that it touches, ascending.
std::vector<std::vector<uint64_t>>& touched_sectors() {
    static std::vector<std::vector<uint64_t>> sectors;
    return sectors;
}

}  // namespace

extern "C" {

struct SiteTotal { double requests[4], lanes, sectors, lines, wavefronts, least, serial, traced, stride, queue; };

uint32_t rt_replay(Caches caches, const double* weights, SiteCache* sites, Footprint* prints, uint32_t room) {
    const auto& samples = counted_blocks();
    if (samples.empty()) return 0;
    Job job{caches, room / uint32_t(samples.size()), std::vector<Replay>(samples.size())};
    run_on_workers(std::min(counting_threads(), uint32_t(samples.size())), replay_some, &job);
    uint32_t used = 0;
    touched_sectors().clear();
    for (size_t sample = 0; sample < samples.size(); sample++) {  // in their order: sums must not depend on threads
        Replay& each = job.replays[sample];
        for (size_t i = 0; i < each.sites.size(); i++) add(sites[i], each.sites[i], weights[sample]);
        for (Footprint& print : each.prints) print.sample = sample;
        std::copy(each.prints.begin(), each.prints.end(), prints + used);
        used += uint32_t(each.prints.size());
        touched_sectors().push_back(std::move(each.touched));
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
