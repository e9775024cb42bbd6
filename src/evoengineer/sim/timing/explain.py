"""Findings: what a profile means, in plain English and with numbers. Short, as it goes into prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evoengineer.sim.timing.counters import GLOBAL, SHARED
from evoengineer.sim.timing.profile import BOUND_KINDS, Finding, FindingKind, LaunchProfile
from evoengineer.sim.timing.shape import Measured

_MOST_FINDINGS, _MOST_KERNELS = 3, 3
Weighed = tuple[float, Finding]  # the more important, the larger
_NAMES = {
    "latency": "latency", "dram": "DRAM bandwidth", "l2": "L2 bandwidth", "atomics": "atomics to one address",
    "issue": "instruction issue", "fma": "FP32 units", "alu": "integer units",
    "imad": "integer multipliers", "half": "FP16 units",
    "fp64": "FP64 units", "sfu": "special function units", "uniform": "uniform units", "tensor": "tensor cores",
    "lsu": "load/store unit", "barrier": "barriers", "constant": "constant cache", "texture": "texture units",
    "l1 fill": "L2-to-L1 bandwidth", "start": "launch overhead",
    "longest block": "the block with most work", "peak": "peak arithmetic",
    "dispatch": "the rate at which blocks start",
}  # fmt: skip


_ANONYMOUS = "(anonymous namespace)"


def bound_name(bound: str) -> str:
    return _NAMES.get(bound, bound)


def with_findings(profile: LaunchProfile, measured: Measured) -> LaunchProfile:
    """The profile with its findings, most important first."""
    found = [
        *_uncoalesced(profile, measured),
        *_conflicts(profile, measured),
        *_divergence(profile),
        *_latency(profile),
        *_spills(profile),
        *_atomics(profile),
        *_small_grid(profile, measured),
        *_good(profile),
    ]
    found.sort(key=lambda each: -each[0])
    return replace(profile, findings=tuple(finding for _, finding in found[:_MOST_FINDINGS]))


def _uncoalesced(p: LaunchProfile, measured: Measured) -> list[Weighed]:
    if not 0 < p.bytes_per_sector < 24:
        return []
    text = f"global accesses use {p.bytes_per_sector:.0f} of 32 bytes per sector"
    site = _worst_site(measured)
    if site is not None:
        count = measured.counters.sites[site]
        place = _place(measured, site)
        per_request = count.sectors / count.requests[0]
        text += f": {place} touches {per_request:.0f} sectors per request"
        if abs(count.stride) > 16:
            text += f", its lanes are {abs(count.stride)} B apart"
    waiting = _share(p, "dram", "l2", "lsu", "l1 fill", "latency")
    return [(3 * (1 - p.bytes_per_sector / 32) * (0.3 + waiting), Finding(FindingKind.UNCOALESCED, text))]


def _conflicts(p: LaunchProfile, measured: Measured) -> list[Weighed]:
    if p.bank_conflicts < 1.2:
        return []
    sites = [(s.wavefronts - s.least, n) for n, s in enumerate(measured.counters.sites) if s.requests[SHARED]]
    worst = max(sites)[1]
    count = measured.counters.sites[worst]
    ways = count.wavefronts / max(count.least, 1)
    text = (
        f"shared memory bank conflicts: {p.bank_conflicts:.1f}x the wavefronts needed; "
        f"{_place(measured, worst)} is {ways:.0f}-way"
    )
    weight = 2.5 * (1 - 1 / p.bank_conflicts) * (0.2 + _share(p, "lsu", "latency"))
    return [(weight, Finding(FindingKind.BANK_CONFLICTS, text))]


def _divergence(p: LaunchProfile) -> list[Weighed]:
    if p.active_lanes > 24:
        return []
    text = f"only {p.active_lanes:.1f} of 32 lanes are active per instruction (divergence or small blocks)"
    return [(1 - p.active_lanes / 32, Finding(FindingKind.DIVERGENCE, text))]


def _latency(p: LaunchProfile) -> list[Weighed]:
    share = _share(p, "latency")
    if share < 0.3:
        return []
    lead = "latency-bound" if p.bound == "latency" else f"latency is {100 * share:.0f}% of the time"
    more = "" if p.occupancy_percent > 90 else " or more resident warps"
    text = (
        f"{lead}: {p.occupancy_percent:.0f}% occupancy (limited by {p.occupancy_limit}) does not hide it; "
        f"more independent work per thread{more} would help"
    )
    return [(1.2 * share, Finding(FindingKind.LATENCY_BOUND, text))]


def _spills(p: LaunchProfile) -> list[Weighed]:
    if p.spill_bytes < 16:
        return []
    text = f"{p.spill_bytes} bytes per thread of register spills at {p.registers} registers"
    return [(0.6, Finding(FindingKind.SPILLS, text))]


def _atomics(p: LaunchProfile) -> list[Weighed]:
    share = _share(p, "atomics")
    if share < 0.1:
        return []
    text = f"atomics to one address serialise: {100 * share:.0f}% of the time"
    return [(1.5 * share, Finding(FindingKind.ATOMICS, text))]


def _small_grid(p: LaunchProfile, measured: Measured) -> list[Weighed]:
    card = measured.shape.card
    if p.blocks >= card.sm_count:
        return []
    idle = 1 - p.blocks / card.sm_count
    text = (
        f"the grid has {p.blocks} blocks for {card.sm_count} multiprocessors: {idle:.0%} of the card is idle"
    )
    return [(1 - p.blocks / card.sm_count, Finding(FindingKind.SMALL_GRID, text))]


def _good(p: LaunchProfile) -> list[Weighed]:
    if p.memory_percent >= 80:
        text = f"at {p.memory_percent:.0f}% of DRAM bandwidth: only moving fewer bytes makes it faster"
        return [(0.5, Finding(FindingKind.DRAM_BOUND, text))]
    if p.compute_percent >= 70:
        text = (
            f"at {p.compute_percent:.0f}% of peak arithmetic: fewer operations, or fewer instructions beside them, "
            "make it faster"
        )
        return [(0.5, Finding(FindingKind.COMPUTE_BOUND, text))]
    share = p.shares.get(p.bound, 0.0)
    if p.bound == "start":
        text = "launch overhead dominates: only fewer launches, or a smaller grid, would help"
    elif p.bound not in ("latency", "dram", "atomics") and share > 0.4:
        text = f"the bottleneck: {bound_name(p.bound)}, {100 * share:.0f}% of the time"
    else:
        return []
    return [(0.4, Finding(BOUND_KINDS[p.bound], text))]


def _share(p: LaunchProfile, *names: str) -> float:
    return sum(p.shares.get(name, 0.0) for name in names)


def _worst_site(measured: Measured) -> int | None:
    """The global access that wastes most sectors."""
    best, most = None, 0.0
    for site, count in enumerate(measured.counters.sites):
        width = measured.code.width(site)
        if count.requests[GLOBAL] and width:
            waste = 32 * count.sectors - min(count.lanes * width, 32 * count.sectors)
            if waste > most:
                best, most = site, waste
    return best


def _place(measured: Measured, site: int) -> str:
    line = next((line for line, number in measured.code.site_of_line.items() if number == site), 0)
    file, number = measured.code.source_of_line.get(line, ("", 0))
    return f"line {number}" if number and file else "one access"


def explain(profiles: Sequence[LaunchProfile]) -> str:
    """At most fifteen lines on the kernels that take most of the time."""
    if not profiles:
        return "no kernel was launched"
    groups: dict[tuple[str, tuple[int, int, int], tuple[int, int, int]], list[LaunchProfile]] = {}
    for profile in profiles:
        groups.setdefault((profile.kernel, profile.grid, profile.block), []).append(profile)
    order = sorted(groups.values(), key=lambda group: -sum(p.time_ns for p in group))
    total = sum(p.time_ns for p in profiles)
    lines = []
    if len(profiles) > 1:
        lines.append(
            f"{len(profiles)} launches, {total / 1e3:.1f} us in kernels (simulated, {profiles[0].device})"
        )
    kept = order[:_MOST_KERNELS]
    findings = 3 if len(kept) == 1 else 2 if len(kept) == 2 else 1
    for group in kept:
        lines += _describe(group, total, findings)
    if len(order) > len(kept):
        rest = sum(p.time_ns for group in order[len(kept) :] for p in group)
        lines.append(f"{len(order) - len(kept)} further kernels: {rest / 1e3:.1f} us")
    return "\n".join(lines[:15])


def _describe(group: Sequence[LaunchProfile], total: float, findings: int) -> list[str]:
    p = group[0]
    mean = sum(each.time_ns for each in group) / len(group)
    us = f"{mean / 1e3:.1f} us"
    times = f"{len(group)} x {us}" if len(group) > 1 else f"{us} simulated on {p.device}"
    share = 100 * mean * len(group) / total
    name = short_name(p.kernel)
    lines = [
        f"{name} <<<{_extent(p.grid)}, {_extent(p.block)}>>>: {times} ({share:.0f}%), bound by {bound_name(p.bound)}",
        f"  {p.memory_percent:.0f}% of DRAM bandwidth, {p.compute_percent:.0f}% of peak compute; occupancy "
        f"{p.occupancy_percent:.0f}% (limit: {p.occupancy_limit}; {p.registers} registers"
        + (f", {p.shared_bytes_per_block} B shared" if p.shared_bytes_per_block else "")
        + ")",
    ]
    details = []
    if p.sectors_per_request:
        details.append(f"{p.sectors_per_request:.1f} sectors per request")
    if p.shared_bytes:
        details.append(f"bank conflicts {p.bank_conflicts:.1f}x")
    details.append(f"{p.active_lanes:.0f}/32 lanes active")
    details.append(f"L1 hits {p.l1_hit_percent:.0f}%, L2 hits {p.l2_hit_percent:.0f}%")
    lines.append("  " + ", ".join(details))
    if p.hot_lines and findings > 1:
        hot = ", ".join(f"{Path(file).name}:{number} {100 * part:.0f}%" for file, number, part in p.hot_lines)
        lines.append(f"  hottest lines: {hot}")
    lines += [f"  - {finding.text}" for finding in p.findings[:findings]]
    return lines


def short_name(kernel: str) -> str:
    """A demangled name without its parameters; `(anonymous namespace)::` is none of them."""
    depth = 0  # of template arguments, which may hold parentheses too
    for at, letter in enumerate(kernel):
        if letter == "(" and depth == 0 and not kernel.startswith(_ANONYMOUS, at):
            return kernel[:at]
        depth += {"<": 1, ">": -1}.get(letter, 0)
    return kernel


def _extent(size: tuple[int, int, int]) -> str:
    x, y, z = size
    return str(x) if y == z == 1 else f"({x},{y})" if z == 1 else f"({x},{y},{z})"
