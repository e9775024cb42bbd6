// Calls of device functions, and local memory, which every call has some of.
#include <algorithm>
#include <cstring>

#include "dispatch.h"
#include "noise.h"
#include "scheduler.h"
#include "totals.h"

namespace {

// Left for the largest function (MOST_STACK_BYTES in codegen/limits.py) and the runtime's own calls.
constexpr size_t kStackReserve = (2 << 20) + (512 << 10);

constexpr uint64_t kNoiseBytes = 2048;  // of a lane's memory, from its beginning: none of it is there before it is touched

uint64_t distance(uint64_t address, const LocalRange& r) {
    if (address < r.start) return r.start - address;
    return address - r.start < r.bytes ? 0 : address - r.start - r.bytes + 1;
}

}  // namespace

bool is_local(const WarpState* w, uint64_t address) {
    auto low = reinterpret_cast<uint64_t>(w->memory->locals), high = reinterpret_cast<uint64_t>(w->memory->locals_end);
    return address >= low && address < high;
}

bool nearest_local(const WarpState* w, uint32_t lane, uint64_t address, LocalRange* range) {
    // The kernel's own activation may be FAST and so not in the list.
    uint64_t bytes = w->worker->launch->functions[0].local_bytes;
    *range = {reinterpret_cast<uint64_t>(w->memory->locals) + lane * bytes, bytes};
    for (const Activation* a = w->activation; a; a = a->parent) {
        LocalRange other{a->local_base + uint64_t(lane) * a->local_bytes, a->local_bytes};
        if (!range->bytes || distance(address, other) < distance(address, *range)) *range = other;
        LocalRange params{a->args + uint64_t(lane) * a->args_bytes, a->args_bytes};
        if (a->args_bytes && (!range->bytes || distance(address, params) < distance(address, *range))) *range = params;
    }
    return range->bytes != 0;
}

bool find_local(const WarpState* w, uint32_t lane, uint64_t address, LocalRange* range) {
    return nearest_local(w, lane, address, range) && address - range->start < range->bytes;
}

void fill_local(WarpState* w, uint64_t base, uint32_t bytes, uint64_t seed) {
    const uint64_t some = std::min<uint64_t>(bytes, kNoiseBytes);
    const uint64_t pieces = (bytes - some) / kNoiseBytes;
    for (uint32_t lane = 0; lane < kLanes && some; lane++) {
        const uint64_t start = base + uint64_t(lane) * bytes;
        fill_noise(reinterpret_cast<void*>(start), some, seed + lane * some);
        // And one piece of the rest, another one in each lane: who relies on what lies there is wrong in some of them.
        uint64_t any = 0;
        fill_noise(&any, sizeof any, ~seed ^ lane);
        if (pieces) fill_noise(reinterpret_cast<void*>(start + some + any % pieces * kNoiseBytes), kNoiseBytes, any);
    }
    charge_filling(w, (pieces ? 2 : 1) * some * kLanes);
}

extern "C" {

void rt_call(Warp* warp, uint32_t mask, uint32_t function, const uint8_t* args, uint8_t* results,
             uint32_t site) {
    WarpState* w = state(warp);
    const Function& f = w->worker->launch->functions[function];
    mask &= w->live;
    if (!mask) return;
    if (--w->ticks < 0) {  // recursion may go on for ever without a loop
        w->site = site;
        rt_tick(w);
    }
    size_t local_bytes = size_t(f.local_bytes) * kLanes, args_bytes = size_t(f.param_bytes) * kLanes;
    auto* here = static_cast<uint8_t*>(__builtin_frame_address(0));
    if (here < w->worker->running->stack_low + kStackReserve || f.frame_bytes > size_t(w->memory->frames_end - w->frames_top) ||
        local_bytes + args_bytes + 512 > size_t(w->memory->locals_end - w->locals_top))
        fail(w, kStackOverflow, site, mask, "calls are nested too deeply: recursion without an end?");

    uint64_t caller_local = w->local_base, caller_args = w->args, caller_results = w->results;
    uint8_t *caller_frames = w->frames_top, *caller_locals = w->locals_top;
    // A function may take its parameters' addresses: they are part of its local memory.
    if (args_bytes) memcpy(w->locals_top, args, args_bytes);
    w->args = reinterpret_cast<uint64_t>(w->locals_top);
    w->locals_top += (args_bytes + 255) / 256 * 256;
    w->local_base = reinterpret_cast<uint64_t>(w->locals_top);
    w->results = reinterpret_cast<uint64_t>(results);
    Activation a;
    start_activation(a, w, function, w->frames_top);
    a.args = w->args;
    a.args_bytes = f.param_bytes;
    w->frames_top += (f.frame_bytes + 63) / 64 * 64;
    w->locals_top += (local_bytes + 255) / 256 * 256;
    if (w->worker->launch->flags & kCheckInit) {
        memset(a.frame, 0, f.frame_bytes);
        begin_local_checks(w, w->args, args_bytes, true);  // undefined bits are not followed into calls
        begin_local_checks(w, w->local_base, local_bytes, false);
    }
    if (w->worker->launch->noise) fill_local(w, w->local_base, f.local_bytes, w->worker->launch->noise);
    enter_function(w, a, mask);
    w->activation = a.parent;
    w->local_base = caller_local;
    w->args = caller_args;
    w->results = caller_results;
    w->frames_top = caller_frames;
    w->locals_top = caller_locals;
}

void rt_call_indirect(Warp* warp, uint32_t mask, const uint64_t* targets, const uint8_t* args,
                      uint32_t param_bytes, uint8_t* results, uint32_t result_bytes, uint32_t site) {
    WarpState* w = state(warp);
    const Launch& launch = *w->worker->launch;
    for (uint32_t rest = mask & w->live; rest;) {
        uint64_t target = targets[__builtin_ctz(rest)];
        uint32_t same = 0;
        for (uint32_t r = rest; r; r &= r - 1)
            if (targets[__builtin_ctz(r)] == target) same |= r & -r;
        rest &= ~same;
        uint64_t index = (target - kFunctionBase) / 16;
        if (target < kFunctionBase || target % 16 || index == 0 || index >= launch.function_count ||
            launch.functions[index].block_count == 0)
            fail(w, kInvalidCall, site, same, "0x%llx is not the address of a device function%s",
                 static_cast<unsigned long long>(target), target ? "" : " (a null function pointer)");
        const Function& f = launch.functions[index];
        if (f.param_bytes != param_bytes || f.result_bytes != result_bytes)
            fail(w, kInvalidCall, site, same,
                 "the function called takes %u bytes of parameters and returns %u, the call passes %u "
                 "and expects %u: the pointer has the wrong type",
                 f.param_bytes, f.result_bytes, param_bytes, result_bytes);
        rt_call(w, same, uint32_t(index), args, results, site);
    }
}

}  // extern "C"
