// Warp-wide operations whose members stand at different places of the code.
//
// nvcc may put one shuffle or vote of the program into several places (a loop and its remainder). Such
// places are one operation if they are of one kind. Their blocks run nested in each other: the first
// deposits its operands and has the next block run up to the same point; the last one to arrive
// completes the operands of all, and each goes on with its own lanes' results.
#include "exchange.h"

#include <cstring>

#include "dispatch.h"

struct Exchange {
    Activation* activation;
    uint32_t lanes;      // that take part
    uint32_t deposited;  // of those so far
    uint32_t bits;       // predicates
    uint32_t members[kLanes];
    uint64_t values[kLanes];
    Group parts[kLanes];
    uint32_t count, next;
};

namespace {

bool exchanges(const Activation& a, const Group& g) {
    uint32_t flags = a.function_info->blocks[g.block].flags;
    return g.status == GroupStatus::kReady && (flags & kBlockWarpSync) && !(flags & kBlockMeeting);
}

// Lanes at operations of this kind whose members are at operations of this kind, too.
uint32_t takers(const WarpState* w, const Activation& a, uint32_t kind) {
    uint32_t there = 0;
    for (uint32_t i = 0; i < a.count; i++)
        if (exchanges(a, a.groups[i]) && a.function_info->blocks[a.groups[i].block].barrier_kind == kind)
            there |= a.groups[i].lanes;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < a.count; i++) {
            if (!exchanges(a, a.groups[i])) continue;
            const BlockInfo& info = a.function_info->blocks[a.groups[i].block];
            for (uint32_t rest = a.groups[i].lanes & there; rest; rest &= rest - 1) {
                if (!(members_of(a, info, uint32_t(__builtin_ctz(rest))) & w->live & ~there)) continue;
                there &= ~(rest & -rest);
                changed = true;
            }
        }
    }
    return there;
}

void run_next(WarpState* w, Exchange& x) {
    const Group part = x.parts[x.next++];
    w->exchange = &x;
    run_block(w, *x.activation, part.block, part.lanes);
    w->exchange = nullptr;
}

}  // namespace

bool exchange_across(WarpState* w, Activation& a) {
    for (uint32_t seed = 0; seed < a.count; seed++) {
        if (!exchanges(a, a.groups[seed])) continue;
        Exchange x{};
        x.activation = &a;
        x.lanes = takers(w, a, a.function_info->blocks[a.groups[seed].block].barrier_kind);
        if (!x.lanes) continue;
        for (uint32_t i = a.count; i-- > 0;) {
            Group& g = a.groups[i];
            if (!exchanges(a, g) || !(g.lanes & x.lanes)) continue;
            x.parts[x.count] = g;
            x.parts[x.count++].lanes &= x.lanes;
            g.lanes &= ~x.lanes;
            if (!g.lanes) remove_group(a, i);
        }
        if (launch_of(w).flags & kCheckRace) rt_warp_synced(w, x.lanes);
        while (x.next < x.count) run_next(w, x);
        return true;
    }
    return false;
}

uint32_t exchange_operands(Warp* warp, uint32_t mask, Operands& o) {
    WarpState* w = state(warp);
    Exchange& x = *w->exchange;
    w->exchange = nullptr;  // the rest of the block has nothing to do with it
    x.deposited |= mask;
    x.bits |= o.bits & mask;
    auto* values = static_cast<const uint8_t*>(o.values);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = uint32_t(__builtin_ctz(rest));
        if (o.members) x.members[lane] = o.members[lane];
        if (values) memcpy(&x.values[lane], values + lane * o.bytes, o.bytes);
    }
    if (x.deposited != x.lanes && x.next < x.count) run_next(w, x);
    o.bits = x.bits;
    memcpy(o.all_members, x.members, sizeof x.members);
    auto* all = reinterpret_cast<uint8_t*>(o.all_values);
    for (uint32_t lane = 0; lane < kLanes; lane++) memcpy(all + lane * o.bytes, &x.values[lane], o.bytes);
    return x.lanes;
}
