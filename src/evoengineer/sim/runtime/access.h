// How operations of the runtime that touch memory for a whole warp have their addresses checked.
#pragma once
#include "runtime.h"

// Every lane in `mask` touches `bytes` bytes from its address; the site describes one element of them.
// The common case, all within the allocation that the site saw last, is decided here; the rest is the
// checker's.
void touch(Warp* w, uint32_t site, uint32_t mask, const uint64_t* addresses, uint32_t bytes, Access access);
