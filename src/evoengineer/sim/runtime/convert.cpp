// Conversion of live values between FAST (scalars) and SLOW (32-lane vectors).
#include <cstring>

#include "dispatch.h"

namespace {

template <class T>
void expand(uint8_t* frame, const Conversion& c) {
    T* __restrict vector = reinterpret_cast<T*>(frame + c.vector_offset);
    const T* __restrict scalars = reinterpret_cast<const T*>(frame + c.scalar_offset);
    const uint32_t length = 32 / c.segments;
    for (uint32_t i = 0; i < 32; i += length)
        for (uint32_t lane = i; lane < i + length; lane++)
            vector[lane] = T(scalars[i / length] + T(c.steps[lane]));
}

template <class T>
bool collapse(uint8_t* frame, const Conversion& c) {
    const T* __restrict vector = reinterpret_cast<const T*>(frame + c.vector_offset);
    T* __restrict scalars = reinterpret_cast<T*>(frame + c.scalar_offset);
    const uint32_t length = 32 / c.segments;
    T difference = 0;
    for (uint32_t i = 0; i < 32; i += length) {
        T first = vector[i];
        for (uint32_t lane = i; lane < i + length; lane++)
            difference |= T(vector[lane] ^ T(first + T(c.steps[lane])));
        scalars[i / length] = first;
    }
    return difference == 0;
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
            case 1: expand<uint8_t>(frame, *c); break;
            case 2: expand<uint16_t>(frame, *c); break;
            case 4: expand<uint32_t>(frame, *c); break;
            default: expand<uint64_t>(frame, *c); break;
        }
    }
}

bool collapse_vectors(uint8_t* frame, const Conversion* list, uint32_t count) {
    for (const Conversion* c = list; c != list + count; c++) {
        bool same;
        switch (c->bytes) {
            case 0: same = collapse_predicate(frame, *c); break;
            case 1: same = collapse<uint8_t>(frame, *c); break;
            case 2: same = collapse<uint16_t>(frame, *c); break;
            case 4: same = collapse<uint32_t>(frame, *c); break;
            default: same = collapse<uint64_t>(frame, *c); break;
        }
        if (!same) return false;
    }
    return true;
}
