// Kernels for test_ops_launch.py: each is one block function that calls operations of the runtime.
#include <cstring>

#include "runtime.h"

extern "C" {
void rt_vprintf(Warp*, uint32_t, int32_t*, const uint64_t*, const uint64_t*);
void rt_assertfail(Warp*, uint32_t, const uint64_t*, const uint64_t*, const uint32_t*, const uint64_t*);
void rt_malloc(Warp*, uint32_t, uint64_t*, const uint64_t*);
void rt_free(Warp*, uint32_t, const uint64_t*);
void rt_cp_async(Warp*, uint32_t, uint32_t, const uint64_t*, const uint64_t*, uint32_t, const uint32_t*);
void rt_cp_async_commit(Warp*, uint32_t);
void rt_cp_async_wait(Warp*, uint32_t, uint32_t);
void rt_mbarrier_init(Warp*, uint32_t, const uint64_t*, const uint32_t*);
void rt_mbarrier_arrive(Warp*, uint32_t, uint64_t*, const uint64_t*, const uint32_t*, uint32_t);
uint32_t rt_mbarrier_test_wait(Warp*, uint32_t, const uint64_t*, const uint64_t*);
void rt_atom_add_u32(Warp*, uint32_t, uint32_t*, const uint64_t*, const uint32_t*, const uint32_t*);
void rt_atom_add_f32(Warp*, uint32_t, float*, const uint64_t*, const float*, const float*);
}

namespace {

template <class T> struct Lanes {
    alignas(64) T at[kLanes];
    Lanes(T value = T()) {
        for (T& each : at) each = value;
    }
    operator const T*() const { return at; }
    operator T*() { return at; }
};

uint64_t param(Warp* w, uint32_t index) { return reinterpret_cast<const uint64_t*>(w->params)[index]; }

}  // namespace

extern "C" {

// params: format, arguments
int32_t print_params(Warp* w, uint8_t*, uint32_t mask) {
    Lanes<int32_t> count;
    rt_vprintf(w, mask & 1, count, Lanes<uint64_t>(param(w, 0)), Lanes<uint64_t>(param(w, 1)));
    return kExit;
}

// params: format, a place for 2 ints per thread. Prints (block, thread).
int32_t print_threads(Warp* w, uint8_t*, uint32_t mask) {
    Lanes<uint64_t> arguments;
    uint32_t threads = 32 * 4;
    for (uint32_t i = 0; i < kLanes; i++) {
        uint32_t thread = reinterpret_cast<const uint32_t*>(w->tids)[i];
        arguments.at[i] = param(w, 1) + 8ull * (w->ctaid[0] * threads + thread);
        uint32_t pair[2] = {w->ctaid[0], thread};
        std::memcpy(reinterpret_cast<void*>(arguments.at[i]), pair, 8);
    }
    Lanes<int32_t> count;
    rt_vprintf(w, mask, count, Lanes<uint64_t>(param(w, 0)), arguments);
    return kExit;
}

// params: message, file, function, the only block to fail
int32_t fail_assert(Warp* w, uint8_t*, uint32_t mask) {
    Lanes<int32_t> count;
    rt_vprintf(w, 1, count, Lanes<uint64_t>(param(w, 0)), Lanes<uint64_t>(param(w, 0)));
    if (w->ctaid[0] == param(w, 3))
        rt_assertfail(w, mask & 6, Lanes<uint64_t>(param(w, 0)), Lanes<uint64_t>(param(w, 1)),
                      Lanes<uint32_t>(42), Lanes<uint64_t>(param(w, 2)));
    return kExit;
}

// params: bytes per thread, where the addresses go, what to free: 0 all, 1 all twice, 2 none
int32_t use_heap(Warp* w, uint8_t*, uint32_t mask) {
    Lanes<uint64_t> address;
    rt_malloc(w, mask, address, Lanes<uint64_t>(param(w, 0)));
    std::memcpy(reinterpret_cast<void*>(param(w, 1)), address.at, sizeof address.at);
    if (param(w, 2) < 2) rt_free(w, mask, address);
    if (param(w, 2) == 1) rt_free(w, mask, address);
    return kExit;
}

// params: address to free
int32_t free_pointer(Warp* w, uint8_t*, uint32_t) {
    rt_free(w, 1, Lanes<uint64_t>(param(w, 0)));
    return kExit;
}

// A three-stage pipeline over tiles of 512 bytes. params: from, to, tiles, step between lanes
int32_t copy_pipeline(Warp* w, uint8_t*, uint32_t mask) {
    uint64_t tiles = param(w, 2), step = param(w, 3);
    auto stage = [&](uint64_t tile) { return w->shared_base + tile % 3 * 512; };
    auto issue = [&](uint64_t tile) {
        if (tile < tiles) {
            Lanes<uint64_t> dst, src;
            for (uint32_t i = 0; i < kLanes; i++) {
                dst.at[i] = stage(tile) + 16 * i;
                src.at[i] = param(w, 0) + tile * 512 + step * i % 512;
            }
            rt_cp_async(w, 0, mask, dst, src, 16, nullptr);
        }
        rt_cp_async_commit(w, mask);
    };
    issue(0);
    issue(1);
    for (uint64_t tile = 0; tile < tiles; tile++) {
        std::memset(reinterpret_cast<void*>(stage(tile + 2)), 0xee, 512);
        issue(tile + 2);
        rt_cp_async_wait(w, mask, 2);
        std::memcpy(reinterpret_cast<void*>(param(w, 1) + tile * 512), reinterpret_cast<void*>(stage(tile)), 512);
    }
    // The last tile once more, without a wait: it must not have arrived.
    std::memset(reinterpret_cast<void*>(stage(0)), 0xee, 512);
    issue(0);
    std::memcpy(reinterpret_cast<void*>(param(w, 1) + tiles * 512), reinterpret_cast<void*>(stage(0)), 512);
    return kExit;
}

// Warps meet at an mbarrier `rounds` times. params: a counter per round, rounds
int32_t meet(Warp* w, uint8_t*, uint32_t mask) {
    Lanes<uint64_t> barrier(w->shared_base), before;
    if (w->warp_index == 0) rt_mbarrier_init(w, 1, barrier, Lanes<uint32_t>(128));
    rt_yield(w);
    for (uint32_t round = 0; round < param(w, 1); round++) {
        uint32_t* counter = reinterpret_cast<uint32_t*>(param(w, 0)) + round;
        ++*counter;
        rt_mbarrier_arrive(w, mask, before, barrier, nullptr, 0);
        while (rt_mbarrier_test_wait(w, mask, barrier, before) != mask) rt_tick(w);
        if (*counter != 4) rt_fail(w, kAssert, kNoSite, mask, "a warp went past the barrier too early");
    }
    return kExit;
}

// Every thread adds 1 to one of 8 counters. params: uint32_t[8], float[8]
int32_t count_up(Warp* w, uint8_t*, uint32_t mask) {
    Lanes<uint64_t> whole, real;
    for (uint32_t i = 0; i < kLanes; i++) {
        whole.at[i] = param(w, 0) + 4 * (i % 8);
        real.at[i] = param(w, 1) + 4 * (i % 8);
    }
    rt_atom_add_u32(w, mask, nullptr, whole, Lanes<uint32_t>(1), nullptr);
    rt_atom_add_f32(w, mask, nullptr, real, Lanes<float>(1), nullptr);
    return kExit;
}

}  // extern "C"
