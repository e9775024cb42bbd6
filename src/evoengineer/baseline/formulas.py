"""Element by element: what ATen's pointwise operations compute, as C++ over x (and y), with their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_SIGMOID = "1.0f / (1.0f + expf(-x))"
_SOFTPLUS = "(x > 20.0f ? x : log1pf(expf(x)))"

# {name} is an argument of the operation by its name in ATen's schema.
UNARY: Mapping[str, str] = MappingProxyType(
    {
        "relu": "x > 0.0f ? x : 0.0f",
        "relu6": "fminf(fmaxf(x, 0.0f), 6.0f)",
        "leaky_relu": "x > 0.0f ? x : x * {negative_slope}",
        "sigmoid": _SIGMOID,
        "tanh": "tanhf(x)",
        "silu": "x / (1.0f + expf(-x))",
        "mish": f"x * tanhf({_SOFTPLUS})",
        "softplus": "x * {beta} > {threshold} ? x : log1pf(expf(x * {beta})) / {beta}",
        "elu": "x > 0.0f ? x * {scale} : {alpha} * {scale} * expm1f(x * {input_scale})",
        "hardtanh": "fminf(fmaxf(x, {min_val}), {max_val})",
        "hardswish": "x * fminf(fmaxf(x + 3.0f, 0.0f), 6.0f) / 6.0f",
        "hardsigmoid": "fminf(fmaxf(x + 3.0f, 0.0f), 6.0f) / 6.0f",
        "softshrink": "x > {lambd} ? x - {lambd} : x < -{lambd} ? x + {lambd} : 0.0f",
        "hardshrink": "x > {lambd} || x < -{lambd} ? x : 0.0f",
        "log_sigmoid_forward": "fminf(x, 0.0f) - log1pf(expf(-fabsf(x)))",
        "threshold": "x > {threshold} ? x : {value}",
        "exp": "expf(x)",
        "exp2": "exp2f(x)",
        "expm1": "expm1f(x)",
        "log": "logf(x)",
        "log1p": "log1pf(x)",
        "log2": "log2f(x)",
        "log10": "log10f(x)",
        "sqrt": "sqrtf(x)",
        "rsqrt": "1.0f / sqrtf(x)",
        "reciprocal": "1.0f / x",
        "square": "x * x",
        "abs": "fabsf(x)",
        "neg": "-x",
        "sign": "x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f",
        "sin": "sinf(x)",
        "cos": "cosf(x)",
        "tan": "tanf(x)",
        "sinh": "sinhf(x)",
        "cosh": "coshf(x)",
        "asinh": "asinhf(x)",
        "atan": "atanf(x)",
        "erf": "erff(x)",
        "erfc": "erfcf(x)",
        "floor": "floorf(x)",
        "ceil": "ceilf(x)",
        "round": "rintf(x)",
        "trunc": "truncf(x)",
        "logical_not": "x == 0.0f ? 1.0f : 0.0f",
        "bitwise_not": "x == 0.0f ? 1.0f : 0.0f",
        "isnan": "isnan(x) ? 1.0f : 0.0f",
    }
)
GELU = MappingProxyType(
    {
        "none": "0.5f * x * (1.0f + erff(x * 0.70710678f))",
        "tanh": "0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)))",
    }
)

# y is a tensor or a number; {alpha} is the factor of add and sub.
BINARY: Mapping[str, str] = MappingProxyType(
    {
        "add": "x + y",
        "sub": "x - y",
        "rsub": "y - x",
        "mul": "x * y",
        "div": "x / y",
        "pow": "powf(x, y)",
        "maximum": "fmaxf(x, y)",
        "minimum": "fminf(x, y)",
        "fmod": "fmodf(x, y)",
        "remainder": "x - y * floorf(x / y)",
        "atan2": "atan2f(x, y)",
        "xlogy": "x == 0.0f ? 0.0f : x * logf(y)",
        "gt": "x > y ? 1.0f : 0.0f",
        "ge": "x >= y ? 1.0f : 0.0f",
        "lt": "x < y ? 1.0f : 0.0f",
        "le": "x <= y ? 1.0f : 0.0f",
        "eq": "x == y ? 1.0f : 0.0f",
        "ne": "x != y ? 1.0f : 0.0f",
        "logical_and": "x != 0.0f && y != 0.0f ? 1.0f : 0.0f",
        "logical_or": "x != 0.0f || y != 0.0f ? 1.0f : 0.0f",
        "logical_xor": "(x != 0.0f) != (y != 0.0f) ? 1.0f : 0.0f",
        "bitwise_and": "x != 0.0f && y != 0.0f ? 1.0f : 0.0f",
        "bitwise_or": "x != 0.0f || y != 0.0f ? 1.0f : 0.0f",
        "clamp_min": "fmaxf(x, y)",
        "clamp_max": "fminf(x, y)",
        "_prelu_kernel": "x > 0.0f ? x : x * y",
        "smooth_l1": "fabsf(x - y) < {beta} ? 0.5f * (x - y) * (x - y) / {beta} : fabsf(x - y) - 0.5f * {beta}",
        "huber": "fabsf(x - y) <= {delta} ? 0.5f * (x - y) * (x - y) : {delta} * (fabsf(x - y) - 0.5f * {delta})",
        "mse": "(x - y) * (x - y)",
    }
)
POWERS = MappingProxyType({2.0: "x * x", 3.0: "x * x * x", 0.5: "sqrtf(x)", -1.0: "1.0f / x", 1.0: "x"})
