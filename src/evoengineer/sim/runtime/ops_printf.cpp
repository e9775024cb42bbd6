// Device printf and assert: vprintf and __assertfail as nvcc calls them.
#include <algorithm>
#include <string>

#include "lanes.h"
#include "output.h"
#include "runtime.h"
#include "totals.h"

namespace {

constexpr uint64_t kLineWork = 200;  // instructions: what a line of text takes

// How many bytes a thread of this warp may read from `address`.
uint64_t readable(const void* context, uint64_t address) {
    const WarpState* warp = static_cast<const WarpState*>(context);
    if (address - warp->shared_base < warp->shared_bytes)
        return warp->shared_base + warp->shared_bytes - address;
    if (warp->memory) {
        uint64_t locals = reinterpret_cast<uint64_t>(warp->memory->locals);
        uint64_t end = reinterpret_cast<uint64_t>(warp->memory->locals_end);
        if (address >= locals && address < end) return end - address;
    }
    Allocation found;
    if (!memory_find(address, &found) || found.state != kStateLive) return 0;
    return found.start + found.bytes - address;
}

// The text at a device address, or what to print in its place.
std::string text_at(WarpState* warp, uint64_t address) {
    PrintfMemory memory{warp, readable};
    std::string text;
    return read_text(memory, address, 4096, text) ? text : "?";
}

std::string triple(uint32_t x, uint32_t y, uint32_t z) {
    return "[" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + "]";
}

std::string assertion_text(WarpState* warp, uint32_t lane, uint64_t message, uint64_t file,
                           uint32_t line, uint64_t function) {
    const uint32_t* tid = reinterpret_cast<const uint32_t*>(warp->tids);
    return text_at(warp, file) + ":" + std::to_string(line) + ": " + text_at(warp, function) +
           ": block: " + triple(warp->ctaid[0], warp->ctaid[1], warp->ctaid[2]) +
           ", thread: " + triple(tid[lane], tid[kLanes + lane], tid[2 * kLanes + lane]) +
           " Assertion `" + text_at(warp, message) + "` failed.\n";
}

// Prints for each lane; returns the mask of the first lane whose arguments can't be read, or 0.
uint32_t print_lanes(WarpState* warp, uint32_t mask, int32_t* dst, const uint64_t* format,
                     const uint64_t* arguments, uint64_t* bad_address) {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t i = __builtin_ctz(rest);
        if (format[i] == 0) {
            if (dst) dst[i] = -1;
            continue;
        }
        PrintfMemory memory{warp, readable};
        std::string text;
        int used = format_printf(memory, format[i], arguments[i], text);
        if (used < 0) {
            *bad_address = memory.bad_address;
            return rest & -rest;
        }
        if (dst) dst[i] = used;
        output_append(warp, kToStdout, text);
    }
    return 0;
}

}  // namespace

extern "C" {

// printf's result is the number of arguments, or -1 without a format, as in CUDA.
void rt_vprintf(Warp* w, uint32_t mask, int32_t* dst, const uint64_t* format,
                const uint64_t* arguments) {
    uint64_t bad_address = 0;
    charge(state(w), kLineWork * uint64_t(__builtin_popcount(mask)));
    uint32_t bad_lane = print_lanes(state(w), mask, dst, format, arguments, &bad_address);
    // Failing never returns, so nothing that needs a destructor may be alive here.
    if (bad_lane)
        fail(state(w), kOutOfBounds, w->site, bad_lane,
             "printf reads a format, argument or %%s text at 0x%llx, which is not in a live allocation",
             static_cast<unsigned long long>(bad_address));
}

void rt_assertfail(Warp* w, uint32_t mask, const uint64_t* message, const uint64_t* file,
                   const uint32_t* line, const uint64_t* function) {
    char first[400];
    {
        std::string all;
        for_each_lane(mask, [&](uint32_t i) {
            all += assertion_text(state(w), i, message[i], file[i], line[i], function[i]);
        });
        output_append(state(w), kToStderr, all);
        first[all.copy(first, std::min(all.find('\n'), sizeof first - 1))] = '\0';
    }
    fail(state(w), kAssert, w->site, mask, "%s", first);
}

}  // extern "C"
