"""LaunchProfile: what one launch took on the simulated card, and why. The record that others read and keep."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any


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
    occupancy_percent: float  # warps that can be resident, of the card's limit
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
    findings: tuple[str, ...]  # at most three, most important first
    sampled_blocks: int
    disagreement: float  # part of the instructions that the samples alone would have misplaced
    blocks: int

    @property
    def time_us(self) -> float:
        return self.time_ns / 1e3

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LaunchProfile:
        known = {field.name for field in fields(cls)}
        unknown, missing = data.keys() - known, known - data.keys()
        if unknown or missing:
            raise ValueError(f"not a launch profile: unknown {sorted(unknown)}, missing {sorted(missing)}")
        values = dict(data)
        values["grid"], values["block"] = tuple(data["grid"]), tuple(data["block"])
        values["hot_lines"] = tuple((file, line, share) for file, line, share in data["hot_lines"])
        values["findings"] = tuple(data["findings"])
        return cls(**values)
