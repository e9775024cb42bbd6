// Releases and acquires: how threads that meet at no barrier come to be ordered. See checks.h.
//
// A release is taken for one of the whole block (threads usually meet at a barrier before one of them fences
// for all), and so is an acquire. That may hide a race, it never makes one up.
#include <algorithm>
#include <unordered_map>

#include "checks.h"

namespace {

// What was released at an address.
struct Released {
    std::vector<uint32_t> epochs;   // of blocks, by turn + 1
    uint32_t block = 0, phase = 0;  // whose threads' clocks these are
    std::vector<uint32_t> clocks;
};

std::unordered_map<uint64_t, Released>& released() {
    static auto* only = new std::unordered_map<uint64_t, Released>;
    return *only;
}

void join(std::vector<uint32_t>& into, const std::vector<uint32_t>& from) {
    if (into.size() < from.size()) into.resize(from.size(), 0);
    for (size_t i = 0; i < from.size(); i++) into[i] = std::max(into[i], from[i]);
}

}  // namespace

void fence(WarpState* w, uint32_t lanes, bool whole_card) {
    RaceState& r = *w->block->races;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t thread = w->warp_index * kLanes + uint32_t(__builtin_ctz(rest));
        r.fence_times[thread] = ++r.clock(thread)[thread];
    }
    r.clocks_moved = true;
    if (whole_card) r.fenced = r.epoch++;
}

void release(WarpState* w, uint32_t lane, uint64_t address, bool whole_card) {
    RaceState& r = *w->block->races;
    uint32_t thread = w->warp_index * kLanes + lane;
    if (!r.fenced && r.seen.empty() && !r.fence_times[thread]) return;  // nothing that anybody could see
    Released& there = released()[address];
    if (whole_card) join(there.epochs, r.seen);
    if (whole_card && r.fenced) {
        if (there.epochs.size() <= r.block) there.epochs.resize(r.block + 1, 0);
        there.epochs[r.block] = std::max(there.epochs[r.block], r.fenced);
    }
    if (there.block != r.block || there.phase != r.phase || there.clocks.size() != r.threads) {
        there.block = r.block;
        there.phase = r.phase;
        there.clocks.assign(r.threads, 0);
    }
    const uint32_t* clock = r.clock(thread);
    for (uint32_t i = 0; i < r.threads; i++)
        there.clocks[i] = std::max(there.clocks[i], i == thread ? r.fence_times[thread] : clock[i]);
}

void acquire(WarpState* w, uint32_t lane, uint64_t address, bool whole_card) {
    if (released().empty()) return;
    auto found = released().find(address);
    if (found == released().end()) return;
    RaceState& r = *w->block->races;
    if (whole_card) join(r.seen, found->second.epochs);
    if (found->second.block != r.block || found->second.phase != r.phase) return;
    uint32_t thread = w->warp_index * kLanes + lane;
    join_clocks(r.clock(thread), found->second.clocks.data(), r.threads);
    r.clocks_moved = r.across_warps = true;
}

void forget_released(uint64_t start, uint64_t bytes) {
    if (!bytes || released().empty()) return;
    for (auto it = released().begin(); it != released().end();)
        it = it->first - start < bytes ? released().erase(it) : std::next(it);
}

void forget_all_released() { released().clear(); }
