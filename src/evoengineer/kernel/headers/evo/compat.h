/* c10::cuda::compat: mathematics that chooses by the type of its arguments. */
#pragma once

#include "config.h"

namespace c10 {
namespace cuda {
namespace compat {
#define EVO_COMPAT(name)                                                                                           \
    __device__ inline float name(float x) { return ::name##f(x); }                                                 \
    __device__ inline double name(double x) { return ::name(x); }
#define EVO_COMPAT2(name)                                                                                          \
    __device__ inline float name(float x, float y) { return ::name##f(x, y); }                                     \
    __device__ inline double name(double x, double y) { return ::name(x, y); }
EVO_COMPAT(acos)
EVO_COMPAT(asin)
EVO_COMPAT(atan)
EVO_COMPAT(ceil)
EVO_COMPAT(cos)
EVO_COMPAT(erf)
EVO_COMPAT(erfc)
EVO_COMPAT(exp)
EVO_COMPAT(exp2)
EVO_COMPAT(expm1)
EVO_COMPAT(floor)
EVO_COMPAT(log)
EVO_COMPAT(log10)
EVO_COMPAT(log1p)
EVO_COMPAT(log2)
EVO_COMPAT(round)
EVO_COMPAT(rsqrt)
EVO_COMPAT(sin)
EVO_COMPAT(sinh)
EVO_COMPAT(sqrt)
EVO_COMPAT(tan)
EVO_COMPAT(tanh)
EVO_COMPAT(trunc)
EVO_COMPAT(cosh)
EVO_COMPAT(tgamma)
EVO_COMPAT(lgamma)
EVO_COMPAT2(atan2)
EVO_COMPAT2(copysign)
EVO_COMPAT2(fmod)
EVO_COMPAT2(nextafter)
EVO_COMPAT2(pow)
EVO_COMPAT2(hypot)
#undef EVO_COMPAT
#undef EVO_COMPAT2
__device__ inline float abs(float x) { return ::fabsf(x); }
__device__ inline double abs(double x) { return ::fabs(x); }
__device__ inline float max(float x, float y) { return ::fmaxf(x, y); }
__device__ inline double max(double x, double y) { return ::fmax(x, y); }
__device__ inline float min(float x, float y) { return ::fminf(x, y); }
__device__ inline double min(double x, double y) { return ::fmin(x, y); }
__device__ inline float div(float x, float y) { return x / y; }
__device__ inline double div(double x, double y) { return x / y; }
}  // namespace compat
}  // namespace cuda
}  // namespace c10
