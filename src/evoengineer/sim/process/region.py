"""Region: what a client made the device do between two marks, as the device process tells its owner.

Everything in it is counted by the device process, nothing is taken from the client's word. Times are simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from evoengineer.sim.timing.profile import LaunchProfile
from evoengineer.sim.wire.records import field_values, from_values

Extent = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the device failed. `kind` is one word: out_of_bounds, misaligned, freed, uninitialised, race,
    barrier_divergence, deadlock, missing_members, instruction_budget, wall_limit, trap, assert, stack_overflow,
    invalid_call, illegal_instruction, write_to_const, invalid_free, unsupported, invalid_ptx, interrupted (the
    client ended in the middle of a kernel), protocol (the client broke the connection's rules), device, internal.
    """

    kind: str
    code: int  # cudaError
    report: str  # as in docs/errors.md


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    kernel: str
    grid: Extent
    block: Extent
    shared_bytes: int  # dynamic
    elapsed_ns: float | None  # simulated; None if the launch failed
    profile: LaunchProfile | None = None  # None where launches are not counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    elapsed_ns: float  # on the device's clock, all streams drained
    busy_ns: float  # of that, from the start of the first operation on the device to the end of the last
    launches: tuple[LaunchRecord, ...]  # the first few thousand
    launch_count: int
    host_to_device_bytes: int
    device_to_host_bytes: int
    informed_bytes: int  # of these, what the host had when the last kernel was launched
    device_to_device_bytes: int
    memset_bytes: int
    device_allocations: int
    device_allocation_bytes: int
    host_visible_allocations: int  # pinned, mapped, managed, registered
    host_visible_bytes: int
    host_calls: int  # functions that a stream had the host run
    module_loads: int
    resets: int
    failure: Failure | None  # the first one; stays until a reset or a new client
    messages: tuple[str, ...]  # everything that the device had to say

    def followed_by(self, later: Region) -> Region:
        """Both together: counts and bytes added up, times and lists one after the other."""
        sums = {
            name: getattr(self, name) + getattr(later, name)
            for name in field_values(self)
            if name not in ("failure",)
        }
        return Region(**sums, failure=self.failure or later.failure)

    def to_json(self) -> dict[str, Any]:
        """Launches that repeat one another share a profile, which is told once: they have its place, from 1."""
        profiles = {id(each.profile): each.profile for each in self.launches if each.profile is not None}
        places = {key: place for place, key in enumerate(profiles, 1)}
        return {
            **field_values(self),
            "profiles": [profile.to_json() for profile in profiles.values()],
            "launches": [
                {**field_values(each), "profile": places.get(id(each.profile), 0)} for each in self.launches
            ],
            "failure": self.failure and field_values(self.failure),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Region:
        values = dict(data)
        profiles = [None, *map(LaunchProfile.from_json, values.pop("profiles"))]
        launch = partial(from_values, LaunchRecord, grid=tuple, block=tuple, profile=profiles.__getitem__)
        return from_values(
            cls,
            values,
            launches=lambda found: tuple(map(launch, found)),
            failure=lambda found: found and from_values(Failure, found),
            messages=tuple,
        )
