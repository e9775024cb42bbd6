"""Guidance from measurement: the profile of each kernel at hand as data, the roofline, and what not to try.

Everything is computed from the launch profiles and the speed of light; no sentence depends on what a model wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evoengineer.search.guidance import View
from evoengineer.search.prompts import fill
from evoengineer.search.records import Member
from evoengineer.search.task import listed
from evoengineer.sim.timing.explain import bound_name
from evoengineer.sim.timing.profile import FindingKind, LaunchProfile

_NEAR = 90.0  # percent of a peak: only less work helps beyond that
_MOST_LINES = 4
_SOURCE_FILE = "kernel.cu"  # the candidate's own file, whose lines can be quoted

_REMEDIES = {
    FindingKind.LATENCY_BOUND: "more loads under way at once: more independent work per thread, or more resident warps",
    FindingKind.UNCOALESCED: "another mapping of threads to addresses, so that a warp reads whole sectors",
    FindingKind.BANK_CONFLICTS: "padding or swizzling the tile in shared memory",
    FindingKind.BARRIERS: "fewer barriers: shuffles within a warp, or double buffering",
    FindingKind.LAUNCH_OVERHEAD: "fewer launches and fills",
    FindingKind.SMALL_GRID: "more blocks, or work that is shared out more evenly",
    FindingKind.ATOMICS: "combining within the block before one atomic operation",
    FindingKind.SPILLS: "fewer live values per thread",
    FindingKind.DIVERGENCE: "branches that whole warps take together",
    FindingKind.ISSUE_BOUND: "fewer instructions: vector loads, hoisted index arithmetic, cheaper functions",
    FindingKind.SFU_BOUND: "fewer special functions",
    FindingKind.L1_BOUND: "wider accesses and more reuse in registers",
    FindingKind.L2_BOUND: "more reuse in shared memory and registers",
    FindingKind.DRAM_BOUND: "fewer bytes: every input read once, intermediate results never written",
    FindingKind.COMPUTE_BOUND: "fewer operations, or a faster unit that is exact enough",
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What bounds each kernel that is shown, how near it is to the light, and where its time goes."""

    @property
    def key(self) -> str:
        return "profile"

    def render(self, view: View) -> str:
        told = [text for text in map(_kernel, view.parents) if text]
        if not told:
            return ""
        return fill("profile", kernels="\n\n".join(told), roofline=_roofline(view))


def _kernel(member: Member) -> str:
    launch = member.longest
    if launch is None:
        return ""
    total = sum(each.time_ns for each in member.launches)
    lines = [
        f"bound by {bound_name(launch.bound)}; {launch.memory_percent:.0f}% of DRAM bandwidth, "
        f"{launch.compute_percent:.0f}% of peak compute, occupancy {launch.occupancy_percent:.0f}%",
        f"the longest of {len(member.launches)} launch{'es' if len(member.launches) > 1 else ''}, "
        f"{launch.kernel.partition('(')[0]}, takes {launch.time_ns / total if total else 1:.0%} of the time",
    ]
    if member.light_share is not None:
        lines.insert(0, f"{member.light_share:.0%} of the speed of light")
    lines += [f"finding: {finding.text}" for finding in launch.findings]
    lines += _hot_lines(member, launch)
    remedies = [_REMEDIES[kind] for kind in launch.limits if kind in _REMEDIES]
    if remedies:
        lines.append(f"what would help: {'; '.join(remedies[:2])}")
    lines += [f"do not try: {text}" for text in _futile(launch)]
    return f"{member.label[0].upper()}{member.label[1:]}:\n{listed(lines)}"


def _hot_lines(member: Member, launch: LaunchProfile) -> list[str]:
    source = member.source.splitlines()
    hot = []
    for file, number, share in launch.hot_lines[:_MOST_LINES]:
        own = Path(file).name == _SOURCE_FILE and 0 < number <= len(source)
        quoted = f"`{source[number - 1].strip()}`" if own else Path(file).name
        hot.append(f"line {number}, {share:.0%} of a warp's time: {quoted}")
    return hot


def _futile(launch: LaunchProfile) -> list[str]:
    """Work that cannot pay, by the figures."""
    futile = []
    if launch.memory_percent >= _NEAR:
        futile.append(
            f"it already uses {launch.memory_percent:.0f}% of the DRAM bandwidth: only fewer bytes help"
        )
    if launch.compute_percent >= _NEAR:
        futile.append(
            f"it already runs at {launch.compute_percent:.0f}% of peak compute: only fewer operations help"
        )
    kinds = launch.limits
    if FindingKind.DRAM_BOUND in kinds[:1] and FindingKind.COMPUTE_BOUND not in kinds:
        futile.append("cheaper arithmetic, which is hidden behind the memory traffic")
    if FindingKind.COMPUTE_BOUND in kinds[:1]:
        futile.append("wider loads, which are hidden behind the arithmetic")
    return futile


def _roofline(view: View) -> str:
    light, parent = view.task.light_us, view.parents[0]
    if light is None:
        return "The least possible time on this device is not known."
    headroom = parent.time_us / light
    advice = "Little is left to gain." if headroom < 1 / 0.95 else f"There is room for {headroom:.2f}x."
    return (
        f"Roofline: the best possible time is {light:.2f} us ({view.task.light_reason}). "
        f"{parent.label[0].upper()}{parent.label[1:]} takes {parent.time_us:.2f} us. {advice}"
    )
