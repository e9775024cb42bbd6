// What asynchronous copies (ops_async.cpp) offer to mbarriers (ops_mbarrier.cpp).
#pragma once
#include "runtime.h"

// Completes every cp.async that the lanes in `mask` have issued.
void async_complete_all(WarpState* warp, uint32_t mask);

// ops_bulk.cpp. Copies that announce themselves at a barrier happen when it is looked at, those of groups at the
// latest when their warp ends.
void bulk_forget(BlockState& b);
void bulk_arrive(WarpState* w, uint64_t barrier);
void bulk_finish(WarpState* w);
void mbarrier_complete_bytes(WarpState* w, uint32_t lane, uint64_t address, uint32_t bytes);
