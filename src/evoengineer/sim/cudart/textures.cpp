// CUDA arrays, and texture and surface objects made from them.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <set>

#include "arrays.h"

namespace {

constexpr unsigned kLayered = 1, kCubemap = 4;

struct TextureRecord { cudaResourceDesc resource; cudaTextureDesc texture; cudaResourceViewDesc view; };

struct State {
    std::set<const cudaArray*> arrays;
    std::set<const cudaMipmappedArray*> mipmaps;
    std::map<uint64_t, TextureRecord> objects;  // textures and surfaces by handle
};

State& state() {
    static State* one = new State;
    return *one;
}

// The largest arrays of CUDA's technical specifications, as the device's properties say them.
bool fits(const cudaExtent& extent, unsigned flags) {
    if (flags & (kLayered | kCubemap)) return extent.width <= 32768 && extent.height <= 32768;
    if (extent.depth) return extent.width <= 16384 && extent.height <= 16384 && extent.depth <= 16384;
    return extent.width <= 131072 && extent.height <= 65536;
}

int make_array(const cudaChannelFormatDesc* desc, cudaExtent extent, unsigned flags, cudaArray** result) {
    if (!desc || !result || extent.width == 0 || !fits(extent, flags)) return cudaErrorInvalidValue;
    int bits = desc->x + desc->y + desc->z + desc->w;
    if (desc->f > 2 || bits == 0 || bits % 8) {
        complain_once("CUDA arrays of normalised, block-compressed or NV12 formats are not supported by the simulated GPU");
        return desc->f > 2 ? cudaErrorNotSupported : cudaErrorInvalidChannelDescriptor;
    }
    cudaArray array;
    array.desc = *desc;
    array.extent = extent;
    array.flags = flags;
    array.element_bytes = bits / 8;
    void* address;
    if (int status = allocate(array.bytes(), kArrayMemory, 0, &address)) return status;
    array.address = reinterpret_cast<uint64_t>(address);
    *result = new cudaArray(array);
    state().arrays.insert(*result);
    return cudaSuccess;
}

int free_array(cudaArray* array) {
    state().arrays.erase(array);
    int status = release(reinterpret_cast<void*>(array->address), false);
    delete array;
    return status;
}

void shape_of(const cudaArray* array, TextureBody* body) {
    body->address = array->address;
    body->width = array->extent.width;
    body->height = array->extent.height;
    body->depth = array->extent.depth;
    body->pitch = array->pitch();
    body->array_flags = array->flags;
    const cudaChannelFormatDesc& d = array->desc;
    int bits[4] = {d.x, d.y, d.z, d.w};
    memcpy(body->channels, bits, sizeof bits);
    body->format = d.f;
}

void format_of(const cudaChannelFormatDesc& d, TextureBody* body) {
    int bits[4] = {d.x, d.y, d.z, d.w};
    memcpy(body->channels, bits, sizeof bits);
    body->format = d.f;
}

int fill(const cudaResourceDesc& r, TextureBody* body, std::vector<const cudaArray*>* levels) {
    body->resource = r.resType;
    body->levels = 1;
    switch (r.resType) {
    case 0:
        if (!is_array(r.res.array.array)) return cudaErrorInvalidValue;
        shape_of(r.res.array.array, body);
        levels->push_back(r.res.array.array);
        return cudaSuccess;
    case 1:
        if (!state().mipmaps.count(r.res.mipmap.mipmap)) return cudaErrorInvalidValue;
        for (cudaArray* level : r.res.mipmap.mipmap->levels) levels->push_back(level);
        shape_of(levels->front(), body);
        body->levels = uint32_t(levels->size());
        return cudaSuccess;
    case 2: {
        format_of(r.res.linear.desc, body);
        body->address = reinterpret_cast<uint64_t>(r.res.linear.devPtr);
        body->bytes = r.res.linear.sizeInBytes;
        int bits = body->channels[0] + body->channels[1] + body->channels[2] + body->channels[3];
        if (bits < 8) return cudaErrorInvalidChannelDescriptor;
        body->width = body->bytes / (bits / 8);
        body->pitch = body->bytes;
        break;
    }
    case 3:
        format_of(r.res.pitch2D.desc, body);
        body->address = reinterpret_cast<uint64_t>(r.res.pitch2D.devPtr);
        body->width = r.res.pitch2D.width;
        body->height = r.res.pitch2D.height;
        body->pitch = r.res.pitch2D.pitchInBytes;
        break;
    default: return cudaErrorInvalidValue;
    }
    Place place;
    if (!locate(reinterpret_cast<void*>(body->address), &place) || place.where == Where::kPageable)
        return cudaErrorInvalidValue;
    body->address = place.device_address;
    return cudaSuccess;
}

int create(TextureBody& body, const std::vector<const cudaArray*>& levels, const TextureRecord& record,
           unsigned long long* handle) {
    std::vector<uint64_t> tail;
    for (const cudaArray* level : levels)
        tail.insert(tail.end(), {level->address, level->extent.width, level->extent.height, level->extent.depth,
                                 level->pitch()});
    Bytes result;
    int status = call(kTextureCreate, &body, sizeof body, tail.data(), tail.size() * sizeof(uint64_t), &result);
    if (status) return status;
    uint64_t value;
    memcpy(&value, result.data(), sizeof value);
    state().objects[value] = record;
    *handle = value;
    return cudaSuccess;
}

int destroy(unsigned long long handle) {
    if (!handle) return cudaSuccess;
    if (!state().objects.erase(handle)) return cudaErrorInvalidValue;
    post(kTextureDestroy, AddressBody{handle});
    return cudaSuccess;
}

}  // namespace

bool is_array(const cudaArray* array) { return state().arrays.count(array); }

Side side_of(const cudaArray* array, size_t x, size_t y, size_t z) {
    uint64_t slice = array->pitch() * array->rows();
    return {array->address + z * slice + y * array->pitch() + x, array->pitch(), slice};
}

API cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, size_t width, size_t height,
                                unsigned flags) {
    ENTER();
    return done(make_array(desc, {width, height, 0}, flags, array));
}

API cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, cudaExtent extent,
                                  unsigned flags) {
    ENTER();
    return done(make_array(desc, extent, flags, array));
}

API cudaError_t cudaFreeArray(cudaArray_t array) {
    ENTER();
    if (!array) return cudaSuccess;
    if (!is_array(array) || array->owner) return done(cudaErrorInvalidValue);
    return done(free_array(array));
}

API cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* result, const cudaChannelFormatDesc* desc,
                                         cudaExtent extent, unsigned count, unsigned flags) {
    ENTER();
    if (!result || !count) return done(cudaErrorInvalidValue);
    size_t largest = std::max({extent.width, extent.height, flags & (kLayered | kCubemap) ? 0 : extent.depth});
    unsigned possible = 1;
    while (largest >>= 1) ++possible;
    auto mipmap = new cudaMipmappedArray;
    for (unsigned i = 0; i < std::min(count, possible); ++i) {
        cudaArray* level;
        if (int status = make_array(desc, extent, flags, &level)) return done(status);
        level->owner = mipmap;
        mipmap->levels.push_back(level);
        auto half = [](size_t n) { return n ? std::max<size_t>(1, n / 2) : 0; };
        extent.width = half(extent.width);
        extent.height = half(extent.height);
        if (!(flags & (kLayered | kCubemap))) extent.depth = half(extent.depth);
    }
    state().mipmaps.insert(mipmap);
    *result = mipmap;
    return cudaSuccess;
}

API cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level, const cudaMipmappedArray* mipmap, unsigned number) {
    ENTER();
    if (!level || !state().mipmaps.count(mipmap) || number >= mipmap->levels.size()) return done(cudaErrorInvalidValue);
    *level = mipmap->levels[number];
    return cudaSuccess;
}

API cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap) {
    ENTER();
    if (!mipmap) return cudaSuccess;
    if (!state().mipmaps.erase(mipmap)) return done(cudaErrorInvalidValue);
    int status = cudaSuccess;
    for (cudaArray* level : mipmap->levels)
        if (int failed = free_array(level)) status = failed;
    delete mipmap;
    return done(status);
}

API cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
    ENTER();
    if (!is_array(array)) return done(cudaErrorInvalidValue);
    if (desc) *desc = array->desc;
    if (extent) *extent = array->extent;
    if (flags) *flags = array->flags;
    return cudaSuccess;
}

API cudaError_t cudaArrayGetMemoryRequirements(cudaArrayMemoryRequirements* result, cudaArray_t array, int) {
    ENTER();
    if (!result || !is_array(array)) return done(cudaErrorInvalidValue);
    *result = {array->bytes(), 256, {}};
    return cudaSuccess;
}

API cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* desc, cudaArray_const_t array) {
    ENTER();
    if (!desc || !is_array(array)) return done(cudaErrorInvalidValue);
    *desc = array->desc;
    return cudaSuccess;
}

API cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f) { return {x, y, z, w, f}; }

API cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                        const cudaTextureDesc* texture, const cudaResourceViewDesc* view) {
    ENTER();
    if (!object || !resource || !texture) return done(cudaErrorInvalidValue);
    TextureBody body{};
    std::vector<const cudaArray*> levels;
    if (int status = fill(*resource, &body, &levels)) return done(status);
    // Integer texels can be filtered or normalised only when read as floats.
    if (texture->filterMode == 1 && texture->readMode == 0 && body.format != 2) return done(cudaErrorInvalidValue);
    memcpy(body.address_mode, texture->addressMode, sizeof body.address_mode);
    body.filter_mode = texture->filterMode;
    body.read_mode = texture->readMode;
    body.srgb = texture->sRGB;
    memcpy(body.border, texture->borderColor, sizeof body.border);
    body.normalized = texture->normalizedCoords;
    body.mipmap_filter = texture->mipmapFilterMode;
    body.mipmap_bias = texture->mipmapLevelBias;
    body.mipmap_min = texture->minMipmapLevelClamp;
    body.mipmap_max = texture->maxMipmapLevelClamp;
    TextureRecord record{*resource, *texture, view ? *view : cudaResourceViewDesc{}};
    return done(create(body, levels, record, object));
}

API cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
    ENTER();
    return done(destroy(object));
}

API cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
    ENTER();
    if (!object || !resource || resource->resType != 0) return done(cudaErrorInvalidValue);
    TextureBody body{};
    std::vector<const cudaArray*> levels;
    if (int status = fill(*resource, &body, &levels)) return done(status);
    body.surface = 1;
    return done(create(body, levels, {*resource, {}, {}}, object));
}

API cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
    ENTER();
    return done(destroy(object));
}

template <class Part> static int look_up(unsigned long long object, Part TextureRecord::*part, Part* result) {
    auto found = state().objects.find(object);
    if (!result || found == state().objects.end()) return cudaErrorInvalidValue;
    *result = found->second.*part;
    return cudaSuccess;
}

API cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* desc, cudaTextureObject_t object) {
    ENTER();
    return done(look_up(object, &TextureRecord::resource, desc));
}

API cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* desc, cudaTextureObject_t object) {
    ENTER();
    return done(look_up(object, &TextureRecord::texture, desc));
}

API cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* desc, cudaTextureObject_t object) {
    ENTER();
    return done(look_up(object, &TextureRecord::view, desc));
}

API cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* desc, cudaSurfaceObject_t object) {
    ENTER();
    return done(look_up(object, &TextureRecord::resource, desc));
}
