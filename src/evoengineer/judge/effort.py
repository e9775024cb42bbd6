"""How much work a candidate may make the simulated GPU do: limits in instructions, none in time.

They follow from the case alone, so that a verdict never depends on how busy the machine is, and are generous: a
kernel that takes every element, and every multiply-add, in a lane by itself with dozens of instructions for each
stays below them. One that loops for ever does not.
"""

from __future__ import annotations

from dataclasses import dataclass

from evoengineer.problem.catalog import Description

_FREE = 20_000_000  # instructions of warps that any call may run
_PER_ITEM = 64  # for each element of the inputs, and for each multiply-add
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
    items = input_bytes / _ELEMENT_BYTES + description.flops_of(description.problem.cases[case]) / 2
    return Effort(
        instructions=_FREE + int(_PER_ITEM * items),
        memory_bytes=_MEMORY_FREE + _MEMORY_FACTOR * input_bytes,
        output_bytes=_OUTPUT_FREE + _OUTPUT_FACTOR * (input_bytes + _bench_output_bytes(description)),
    )


def _bench_output_bytes(description: Description) -> int:
    return sum(int(each.get("bytes", 0)) for each in description.outputs)
