// A plain C++ stand-in for a CUDA device: the yardstick of the differential fuzzer.
//
// Every thread of a block is a fibre (ucontext) that runs until it exits or waits: at a block
// barrier, or at a warp collective for the lanes of its member mask. Blocks run one after another.
// Nothing is vectorised, scalarised or shared with the simulator, so the two can only agree by
// both being right. A collective that can never complete aborts with a message: that is a mistake
// of the generator, not of the simulator.
//
// Build: g++ -std=c++17 -O1 -ffp-contract=off -fwrapv -fno-strict-aliasing -fno-ipa-reference
#pragma once
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#define __global__ static
#define __device__ static
#define __constant__ static
#define __shared__ static
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) alignas(n)
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

namespace emu {

enum class State { ready, block_wait, warp_wait, done };
enum class Kind { none, syncwarp, exchange };

struct Fibre {
    ucontext_t context;
    State state;
    dim3 tid;
    unsigned linear;
    Kind kind;
    unsigned mask;            // member mask of the collective it waits in
    uint64_t posted;          // what it contributes
    uint64_t seen[32];        // what the members contributed, copied at the rendezvous
    unsigned members;         // members that took part
    int predicate;            // for the counting barriers
};

inline std::vector<Fibre> fibres;
inline std::vector<char> stacks;
inline ucontext_t scheduler;
inline Fibre* self = nullptr;
inline dim3 block_index, block_shape, grid_shape;
inline int barrier_count = 0, barrier_live = 0;
inline const std::function<void()>* body = nullptr;
alignas(16) inline unsigned char dynamic_shared[64 * 1024];

constexpr size_t kStackBytes = 128 * 1024;

[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "emulation: %s (block %u,%u,%u thread %u)\n", what, block_index.x,
                 block_index.y, block_index.z, self ? self->linear : 0u);
    std::abort();
}

inline void pause(State state) {
    Fibre* me = self;
    me->state = state;
    swapcontext(&me->context, &scheduler);
}

inline void enter() {
    (*body)();
    pause(State::done);
}

// Lets the members of a warp collective go once all that are alive have come.
inline bool release_warp(unsigned first) {
    bool released = false;
    unsigned count = fibres.size() - first < 32 ? fibres.size() - first : 32;
    unsigned live = 0;
    for (unsigned i = 0; i < count; ++i)
        if (fibres[first + i].state != State::done) live |= 1u << i;
    for (unsigned i = 0; i < count; ++i) {
        Fibre& one = fibres[first + i];
        if (one.state != State::warp_wait) continue;
        if (!(one.mask >> i & 1u)) fail("a thread is not in the member mask it names");
        unsigned need = one.mask & live;
        bool complete = true;
        for (unsigned j = 0; j < count; ++j) {
            const Fibre& other = fibres[first + j];
            if (!(need >> j & 1u)) continue;
            // A member may still be waiting elsewhere, among fewer lanes.
            if (other.state != State::warp_wait || other.mask != one.mask) complete = false;
            else if (other.kind != one.kind) fail("members of one warp collective disagree");
        }
        if (!complete) continue;
        for (unsigned j = 0; j < count; ++j) {
            if (!(need >> j & 1u)) continue;
            Fibre& other = fibres[first + j];
            for (unsigned k = 0; k < count; ++k) other.seen[k] = fibres[first + k].posted;
            other.members = need;
        }
        for (unsigned j = 0; j < count; ++j)
            if (need >> j & 1u) fibres[first + j].state = State::ready;
        released = true;
    }
    return released;
}

inline bool release_block() {
    int live = 0, waiting = 0, count = 0;
    for (const Fibre& one : fibres) {
        live += one.state != State::done;
        waiting += one.state == State::block_wait;
        count += one.state == State::block_wait && one.predicate != 0;
    }
    if (waiting == 0 || waiting != live) return false;
    barrier_count = count;
    barrier_live = live;
    for (Fibre& one : fibres)
        if (one.state == State::block_wait) one.state = State::ready;
    return true;
}

inline void run_block() {
    unsigned threads = block_shape.x * block_shape.y * block_shape.z;
    fibres.assign(threads, Fibre{});
    if (stacks.size() < threads * kStackBytes) stacks.resize(threads * kStackBytes);
    for (unsigned i = 0; i < threads; ++i) {
        Fibre& one = fibres[i];
        one.state = State::ready;
        one.linear = i;
        one.tid = dim3(i % block_shape.x, i / block_shape.x % block_shape.y,
                       i / (block_shape.x * block_shape.y));
        getcontext(&one.context);
        one.context.uc_stack.ss_sp = stacks.data() + i * kStackBytes;
        one.context.uc_stack.ss_size = kStackBytes;
        one.context.uc_link = nullptr;
        makecontext(&one.context, enter, 0);
    }
    for (;;) {
        bool progress = false, alive = false;
        for (Fibre& one : fibres) {
            if (one.state != State::ready) continue;
            self = &one;
            swapcontext(&scheduler, &one.context);
            progress = true;
        }
        for (unsigned first = 0; first < threads; first += 32) progress |= release_warp(first);
        progress |= release_block();
        for (const Fibre& one : fibres) alive |= one.state != State::done;
        if (!alive) return;
        if (!progress) fail("deadlock: a barrier or collective that not all threads reach");
    }
}

inline void launch(dim3 grid, dim3 block, const std::function<void()>& kernel) {
    grid_shape = grid;
    block_shape = block;
    body = &kernel;
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                block_index = dim3(x, y, z);
                run_block();
            }
}

inline void collective(Kind kind, unsigned mask, uint64_t value) {
    self->kind = kind;
    self->mask = mask;
    self->posted = value;
    pause(State::warp_wait);
}

inline unsigned lane() { return self->linear & 31u; }

template <class T> uint64_t to_bits(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T> T from_bits(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// A lane that is no member has no defined value: make it visible, so that a generator which uses
// it is found out.
template <class T> T fetch(unsigned source) {
    if (!(self->members >> source & 1u)) return from_bits<T>(0xdeadbeefdeadbeefull);
    return from_bits<T>(self->seen[source]);
}

inline int barrier(int predicate) {
    self->predicate = predicate;
    pause(State::block_wait);
    return barrier_count;
}

}  // namespace emu

#define threadIdx (emu::self->tid)
#define blockIdx (emu::block_index)
#define blockDim (emu::block_shape)
#define gridDim (emu::grid_shape)

inline void __syncthreads() { emu::barrier(0); }
inline int __syncthreads_count(int p) { return emu::barrier(p); }
inline int __syncthreads_or(int p) { return emu::barrier(p) != 0; }
inline int __syncthreads_and(int p) { return emu::barrier(p) == emu::barrier_live; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { emu::collective(emu::Kind::syncwarp, mask, 0); }
inline void __threadfence() {}
inline void __threadfence_block() {}

// ---- shuffles: the PTX definition of shfl.sync, segment by segment ----

template <class T> T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    unsigned lane = emu::lane(), segment = 32u - (unsigned)width;
    emu::collective(emu::Kind::exchange, mask, emu::to_bits(value));
    return emu::fetch<T>((lane & segment) | ((unsigned)source & ~segment & 31u));
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    int lane = (int)emu::lane(), first = lane & (32 - width);
    emu::collective(emu::Kind::exchange, mask, emu::to_bits(value));
    int source = lane - (int)(delta & 31u);
    return emu::fetch<T>((unsigned)(source >= first ? source : lane));
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    int lane = (int)emu::lane(), last = lane | (width - 1);
    emu::collective(emu::Kind::exchange, mask, emu::to_bits(value));
    int source = lane + (int)(delta & 31u);
    return emu::fetch<T>((unsigned)(source <= last ? source : lane));
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
    int lane = (int)emu::lane(), last = lane | (width - 1);
    emu::collective(emu::Kind::exchange, mask, emu::to_bits(value));
    int source = lane ^ (bits & 31);
    return emu::fetch<T>((unsigned)(source <= last ? source : lane));
}

// ---- votes, match, redux ----

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    emu::collective(emu::Kind::exchange, mask, predicate != 0);
    unsigned result = 0;
    for (unsigned i = 0; i < 32; ++i)
        if (emu::self->members >> i & 1u) result |= (unsigned)emu::self->seen[i] << i;
    return result;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) {
    return __ballot_sync(mask, predicate) == emu::self->members;
}
template <class T> unsigned __match_any_sync(unsigned mask, T value) {
    emu::collective(emu::Kind::exchange, mask, emu::to_bits(value));
    unsigned result = 0;
    for (unsigned i = 0; i < 32; ++i)
        if ((emu::self->members >> i & 1u) && emu::self->seen[i] == emu::to_bits(value)) result |= 1u << i;
    return result;
}
template <class T> unsigned __match_all_sync(unsigned mask, T value, int* all) {
    *all = __match_any_sync(mask, value) == emu::self->members;
    return *all ? emu::self->members : 0u;
}

namespace emu {
template <class T, class F> T reduce(unsigned mask, T value, F combine) {
    collective(Kind::exchange, mask, to_bits(value));
    bool first = true;
    T result = value;
    for (unsigned i = 0; i < 32; ++i) {
        if (!(self->members >> i & 1u)) continue;
        T one = from_bits<T>(self->seen[i]);
        result = first ? one : combine(result, one);
        first = false;
    }
    return result;
}
}  // namespace emu

#define EMU_REDUCE(name, type, combination)                                      \
    inline type name(unsigned mask, type value) {                                \
        return emu::reduce<type>(mask, value, [](type a, type b) { return (type)(combination); }); \
    }
EMU_REDUCE(__reduce_add_sync, unsigned, a + b)
EMU_REDUCE(__reduce_add_sync, int, (unsigned)a + (unsigned)b)
EMU_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
EMU_REDUCE(__reduce_min_sync, int, a < b ? a : b)
EMU_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
EMU_REDUCE(__reduce_max_sync, int, a > b ? a : b)
EMU_REDUCE(__reduce_and_sync, unsigned, a& b)
EMU_REDUCE(__reduce_or_sync, unsigned, a | b)
EMU_REDUCE(__reduce_xor_sync, unsigned, a ^ b)

// ---- atomics: fibres switch only at rendezvous, so plain code is atomic ----

template <class T, class V> T atomicAdd(T* p, V v) { T old = *p; *p = (T)(old + (T)v); return old; }
template <class T, class V> T atomicSub(T* p, V v) { T old = *p; *p = (T)(old - (T)v); return old; }
template <class T, class V> T atomicMin(T* p, V v) { T old = *p; if ((T)v < old) *p = (T)v; return old; }
template <class T, class V> T atomicMax(T* p, V v) { T old = *p; if ((T)v > old) *p = (T)v; return old; }
template <class T, class V> T atomicAnd(T* p, V v) { T old = *p; *p = old & (T)v; return old; }
template <class T, class V> T atomicOr(T* p, V v) { T old = *p; *p = old | (T)v; return old; }
template <class T, class V> T atomicXor(T* p, V v) { T old = *p; *p = old ^ (T)v; return old; }
template <class T, class V> T atomicExch(T* p, V v) { T old = *p; *p = (T)v; return old; }
template <class T> T atomicCAS(T* p, T expected, T value) { T old = *p; if (old == expected) *p = value; return old; }
inline unsigned atomicInc(unsigned* p, unsigned limit) { unsigned old = *p; *p = old >= limit ? 0 : old + 1; return old; }
inline unsigned atomicDec(unsigned* p, unsigned limit) { unsigned old = *p; *p = old == 0 || old > limit ? limit : old - 1; return old; }
