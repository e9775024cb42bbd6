/* What the rest of these headers stand on: macros, and which parts of the standard library are wanted.

   The real torch headers bring half of the standard library along. Parsing it three times (cudafe++, cicc, host
   compiler) costs more than the kernel itself, so the build looks at the words of a text and defines EVO_WITH_…
   for the parts that it uses. Without EVO_CHOSEN, everything is there. */
#pragma once

#include <cuda_runtime.h>

#include <initializer_list>
#include <type_traits>
#include <utility>

#include <stddef.h>
#include <stdint.h>

#ifndef EVO_CHOSEN
#define EVO_WITH_STRING 1
#define EVO_WITH_VECTOR 1
#define EVO_WITH_TUPLE 1
#define EVO_WITH_OPTIONAL 1
#define EVO_WITH_ARRAY 1
#define EVO_WITH_MAP 1
#define EVO_WITH_HALF 1
#define EVO_WITH_COMPLEX 1
#define EVO_WITH_ACCESSOR 1
#define EVO_WITH_OBJECTS 1
#define EVO_WITH_INDEXING 1
#define EVO_WITH_STREAMS 1
#define EVO_WITH_CHECKS 1
#endif

#ifdef EVO_WITH_STRING
#include <string>
#endif
#ifdef EVO_WITH_VECTOR
#include <vector>
#endif
#ifdef EVO_WITH_TUPLE
#include <tuple>
#endif
#ifdef EVO_WITH_OPTIONAL
#include <optional>
#endif
#ifdef EVO_WITH_ARRAY
#include <array>
#endif
#ifdef EVO_WITH_MAP
#include <map>
#include <string>
#include <unordered_map>
#endif

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_API
#define C10_EXPORT __attribute__((visibility("default")))
#define C10_CUDA_API
#define TORCH_API
#define TORCH_CUDA_CU_API
#define C10_ALWAYS_INLINE __attribute__((always_inline)) inline
#define C10_NOINLINE __attribute__((noinline))
#define C10_UNUSED __attribute__((unused))
#define C10_NODISCARD [[nodiscard]]
#define C10_RESTRICT __restrict__
#define C10_LIKELY(expression) (__builtin_expect(static_cast<bool>(expression), 1))
#define C10_UNLIKELY(expression) (__builtin_expect(static_cast<bool>(expression), 0))
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_ANONYMOUS_VARIABLE(name) C10_CONCATENATE(name, __COUNTER__)
#define C10_WARP_SIZE 32
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__((threads))
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__((threads), (blocks))
#define AT_CUDA_ENABLED() 1
#define USE_CUDA 1
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 7
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.7.0"
#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME kernel
#endif

namespace c10 {}
namespace at {
using namespace c10;
}
namespace torch {
using namespace at;
}
