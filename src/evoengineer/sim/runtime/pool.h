// The host threads that run launches; they live as long as the process.
#pragma once
#include <cstdint>

struct Worker;

// Calls part(worker, argument) on the calling thread and, as soon as they wake up, on up to count - 1
// others. Returns when all that took part are done; a helper that wakes too late does not take part.
void run_on_workers(uint32_t count, void (*part)(Worker&, void*), void* argument);
