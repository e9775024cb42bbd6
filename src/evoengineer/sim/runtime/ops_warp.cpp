// Warp-wide instructions: shfl, vote, match, redux, elect.
//
// `mask` is the set of lanes that execute the instruction together; `members` holds each lane's
// member mask. The dispatcher has already made lanes wait for their members, and reported members
// that can't come. Lanes may carry different member masks (tiles of a cooperative group), so every
// result is worked out per group of lanes with the same mask. Values of lanes outside `mask` are
// undefined in PTX; nothing here reads them.
#include <cmath>

#include "exchange.h"
#include "lanes.h"
#include "simd.h"

#pragma GCC optimize("O3")

namespace {

enum ShuffleMode : uint32_t { kUp = 0, kDown = 1, kButterfly = 2, kIndex = 3 };
enum VoteMode : uint32_t { kAll = 0, kAny = 1, kUniform = 2, kBallot = 3 };
enum ReduxOp : uint32_t {
    kAdd = 0, kMinS32, kMaxS32, kMinU32, kMaxU32, kAnd, kOr, kXor
};

// The lanes that hold `value`.
template <class T> ALWAYS_INLINE uint32_t holders(const T* lanes, T value) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < kLanes; ++i) found |= uint32_t(lanes[i] == value) << i;
    return found;
}
VECTOR_CLONES uint32_t holders_of(const uint32_t* lanes, uint32_t value) { return holders(lanes, value); }
VECTOR_CLONES uint32_t holders_of(const uint64_t* lanes, uint64_t value) { return holders(lanes, value); }

// Calls `each(group)` for every set of executing lanes with one member mask. Lanes that a member
// mask names but that do not execute are left out.
template <class Each> void for_each_group(uint32_t mask, const uint32_t* members, Each each) {
    for (uint32_t rest = mask; rest;) {
        uint32_t same = rest & holders_of(members, members[__builtin_ctz(rest)]);
        each(same);
        rest &= ~same;
    }
}

uint32_t reduce(uint32_t op, uint32_t x, uint32_t y) {
    switch (op) {
        case kAdd: return x + y;
        case kMinS32: return int32_t(x) < int32_t(y) ? x : y;
        case kMaxS32: return int32_t(x) > int32_t(y) ? x : y;
        case kMinU32: return x < y ? x : y;
        case kMaxU32: return x > y ? x : y;
        case kAnd: return x & y;
        case kOr: return x | y;
        default: return x ^ y;
    }
}

// The PTX ISA's pseudo-code of shfl, on all lanes; returns the lanes whose source is in range.
template <ShuffleMode mode>
ALWAYS_INLINE uint32_t shuffle(uint32_t mask, uint32_t* dst, const uint32_t* a, const uint32_t* b,
                               const uint32_t* c) {
    uint32_t source[kLanes], result[kLanes], in_range = 0;  // dst may be a
    for (uint32_t i = 0; i < kLanes; ++i) source[i] = a[i];
    for (uint32_t i = 0; i < kLanes; ++i) {
        int32_t lane = int32_t(i);
        int32_t offset = b[i] & 31;
        int32_t clamp = c[i] & 31;
        int32_t segment = c[i] >> 8 & 31;
        int32_t first = lane & segment;
        int32_t last = first | (clamp & ~segment);
        int32_t from = mode == kUp          ? lane - offset
                       : mode == kDown      ? lane + offset
                       : mode == kButterfly ? lane ^ offset
                                            : first | (offset & ~segment);
        bool good = mode == kUp ? from >= last : from <= last;
        in_range |= uint32_t(good) << i;
        // A lane that does not take part has no defined value: hardware gives 0, and there are programs that rely on it.
        bool taken = mask >> (from & 31) & 1;
        result[i] = !good ? source[i] : taken ? source[from & 31] : 0;
    }
    for (uint32_t i = 0; i < kLanes; ++i) dst[i] = result[i];
    return in_range;
}

// Lanes elsewhere take part (exchange.cpp): from here on, operands are those of all.
template <class T>
uint32_t together(Warp* w, uint32_t mask, Operands& o, const uint32_t*& members, const T*& a,
                  uint32_t* predicates = nullptr) {
    o.members = members;
    o.values = a;
    o.bytes = sizeof(T);
    o.bits = predicates ? *predicates : 0;
    mask = exchange_operands(w, mask, o);
    if (members) members = o.all_members;
    if (a) a = reinterpret_cast<const T*>(o.all_values);
    if (predicates) *predicates = o.bits;
    return mask;
}

template <class T>
void match_any(uint32_t mask, const uint32_t* members, uint32_t* dst, const T* a) {
    for_each_group(mask, members, [&](uint32_t group) {
        for (uint32_t rest = group; rest;) {
            uint32_t same = rest & holders_of(a, a[__builtin_ctz(rest)]);
            for_each_lane(same, [&](uint32_t i) { dst[i] = same; });
            rest &= ~same;
        }
    });
}

template <class T>
void match_all(uint32_t mask, const uint32_t* members, uint32_t* dst, uint32_t* predicates,
               const T* a) {
    uint32_t true_lanes = 0;
    for_each_group(mask, members, [&](uint32_t group) {
        bool equal = (group & holders_of(a, a[__builtin_ctz(group)])) == group;
        for_each_lane(group, [&](uint32_t i) { dst[i] = equal ? group : 0; });
        if (equal) true_lanes |= group;
    });
    if (predicates) *predicates = true_lanes;
}

}  // namespace

extern "C" {

VECTOR_CLONES void rt_shfl(Warp* w, uint32_t mask, uint32_t mode, uint32_t* dst, uint32_t* predicates,
                           const uint32_t* a, const uint32_t* b, const uint32_t* c) {
    Operands all;
    const uint32_t* members = nullptr;
    if (state(w)->exchange) mask = together(w, mask, all, members, a);
    uint32_t in_range;
    switch (mode) {
        case kUp: in_range = shuffle<kUp>(mask, dst, a, b, c); break;
        case kDown: in_range = shuffle<kDown>(mask, dst, a, b, c); break;
        case kButterfly: in_range = shuffle<kButterfly>(mask, dst, a, b, c); break;
        default: in_range = shuffle<kIndex>(mask, dst, a, b, c); break;
    }
    if (predicates) *predicates = in_range & mask;
}

void rt_vote(Warp* w, uint32_t mask, uint32_t mode, const uint32_t* members, uint32_t predicates,
             uint32_t* dst) {
    Operands all;
    const uint32_t* nothing = nullptr;
    if (state(w)->exchange) mask = together(w, mask, all, members, nothing, &predicates);
    uint32_t true_lanes = 0;
    for_each_group(mask, members, [&](uint32_t group) {
        uint32_t votes = predicates & group;
        if (mode == kBallot) {
            for_each_lane(group, [&](uint32_t i) { dst[i] = votes; });
            return;
        }
        bool result = mode == kAll   ? votes == group
                      : mode == kAny ? votes != 0
                                     : votes == 0 || votes == group;
        if (result) true_lanes |= group;
    });
    if (mode != kBallot) dst[0] = true_lanes;
}

void rt_match_any_b32(Warp* w, uint32_t mask, const uint32_t* members, uint32_t* dst,
                      const uint32_t* a) {
    Operands all;
    if (state(w)->exchange) mask = together(w, mask, all, members, a);
    match_any(mask, members, dst, a);
}

void rt_match_any_b64(Warp* w, uint32_t mask, const uint32_t* members, uint32_t* dst,
                      const uint64_t* a) {
    Operands all;
    if (state(w)->exchange) mask = together(w, mask, all, members, a);
    match_any(mask, members, dst, a);
}

void rt_match_all_b32(Warp* w, uint32_t mask, const uint32_t* members, uint32_t* dst,
                      uint32_t* predicates, const uint32_t* a) {
    Operands all;
    if (state(w)->exchange) mask = together(w, mask, all, members, a);
    match_all(mask, members, dst, predicates, a);
}

void rt_match_all_b64(Warp* w, uint32_t mask, const uint32_t* members, uint32_t* dst,
                      uint32_t* predicates, const uint64_t* a) {
    Operands all;
    if (state(w)->exchange) mask = together(w, mask, all, members, a);
    match_all(mask, members, dst, predicates, a);
}

void rt_redux(Warp* w, uint32_t mask, uint32_t op, const uint32_t* members, uint32_t* dst,
              const uint32_t* a) {
    Operands all;
    if (state(w)->exchange) mask = together(w, mask, all, members, a);
    for_each_group(mask, members, [&](uint32_t group) {
        uint32_t first = __builtin_ctz(group);
        uint32_t value = a[first];
        for_each_lane(group & (group - 1), [&](uint32_t i) { value = reduce(op, value, a[i]); });
        for_each_lane(group, [&](uint32_t i) { dst[i] = value; });
    });
}

// redux.sync.{min,max}{.abs}{.NaN}.f32. op: 0 min, 1 max; flags: 1 abs, 2 NaN.
void rt_redux_f32(Warp* w, uint32_t mask, uint32_t op, uint32_t flags, const uint32_t* members,
                  float* dst, const float* a) {
    Operands all;
    if (state(w)->exchange) mask = together(w, mask, all, members, a);
    for_each_group(mask, members, [&](uint32_t group) {
        float best = NAN;
        bool any_nan = false;
        for_each_lane(group, [&](uint32_t i) {
            float value = flags & 1 ? std::fabs(a[i]) : a[i];
            if (std::isnan(value))
                any_nan = true;
            else if (std::isnan(best) || (op ? value > best : value < best) ||
                     (value == best && std::signbit(value) == (op == 0)))  // -0 is below +0
                best = value;
        });
        if (any_nan && (flags & 2)) best = NAN;
        for_each_lane(group, [&](uint32_t i) { dst[i] = best; });
    });
}

// elect.sync: the lowest lane of each group is the leader.
void rt_elect(Warp*, uint32_t mask, const uint32_t* members, uint32_t* dst, uint32_t* predicates) {
    uint32_t leaders = 0;
    for_each_group(mask, members, [&](uint32_t group) {
        uint32_t leader = __builtin_ctz(group);
        leaders |= 1u << leader;
        if (dst) for_each_lane(group, [&](uint32_t i) { dst[i] = leader; });
    });
    if (predicates) *predicates = leaders;
}

}  // extern "C"
