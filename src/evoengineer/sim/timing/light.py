"""Speed of light: the least time in which a card could do a problem, from its bytes and operations alone.

It is a wall: the judge takes a time below it for a bug or a fraud. So it must never lie above what an honest kernel
can reach, and counts on the fastest unit that keeps the type's precision, also by way of several products in a
lower one. What bytes and operations are least is the problem's to say (`problem/work.py`).
"""

from __future__ import annotations

from evoengineer.card.profile import Profile

# A float32 product from tensor cores takes three: high by high, and high by low both ways.
_PRODUCTS_FOR_FLOAT32 = 3
# A float64 operation on pairs of floats takes at least this many in float32.
_FLOATS_FOR_FLOAT64 = 8


def speed_of_light_us(bytes_moved: float, flops: float, card: Profile, dtype: str = "float32") -> float:
    """The longer of moving the bytes at peak bandwidth and doing the operations at peak rate, in microseconds."""
    memory_s = bytes_moved / card.dram_bytes_per_second
    rate = 2 * _fma_per_clock(card, dtype) * card.sm_count * card.clock_khz * 1e3
    return max(memory_s, flops / rate) * 1e6


def _fma_per_clock(card: Profile, dtype: str) -> float:
    """The fastest way to a multiply-add that keeps the type's precision."""
    # GeForce cards halve the rate where sums are kept in float32, not where they are kept in float16.
    half = max(card.tensor_fp16_fma_per_clock, card.tensor_int8_fma_per_clock // 2, card.fp16_per_clock)
    match dtype:
        case "float64" | "double":
            return max(
                card.fp64_per_clock, card.tensor_fp64_fma_per_clock, card.fp32_per_clock / _FLOATS_FOR_FLOAT64
            )
        case "float16" | "bfloat16" | "half":
            return half
        case "float8":
            return max(card.tensor_fp8_fma_per_clock, half)
        case "int8" | "uint8":
            return max(card.tensor_int8_fma_per_clock, half)
        case "tf32":
            return max(card.tensor_tf32_fma_per_clock, card.fp32_per_clock)
        case _:
            emulated = max(card.tensor_tf32_fma_per_clock, card.tensor_fp16_fma_per_clock)
            return max(card.fp32_per_clock, emulated / _PRODUCTS_FOR_FLOAT32)
