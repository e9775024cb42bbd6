// What asynchronous copies (ops_async.cpp) offer to mbarriers (ops_mbarrier.cpp).
#pragma once
#include "runtime.h"

// Completes every cp.async that the lanes in `mask` have issued.
void async_complete_all(WarpState* warp, uint32_t mask);
