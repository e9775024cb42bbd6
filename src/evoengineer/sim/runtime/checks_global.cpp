// Races in global memory: marks of the last write and two of the last reads of everything a launch touches.
//
// Marks are kept per page, made when first touched, for units of 4 bytes; a page that is accessed in smaller
// pieces is split into units of 2 or 1. With --check race one worker runs the launch, so nothing is locked.
#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checks.h"
#include "totals.h"

namespace {

constexpr uint64_t kPageBytes = 1024;
constexpr uint32_t kWordShift = 2;
constexpr uint64_t kUnitWork = 2;  // instructions: what making the marks of a unit takes

struct UnitMarks {
    GlobalMark write;
    GlobalMark reads[2];
};

struct Page {
    uint32_t shift = kWordShift;
    std::vector<UnitMarks> units = std::vector<UnitMarks>(kPageBytes >> kWordShift);

    void split(uint32_t to) {
        std::vector<UnitMarks> finer(kPageBytes >> to);
        for (size_t i = 0; i < finer.size(); i++) finer[i] = units[i >> (shift - to)];
        units.swap(finer);
        shift = to;
    }
};

struct Shadow {
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
    uint64_t last_number = ~0ull;
    Page* last = nullptr;
    uint64_t most_pages = ~0ull;
    std::vector<std::pair<uint64_t, uint64_t>> constant;  // from, to: what is read there is not marked

    // Null when there are enough.
    Page* at(uint64_t address, WarpState* w) {
        uint64_t number = address / kPageBytes;
        if (number != last_number) {
            auto found = pages.find(number);
            if (found == pages.end()) {
                if (pages.size() >= most_pages) return nullptr;
                found = pages.emplace(number, std::make_unique<Page>()).first;
                charge(w, kUnitWork * found->second->units.size());
            }
            last = found->second.get();
            last_number = number;
        }
        return last;
    }

    bool is_constant(uint64_t address) const {
        for (auto [from, to] : constant)
            if (from <= address && address < to) return true;
        return false;
    }
};

Shadow& shadow() {
    static auto* only = new Shadow;
    return *only;
}

bool ordered(RaceState& r, const GlobalMark& mark, uint32_t thread) {
    if (mark.block == 0) return true;
    if (mark.block != r.block) return mark.block < r.seen.size() && r.seen[mark.block] >= mark.epoch;
    return mark.phase < r.phase || mark.thread == thread || r.clock(thread)[mark.thread] >= mark.time;
}

// Checks and marks one unit, of `size` bytes from `at`.
void record_unit(const Touch& t, RaceState& r, UnitMarks& m, const GlobalMark& now, uint64_t at, uint64_t size) {
    auto same_instruction = [&](const GlobalMark& other) {
        return other.block == now.block && other.serial == now.serial;
    };
    auto races = [&](const GlobalMark& other) {
        return other.block && !same_instruction(other) && !now.strong_with(other) &&
               !ordered(r, other, now.thread);
    };
    auto fail = [&](const GlobalMark& other, bool wrote, bool at_once) {
        fail_race(t, at, {other.thread, other.site, other.block - 1, wrote, other.strong != 0, at_once});
    };
    bool unchanged = t.access == kStore && t.stored;
    for (uint64_t i = 0; i < size && unchanged; i++) unchanged = t.keeps(at + i);
    if (!unchanged && races(m.write)) fail(m.write, true, false);
    if (!t.writes()) {
        bool free_slot = m.reads[0].thread == now.thread && m.reads[0].block == now.block;
        m.reads[free_slot || ordered(r, m.reads[0], now.thread) ? 0 : 1] = now;
        return;
    }
    if (t.stored && same_instruction(m.write) && m.write.thread != now.thread)
        for (uint64_t i = 0; i < size; i++)
            if (!t.agrees(m.write.thread, at + i)) fail(m.write, true, true);
    for (const GlobalMark& read : m.reads)
        if (!unchanged && races(read)) fail(read, false, false);
    m.write = now;
}

// Writing another value to what is only to be read; that it is put back later does not help who reads it meanwhile.
void refuse_change(const Touch& t) {
    if (t.access != kStore || !t.stored) return;
    bool kept = true;
    for (uint64_t i = 0; i < t.bytes && kept; i++) kept = t.keeps(t.address + i);
    if (kept) return;
    describe_access(t.w, kWriteToConst, t.site, 1u << t.lane, t.address, t.bytes, t.access);
    describe_text(t.w, "inputs are only read, also if what was there is put back: others may read it meanwhile");
    leave(t.w, Request::kFailed);
}

}  // namespace

void record_global(const Touch& t) {
    if (shadow().is_constant(t.address)) {
        if (!t.writes()) return;
        refuse_change(t);
    }
    RaceState& r = *t.w->block->races;
    uint32_t thread = t.thread();
    GlobalMark now{r.block, r.epoch, r.phase, r.clock(thread)[thread] + 1, r.serial, t.site, uint16_t(thread),
                   uint16_t(t.strong())};
    uint32_t natural = uint32_t(__builtin_ctzll(t.address | t.bytes | (1u << kWordShift)));
    for (uint64_t at = t.address, end = t.address + t.bytes; at < end;) {
        Page* there = shadow().at(at, t.w);
        if (!there) return;
        Page& page = *there;
        if (natural < page.shift) {
            page.split(natural);
            charge(t.w, kUnitWork * page.units.size());
        }
        uint64_t size = 1ull << page.shift;
        record_unit(t, r, page.units[at % kPageBytes >> page.shift], now, at, size);
        at += size;
    }
}

void race_forget(uint64_t start, uint64_t bytes) {
    for (uint64_t at = start; at < start + bytes;) {
        auto found = shadow().pages.find(at / kPageBytes);
        uint64_t end = std::min((at / kPageBytes + 1) * kPageBytes, start + bytes);
        if (found != shadow().pages.end()) {
            Page& page = *found->second;
            for (uint64_t i = at; i < end; i += 1ull << page.shift) page.units[i % kPageBytes >> page.shift] = {};
        }
        at = end;
    }
}

void forget_global() {
    shadow().pages.clear();
    shadow().last_number = ~0ull;
}

// Look for races in so many kibibytes at most. What is only to be read: pairs of start and length.
extern "C" void rt_race_scope(uint64_t most_kibibytes, const uint64_t* constant, uint64_t count) {
    static_assert(kPageBytes == 1024);
    shadow().most_pages = most_kibibytes ? most_kibibytes : ~0ull;
    shadow().constant.clear();
    for (uint64_t i = 0; i < count; i++) shadow().constant.push_back({constant[2 * i], constant[2 * i] + constant[2 * i + 1]});
}
