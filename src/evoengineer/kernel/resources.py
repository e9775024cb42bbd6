"""What a kernel occupies, as ptxas reports it: registers, spills, shared memory."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from evoengineer.card.occupancy import KernelResources as Occupied
from evoengineer.card.occupancy import blocks_per_multiprocessor
from evoengineer.card.profile import Profile
from evoengineer.toolchain.demangle import demangled
from evoengineer.toolchain.ptxas import Usage, parse_usage


@dataclass(frozen=True, slots=True)
class KernelResources(Usage):
    """Of one `__global__` function, with its name as the source has it."""

    name: str

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
    found = parse_usage(log)
    names = demangled(each.symbol for each in found)
    return tuple(KernelResources(**asdict(each), name=names[each.symbol]) for each in found)
