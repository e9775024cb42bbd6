/* Everything: each of the headers that a text may name (torch/extension.h, ATen/…, c10/…) leads here. */
#pragma once

#include "config.h"

#include "dispatch.h"
#include "error.h"
#include "factories.h"
#ifdef EVO_WITH_HALF
#include "half.h"
#endif
#ifdef EVO_WITH_COMPLEX
#include "complex.h"
#endif
#ifdef EVO_WITH_INDEXING
#include "indexing.h"
#endif
#ifdef EVO_WITH_CHECKS
#include "checks.h"
#endif
#ifdef EVO_WITH_STREAMS
#include "streams.h"
#endif
#include "cuda.h"
#include "library.h"
#include "module.h"
