// See totals.h.
#include "totals.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

void begin_totals(Run& run) {
    Launch& launch = *run.launch;
    run.sizes.clear();
    run.idling.clear();
    for (uint32_t f = 0; f < launch.function_count; f++) {
        const Function& function = launch.functions[f];
        run.sizes.resize(std::max<size_t>(run.sizes.size(), function.first_count + function.block_count), 0);
        for (uint32_t b = 0; b < function.block_count; b++)
            run.sizes[function.first_count + b] = function.blocks[b].instructions;
        for (uint32_t b = 0; b < function.block_count; b++)
            if (function.blocks[b].idles) run.idling.push_back(function.first_count + b);
    }
    if (launch.totals) memset(launch.totals, 0, sizeof(uint64_t) * launch.count_total);
    if (launch.total_lanes) memset(launch.total_lanes, 0, sizeof(uint64_t) * launch.count_total);
    memset(launch.busiest, 0, sizeof launch.busiest);
    launch.instructions = 0;
}

void begin_worker_totals(Worker& k) {
    k.totals.assign(k.run->sizes.size(), 0);
    k.idle.assign(k.run->sizes.size(), 0);
    k.accounted = k.worked = k.attributed = 0;
    k.busiest.clear();
}

uint64_t account(Worker& k) {
    const auto& sizes = k.run->sizes;
    uint64_t sum = 0;
    for (size_t i = 0; i < sizes.size(); i++) sum += k.totals[i] * sizes[i];
    uint64_t fresh = sum - k.accounted;
    k.accounted = k.worked = sum;
    for (uint32_t i : k.run->idling) k.worked -= k.totals[i] * sizes[i];
    k.run->spent.fetch_add(fresh, std::memory_order_relaxed);
    return fresh;
}

bool past_limit(const Run& run) {
    return run.launch->instruction_limit && run.spent.load(std::memory_order_relaxed) > run.launch->instruction_limit;
}

// Which warp goes over the limit depends on how many workers there are, so none is named.
static ErrorRecord over_limit(const Launch& launch) {
    ErrorRecord record{};
    record.code = kInstructionBudget;
    record.site = kNoSite;
    snprintf(record.text, sizeof record.text, "the kernel has run more than %llu instructions of warps",
             static_cast<unsigned long long>(launch.instruction_limit));
    return record;
}

// Where most of them were run: a loop without an end is there, whoever went over the limit.
static void name_busiest_place(const Run& run, ErrorRecord& record) {
    const Launch& launch = *run.launch;
    uint64_t most = 0;
    for (uint32_t f = 0; launch.totals && f < launch.function_count; f++) {
        const Function& function = launch.functions[f];
        for (uint32_t b = 0; b < function.block_count && function.first_count + b < launch.count_total; b++) {
            uint64_t instructions = launch.totals[function.first_count + b] * function.blocks[b].instructions;
            if (instructions <= most) continue;
            most = instructions;
            record.function = f;
            record.site = function.blocks[b].site;
        }
    }
}

static bool busier(const Busy& a, const Busy& b) {
    return a.instructions != b.instructions ? a.instructions > b.instructions : a.block < b.block;
}

void attribute(Worker& k, BlockState& b) {
    account(k);
    b.work += k.worked - k.attributed;
    k.attributed = k.worked;
}

void account_block(Worker& k, BlockState& b) {
    attribute(k, b);
    const Launch& launch = *k.launch;
    uint64_t index = b.ctaid[0] + uint64_t(launch.grid[0]) * (b.ctaid[1] + uint64_t(launch.grid[1]) * b.ctaid[2]);
    Busy found{index, b.work};
    b.work = 0;
    if (k.busiest.size() == kBusiest && !busier(found, k.busiest.back())) return;
    k.busiest.insert(std::upper_bound(k.busiest.begin(), k.busiest.end(), found, busier), found);
    if (k.busiest.size() > kBusiest) k.busiest.pop_back();
}

void end_worker_totals(Worker& k) {
    Run& run = *k.run;
    Launch& launch = *run.launch;
    account(k);
    std::lock_guard<std::mutex> lock(run.mutex);
    for (size_t i = 0; i < std::min<size_t>(run.sizes.size(), launch.count_total); i++) {
        if (launch.totals) launch.totals[i] += k.totals[i];
        if (launch.total_lanes) launch.total_lanes[i] += kLanes * k.totals[i] - k.idle[i];
    }
    run.busiest.insert(run.busiest.end(), k.busiest.begin(), k.busiest.end());
}

void end_totals(Run& run) {
    Launch& launch = *run.launch;
    launch.instructions = run.spent.load();
    std::sort(run.busiest.begin(), run.busiest.end(), busier);
    for (size_t i = 0; i < std::min<size_t>(run.busiest.size(), kBusiest); i++) launch.busiest[i] = run.busiest[i];
    if (launch.error.code == kNoError && past_limit(run)) launch.error = over_limit(launch);  // by the last few blocks
    if (launch.error.code == kInstructionBudget) name_busiest_place(run, launch.error);
}

void describe_limit(Worker& k) { k.record = over_limit(*k.launch); }

void fail_limit(WarpState* w) {
    describe_limit(*w->worker);
    leave(w, Request::kFailed);
    __builtin_unreachable();
}
