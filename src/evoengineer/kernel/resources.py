"""What a kernel occupies, as ptxas reports it: registers, spills, shared memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evoengineer.card.occupancy import KernelResources as Occupied
from evoengineer.card.occupancy import blocks_per_multiprocessor
from evoengineer.card.profile import Profile
from evoengineer.toolchain.demangle import demangled

_ENTRY = re.compile(r"Compiling entry function '(?P<name>\S+)'")
_SPILLS = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers(?P<rest>.*)")
_SHARED = re.compile(r"(?P<bytes>\d+)(?:\+\d+)? bytes smem")


@dataclass(frozen=True, slots=True)
class KernelResources:
    """Of one `__global__` function; `name` is demangled, `symbol` as the linker knows it."""

    symbol: str
    name: str
    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    static_shared_bytes: int

    def blocks_per_multiprocessor(self, profile: Profile, threads: int, dynamic_shared_bytes: int = 0) -> int:
        shared = self.static_shared_bytes + dynamic_shared_bytes
        return blocks_per_multiprocessor(profile, Occupied(threads, shared, self.registers))

    def occupancy(self, profile: Profile, threads: int, dynamic_shared_bytes: int = 0) -> float:
        """The share of a multiprocessor's warps that can be resident, 0 to 1."""
        warps = -(-threads // profile.warp_size)
        blocks = self.blocks_per_multiprocessor(profile, threads, dynamic_shared_bytes)
        return blocks * warps / profile.max_warps_per_sm


def parse_resources(log: str) -> tuple[KernelResources, ...]:
    """From the output of `ptxas -v`, in its order."""
    found: list[tuple[str, tuple[int, int, int], int, int]] = []
    symbol, spills = "", (0, 0, 0)
    for line in log.split("\n"):
        entry, frame, used = _ENTRY.search(line), _SPILLS.search(line), _USED.search(line)
        if entry:
            symbol, spills = entry["name"], (0, 0, 0)
        elif frame:
            spills = int(frame["stack"]), int(frame["stores"]), int(frame["loads"])
        elif used and symbol:
            shared = _SHARED.search(used["rest"])
            found.append((symbol, spills, int(used["registers"]), int(shared["bytes"]) if shared else 0))
            symbol = ""
    names = demangled(each[0] for each in found)
    return tuple(
        KernelResources(symbol, names[symbol], registers, stores, loads, stack, shared_bytes)
        for symbol, (stack, stores, loads), registers, shared_bytes in found
    )
