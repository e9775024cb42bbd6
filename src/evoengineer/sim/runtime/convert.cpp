// Conversion of live values between FAST (scalars) and SLOW (32-lane vectors).
#include <cstring>

#include "dispatch.h"

namespace {

template <class T, int kSegments>
void expand(T* __restrict vector, const T* __restrict scalars, T stride) {
    constexpr int kLength = 32 / kSegments;
    T offsets[kLength];
    for (int i = 0; i < kLength; i++) offsets[i] = T(stride * T(i));
    for (int s = 0; s < kSegments; s++)
        for (int i = 0; i < kLength; i++) vector[s * kLength + i] = T(scalars[s] + offsets[i]);
}

template <class T, int kSegments>
bool collapse(const T* __restrict vector, T* __restrict scalars, T stride) {
    constexpr int kLength = 32 / kSegments;
    T difference = 0;
    for (int s = 0; s < kSegments; s++) {
        T first = vector[s * kLength];
        for (int i = 0; i < kLength; i++)
            difference |= T(vector[s * kLength + i] ^ T(first + T(stride * T(i))));
        scalars[s] = first;
    }
    return difference == 0;
}

template <class T>
void expand_any(uint8_t* frame, const Conversion& c) {
    T* vector = reinterpret_cast<T*>(frame + c.vector_offset);
    const T* scalars = reinterpret_cast<const T*>(frame + c.scalar_offset);
    switch (c.segments) {
        case 1: return expand<T, 1>(vector, scalars, T(c.stride));
        case 2: return expand<T, 2>(vector, scalars, T(c.stride));
        case 4: return expand<T, 4>(vector, scalars, T(c.stride));
        case 8: return expand<T, 8>(vector, scalars, T(c.stride));
        case 16: return expand<T, 16>(vector, scalars, T(c.stride));
        default: return expand<T, 32>(vector, scalars, T(c.stride));
    }
}

template <class T>
bool collapse_any(uint8_t* frame, const Conversion& c) {
    const T* vector = reinterpret_cast<const T*>(frame + c.vector_offset);
    T* scalars = reinterpret_cast<T*>(frame + c.scalar_offset);
    switch (c.segments) {
        case 1: return collapse<T, 1>(vector, scalars, T(c.stride));
        case 2: return collapse<T, 2>(vector, scalars, T(c.stride));
        case 4: return collapse<T, 4>(vector, scalars, T(c.stride));
        case 8: return collapse<T, 8>(vector, scalars, T(c.stride));
        case 16: return collapse<T, 16>(vector, scalars, T(c.stride));
        default: return collapse<T, 32>(vector, scalars, T(c.stride));
    }
}

uint32_t segment_mask(const Conversion& c) {
    return c.segments <= 1 ? kFullMask : (1u << (32 / c.segments)) - 1;
}

void expand_predicate(uint8_t* frame, const Conversion& c) {
    uint32_t lanes = segment_mask(c), length = 32 / c.segments, mask = 0;
    for (uint32_t s = 0; s < c.segments; s++)
        if (frame[c.scalar_offset + s]) mask |= lanes << (s * length);
    memcpy(frame + c.vector_offset, &mask, sizeof mask);
}

bool collapse_predicate(uint8_t* frame, const Conversion& c) {
    uint32_t lanes = segment_mask(c), length = 32 / c.segments, mask;
    memcpy(&mask, frame + c.vector_offset, sizeof mask);
    for (uint32_t s = 0; s < c.segments; s++) {
        uint32_t part = mask >> (s * length) & lanes;
        if (part != 0 && part != lanes) return false;
        frame[c.scalar_offset + s] = part != 0;
    }
    return true;
}

}  // namespace

void expand_scalars(uint8_t* frame, const Conversion* list, uint32_t count) {
    for (const Conversion* c = list; c != list + count; c++) {
        switch (c->bytes) {
            case 0: expand_predicate(frame, *c); break;
            case 1: expand_any<uint8_t>(frame, *c); break;
            case 2: expand_any<uint16_t>(frame, *c); break;
            case 4: expand_any<uint32_t>(frame, *c); break;
            default: expand_any<uint64_t>(frame, *c); break;
        }
    }
}

bool collapse_vectors(uint8_t* frame, const Conversion* list, uint32_t count) {
    for (const Conversion* c = list; c != list + count; c++) {
        bool same;
        switch (c->bytes) {
            case 0: same = collapse_predicate(frame, *c); break;
            case 1: same = collapse_any<uint8_t>(frame, *c); break;
            case 2: same = collapse_any<uint16_t>(frame, *c); break;
            case 4: same = collapse_any<uint32_t>(frame, *c); break;
            default: same = collapse_any<uint64_t>(frame, *c); break;
        }
        if (!same) return false;
    }
    return true;
}
