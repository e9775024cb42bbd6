// Surface loads and stores (suld.b, sust.b) and queries of image attributes (txq, suq).
//
// Registers: 32-bit slots for elements of up to 32 bits, zero-extended; 64-bit slots for 64 bits.
#include <algorithm>
#include <cstring>

#include "count.h"
#include "half.h"
#include "lanes.h"
#include "runtime.h"
#include "texture.h"

namespace {

enum Outside : uint32_t { kTrapOutside = 0, kClampOutside = 1, kZeroOutside = 2 };

struct SurfaceAccess {
    uint32_t geometry, bytes, count, outside, formatted;  // bytes: of one element of the vector
    explicit SurfaceAccess(uint32_t desc)
        : geometry(desc & 15), bytes(1u << (desc >> 4 & 3)), count(desc >> 6 & 7), outside(desc >> 9 & 3),
          formatted(desc >> 11 & 1) {}
    uint32_t total() const { return bytes * count; }
};

// Address of a lane's element; 0 if it is outside and that means to do nothing.
uint64_t locate(Warp* w, uint32_t site, const SurfaceAccess& access, const TextureObject& s, const uint32_t* coords,
                uint32_t lane) {
    const TextureLevel& level = s.levels[0];
    const bool layered = access.geometry == k1DLayered || access.geometry == k2DLayered;
    const auto coordinate = [&](uint32_t i) { return int64_t(int32_t(coords[i * kLanes + lane])); };
    const uint32_t first = layered ? 1 : 0;
    const bool flat = access.geometry == k1D || access.geometry == k1DLayered;
    int64_t at[3] = {coordinate(first), flat ? 0 : coordinate(first + 1),
                     layered ? coordinate(0) : access.geometry == k3D ? coordinate(2) : 0};
    const int64_t row_bytes = int64_t(level.width) * s.element_bytes();
    const int64_t size[3] = {row_bytes - access.total() + 1, level.height, s.layers ? s.layers : level.depth};
    if (at[0] % access.total() != 0)
        fail(state(w), kMisaligned, site, 1u << lane, "surface x coordinate %lld is not a multiple of %u bytes",
             static_cast<long long>(at[0]), access.total());
    for (int i = 0; i < 3; i++) {
        if (at[i] >= 0 && at[i] < size[i]) continue;
        if (access.outside == kZeroOutside) return 0;
        if (access.outside == kTrapOutside || size[i] <= 0)  // an element wider than the surface fits nowhere
            fail(state(w), kOutOfBounds, site, 1u << lane,
                 "surface access at x = %lld bytes, y = %lld, slice = %lld is outside the surface of "
                 "%lld bytes x %u x %lld",
                 static_cast<long long>(at[0]), static_cast<long long>(at[1]), static_cast<long long>(at[2]),
                 static_cast<long long>(row_bytes), level.height, static_cast<long long>(size[2]));
        at[i] = std::clamp<int64_t>(at[i], 0, size[i] - 1);
        if (i == 0) at[0] -= at[0] % access.total();
    }
    return level.address + at[2] * level.slice_bytes + at[1] * level.row_bytes + at[0];
}

// Where the lanes of a request lie, for counting; 0: nowhere.
struct Places {
    uint64_t addresses[kLanes] = {};
    uint32_t inside = 0;
    void add(uint32_t lane, uint64_t address) {
        addresses[lane] = address;
        inside |= uint32_t(address != 0) << lane;
    }
    void count(Warp* w, uint32_t site, uint32_t bytes, Access access) const {
        if (counting(w)) count_access(state(w), site, inside, addresses, bytes, access, false);
    }
};

void refuse_formatted(Warp* w, uint32_t site, uint32_t mask, const SurfaceAccess& access) {
    if (access.formatted)
        fail(state(w), kUnsupported, site, mask, "formatted surface access (sust.p) is not supported; use sust.b");
}

uint32_t channel_type(const TextureObject& t) {
    // Values of OpenCL, which PTX leaves to the source language; CUDA has none of its own.
    const uint32_t width = t.channel_bits == 8 ? 0 : t.channel_bits == 16 ? 1 : 2;
    if (t.channel_kind == kFloat) return t.channel_bits == 16 ? 0x10dd : 0x10de;
    if (t.normalized_reads) return (t.channel_kind == kSigned ? 0x10d0 : 0x10d2) + width;
    return (t.channel_kind == kSigned ? 0x10d7 : 0x10da) + width;
}

uint32_t attribute(const TextureObject& t, uint32_t query) {
    switch (query) {
        case 0: return t.levels[0].width;
        case 1: return t.levels[0].height;
        case 2: return t.levels[0].depth;
        case 3: return channel_type(t);
        case 4: return t.channels == 1 ? 0x10b0 : t.channels == 2 ? 0x10b2 : 0x10b5;
        case 5: return t.normalized_coordinates;
        case 6: return t.level_count;
        default: return t.cubemap ? t.layers / 6 : t.layers;
    }
}

}  // namespace

extern "C" void rt_suld(Warp* w, uint32_t site, uint32_t mask, uint32_t desc, uint32_t* d, const uint64_t* handle,
                        const uint32_t* coords) {
    const SurfaceAccess access(desc);
    refuse_formatted(w, site, mask, access);
    Places places;
    for_each_lane(mask, [&](uint32_t lane) {
        const TextureObject& s = texture_of(w, site, lane, handle[lane], kSurface);
        const uint64_t address = locate(w, site, access, s, coords, lane);
        places.add(lane, address);
        for (uint32_t i = 0; i < access.count; i++) {
            uint64_t value = 0;
            const auto* from = reinterpret_cast<const uint8_t*>(address) + i * access.bytes;
            if (address != 0) std::memcpy(&value, from, access.bytes);
            const uint32_t slot = i * kLanes + lane;
            if (access.bytes == 8) reinterpret_cast<uint64_t*>(d)[slot] = value;
            else d[slot] = uint32_t(value);
        }
    });
    places.count(w, site, access.total(), kLoad);
}

extern "C" void rt_sust(Warp* w, uint32_t site, uint32_t mask, uint32_t desc, const uint32_t* s, const uint64_t* handle,
                        const uint32_t* coords) {
    const SurfaceAccess access(desc);
    refuse_formatted(w, site, mask, access);
    Places places;
    for_each_lane(mask, [&](uint32_t lane) {
        const TextureObject& surface = texture_of(w, site, lane, handle[lane], kSurface);
        const uint64_t address = locate(w, site, access, surface, coords, lane);
        places.add(lane, address);
        if (address == 0) return;
        for (uint32_t i = 0; i < access.count; i++) {
            const uint32_t slot = i * kLanes + lane;
            const void* value = access.bytes == 8 ? s + 2 * slot : s + slot;
            std::memcpy(reinterpret_cast<uint8_t*>(address) + i * access.bytes, value, access.bytes);
        }
        if (uint8_t* shadow = memory_shadow(address)) std::memset(shadow, 1, access.total());
    });
    places.count(w, site, access.total(), kStore);
}

extern "C" void rt_txq(Warp* w, uint32_t mask, uint32_t query, uint32_t* d, const uint64_t* handle) {
    for_each_lane(mask, [&](uint32_t lane) {
        const bool surface = rt_texture_kind(handle[lane]) == kSurface;
        d[lane] = attribute(texture_of(w, kNoSite, lane, handle[lane], surface ? kSurface : kTexture), query);
    });
}
