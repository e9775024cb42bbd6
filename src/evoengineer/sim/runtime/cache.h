// A cache of the simulated GPU, as the replay of traces has it (caches.cpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

enum Origin : uint8_t { kFromL1, kFromL2, kFromAfar, kOrigins };

// Lines of four sectors, least recently used of its set goes first. A block's share of a cache has few lines: they are in
// few sets, so that no line has to go for want of a place while others are free.
class Cache4 {
public:
    explicit Cache4(uint64_t bytes)
        : sets_(std::max<uint64_t>(bytes / kLine / kWays, 1)), ways_(std::max<uint64_t>(bytes / kLine / sets_, kWays)),
          tags_(sets_ * ways_), used_(sets_ * ways_), lines_(sets_ * ways_) {}

    // Is the sector there? If not, its line gets a place for it. `arriving` is where a sector that is still on its way
    // comes from: one that was asked for in the same stretch of code, as the next will hardly start without it.
    bool touch(uint64_t sector, uint64_t time = 0, Origin* arriving = nullptr) {
        const uint64_t tag = sector / 4, first = first_of(tag);
        const uint8_t bit = uint8_t(1u << (sector % 4));
        uint64_t at = find(tag, first);
        const bool there = at < first + ways_;
        evicted = {};
        if (!there) {
            at = uint64_t(std::min_element(&used_[first], &used_[first] + ways_) - &used_[0]);
            if (lines_[at].dirty) evicted = {tags_[at] - 1, lines_[at].dirty};
            tags_[at] = tag + 1;
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
    static constexpr uint64_t kLine = 128, kWays = 16;  // at least
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
        return uint64_t(std::find(&tags_[first], &tags_[first] + ways_, tag + 1) - &tags_[0]);
    }
    // Zeros that cost nothing until they are touched: a large card's L2 has tens of megabytes, most blocks a few lines.
    template <class T>
    class Zeroed {
    public:
        explicit Zeroed(uint64_t count) : items_(static_cast<T*>(calloc(count, sizeof(T)))) {
            if (!items_) throw std::bad_alloc();
        }
        Zeroed(const Zeroed&) = delete;
        Zeroed& operator=(const Zeroed&) = delete;
        ~Zeroed() { free(items_); }
        T& operator[](uint64_t i) const { return items_[i]; }

    private:
        T* items_;
    };
    uint64_t sets_, ways_, now_ = 0;
    Zeroed<uint64_t> tags_, used_;  // 0: none, else one more than the tag
    Zeroed<Line> lines_;            // all zero: nothing is valid
    Fill* last_ = nullptr;
};
