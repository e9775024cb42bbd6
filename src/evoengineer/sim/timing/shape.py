"""A launch's configuration on a card, and what was counted of it."""

from __future__ import annotations

from dataclasses import dataclass

from evoengineer.card.occupancy import KernelResources, occupancy_limits
from evoengineer.card.profile import Profile
from evoengineer.sim.timing.code import KernelCode
from evoengineer.sim.timing.counters import Counters, Footprint, Overlaps, SiteCache
from evoengineer.sim.timing.ptxas import Resources
from evoengineer.sim.timing.totals import Agreed


@dataclass(frozen=True, slots=True)
class Shape:
    """A launch's configuration on a card."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    resources: Resources
    card: Profile

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps(self) -> int:
        return -(-self.threads // 32)

    def limits(self) -> dict[str, int]:
        """Blocks per multiprocessor that each resource allows."""
        kernel = KernelResources(self.threads, self.shared_bytes, self.resources.registers)
        return occupancy_limits(self.card, kernel)

    @property
    def fitting(self) -> int:
        """Blocks that fit on one multiprocessor."""
        return max(min(self.limits().values()), 1)

    @property
    def resident(self) -> int:
        """Blocks that are there at once: never more than the grid gives each multiprocessor."""
        return min(self.fitting, -(-self.blocks // self.card.sm_count))

    @property
    def l1_bytes(self) -> int:
        """What the shared memory of resident blocks leaves of the common storage."""
        card = self.card
        need = self.fitting * (self.shared_bytes + card.shared_reserved_bytes) if self.shared_bytes else 0
        sizes = sorted(1024 * size for size in card.shared_carveouts_kib)  # Turing's smallest is not 0
        shared = next((size for size in sizes if size >= need), sizes[-1])
        return max(card.l1_shared_bytes_per_sm - shared, 16384)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was counted in a launch and stays the same when it is repeated."""

    shape: Shape
    code: KernelCode
    agreed: Agreed
    footprints: tuple[Footprint, ...]
    overlaps: Overlaps  # of samples that differ in their place along one axis

    @property
    def counters(self) -> Counters:
        return self.agreed.counters

    @property
    def caches(self) -> tuple[SiteCache, ...]:
        return self.agreed.caches
