// Going through the lanes of a mask.
#pragma once
#include <cstdint>

// Calls `each(lane)` for every lane in `lanes`, ascending.
template <class Each> inline void for_each_lane(uint32_t lanes, Each each) {
    for (uint32_t rest = lanes; rest; rest &= rest - 1) each(uint32_t(__builtin_ctz(rest)));
}
