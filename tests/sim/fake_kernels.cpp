// Hand-written block functions, in place of compiled kernels, for test_runtime.py.
#include "runtime.h"

namespace {

struct Params { uint64_t out, in, n; };

const Params& params(Warp* w) { return *reinterpret_cast<const Params*>(w->params); }
const uint32_t* tid_x(Warp* w) { return reinterpret_cast<const uint32_t*>(w->tids); }
uint32_t* lanes_at(uint8_t* frame, uint32_t offset) { return reinterpret_cast<uint32_t*>(frame + offset); }

template <class Each> void each_lane(uint32_t mask, Each each) {
    for (; mask; mask &= mask - 1) each(uint32_t(__builtin_ctz(mask)));
}

int32_t go(Warp* w, uint32_t block) {
    w->next_block[0] = block;
    return kOne;
}

int32_t split(Warp* w, uint32_t mask, uint32_t taken, uint32_t yes, uint32_t no) {
    w->next_block[0] = yes;
    w->next_mask[0] = mask & taken;
    w->next_block[1] = no;
    w->next_mask[1] = mask & ~taken;
    return kTwo;
}

int32_t done(Warp* w, uint32_t block) {
    w->next_block[0] = block;
    return kExit;
}

// FAST comes to the barrier at the head of a block: the warp that goes on, or null.
Warp* meet(Warp* w, uint32_t block, uint32_t id, uint32_t count, uint32_t predicate) {
    w->next_block[0] = block;
    w->next_mask[0] = id;
    w->next_mask[1] = count;
    w->reduced = predicate;
    return rt_barrier(w);
}

void tick(Warp* w) {  // compiled code does so at back edges
    if (--w->ticks < 0) rt_tick(w);
}

uint32_t lanes_below(Warp* w, uint32_t mask, uint32_t limit) {
    uint32_t result = 0;
    each_lane(mask, [&](uint32_t i) { result |= uint32_t(tid_x(w)[i] < limit) << i; });
    return result;
}

// out[block * threads + tid] = value(lane), checked at site 0.
template <class Value> void store(Warp* w, uint32_t mask, uint32_t block_threads, Value value) {
    alignas(64) uint64_t to[32] = {};
    each_lane(mask, [&](uint32_t i) {
        to[i] = params(w).out + 4ull * (uint64_t(w->ctaid[0]) * block_threads + tid_x(w)[i]);
    });
    rt_checkv(w, 0, mask, to);
    each_lane(mask, [&](uint32_t i) { *reinterpret_cast<uint32_t*>(to[i]) = value(i); });
}

void access_shared(Warp* w, uint32_t site, uint32_t mask, uint32_t shift) {
    alignas(64) uint64_t at[32] = {};
    each_lane(mask, [&](uint32_t i) { at[i] = w->shared_base + 4ull * ((tid_x(w)[i] + shift) % params(w).n); });
    rt_access(w, site, mask, at);
}

}  // namespace

extern "C" {

// The kernel's blocks are numbered as in the test that uses them. Frames: 0 a uniform scalar, 64 its
// vector, 192 a vector.

// increment: out[i] = in[i] + 1, blocks of 64 threads
int32_t increment_fast(Warp* w, uint8_t*, uint32_t) {
    uint64_t at = 4 * (64ull * w->ctaid[0] + tid_x(w)[0]);
    auto* cache = reinterpret_cast<Cache*>(w->caches);
    uint64_t from = params(w).in + at, to = params(w).out + at;
    auto good = [&](int i, uint64_t a) {
        uint64_t offset = a - cache[i].base;
        return (offset >> 2 | offset << 62) <= cache[i].last;
    };
    if (!good(1, from)) rt_check1(w, 1, from, 128);
    if (!good(0, to)) rt_check1(w, 0, to, 128);
    for (int i = 0; i < 32; i++)
        reinterpret_cast<uint32_t*>(to)[i] = reinterpret_cast<const uint32_t*>(from)[i] + 1;
    return done(w, 0);
}
int32_t increment_slow(Warp* w, uint8_t*, uint32_t mask) {
    store(w, mask, params(w).n, [&](uint32_t i) {
        return reinterpret_cast<const uint32_t*>(params(w).in)[w->ctaid[0] * params(w).n + tid_x(w)[i]] + 1;
    });
    return kExit;
}
int32_t nothing_fast(Warp* w, uint8_t*, uint32_t) { return done(w, 0); }

// exchange: three rounds through shared memory, with the warp opposite; 0 is a barrier that counts, 1 one that lets go
int32_t exchange_fast(Warp* w, uint8_t*, uint32_t) {
    auto* shared = reinterpret_cast<uint32_t*>(w->shared_base);
    const uint32_t n = uint32_t(params(w).n);
    while (w) {
        uint32_t &round = lanes_at(w->frame, 0)[0], &sum = lanes_at(w->frame, 0)[1];
        if (w->entry == 1) {
            sum += w->reduced;
            for (int i = 0; i < 32; i++)
                if (shared[n - 1 - tid_x(w)[i]] != n - 1 - tid_x(w)[i] + round) sum += 1000;
            w = meet(w, 1, 1, n, 0);
            continue;
        }
        round = w->entry == 0 ? 0 : round + 1;
        if (round == 0) sum = 0;
        if (round == 3) {
            store(w, kFullMask, n, [&](uint32_t) { return sum; });
            return done(w, 2);
        }
        for (int i = 0; i < 32; i++) shared[tid_x(w)[i]] = tid_x(w)[i] + round;
        w = meet(w, 0, 0, 0, 0x0000ffff);
    }
    return kBarrier;
}

// diverge: FAST splits, 0 odd lanes add 10, 1 even lanes add 20, 2 join (back to FAST or on in SLOW)
int32_t diverge_fast(Warp* w, uint8_t* frame, uint32_t entry) {
    auto* uniform = lanes_at(frame, 0);
    if (entry == 0) {
        *uniform = 7 + w->ctaid[0];
        return split(w, kFullMask, 0xaaaaaaaa, 0, 1);
    }
    auto* v = lanes_at(frame, 192);
    store(w, kFullMask, 32, [&](uint32_t i) { return v[i] + *uniform + 1000; });
    return done(w, 2);
}
int32_t diverge_odd(Warp* w, uint8_t* frame, uint32_t mask) {
    each_lane(mask, [&](uint32_t i) { lanes_at(frame, 192)[i] = lanes_at(frame, 64)[i] + 10; });
    return go(w, 2);
}
int32_t diverge_even(Warp* w, uint8_t* frame, uint32_t mask) {
    each_lane(mask, [&](uint32_t i) { lanes_at(frame, 192)[i] = lanes_at(frame, 64)[i] + 20; });
    if (params(w).n) lanes_at(frame, 64)[0] ^= 1;  // no longer uniform
    return go(w, 2);
}
int32_t diverge_join(Warp* w, uint8_t* frame, uint32_t mask) {
    store(w, mask, 32, [&](uint32_t i) { return lanes_at(frame, 192)[i] + lanes_at(frame, 64)[i]; });
    return kExit;
}

// around: 0 branches on tid < n to 1 (barrier) or 2, 1 stores, 2 stores and ends
int32_t around_branch(Warp* w, uint8_t*, uint32_t mask) {
    return split(w, mask, lanes_below(w, mask, uint32_t(params(w).n)), 1, 2);
}
int32_t around_barrier(Warp* w, uint8_t*, uint32_t) { return go(w, 2); }
int32_t around_end(Warp* w, uint8_t*, uint32_t mask) {
    store(w, mask, 64, [&](uint32_t i) { return tid_x(w)[i] + w->reduced; });
    return kExit;
}

// gathering: FAST splits to 0 and 1, which meet in front of a barrier; FAST (entry 1) goes on after it
int32_t gathering_fast(Warp* w, uint8_t*, uint32_t entry) {
    if (entry == 0) return split(w, kFullMask, 0xaaaaaaaa, 0, 1);
    store(w, kFullMask, 64, [&](uint32_t) { return 1000 + w->reduced; });
    return done(w, 2);
}
int32_t gathering_go(Warp* w, uint8_t* frame, uint32_t) {
    *lanes_at(frame, 512) = kFullMask;  // the barrier's predicate
    return go(w, 2);
}
int32_t gathering_after(Warp* w, uint8_t*, uint32_t mask) {
    store(w, mask, 64, [&](uint32_t) { return 2000 + w->reduced; });
    return kExit;
}

// lock: 0 tries to take the lock (spins), 1 adds and releases it
int32_t lock_take(Warp* w, uint8_t*, uint32_t mask) {
    auto* lock = reinterpret_cast<uint32_t*>(params(w).out);
    uint32_t taken = __atomic_exchange_n(lock, 1, __ATOMIC_SEQ_CST) == 0 ? mask & -mask : 0;
    tick(w);
    return split(w, mask, taken, 1, 0);
}
int32_t lock_release(Warp* w, uint8_t*, uint32_t) {
    auto* lock = reinterpret_cast<uint32_t*>(params(w).out);
    lock[1]++;
    __atomic_store_n(lock, 0, __ATOMIC_SEQ_CST);
    return kExit;
}

// gather: every block counts itself in and waits for all of the grid
int32_t gather_fast(Warp* w, uint8_t*, uint32_t) {
    auto* count = reinterpret_cast<uint32_t*>(params(w).out);
    __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < params(w).n) tick(w);
    return done(w, 0);
}

// forever: loops in FAST or in SLOW
int32_t forever_fast(Warp* w, uint8_t*, uint32_t) {
    for (;;) {
        reinterpret_cast<uint64_t*>(w->totals)[0]++;
        tick(w);
    }
}
int32_t forever_slow(Warp* w, uint8_t*, uint32_t) {
    tick(w);
    return go(w, 0);
}

// fault: block n and all later ones read out of bounds
int32_t fault_fast(Warp* w, uint8_t*, uint32_t) {
    for (volatile int i = 0; i < 2000; i = i + 1) {}
    if (w->ctaid[0] >= params(w).n) rt_check1(w, 1, params(w).in + 4 * (64ull * w->ctaid[0]), 128);
    return done(w, 0);
}
int32_t touch_fast(Warp* w, uint8_t*, uint32_t) {  // one uniform access to `in` at site n
    rt_check1(w, uint32_t(params(w).n), params(w).in, 4);
    return done(w, 0);
}

// call: 0 calls function 1 (factorial) with lane + 1, or through pointers
struct Argument { uint64_t value; };
int32_t call_entry(Warp* w, uint8_t*, uint32_t mask) {
    alignas(64) Argument args[32], results[32] = {};
    for (uint32_t i = 0; i < 32; i++) args[i].value = params(w).n + i % 4;
    rt_call(w, mask, 1, reinterpret_cast<uint8_t*>(args), reinterpret_cast<uint8_t*>(results), 0);
    store(w, mask, 32, [&](uint32_t i) { return uint32_t(results[i].value); });
    return kExit;
}
int32_t indirect_entry(Warp* w, uint8_t*, uint32_t mask) {
    alignas(64) Argument args[32], results[32] = {};
    alignas(64) uint64_t targets[32];
    for (uint32_t i = 0; i < 32; i++) {
        args[i].value = 4;
        targets[i] = kFunctionBase + 16 * (i % 2 ? 1 : params(w).n);
    }
    rt_call_indirect(w, mask, targets, reinterpret_cast<uint8_t*>(args), 8, reinterpret_cast<uint8_t*>(results), 8, 0);
    store(w, mask, 32, [&](uint32_t i) { return uint32_t(results[i].value); });
    return kExit;
}
// factorial: 0 keeps the argument in local memory, branches; 1 recurses; 2 returns 1
int32_t factorial_start(Warp* w, uint8_t*, uint32_t mask) {
    uint32_t more = 0;
    each_lane(mask, [&](uint32_t i) {
        uint64_t n = reinterpret_cast<const Argument*>(w->args)[i].value;
        *reinterpret_cast<uint64_t*>(w->local_base + 16 * i) = n;
        more |= uint32_t(n > 1) << i;
    });
    return split(w, mask, more, 1, 2);
}
int32_t factorial_more(Warp* w, uint8_t*, uint32_t mask) {
    alignas(64) Argument args[32], results[32];
    auto own = [&](uint32_t i) { return *reinterpret_cast<uint64_t*>(w->local_base + 16 * i); };
    for (uint32_t i = 0; i < 32; i++) args[i].value = own(i) - 1;
    rt_call(w, mask, 1, reinterpret_cast<uint8_t*>(args), reinterpret_cast<uint8_t*>(results), 0);
    each_lane(mask, [&](uint32_t i) {
        reinterpret_cast<Argument*>(w->results)[i].value = results[i].value * own(i);
    });
    return kExit;
}
int32_t factorial_one(Warp* w, uint8_t*, uint32_t mask) {
    each_lane(mask, [&](uint32_t i) { reinterpret_cast<Argument*>(w->results)[i].value = 1; });
    return kExit;
}
// twice: 0 returns twice its argument
int32_t twice(Warp* w, uint8_t*, uint32_t mask) {
    each_lane(mask, [&](uint32_t i) {
        reinterpret_cast<Argument*>(w->results)[i].value = 2 * reinterpret_cast<const Argument*>(w->args)[i].value;
    });
    return kExit;
}

// members: 0 sets member masks and branches on the half, 1 and 2 a half each, 3 the warp-wide operation
int32_t members_branch(Warp* w, uint8_t* frame, uint32_t mask) {
    each_lane(mask, [&](uint32_t i) {
        lanes_at(frame, 192)[i] = params(w).n ? kFullMask : (i < 16 ? 0xffffu : 0xffff0000u);
    });
    return split(w, mask, 0xffff, 1, 2);
}
int32_t members_low(Warp* w, uint8_t*, uint32_t) { return go(w, 3); }
int32_t members_high(Warp* w, uint8_t*, uint32_t) { return go(w, params(w).n == 2 ? 4 : 3); }
int32_t members_meet(Warp* w, uint8_t*, uint32_t mask) {
    store(w, mask, 32, [&](uint32_t) { return mask; });
    return go(w, 4);
}

// shared: sites 2 (store) and 3 (load) of tid's word and a neighbour's, with or without a barrier
int32_t shared_fast(Warp* w, uint8_t*, uint32_t) {
    while (w && w->entry == 0) {
        access_shared(w, 2, w->live, 0);
        if (!params(w).in) break;
        w = meet(w, 0, 0, 0, 0);
    }
    if (!w) return kBarrier;
    access_shared(w, 3, w->live, 1);
    return done(w, 0);
}
int32_t uninitialised_fast(Warp* w, uint8_t*, uint32_t) {
    alignas(64) uint64_t at[32];
    for (uint32_t i = 0; i < 32; i++) at[i] = params(w).in + 4 * i;
    rt_access(w, 1, kFullMask, at);
    alignas(64) uint32_t undefined[32];
    rt_undefined_load(w, 1, kFullMask, at, reinterpret_cast<uint8_t*>(undefined), 4, 1);
    uint32_t lanes = 0, read_at = 1;
    for (uint32_t i = 0; i < 32; i++) lanes |= uint32_t(undefined[i] != 0) << i;
    if (lanes) rt_undefined_used(w, 2, lanes, 0, &read_at, 1);
    return done(w, 0);
}

}  // extern "C"
