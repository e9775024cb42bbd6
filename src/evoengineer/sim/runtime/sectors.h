// A hash table by number of a sector, or of a stretch of sectors.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

template <class Value>
class SectorMap {
public:
    // The value of this key; the first time a new one. References live until the next call.
    Value& at(uint64_t key) {
        if (used_ * 2 >= slots_.size()) grow();
        Slot& slot = slots_[place(key)];
        if (slot.first == kNone) {
            slot.first = key;
            used_++;
        }
        return slot.second;
    }
    template <class F>
    void each(F&& call) const {
        for (const Slot& slot : slots_)
            if (slot.first != kNone) call(slot.first, slot.second);
    }
    size_t size() const { return used_; }

private:
    using Slot = std::pair<uint64_t, Value>;
    static constexpr uint64_t kNone = ~0ull;
    size_t place(uint64_t key) const {
        size_t at = (key * 0x9e3779b97f4a7c15ull >> 24) & (slots_.size() - 1);
        while (slots_[at].first != kNone && slots_[at].first != key) at = (at + 1) & (slots_.size() - 1);
        return at;
    }
    void grow() {
        std::vector<Slot> before(std::max<size_t>(slots_.size() * 2, 1024), Slot(kNone, Value()));
        before.swap(slots_);
        for (Slot& slot : before)
            if (slot.first != kNone) slots_[place(slot.first)] = std::move(slot);
    }
    std::vector<Slot> slots_;
    size_t used_ = 0;
};
