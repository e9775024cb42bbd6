// Texture and surface objects: what a handle stands for, and the table of them.
//
// An image is pitch-linear device memory: element (x, y, z) of a level is at
// address + z * slice_bytes + y * row_bytes + x * element bytes. Layers and faces are slices.
// Python fills TextureObject through ctypes (textures.py): keep the two in step.
#pragma once
#include <cstdint>

struct Warp;

// These have the values of the CUDA runtime's enumerations of the same meaning.
enum AddressMode : uint32_t { kWrap = 0, kClampEdge = 1, kMirror = 2, kBorder = 3 };
enum FilterMode : uint32_t { kPoint = 0, kLinear = 1 };
enum ChannelKind : uint32_t { kSigned = 0, kUnsigned = 1, kFloat = 2 };

// What an object is made from.
enum Resource : uint32_t { kArray = 0, kMipmapped = 1, kLinearMemory = 2, kPitch2D = 3 };
enum ObjectKind : uint32_t { kNoObject = 0, kTexture = 1, kSurface = 2 };

// Image geometry as instructions name it.
enum Geometry : uint32_t { k1D = 0, k2D = 1, k3D = 2, k1DLayered = 3, k2DLayered = 4, kCube = 5, kCubeLayered = 6 };

constexpr uint32_t kMaxLevels = 16;

struct TextureLevel {
    uint64_t address, row_bytes, slice_bytes;
    uint32_t width, height, depth;  // depth: slices of a 3D image; 1 else. height: 1 for 1D
    uint32_t reserved;
};

struct TextureObject {
    uint32_t kind, resource;
    uint32_t channel_kind, channel_bits, channels;  // all channels are alike
    uint32_t layers;            // layers * faces; 0 if the image is not layered
    uint32_t cubemap;
    uint32_t address_mode[3];
    uint32_t filter_mode, mip_filter_mode;
    uint32_t normalized_coordinates;
    uint32_t normalized_reads;  // integers come back as floats in [0, 1] or [-1, 1]
    float border[4];
    float level_bias, min_level, max_level;
    uint32_t level_count;
    TextureLevel levels[kMaxLevels];

    uint32_t element_bytes() const { return channels * channel_bits / 8; }
    bool reads_floats() const { return channel_kind == kFloat || normalized_reads != 0; }
};

// The object that a lane's handle names, its memory found to be live; reports an error otherwise.
const TextureObject& texture_of(Warp* w, uint32_t site, uint32_t lane, uint64_t handle, ObjectKind kind);

extern "C" {
uint64_t rt_texture_create(const TextureObject* object);  // a texture or surface; 0 when there is no room
int32_t rt_texture_destroy(uint64_t handle, uint32_t kind);  // 0, or 1 if there is no such object
void rt_texture_destroy_all();
uint32_t rt_texture_kind(uint64_t handle);                // ObjectKind
uint32_t rt_texture_object_bytes();                       // for Python to compare with its own
}
