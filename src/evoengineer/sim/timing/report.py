"""A launch's analysis → LaunchProfile, findings included."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from evoengineer.sim.timing.analysis import Analysis, compute_share
from evoengineer.sim.timing.explain import with_findings
from evoengineer.sim.timing.profile import LaunchProfile
from evoengineer.sim.timing.shape import Measured
from evoengineer.toolchain.demangle import demangle

_HOT_LINES = 3


def launch_profile(name: str, measured: Measured, analysis: Analysis) -> LaunchProfile:
    shape, sums, card = measured.shape, analysis.sums, measured.shape.card
    grown = shape.blocks / len(measured.counters.samples)
    time_ns = analysis.prediction.time_ns
    flops, computing = compute_share(sums, grown, card, time_ns)
    dram = analysis.work.dram_read + analysis.work.dram_written
    limits = shape.limits()
    limit = min(limits, key=lambda each: (limits[each], each))
    # A grid that does not fill the card leaves some multiprocessors with fewer blocks, or none.
    resident = min(float(shape.fitting), shape.blocks / card.sm_count)
    if resident < shape.fitting:
        limit = "grid"
    loads = sums["l1_hits"] + sums["l2_hits"] + sums["cold"]
    beyond = sums["l2_hits"] + sums["cold"]
    from_l2 = sums["l2_hits"] + sums["cold"] * (1 - analysis.traffic.dram_share)
    profile = LaunchProfile(
        kernel=demangle(name),
        device=card.device,
        grid=shape.grid,
        block=shape.block,
        time_ns=time_ns,
        terms_ns=dict(analysis.prediction.terms),
        shares=dict(analysis.prediction.shares),
        bound=analysis.prediction.bound,
        dram_bytes=dram,
        l2_bytes=analysis.work.l2_bytes,
        l1_bytes=32 * grown * (sums["sectors"] + sums["local_sectors"]),
        shared_bytes=128 * grown * sums["wavefronts"],
        flops=flops,
        memory_percent=100 * dram / (time_ns * 1e-9 * card.dram_bytes_per_second),
        compute_percent=100 * computing,
        registers=shape.resources.registers,
        spill_bytes=shape.resources.spill_bytes,
        shared_bytes_per_block=shape.shared_bytes,
        resources_estimated=shape.resources.estimated,
        resident_blocks=shape.resident,
        occupancy_percent=100 * min(resident * shape.warps / card.max_warps_per_sm, 1.0),
        occupancy_limit=limit,
        rounds=analysis.prediction.rounds,
        sectors_per_request=sums["sectors"] / sums["requests"] if sums["requests"] else 0.0,
        bytes_per_sector=sums["useful"] / sums["sectors"] if sums["sectors"] else 0.0,
        bank_conflicts=sums["wavefronts"] / sums["least"] if sums["least"] else 1.0,
        active_lanes=sums["active"] / sums["issued"] if sums["issued"] else 32.0,
        l1_hit_percent=100 * sums["l1_hits"] / loads if loads else 0.0,
        l2_hit_percent=100 * from_l2 / beyond if beyond else 0.0,
        instructions=analysis.instructions,
        hot_lines=_hot_lines(measured, analysis),
        findings=(),
        sampled_blocks=len(measured.counters.samples),
        disagreement=measured.agreed.disagreement,
        blocks=shape.blocks,
    )
    return with_findings(profile, measured)


def _hot_lines(measured: Measured, analysis: Analysis) -> tuple[tuple[str, int, float], ...]:
    spent: dict[tuple[str, int], float] = defaultdict(float)
    for line, clocks in analysis.waits.items():
        file, number = measured.code.source_of_line.get(line, ("", 0))
        if number:
            spent[Path(file).name, number] += clocks
    total = sum(analysis.waits.values()) or 1.0
    order = sorted(spent, key=lambda place: (-spent[place], place))[:_HOT_LINES]
    return tuple((file, number, spent[file, number] / total) for file, number in order)
