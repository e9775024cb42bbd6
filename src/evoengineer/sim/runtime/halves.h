// Conversion of whole arrays of halves; uses the processor's F16C instructions where it has them.
#pragma once
#include <cstdint>

void halves_to_floats(const uint16_t* from, float* to, uint32_t count);
void floats_to_halves(const float* from, uint16_t* to, uint32_t count);
