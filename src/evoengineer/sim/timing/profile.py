"""LaunchProfile: what one launch took on the simulated card, and why. The record that others read and keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evoengineer.sim.wire.records import field_values, from_values


class FindingKind(StrEnum):
    """What a finding is about. Closed: whoever chooses by it (the search's knowledge) can know them all."""

    DRAM_BOUND = "dram_bound"
    L2_BOUND = "l2_bound"
    L1_BOUND = "l1_bound"
    LATENCY_BOUND = "latency_bound"
    ISSUE_BOUND = "issue_bound"
    COMPUTE_BOUND = "compute_bound"
    SFU_BOUND = "sfu_bound"
    ATOMICS = "atomics"
    BARRIERS = "barriers"
    LAUNCH_OVERHEAD = "launch_overhead"
    UNCOALESCED = "uncoalesced"
    BANK_CONFLICTS = "bank_conflicts"
    DIVERGENCE = "divergence"
    SPILLS = "spills"
    SMALL_GRID = "small_grid"
    UNNAMED = "unnamed"  # from an archive that an older version wrote


# The terms of the timing model, one of which a launch is bound by.
BOUND_KINDS = {
    "dram": FindingKind.DRAM_BOUND, "l2": FindingKind.L2_BOUND, "l1 fill": FindingKind.L2_BOUND,
    "lsu": FindingKind.L1_BOUND, "constant": FindingKind.L1_BOUND, "texture": FindingKind.L1_BOUND,
    "latency": FindingKind.LATENCY_BOUND, "issue": FindingKind.ISSUE_BOUND, "alu": FindingKind.ISSUE_BOUND,
    "imad": FindingKind.ISSUE_BOUND, "uniform": FindingKind.ISSUE_BOUND, "fma": FindingKind.COMPUTE_BOUND,
    "half": FindingKind.COMPUTE_BOUND, "fp64": FindingKind.COMPUTE_BOUND, "tensor": FindingKind.COMPUTE_BOUND,
    "sfu": FindingKind.SFU_BOUND, "atomics": FindingKind.ATOMICS, "barrier": FindingKind.BARRIERS,
    "start": FindingKind.LAUNCH_OVERHEAD, "peak": FindingKind.COMPUTE_BOUND, "longest block": FindingKind.SMALL_GRID,
    "dispatch": FindingKind.LAUNCH_OVERHEAD,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    kind: FindingKind
    text: str  # plain English with numbers


ENOUGH_AGREEMENT = 0.1  # of the instructions, that samples may misplace before more blocks are counted


@dataclass(frozen=True, slots=True)
class LaunchProfile:
    """All figures are of the whole grid, extrapolated from the blocks that were counted."""

    kernel: str  # demangled name
    device: str  # "sim:rtx4090"
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    time_ns: float  # simulated
    terms_ns: dict[str, float]  # what each resource would need alone
    shares: dict[str, float]  # of the time, summing to 1
    bound: str  # the largest share
    dram_bytes: float
    l2_bytes: float
    l1_bytes: float  # global and local requests, in sectors
    shared_bytes: float  # wavefronts of 128 bytes
    flops: float
    memory_percent: float  # of the card's DRAM bandwidth
    compute_percent: float  # of the card's peak for the types used
    registers: int
    spill_bytes: int  # per thread
    shared_bytes_per_block: int
    resources_estimated: bool  # no figures from ptxas
    resident_blocks: int  # per multiprocessor
    occupancy_percent: float  # warps that are resident, of the card's limit, while the grid lasts
    occupancy_limit: str  # what limits it: registers, shared memory, threads, blocks, grid
    rounds: float  # of resident blocks
    sectors_per_request: float  # global memory; 4 is best for 4-byte elements
    bytes_per_sector: float  # of 32, that are asked for
    bank_conflicts: float  # wavefronts over the least possible; 1 is none
    active_lanes: float  # of 32, per instruction
    l1_hit_percent: float
    l2_hit_percent: float
    instructions: float  # warp-level machine instructions
    hot_lines: tuple[tuple[str, int, float], ...]  # file, line, share of one warp's time
    findings: tuple[Finding, ...]  # at most three, most important first
    sampled_blocks: int
    disagreement: float  # part of the instructions that the samples alone would have misplaced
    blocks: int

    @property
    def representative(self) -> bool:
        """Did the counted blocks stand for the rest? If not, a repetition with others among them tells more."""
        return self.disagreement <= ENOUGH_AGREEMENT

    @property
    def time_us(self) -> float:
        return self.time_ns / 1e3

    @property
    def limits(self) -> tuple[FindingKind, ...]:
        """What limits the launch, the most important first: what it is bound by, then the findings."""
        bound = BOUND_KINDS.get(self.bound, FindingKind.UNNAMED)
        return tuple(dict.fromkeys((bound, *(finding.kind for finding in self.findings))))

    def to_json(self) -> dict[str, Any]:
        return {**field_values(self), "findings": [field_values(finding) for finding in self.findings]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LaunchProfile:
        """ValueError unless it is a profile with all its figures."""
        readers = {"hot_lines": lambda lines: tuple(map(tuple, lines)), "findings": _findings}
        return from_values(cls, data, grid=tuple, block=tuple, **readers)


def _findings(data: Sequence[Any]) -> tuple[Finding, ...]:
    """Also those of old archives, which are sentences without a kind."""
    known = ({"kind": FindingKind.UNNAMED, "text": each} if isinstance(each, str) else each for each in data)
    return tuple(from_values(Finding, each, kind=FindingKind) for each in known)
