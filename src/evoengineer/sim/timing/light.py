"""Speed of light: the least time in which a card could do a problem, from its bytes and operations alone."""

from __future__ import annotations

from evoengineer.card.profile import Profile

_TENSOR = {
    "float16": "fp16",
    "bfloat16": "fp16",
    "half": "fp16",
    "float8": "fp8",
    "int8": "int8",
    "tf32": "tf32",
}


def speed_of_light_us(bytes_moved: float, flops: float, card: Profile, dtype: str = "float32") -> float:
    """The longer of moving the bytes at peak bandwidth and doing the operations at peak rate, in microseconds."""
    memory_s = bytes_moved / card.dram_bytes_per_second
    rate = 2 * _fma_per_clock(card, dtype) * card.sm_count * card.clock_khz * 1e3
    return max(memory_s, flops / rate) * 1e6


def _fma_per_clock(card: Profile, dtype: str) -> int:
    """The fastest unit that keeps the type's precision: fp32 stays out of the tensor cores."""
    if dtype in ("float64", "double"):
        return max(card.fp64_per_clock, card.tensor_fp64_fma_per_clock)
    kind = _TENSOR.get(dtype)
    if kind is None:
        return card.fp32_per_clock
    rates = {
        "fp16": card.tensor_fp16_fma_per_clock,
        "fp8": card.tensor_fp8_fma_per_clock,
        "int8": card.tensor_int8_fma_per_clock,
        "tf32": card.tensor_tf32_fma_per_clock,
    }
    return max(rates[kind], card.fp16_per_clock)
