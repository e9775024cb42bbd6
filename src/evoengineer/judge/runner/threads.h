#pragma once

#include <cstdint>

int64_t unjoined_threads();  // that this process has started and not waited for
