"""How much work a candidate may make the simulated GPU do: limits in instructions, none in time.

They follow from the case alone, so that a verdict never depends on how busy the machine is, and are generous: a
kernel that takes every element in a lane by itself with dozens of instructions stays below them, and one that spends
two hundred instructions of full warps on every multiply-add. One that loops for ever does not, nor one that multiplies
matrices a lane at a time with a dozen instructions each: it would keep us for minutes, and is hundreds of times slower
than a naive one.
"""

from __future__ import annotations

from dataclasses import dataclass

from evoengineer.problem.catalog import Description

_FREE = 20_000_000  # instructions of warps that any call may run
_PER_ELEMENT = 64  # of the inputs
_PER_MULTIPLY_ADD = 8  # six times what the slowest baseline looked at takes, a strided transposed convolution
_ELEMENT_BYTES = 4
MOST_TRANSLATED = (
    200_000  # PTX instructions that are translated for a candidate, all kernels and block shapes together
)
_MEMORY_FREE, _MEMORY_FACTOR = 2 << 30, 16  # of device memory: bytes, and times the inputs
_OUTPUT_FREE, _OUTPUT_FACTOR = 64 << 20, 4


@dataclass(frozen=True, slots=True)
class Effort:
    """What one call of a problem's case may cost."""

    instructions: int  # of warps, all launches of the call together
    memory_bytes: int  # on the device
    output_bytes: int  # that are looked at afterwards


def effort_of(description: Description, case: int, input_bytes: int) -> Effort:
    """For a case by its index, with inputs of so many bytes."""
    multiply_adds = description.flops_of(description.problem.cases[case]) / 2
    return Effort(
        instructions=_FREE
        + int(_PER_ELEMENT * input_bytes / _ELEMENT_BYTES + _PER_MULTIPLY_ADD * multiply_adds),
        memory_bytes=_MEMORY_FREE + _MEMORY_FACTOR * input_bytes,
        output_bytes=_OUTPUT_FREE + _OUTPUT_FACTOR * (input_bytes + _bench_output_bytes(description)),
    )


def _bench_output_bytes(description: Description) -> int:
    return sum(int(each.get("bytes", 0)) for each in description.outputs)
