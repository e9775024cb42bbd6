// Kernels for test_textures.py: fetches and surface accesses in launches, where errors can be reported.
#include "runtime.h"

extern "C" {
void rt_tex(Warp*, uint32_t, uint32_t, uint32_t, uint32_t*, const uint64_t*, const uint32_t*, const uint32_t*);
void rt_sust(Warp*, uint32_t, uint32_t, uint32_t, const uint32_t*, const uint64_t*, const uint32_t*);
}

namespace {

// params: handle, descriptor, x coordinate (bits) of lane 3; all other coordinates are 0
struct Arguments {
    uint64_t handles[kLanes];
    uint32_t desc, data[4 * kLanes], coordinates[4 * kLanes];
    explicit Arguments(Warp* w) : data{}, coordinates{} {
        const auto* params = reinterpret_cast<const uint64_t*>(w->params);
        for (uint64_t& handle : handles) handle = params[0];
        desc = uint32_t(params[1]);
        coordinates[3] = uint32_t(params[2]);
    }
};

}  // namespace

extern "C" int32_t fetch_texture(Warp* w, uint8_t*, uint32_t mask) {
    Arguments a(w);
    rt_tex(w, 0, mask, a.desc, a.data, a.handles, a.coordinates, nullptr);
    return kExit;
}

extern "C" int32_t store_surface(Warp* w, uint8_t*, uint32_t mask) {
    Arguments a(w);
    rt_sust(w, 0, mask, a.desc, a.data, a.handles, a.coordinates);
    return kExit;
}
