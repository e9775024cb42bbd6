// See interrupt.h.
#include "interrupt.h"

#include <atomic>

static std::atomic<bool> flag{false};

bool interrupted() { return flag.load(std::memory_order_relaxed); }

extern "C" void rt_interrupt(int on) { flag.store(on != 0); }
