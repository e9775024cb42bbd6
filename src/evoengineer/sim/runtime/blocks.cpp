// Getting blocks and warps ready to run: memory, the fields that compiled code reads.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "async.h"
#include "count.h"
#include "noise.h"
#include "scheduler.h"

namespace {

constexpr size_t kNestedFrameBytes = 8 << 20;   // for functions that kernels call
constexpr size_t kNestedLocalBytes = 16 << 20;
constexpr uint64_t kSharedRoom = 256 << 10;

size_t needed_frames(const Launch& launch) {
    return launch.functions[0].frame_bytes + (launch.function_count > 1 ? kNestedFrameBytes : 0);
}

size_t needed_locals(const Launch& launch) {
    return size_t(launch.functions[0].local_bytes) * kLanes + (launch.function_count > 1 ? kNestedLocalBytes : 0);
}

bool prepare_memory(WarpMemory& memory, const Launch& launch) {
    size_t frames = needed_frames(launch), locals = needed_locals(launch);
    if (memory.mapping && size_t(memory.frames_end - memory.frames) >= frames &&
        size_t(memory.locals_end - memory.locals) >= locals)
        return true;
    return warp_memory_reserve(memory, std::max(frames, kNestedFrameBytes), std::max(locals, kNestedLocalBytes));
}

// Registers and local memory of the kernel itself. Later blocks find what those before them have left.
void fill_unwritten(WarpState& w, const Launch& launch, uint64_t seed) {
    fill_noise(w.frame, launch.functions[0].frame_bytes, seed);
    fill_local(&w, reinterpret_cast<uint64_t>(w.memory->locals), launch.functions[0].local_bytes, ~seed);
}

}  // namespace

// A block's worth of warps and their memory, from the worker's pool or new.
BlockState* prepare_block(Worker& k, size_t index) {
    Run& run = *k.run;
    Launch& launch = *k.launch;
    if (index == k.residents.size()) {
        auto* fresh = new BlockState();
        fresh->warps = static_cast<WarpState*>(aligned_alloc(64, (sizeof(WarpState) * kMaxWarps + 63) / 64 * 64));
        memset(static_cast<void*>(fresh->warps), 0, sizeof(WarpState) * kMaxWarps);
        fresh->memories = new WarpMemory[kMaxWarps];
        k.residents.push_back(fresh);
    }
    BlockState& b = *k.residents[index];
    b.worker = &k;
    b.warp_count = run.warp_count;
    b.threads = run.block_threads;
    if (launch.shared_bytes > b.shared_room) {
        if (b.shared) munmap(b.shared, b.shared_room);
        b.shared_room = std::max<uint64_t>((launch.shared_bytes + 4095) / 4096 * 4096, kSharedRoom);
        void* mapping = mmap(nullptr, b.shared_room, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        b.shared = mapping == MAP_FAILED ? nullptr : static_cast<uint8_t*>(mapping);
        if (!b.shared) {
            b.shared_room = 0;
            return nullptr;
        }
    }
    for (uint32_t i = 0; i < (run.solo ? 1 : run.warp_count); i++) {
        WarpState& w = b.warps[i];
        if (!prepare_memory(b.memories[i], launch)) return nullptr;
        w.worker = &k;
        w.block = &b;
        w.memory = &b.memories[i];
        w.fibre = nullptr;
        w.shared_base = reinterpret_cast<uint64_t>(b.shared);
        w.shared_bytes = launch.shared_bytes;
        w.params = reinterpret_cast<uint64_t>(launch.params);
        w.symbols = reinterpret_cast<uint64_t>(launch.symbols);
        w.caches = reinterpret_cast<uint64_t>(k.caches.data());
        w.totals = reinterpret_cast<uint64_t>(k.totals.data());
        w.idle = reinterpret_cast<uint64_t>(k.idle.data());
        w.frame = reinterpret_cast<uint8_t*>((reinterpret_cast<uint64_t>(w.memory->frames) + 63) / 64 * 64);
        w.frames_top = w.frame + (launch.functions[0].frame_bytes + 63) / 64 * 64;
        w.local_base = reinterpret_cast<uint64_t>(w.memory->locals);
        w.locals_top = w.memory->locals + size_t(launch.functions[0].local_bytes) * kLanes;
        if (launch.noise) fill_unwritten(w, launch, launch.noise + index * kMaxWarps + i);
        w.warp_index = i;
        w.tids = reinterpret_cast<uint64_t>(&run.tids[size_t(i) * 3 * kLanes]);
        w.exist = run.exist[i];
        w.async = nullptr;
        w.args = w.results = 0;
        memcpy(w.nctaid, launch.grid, sizeof w.nctaid);
    }
    return &b;
}

void place_block(BlockState& b, const Launch& launch, uint64_t index) {
    b.index = index;
    b.work = 0;  // also of a block that an earlier launch gave up
    if (launch.flags & kSampledOnly) index = launch.chosen[index];
    else if (launch.flags & kReversed) index = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2] - 1 - index;
    b.counted = launch.sample_count ? counted_of(launch, index) : nullptr;
    b.ctaid[0] = uint32_t(index % launch.grid[0]);
    b.ctaid[1] = uint32_t(index / launch.grid[0] % launch.grid[1]);
    b.ctaid[2] = uint32_t(index / launch.grid[0] / launch.grid[1]);
}

void begin_block(BlockState& b, const Launch& launch) {
    bulk_forget(b);
    if (launch.noise) fill_noise(b.shared, launch.shared_bytes, launch.noise + b.index * launch.shared_bytes);
    else if (launch.shared_bytes) memset(b.shared, 0, launch.shared_bytes);
    if (launch.zeroed_bytes) memset(b.shared + launch.zeroed_start, 0, launch.zeroed_bytes);
    if (launch.flags & kUsesBarrier) begin_barriers(b);
    if (launch.flags & (kCheckRace | kCheckInit)) begin_checks(b);
}

void begin_warp(WarpState& w, const BlockState& b, const Launch& launch) {
    memcpy(w.ctaid, b.ctaid, sizeof w.ctaid);
    w.live = w.exist;
    w.activation = nullptr;
    w.entry = w.fast_wait = 0;
    w.spins = w.waited = 0;
    memset(w.bulk_groups, 0, sizeof w.bulk_groups);
    w.wait_site = kNoSite;
    w.barrier_line = 0;
    w.counted_time = 0;
    w.clock = launch.clock_start;
    w.ticks = w.ticks_given = w.worker->run->first_quantum;
    w.status = WarpStatus::kRunnable;
    if (launch.flags & kCheckInit) {
        memset(w.frame, 0, launch.functions[0].frame_bytes);  // no register has undefined bits yet
        begin_local_checks(&w, w.local_base, uint64_t(launch.functions[0].local_bytes) * kLanes, false);
    }
}
