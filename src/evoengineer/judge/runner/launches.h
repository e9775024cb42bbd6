// How many kernels and graphs the candidate has launched so far (launches.cpp).
#pragma once
#include <cstdint>

uint64_t launches();
