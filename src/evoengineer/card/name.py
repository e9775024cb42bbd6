"""DeviceName: where kernels run, as users write it.

    sim:rtx4090    a simulated card, which may have its clock held: sim:t4@585 (MHz)
    cuda:0         an NVIDIA GPU by its number

Parsed once, at the door: in arguments, JSON and the archive a device is a string, everywhere else it is this. A
well-formed name may still name no card that we know (in an old archive, say); `profile` is where that shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from evoengineer.card.profile import Profile, load_profile, unknown_device
from evoengineer.errors import UsageError

_SLOWEST_MHZ = 100


@dataclass(frozen=True, slots=True)
class DeviceName:
    kind: Literal["sim", "cuda"]
    card: str = ""  # "rtx4090"; empty for a real GPU
    clock_mhz: int | None = None  # None: the card's own
    index: int = 0  # of a real GPU

    @classmethod
    def parse(cls, text: str) -> DeviceName:
        kind, _, rest = text.partition(":")
        if kind == "cuda":
            if not (rest or "0").isdecimal():
                raise UsageError(f"unknown device {text!r}; a real GPU is cuda:0, cuda:1, …")
            return cls("cuda", index=int(rest or 0))
        card, held, clock = rest.lower().partition("@")
        if kind != "sim" or not card:
            raise unknown_device(text)
        if held and not clock.isdecimal():
            raise _no_clock(text, load_profile(card))
        return cls("sim", card, int(clock) if held else None)

    def __str__(self) -> str:
        if self.kind == "cuda":
            return f"cuda:{self.index}"
        return f"sim:{self.card}" + ("" if self.clock_mhz is None else f"@{self.clock_mhz}")

    @property
    def simulated(self) -> bool:
        return self.kind == "sim"

    @property
    def profile(self) -> Profile:
        """Of the simulated card, with its clock as the name has it; UsageError where there is none."""
        if not self.simulated:
            raise UsageError(
                f"{self}: only simulated devices can be used here, for instance {DEFAULT_DEVICE}"
            )
        profile = load_profile(self.card)
        if self.clock_mhz is None:
            return profile
        if not _SLOWEST_MHZ <= self.clock_mhz <= _fastest_mhz(profile):
            raise _no_clock(str(self), profile)
        return replace(profile, key=f"{self.card}@{self.clock_mhz}", clock_khz=1000 * self.clock_mhz)


DEFAULT_DEVICE = DeviceName("sim", "rtx4090")


def _fastest_mhz(profile: Profile) -> int:
    return profile.clock_khz * 5 // 4000  # cards go a little beyond their boost clock


def _no_clock(text: str, profile: Profile) -> UsageError:
    bounds = f"from {_SLOWEST_MHZ} to {_fastest_mhz(profile)} for {profile.name}"
    return UsageError(f"{text!r}: what follows @ is the clock in MHz, {bounds}")
