"""Verdict: the closed outcome of judging, with evidence.

    unparsable     no kernel could be read from the text
    forbidden      it breaks a rule of the contract (a library operation, a reserved name)
    compile_error  nvcc refuses it
    crashed        the host code or the module failed to run
    timed_out      it exceeded a time limit
    memory_error   out of bounds, misaligned, uninitialised, guard bands or inputs written
    race           two threads touch the same memory without synchronisation
    wrong          results differ from the reference
    dishonest      right, but by a way that the timing does not see
    valid          right and honest: the only outcome with a Timing

A candidate's failure is data: this module's records say all that a person or a prompt needs, and go to JSON
and back without loss.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from evoengineer.sim.timing.profile import LaunchProfile
from evoengineer.sim.wire.records import field_values


class Outcome(StrEnum):
    """The closed set; what each means stands at the top."""

    UNPARSABLE = "unparsable"
    FORBIDDEN = "forbidden"
    COMPILE_ERROR = "compile_error"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    MEMORY_ERROR = "memory_error"
    RACE = "race"
    WRONG = "wrong"
    DISHONEST = "dishonest"
    VALID = "valid"

    @property
    def compiled(self) -> bool:
        """Counts for the compile rate."""
        return self not in (Outcome.UNPARSABLE, Outcome.FORBIDDEN, Outcome.COMPILE_ERROR)


# What a terminal obeys or turns around: candidates choose the texts of their errors.
_COMMANDS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


def _harmless(value: Any) -> Any:
    """The same with control characters spelled out, in texts wherever they are."""
    if isinstance(value, str):
        return _COMMANDS.sub(lambda found: ascii(found[0])[1:-1], value.replace("\r\n", "\n"))
    if isinstance(value, Mapping):
        return {key: _harmless(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_harmless, value))
    return value


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of a valid kernel on the bench case. On `sim` they are simulated, exact and repeatable."""

    device: str
    simulated: bool
    time_us: float
    interval_us: tuple[float, float]  # 95%; both ends equal time_us on sim
    baseline_us: float | None  # None for a problem without a baseline kernel
    speedup: float | None  # baseline_us / time_us
    speedup_interval: tuple[float, float] | None
    pytorch_us: float | None = None  # eager; on sim an estimate, of problems without a baseline only
    pytorch_compiled_us: float | None = None
    speed_of_light_us: float | None = None
    profile: str = ""  # short text: bound by what, findings
    launches: tuple[LaunchProfile, ...] = ()  # of each kernel launch, where the device tells


@dataclass(frozen=True, slots=True)
class Verdict:
    """What judging a kernel found: an outcome with its evidence, and times exactly when it is valid."""

    outcome: Outcome
    summary: str  # one sentence
    evidence: str = ""  # what helps to mend it: diagnostics, first wrong element, memory report
    details: Mapping[str, Any] = field(default_factory=dict)  # the same as data
    timing: Timing | None = None  # exactly when valid
    problem: str = ""
    device: str = ""
    kernel: str = ""  # identity of the text
    build: str = ""  # identity of the machine code; empty when it did not compile
    resources: Mapping[str, Any] = field(default_factory=dict)  # registers, spills, shared memory by kernel
    seconds: Mapping[str, float] = field(default_factory=dict)  # wall time by stage

    def __post_init__(self) -> None:
        if (self.timing is not None) != (self.outcome is Outcome.VALID):
            raise ValueError(f"a {self.outcome} verdict {'lacks' if self.timing is None else 'has'} a timing")
        for name in ("summary", "evidence", "details"):
            object.__setattr__(self, name, _harmless(getattr(self, name)))

    @property
    def valid(self) -> bool:
        return self.outcome is Outcome.VALID

    def to_json(self) -> dict[str, Any]:
        timing = self.timing and {
            **field_values(self.timing),
            "launches": [launch.to_json() for launch in self.timing.launches],
        }
        return {**field_values(self), "timing": timing}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        timing = data.get("timing")
        if timing is not None:
            pairs = {
                name: timing[name] and tuple(timing[name]) for name in ("interval_us", "speedup_interval")
            }
            launches = tuple(LaunchProfile.from_json(each) for each in timing["launches"])
            timing = Timing(**{**timing, **pairs, "launches": launches})
        return cls(**{**data, "outcome": Outcome(data["outcome"]), "timing": timing})
