/* std::min, std::max and what else the basis of <algorithm> has, without the rest of it, which takes long to read. */
#pragma once

#if __has_include(<bits/stl_algobase.h>)
#include <bits/stl_algobase.h>
#else
#include <algorithm>
#endif
