// Texture fetches: tex, tex.level, tex.grad, tld4.
//
// Linear filtering uses weights with 8 fraction bits, as the hardware does. Wrap and mirror work on
// normalised coordinates only; with others they mean clamp. Cube faces are filtered one by one, their
// edges clamped. Not modelled: sRGB, anisotropy (textures.py refuses or ignores them by name).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "count.h"
#include "half.h"
#include "lanes.h"
#include "runtime.h"
#include "texture.h"

namespace {

enum Mode : uint32_t { kBase = 0, kLevel = 1, kGradient = 2 };

struct Fetch {
    uint32_t geometry, integer, mode, gather;  // gather: component + 1 of tld4, or 0
    explicit Fetch(uint32_t desc)
        : geometry(desc & 15), integer((desc >> 6 & 3) == 0), mode(desc >> 8 & 3), gather(desc >> 10 & 7) {}
    uint32_t dimensions() const {
        return geometry == k1D || geometry == k1DLayered ? 1 : geometry == k3D ? 3 : 2;
    }
};

// One element; floats if the texture reads floats, else the integers' bits in place of them.
struct Texel {
    float value[4];
};

float channel(const TextureObject& t, const uint8_t* from) {
    uint32_t raw = *from;
    if (t.channel_bits >= 16) raw |= uint32_t(from[1]) << 8;
    if (t.channel_bits == 32) std::memcpy(&raw, from, 4);
    if (t.channel_kind == kFloat) return t.channel_bits == 16 ? f16_to_f32(uint16_t(raw)) : bits_float(raw);
    if (t.channel_kind == kUnsigned) {
        if (!t.normalized_reads) return bits_float(raw);
        return float(raw) / (t.channel_bits == 8 ? 255.0f : 65535.0f);
    }
    const int32_t wide = t.channel_bits == 8 ? int8_t(raw) : t.channel_bits == 16 ? int16_t(raw) : int32_t(raw);
    if (!t.normalized_reads) return bits_float(uint32_t(wide));
    return std::max(float(wide) / (t.channel_bits == 8 ? 127.0f : 32767.0f), -1.0f);
}

// For counting: where the lane at hand reads first. Its other texels are neighbours.
thread_local uint64_t first_fetched = 0;

// index: x, y, slice; negative for an index outside, which the border colour stands for.
Texel texel_at(const TextureObject& t, const TextureLevel& level, const int64_t* index) {
    Texel texel = {{0, 0, 0, t.reads_floats() ? 1.0f : bits_float(1)}};
    if (index[0] < 0 || index[1] < 0 || index[2] < 0) {
        for (int i = 0; i < 4; i++)
            texel.value[i] = t.reads_floats() ? t.border[i] : bits_float(uint32_t(int32_t(t.border[i])));
        return texel;
    }
    const uint64_t address =
        level.address + index[2] * level.slice_bytes + index[1] * level.row_bytes + index[0] * t.element_bytes();
    if (!first_fetched) first_fetched = address;
    const auto* from = reinterpret_cast<const uint8_t*>(address);
    for (uint32_t i = 0; i < t.channels; i++) texel.value[i] = channel(t, from + i * t.channel_bits / 8);
    return texel;
}

// The index that an address mode makes of `i`, or -1 for the border.
int64_t addressed(uint32_t mode, bool normalized, int64_t i, int64_t size) {
    if (i >= 0 && i < size) return i;
    if (mode == kBorder) return -1;
    if (mode == kWrap && normalized) return ((i % size) + size) % size;
    if (mode == kMirror && normalized) {
        const int64_t position = ((i % (2 * size)) + 2 * size) % (2 * size);
        return position < size ? position : 2 * size - 1 - position;
    }
    return std::clamp<int64_t>(i, 0, size - 1);
}

// std::floor is a library call on processors without SSE4.1.
int64_t floor_of(double x) {
    const auto whole = int64_t(x);
    return whole - (double(whole) > x);
}

// Position in texels; far outside and NaN are brought to where integers can hold them.
double position(const TextureObject& t, uint32_t dimension, float coordinate, uint32_t size) {
    double u = coordinate;
    if (t.normalized_coordinates) {
        if (t.address_mode[dimension] == kWrap && std::fabs(u) < 1e9) u -= double(floor_of(u));
        u *= size;
    }
    return u == u ? std::clamp(u, -1e12, 1e12) : 0;
}

uint32_t size_of(const TextureLevel& level, uint32_t dimension) {
    return dimension == 0 ? level.width : dimension == 1 ? level.height : level.depth;
}

// A lane's coordinates, taken apart. `slice` is the layer or face, or -1 for an image without.
struct Point {
    float at[3] = {0, 0, 0};
    int32_t index[3] = {0, 0, 0};
    int64_t slice = -1;
};

// Face and position on it of a direction: table of the CUDA programming guide.
uint32_t cube_face(const float* v, float* at) {
    const float x = v[0], y = v[1], z = v[2], ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    float m, s, t;
    uint32_t face;
    if (ax >= ay && ax >= az) face = x >= 0 ? 0 : 1, m = ax, s = x >= 0 ? -z : z, t = -y;
    else if (ay >= az) face = y >= 0 ? 2 : 3, m = ay, s = x, t = y >= 0 ? z : -z;
    else face = z >= 0 ? 4 : 5, m = az, s = z >= 0 ? x : -x, t = -y;
    at[0] = (s / m + 1) / 2;
    at[1] = (t / m + 1) / 2;
    return face;
}

Point point_of(const Fetch& f, const TextureObject& t, const uint32_t* coords, uint32_t lane) {
    Point p;
    const bool layered = f.geometry == k1DLayered || f.geometry == k2DLayered || f.geometry == kCubeLayered;
    const bool cube = f.geometry == kCube || f.geometry == kCubeLayered;
    const uint32_t first = layered ? 1 : 0, count = cube ? 3 : f.dimensions();
    float values[3] = {0, 0, 0};
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t bits = coords[(first + i) * kLanes + lane];
        values[i] = bits_float(bits);
        p.index[i] = int32_t(bits);
    }
    std::memcpy(p.at, values, sizeof values);
    const int64_t layers = std::max<int64_t>(t.layers, 1);
    if (layered) p.slice = std::min<int64_t>(coords[lane], (cube ? layers / 6 : layers) - 1);
    if (cube) p.slice = std::max<int64_t>(p.slice, 0) * 6 + cube_face(values, p.at);
    if (p.slice >= 0) p.slice = std::min(p.slice, layers - 1);
    return p;
}

// Integer coordinates name a texel. Linear memory reads as zero outside.
Texel fetch_integer(const Fetch& f, const TextureObject& t, const TextureLevel& level, const Point& p) {
    int64_t index[3] = {0, 0, std::max<int64_t>(p.slice, 0)};
    for (uint32_t i = 0; i < f.dimensions(); i++) {
        const int64_t at = p.index[i], size = size_of(level, i);
        if (t.resource == kLinearMemory && (at < 0 || at >= size)) return Texel{};
        index[i] = addressed(t.address_mode[i], false, at, size);
    }
    return texel_at(t, level, index);
}

struct Corner {
    int64_t index[2];
    float weight;  // of index[1]
};

Corner corner(const TextureObject& t, const TextureLevel& level, uint32_t dimension, float coordinate) {
    const uint32_t size = size_of(level, dimension), mode = t.address_mode[dimension];
    const bool normalized = t.normalized_coordinates != 0;
    const int64_t fixed = floor_of((position(t, dimension, coordinate, size) - 0.5) * 256.0 + 0.5);
    const int64_t low = fixed >> 8;
    return {{addressed(mode, normalized, low, size), addressed(mode, normalized, low + 1, size)},
            float(fixed & 255) / 256.0f};
}

Texel fetch_point(const Fetch& f, const TextureObject& t, const TextureLevel& level, const Point& p) {
    int64_t index[3] = {0, 0, std::max<int64_t>(p.slice, 0)};
    for (uint32_t i = 0; i < f.dimensions(); i++) {
        const uint32_t size = size_of(level, i);
        index[i] = addressed(t.address_mode[i], t.normalized_coordinates != 0,
                             floor_of(position(t, i, p.at[i], size)), size);
    }
    return texel_at(t, level, index);
}

// The common case of fetch_linear: a 2D image of floats, nothing of it outside.
bool fetch_bilinear_floats(const TextureObject& t, const TextureLevel& level, const Point& p, const Corner& x,
                           const Corner& y, Texel* result) {
    if (t.channel_kind != kFloat || t.channel_bits != 32) return false;
    if ((x.index[0] | x.index[1] | y.index[0] | y.index[1]) < 0) return false;
    const uint64_t slice = level.address + std::max<int64_t>(p.slice, 0) * level.slice_bytes;
    const float weights[4] = {(1 - x.weight) * (1 - y.weight), x.weight * (1 - y.weight),
                              (1 - x.weight) * y.weight, x.weight * y.weight};
    *result = {{0, 0, 0, 1}};
    for (uint32_t i = 0; i < t.channels; i++) {
        float sum = 0;
        for (uint32_t corner = 0; corner < 4; corner++) {
            const auto* row = reinterpret_cast<const float*>(slice + y.index[corner / 2] * level.row_bytes);
            const float term = weights[corner] * row[x.index[corner % 2] * t.channels + i];
            sum += weights[corner] == 0 ? 0 : term;
        }
        result->value[i] = sum;
    }
    return true;
}

Texel fetch_linear(const Fetch& f, const TextureObject& t, const TextureLevel& level, const Point& p) {
    const uint32_t dimensions = f.dimensions();
    Corner corners[3];
    for (uint32_t i = 0; i < dimensions; i++) corners[i] = corner(t, level, i, p.at[i]);
    Texel sum = {};
    if (dimensions == 2 && fetch_bilinear_floats(t, level, p, corners[0], corners[1], &sum)) return sum;
    for (uint32_t choice = 0; choice < 1u << dimensions; choice++) {
        int64_t index[3] = {0, 0, std::max<int64_t>(p.slice, 0)};
        float weight = 1;
        for (uint32_t i = 0; i < dimensions; i++) {
            const uint32_t high = choice >> i & 1;
            index[i] = corners[i].index[high];
            weight *= high ? corners[i].weight : 1 - corners[i].weight;
        }
        if (weight == 0) continue;  // an infinity there must not make a NaN
        const Texel texel = texel_at(t, level, index);
        for (int i = 0; i < 4; i++) sum.value[i] += weight * texel.value[i];
    }
    return sum;
}

// tld4: one component of the four texels that linear filtering would use, counterclockwise from
// lower left.
Texel fetch_gather(const Fetch& f, const TextureObject& t, const TextureLevel& level, const Point& p) {
    static constexpr uint32_t kOrder[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    const Corner x = corner(t, level, 0, p.at[0]), y = corner(t, level, 1, p.at[1]);
    Texel result;
    for (int i = 0; i < 4; i++) {
        const int64_t index[3] = {x.index[kOrder[i][0]], y.index[kOrder[i][1]], std::max<int64_t>(p.slice, 0)};
        result.value[i] = texel_at(t, level, index).value[f.gather - 1];
    }
    return result;
}

Texel fetch_level(const Fetch& f, const TextureObject& t, uint32_t level, const Point& p) {
    if (f.gather) return fetch_gather(f, t, t.levels[level], p);
    if (f.integer) return fetch_integer(f, t, t.levels[level], p);
    if (t.filter_mode == kLinear && t.reads_floats()) return fetch_linear(f, t, t.levels[level], p);
    return fetch_point(f, t, t.levels[level], p);
}

// Level of detail from the gradients: dPdx then dPdy, 1, 2 or 4 registers each.
float gradient_level(const Fetch& f, const TextureObject& t, const uint32_t* gradients, uint32_t lane) {
    if (f.geometry == kCube || f.geometry == kCubeLayered) return 0;
    const uint32_t dimensions = f.dimensions(), registers = dimensions == 3 ? 4 : dimensions;
    double longest = 0;
    for (uint32_t which = 0; which < 2; which++) {
        double square = 0;
        for (uint32_t i = 0; i < dimensions; i++) {
            const double step = double(bits_float(gradients[(which * registers + i) * kLanes + lane])) *
                                (t.normalized_coordinates ? size_of(t.levels[0], i) : 1);
            square += step * step;
        }
        longest = std::max(longest, square);
    }
    return longest > 0 ? float(0.5 * std::log2(longest)) : -INFINITY;
}

Texel fetch(const Fetch& f, const TextureObject& t, const uint32_t* coords, const uint32_t* extra, uint32_t lane) {
    const Point p = point_of(f, t, coords, lane);
    if (t.level_count == 1 || f.gather) return fetch_level(f, t, 0, p);
    float lod = 0;
    if (f.mode == kLevel) lod = f.integer ? float(int32_t(extra[lane])) : bits_float(extra[lane]);
    if (f.mode == kGradient) lod = gradient_level(f, t, extra, lane);
    lod = std::clamp(lod + t.level_bias, t.min_level, std::max(t.min_level, t.max_level));
    lod = lod > 0 ? std::min(lod, float(t.level_count - 1)) : 0;  // NaN too
    if (t.mip_filter_mode != kLinear || f.integer || !t.reads_floats())
        return fetch_level(f, t, uint32_t(lod + 0.5f), p);
    const auto fixed = uint32_t(lod * 256.0f + 0.5f);
    Texel low = fetch_level(f, t, fixed >> 8, p);
    if ((fixed & 255) == 0) return low;
    const Texel high = fetch_level(f, t, (fixed >> 8) + 1, p);
    const float weight = float(fixed & 255) / 256.0f;
    for (int i = 0; i < 4; i++) low.value[i] = (1 - weight) * low.value[i] + weight * high.value[i];
    return low;
}

}  // namespace

extern "C" void rt_tex(Warp* w, uint32_t site, uint32_t mask, uint32_t desc, uint32_t* d, const uint64_t* handle,
                       const uint32_t* coords, const uint32_t* lod_or_gradients) {
    const Fetch f(desc);
    const TextureObject* t = nullptr;
    uint64_t known = 0;  // lanes hardly ever differ in their texture
    uint64_t addresses[kLanes] = {};
    uint32_t inside = 0;
    for_each_lane(mask, [&](uint32_t lane) {
        first_fetched = 0;
        if (t == nullptr || handle[lane] != known) t = &texture_of(w, site, lane, known = handle[lane], kTexture);
        const Texel texel = fetch(f, *t, coords, lod_or_gradients, lane);
        for (uint32_t i = 0; i < 4; i++) std::memcpy(&d[i * kLanes + lane], &texel.value[i], 4);
        addresses[lane] = first_fetched;
        inside |= uint32_t(first_fetched != 0) << lane;
    });
    if (t && counting(w)) count_access(state(w), site, inside, addresses, t->element_bytes(), kLoad, false);
}
