"""Was the time honest? Rules on what a call did, by the device's own record of it.

On the simulated GPU the record (a Region) comes from the device's process, which the candidate cannot
touch. Each rule returns the finding, in words that say what is not allowed, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evoengineer.problem.catalog import Description

_HOST_VISIBLE = frozenset({"managed", "pinned"})

# Tables for __constant__ memory may go to the device, and single results to the host; data may not.
MOST_TO_DEVICE_BYTES = 64 << 10
MOST_TO_HOST_BYTES = 4 << 10
_ROUND_TRIP_BYTES = 256  # both ways in one call, also by parameters: the host has a part in the computation


class Record(Protocol):
    """What the rules look at; `sim.process.region.Region` has it."""

    @property
    def launch_count(self) -> int: ...

    @property
    def host_to_device_bytes(self) -> int: ...

    @property
    def device_to_host_bytes(self) -> int: ...

    @property
    def informed_bytes(self) -> int: ...

    @property
    def device_to_device_bytes(self) -> int: ...

    @property
    def memset_bytes(self) -> int: ...

    @property
    def host_visible_allocations(self) -> int: ...

    @property
    def host_calls(self) -> int: ...

    @property
    def resets(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule: its name and what is not allowed."""

    rule: str
    text: str


def during_call(region: Record, output_elements: int) -> Finding | None:
    """One call of `forward`."""
    if region.host_to_device_bytes > MOST_TO_DEVICE_BYTES:
        return Finding(
            "host_data",
            f"forward copies {region.host_to_device_bytes} bytes from the host to the device: results must be "
            "computed on the GPU from the arguments",
        )
    if region.device_to_host_bytes > MOST_TO_HOST_BYTES:
        return Finding(
            "host_work",
            f"forward copies {region.device_to_host_bytes} bytes to the host, what kernels print included: the work "
            "belongs on the GPU, where it is timed",
        )
    if min(region.host_to_device_bytes, region.device_to_host_bytes) > _ROUND_TRIP_BYTES:
        return Finding(
            "host_work",
            f"forward copies {region.device_to_host_bytes} bytes to the host and {region.host_to_device_bytes} back: "
            "what the host does with them is not timed",
        )
    if region.informed_bytes > _ROUND_TRIP_BYTES:
        return Finding(
            "host_work",
            f"forward copies {region.informed_bytes} bytes to the host, what kernels print included, and launches a "
            "kernel afterwards, whose parameters tell it what the host has made of them: that is not timed",
        )
    if region.resets:
        return Finding("reset", "forward resets the device, and its clock with it")
    if region.host_calls:
        return Finding("host_call", "forward runs host functions in a stream (cudaLaunchHostFunc)")
    if region.host_visible_allocations:
        return Finding(
            "host_memory", "forward allocates pinned or managed memory, which the host can write unseen"
        )
    if output_elements and not region.launch_count:
        return Finding("no_kernel", "forward launched no kernel: its result was not computed in this call")
    return None


def left_running(threads: int) -> Finding | None:
    """Host threads that nobody waited for. When they get to their work hangs on how busy the machine is, so that what
    they would have done by then must not matter."""
    if threads <= 0:
        return None
    return Finding(
        "host_threads",
        f"forward returns without having joined {threads} host threads (a host function in a stream takes one, too): "
        "work must be finished, or in a stream, when forward returns",
    )


def host_memory(kinds: Iterable[str]) -> Finding | None:
    """What a candidate holds when its library has been loaded, and when it is called, whenever it got it."""
    shared = sorted(set(kinds) & _HOST_VISIBLE)
    if not shared:
        return None
    return Finding(
        "host_memory",
        f"the kernel has {' and '.join(shared)} memory (__managed__ variables, cudaMallocManaged, cudaMallocHost …), "
        "which the host can read and write while no clock runs",
    )


def faster_than_light(time_us: float, light_us: float | None, description: Description) -> Finding | None:
    """No kernel can be: whatever the clock says, the work was not done, or not counted."""
    if light_us is None or time_us >= light_us:
        return None
    return Finding(
        "light",
        f"{time_us:.2f} us is less than the speed of light, {light_us:.2f} us: reading the inputs and writing the "
        f"results once is {description.moved_bytes()} bytes, and the result takes at least {description.least_flops()} "
        "floating-point operations; please report a kernel that does both and is told this",
    )


def returned_again(again: bool) -> Finding | None:
    """A result belongs to whoever called."""
    if not again:
        return None
    return Finding(
        "kept_result",
        "forward returns memory that it has returned before: whoever still holds the earlier result finds another one "
        "there; allocate every result anew",
    )


def repeated_call(first: Record, second: Record) -> Finding | None:
    """Two calls with the same arguments must do the same work."""
    if first.launch_count != second.launch_count:
        return Finding(
            "cached",
            f"the first call launched {first.launch_count} kernels, a second one with the same arguments "
            f"{second.launch_count}: results of earlier calls must not be reused",
        )
    return None


def between_calls(region: Record) -> Finding | None:
    """Arguments lie on the device now, and nothing may happen to them before the clock runs."""
    moved = region.device_to_device_bytes + region.memset_bytes
    if region.launch_count or region.device_to_host_bytes or moved:
        return Finding(
            "early",
            f"{region.launch_count} kernels ran, {region.device_to_host_bytes} bytes went to the host and {moved} were "
            "copied or filled on the device between two calls of forward: work belongs into the call",
        )
    return None


def after_call(region: Record) -> Finding | None:
    """Between the end of the timed region and the reading of the results nothing may happen."""
    moved = region.host_to_device_bytes + region.device_to_device_bytes + region.memset_bytes
    if region.launch_count or moved:
        return Finding(
            "deferred",
            f"{region.launch_count} kernels ran and {moved} bytes were copied or filled after forward had returned and "
            "the device was idle: work must be finished when forward returns",
        )
    return None
