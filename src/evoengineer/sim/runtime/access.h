// How operations of the runtime that touch memory for a whole warp have their addresses checked.
#pragma once
#include "runtime.h"

// Every lane in `mask` touches `bytes` bytes from its address; the site describes one element of them.
// The common case, all within the allocation that the site saw last, is decided here; the rest is the
// checker's.
void touch(Warp* w, uint32_t site, uint32_t mask, const uint64_t* addresses, uint32_t bytes, Access access);

// The inline bounds check of abi.h, on all lanes at once, for the first element that each touches and the one that lies
// `to_last` bytes on.
bool within(const Cache& cache, uint32_t shift, uint32_t mask, const uint64_t* addresses, uint64_t to_last);
