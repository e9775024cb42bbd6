// Copies of every shape: checked against the table of allocations, cut into pieces, staged.
#include <string.h>

#include <algorithm>
#include <deque>

#include "arrays.h"
#include "operations.h"
#include "streams.h"

namespace {

constexpr size_t kInlineBytes = 4096;  // smaller uploads travel in the command itself

uint64_t span(const Side& side, const CopyWork& c) {
    return (c.depth - 1) * side.slice + (c.height - 1) * side.pitch + c.width;
}

bool host_side(Where where) { return where != Where::kDevice; }

void explain(const char* what, const Side& side, uint64_t bytes) {
    uint64_t start;
    char text[256];
    const Allocation* a = nearest_allocation(side.address, &start);
    if (a)
        snprintf(text, sizeof text, "cudaMemcpy: the %s, %llu bytes at 0x%llx, is not inside an allocation; the nearest is %llu bytes at 0x%llx",
                 what, (unsigned long long)bytes, (unsigned long long)side.address,
                 (unsigned long long)a->bytes, (unsigned long long)start);
    else
        snprintf(text, sizeof text, "cudaMemcpy: the %s, %llu bytes at 0x%llx, is not inside an allocation",
                 what, (unsigned long long)bytes, (unsigned long long)side.address);
    complain_once(text);
}

int check_side(const char* what, const Side& side, const CopyWork& c, Place* place) {
    if (!side.address) return cudaErrorInvalidValue;
    bool known = locate(reinterpret_cast<void*>(side.address), place);
    if (!known || (place->where != Where::kPageable && span(side, c) > place->left)) {
        explain(what, side, span(side, c));
        return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

// One rectangle with pitch; both addresses are the device process's.
CopyBody piece(uint64_t target, uint64_t target_pitch, uint64_t source, uint64_t source_pitch, uint64_t width,
               uint64_t height, int kind, uint32_t stream) {
    return {target, target_pitch, source, source_pitch, width, height, uint32_t(kind), stream};
}

// A part of a copy: `rows` rows of `width` bytes, small enough for a staging chunk.
struct Part { uint64_t target, source, width, rows; };

std::vector<Part> cut(const CopyWork& c) {
    std::vector<Part> parts;
    bool flat = c.height == 1 || (c.target.pitch == c.width && c.source.pitch == c.width);
    uint64_t width = flat ? c.width * c.height : c.width, height = flat ? 1 : c.height;
    for (uint64_t z = 0; z < c.depth; ++z) {
        uint64_t target = c.target.address + z * c.target.slice, source = c.source.address + z * c.source.slice;
        uint64_t rows_at_once = std::max<uint64_t>(1, kStageChunk / width);
        for (uint64_t y = 0; y < height; y += rows_at_once) {
            uint64_t rows = std::min(rows_at_once, height - y);
            uint64_t t = target + y * c.target.pitch, s = source + y * c.source.pitch;
            for (uint64_t x = 0; x < width; x += kStageChunk)
                parts.push_back({t + x, s + x, std::min<uint64_t>(kStageChunk, width - x), rows});
        }
    }
    return parts;
}

void copy_rows(uint8_t* to, uint64_t to_pitch, const uint8_t* from, uint64_t from_pitch, uint64_t width,
               uint64_t rows) {
    for (uint64_t y = 0; y < rows; ++y) memcpy(to + y * to_pitch, from + y * from_pitch, width);
}

int upload(const CopyWork& c, const Place& target, uint32_t stream, bool wait) {
    uint64_t shift = target.device_address - c.target.address;
    if (c.height == 1 && c.depth == 1 && c.width <= kInlineBytes) {
        WriteBody body{target.device_address, stream, 0};
        post(kWrite, &body, sizeof body, reinterpret_cast<void*>(c.source.address), c.width);
        return wait ? synchronize() : cudaSuccess;
    }
    Ticket last = 0;
    for (const Part& p : cut(c)) {
        Staged staged = stage(p.width * p.rows);
        copy_rows(staged.here, p.width, reinterpret_cast<uint8_t*>(p.source), c.source.pitch, p.width, p.rows);
        CopyBody body = piece(p.target + shift, c.target.pitch, staged.there, p.width, p.width, p.rows,
                              cudaMemcpyHostToDevice, stream);
        last = submit(kCopy, &body, sizeof body, wait);
        staged_until(last);
    }
    return wait ? collect(last) : cudaSuccess;
}

// Two chunks are under way at any time: the device fills one while we empty the other.
int download(const CopyWork& c, const Place& source, uint32_t stream) {
    struct Pending { Part part; Staged staged; Ticket ticket; };
    std::deque<Pending> pending;
    uint64_t shift = source.device_address - c.source.address;
    int status = cudaSuccess;
    auto finish = [&] {
        Pending p = pending.front();
        pending.pop_front();
        if (int failed = collect(p.ticket)) status = failed;
        else copy_rows(reinterpret_cast<uint8_t*>(p.part.target), c.target.pitch, p.staged.here,
                       p.part.width, p.part.width, p.part.rows);
    };
    for (const Part& p : cut(c)) {
        Staged staged = stage(p.width * p.rows);
        CopyBody body = piece(staged.there, p.width, p.source + shift, c.source.pitch, p.width, p.rows,
                              cudaMemcpyDeviceToHost, stream);
        Ticket ticket = submit(kCopy, &body, sizeof body, true);
        staged_until(ticket);
        pending.push_back({p, staged, ticket});
        if (pending.size() == 2) finish();
    }
    while (!pending.empty()) finish();
    return status;
}

}  // namespace

int check_copy(CopyWork& c) {
    if (c.kind < 0 || c.kind > 4) return cudaErrorInvalidMemcpyDirection;
    if (c.width == 0 || c.height == 0 || c.depth == 0) return cudaSuccess;
    if (c.height > 1 && (c.target.pitch < c.width || c.source.pitch < c.width))
        return cudaErrorInvalidPitchValue;
    Place target, source;
    if (int status = check_side("destination", c.target, c, &target)) return status;
    if (int status = check_side("source", c.source, c, &source)) return status;
    bool to_host = c.kind == cudaMemcpyHostToHost || c.kind == cudaMemcpyDeviceToHost;
    bool from_host = c.kind == cudaMemcpyHostToHost || c.kind == cudaMemcpyHostToDevice;
    if (c.kind != cudaMemcpyDefault) {
        // Managed memory may play either part.
        if (to_host && !host_side(target.where)) return cudaErrorInvalidValue;
        if (!to_host && target.where == Where::kPageable) return cudaErrorInvalidValue;
        if (from_host && !host_side(source.where)) return cudaErrorInvalidValue;
        if (!from_host && source.where == Where::kPageable) return cudaErrorInvalidValue;
    } else {
        to_host = host_side(target.where);
        from_host = host_side(source.where);
        c.kind = from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                           : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
    }
    return cudaSuccess;
}

int execute_copy(const CopyWork& c, uint32_t stream, bool wait) {
    if (c.width == 0 || c.height == 0 || c.depth == 0) return wait ? synchronize() : cudaSuccess;
    Place target, source;
    if (!locate(reinterpret_cast<void*>(c.target.address), &target) ||
        !locate(reinterpret_cast<void*>(c.source.address), &source))
        return cudaErrorInvalidValue;
    bool from_pageable = source.where == Where::kPageable, to_pageable = target.where == Where::kPageable;
    if (from_pageable && to_pageable) {
        if (int status = synchronize()) return status;
        for (uint64_t z = 0; z < c.depth; ++z)
            copy_rows(reinterpret_cast<uint8_t*>(c.target.address + z * c.target.slice), c.target.pitch,
                      reinterpret_cast<uint8_t*>(c.source.address + z * c.source.slice), c.source.pitch,
                      c.width, c.height);
        return cudaSuccess;
    }
    if (from_pageable) return upload(c, target, stream, wait);
    if (to_pageable) return download(c, source, stream);
    for (uint64_t z = 0; z < c.depth; ++z)
        post(kCopy, piece(target.device_address + z * c.target.slice, c.target.pitch,
                          source.device_address + z * c.source.slice, c.source.pitch, c.width, c.height,
                          c.kind, stream));
    return wait ? synchronize() : cudaSuccess;
}
