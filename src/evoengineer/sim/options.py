"""How a simulated GPU runs: what it checks, how long a kernel may take, how many threads it uses.

`DeviceOptions` travel whole: whoever opens a device makes them, the device process gets them as one JSON object
and its engine holds them as they are. A new option is a new field here and a place that reads it, nothing between.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

from evoengineer.card.name import DEFAULT_DEVICE, DeviceName
from evoengineer.errors import UsageError, did_you_mean
from evoengineer.sim.wire.records import field_values, from_values

# In the order in which help texts list them.
CHECKS = {
    "memory": "out-of-bounds, misaligned and freed addresses (always on)",
    "sync": "barriers, shuffles and votes that not all threads reach (always on)",
    "race": "races between threads, in shared and in global memory",
    "init": "reads of memory that nobody has written",
}
# These cost little, and without them a broken kernel would end the device process or wait for ever.
DEFAULT_CHECKS = frozenset({"memory", "sync"})

# Enough for edges and for neighbours along every axis (timing/sampling.py).
DEFAULT_SAMPLE_BLOCKS = 12
BlockOrder = Literal["ascending", "reversed", "drawn"]


def default_threads() -> int:
    """As many as this process may use cores."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on what a client may make the device do; a kernel that exceeds one is stopped and reported. 0: none."""

    max_instructions: int = (
        100_000_000_000  # of warps, of one launch: minutes of ours, for one without an end
    )
    max_work: int = 0  # the same for all launches between two marks (control.py); starting one counts, too
    max_translated: int = 0  # PTX instructions, of all kernels in all block shapes together
    max_seconds: float = 0.0  # wall-clock time, which says more of the machine than of a kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceOptions:
    device: DeviceName = DEFAULT_DEVICE
    threads: int = field(default_factory=default_threads)
    checks: frozenset[str] = DEFAULT_CHECKS  # besides those that are always on
    limits: Limits = Limits()
    # reversed: a result that depends on the order shows. drawn: the same, in an order that nobody can know; of blocks
    # that wait for one another some come late, as they may on a card. What nothing orders in several streams is
    # reversed, too: in a drawn order if `order_seed` is odd.
    block_order: BlockOrder = "ascending"
    order_seed: int = 0  # which order is drawn, and where races are looked for
    spot_blocks: int = 0  # races are looked for in so many blocks of a launch; 0: in all of them
    inputs: tuple[
        tuple[int, int], ...
    ] = ()  # start and bytes of memory that is only to be read: a change is found with races, which are not looked for
    memory_bytes: int = 0  # of everything that a client allocates; 0: as much as the card has
    host_bytes: int = (
        0  # shared with the client: staging, pinned and managed memory; 0: as much as there can be
    )
    poison: bool = False  # device memory is handed out full of ones: NaN in every floating-point format
    # Instead, and in shared and local memory and registers: numbers drawn from this, which no kernel can recognise.
    noise: int = 0
    sample_blocks: int = DEFAULT_SAMPLE_BLOCKS  # of a grid, counted for the timing model; 0: rough times only
    sample_seed: int = 0  # which blocks those are; 0: by their place in the grid alone
    sampled_only: bool = False  # run only those: results are partial, times are the same
    reuse_profiles: bool = True  # a launch like an earlier one takes its times; false: each one is counted
    progress: bool = False  # of launches that take long, on stderr
    profile_file: str = ""  # where the device process leaves the profiles of all launches, as JSON

    def __post_init__(self) -> None:
        _ = self.device.profile  # UsageError unless it is a card that we know
        if self.block_order not in get_args(BlockOrder):
            raise UsageError(f"block_order is one of {get_args(BlockOrder)}, not {self.block_order!r}")
        object.__setattr__(self, "checks", DEFAULT_CHECKS | self.checks)

    def to_json(self) -> dict[str, Any]:
        converted = {
            "device": str(self.device),
            "checks": sorted(self.checks),
            "limits": field_values(self.limits),
        }
        return {**field_values(self), **converted}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DeviceOptions:
        """ValueError unless every option is there and nothing else."""
        limits = partial(from_values, Limits)
        return from_values(
            cls,
            data,
            device=DeviceName.parse,
            checks=frozenset,
            limits=limits,
            inputs=lambda found: tuple((start, size) for start, size in found),
        )


def parse_checks(text: str) -> frozenset[str]:
    """`race,init` → the set of checks to make. `all` adds every one, `none` stands alone and adds none."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    valid = [*CHECKS, "all", "none"]
    if not words:
        raise UsageError(f"--check: no check named; valid: {', '.join(valid)}")
    for word in words:
        if word not in valid:
            raise UsageError(
                f"--check: unknown check {word!r}{did_you_mean(word, valid)}; valid: {', '.join(valid)}"
            )
        if word == "none" and len(words) > 1:
            raise UsageError("--check: 'none' stands alone; leave out the other names or 'none'")
    chosen = CHECKS.keys() if "all" in words else CHECKS.keys() & set(words)
    return DEFAULT_CHECKS | chosen
