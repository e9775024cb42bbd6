// Filling the error record of a launch.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "dispatch.h"
#include "scheduler.h"

namespace {

const char* kind_name(uint32_t kind) {
    switch (kind) {
        case kKindDevice: return "device memory";
        case kKindManaged: return "managed memory";
        case kKindPinned: return "pinned host memory";
        case kKindHeap: return "a kernel's malloc";
        case kKindSymbol: return "a __device__ variable";
        case kKindConstant: return "a __constant__ variable";
        case kKindArray: return "a texture array";
    }
    return "memory";
}

using ull = unsigned long long;

constexpr uint64_t kLocalWindow = 0x1000000;  // where a thread's local memory starts, in messages

// Where `address` lies with respect to a range, in words.
void place(char* text, size_t room, uint64_t address, uint64_t start, uint64_t bytes,
           const char* what) {
    if (address < start)
        snprintf(text, room, "%llu bytes before %s of %llu bytes", ull(start - address), what, ull(bytes));
    else if (address - start >= bytes)
        snprintf(text, room, "%llu bytes past the end of %s of %llu bytes",
                 ull(address - start - bytes), what, ull(bytes));
    else
        snprintf(text, room, "at byte %llu of %s of %llu bytes", ull(address - start), what, ull(bytes));
}

}  // namespace

void describe(WarpState* w, uint32_t code, uint32_t site, uint32_t lanes) {
    ErrorRecord& r = w->worker->record;
    memset(&r, 0, sizeof r);
    r.code = code;
    r.function = w->activation ? w->activation->function : 0;
    r.site = site;
    r.lanes = lanes;
    r.other_site = kNoSite;
    if (site < w->worker->launch->site_count) {
        r.access = w->worker->launch->sites[site].access;
        r.space = w->worker->launch->sites[site].space;
    } else {
        r.access = kNoAccess;
    }
    uint32_t lane = lanes ? uint32_t(__builtin_ctz(lanes)) : 0;
    auto* tids = reinterpret_cast<const uint32_t*>(w->tids);
    for (int i = 0; i < 3; i++) {
        r.ctaid[i] = w->ctaid[i];
        r.tid[i] = tids[i * kLanes + lane];
    }
}

void describe_text(WarpState* w, const char* format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(w->worker->record.text, sizeof w->worker->record.text, format, list);
    va_end(list);
}

void fail(WarpState* w, uint32_t code, uint32_t site, uint32_t lanes, const char* format, ...) {
    describe(w, code, site, lanes);
    va_list list;
    va_start(list, format);
    vsnprintf(w->worker->record.text, sizeof w->worker->record.text, format, list);
    va_end(list);
    leave(w, Request::kFailed);
    abort();
}

void describe_access(WarpState* w, uint32_t code, uint32_t site, uint32_t lanes, uint64_t address,
                     uint64_t bytes, Access access) {
    describe(w, code, site, lanes);
    ErrorRecord& r = w->worker->record;
    r.address = address;
    r.bytes = bytes;
    r.access = access;
    if (in_device_arena(address) || in_host_arena(address)) {  // whatever the site calls it
        if (r.space == kGeneric || r.space == kShared) r.space = kGlobal;
    }
    char what[96];
    uint64_t in_shared = address - w->shared_base;
    // Shared addresses are given as offsets; a little before and after still means shared memory.
    bool shared = r.space == kShared || (r.space == kGeneric && in_shared < w->shared_bytes);
    if (shared) {
        r.space = kShared;
        r.address = in_shared;
        r.allocation_bytes = w->shared_bytes;
        r.allocation_state = kStateLive;
        place(r.text, sizeof r.text, w->shared_base + in_shared, w->shared_base, w->shared_bytes,
              "the block's shared memory");
    } else if (r.space == kLocal || is_local(w, address)) {
        r.space = kLocal;
        snprintf(r.text, sizeof r.text, "outside this thread's local memory");
        LocalRange range;
        uint32_t lane = lanes ? uint32_t(__builtin_ctz(lanes)) : 0;
        if (nearest_local(w, lane, address, &range)) {
            // Where it lies in this process says nothing and differs from run to run.
            r.address = kLocalWindow + (address - range.start);
            r.allocation = kLocalWindow;
            r.allocation_bytes = range.bytes;
            r.allocation_state = kStateLive;
            place(r.text, sizeof r.text, address, range.start, range.bytes,
                  "this thread's local memory");
        }
    } else {
        if (r.space == kGeneric) r.space = kGlobal;
        Allocation a{};
        bool near = (in_device_arena(address) || in_host_arena(address)) && memory_nearest(address, &a);
        if (near) {
            r.allocation = a.start;
            r.allocation_bytes = a.bytes;
            r.allocation_state = a.state;
            snprintf(what, sizeof what, "%s%s", a.state == kStateFreed ? "freed allocation in " : "",
                     kind_name(a.kind));
            place(r.text, sizeof r.text, address, a.start, a.bytes, what);
        } else if (address < 4096) {
            snprintf(r.text, sizeof r.text, "a null pointer, or a small offset from one");
        } else {
            snprintf(r.text, sizeof r.text, "not an address in device memory");
        }
    }
}

void fail_access(WarpState* w, uint32_t code, uint32_t site, uint32_t lanes, uint64_t address,
                 uint64_t bytes, Access access) {
    describe_access(w, code, site, lanes, address, bytes, access);
    leave(w, Request::kFailed);
    abort();
}

extern "C" void rt_fail(Warp* warp, uint32_t code, uint32_t site, uint32_t mask, const char* text) {
    fail(state(warp), code, site, mask, "%s", text ? text : "");
}
