"""Guidance from measurement: the profile of each kernel at hand as data, the roofline, and what not to try.

Everything is computed from the launch profiles and the speed of light; no sentence depends on what a model wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evoengineer.search.guidance import View
from evoengineer.search.prompts import fill
from evoengineer.search.records import Member
from evoengineer.search.task import Task, listed
from evoengineer.sim.timing.explain import bound_name
from evoengineer.sim.timing.profile import Finding, FindingKind, LaunchProfile

_NEAR_BANDWIDTH = 85.0  # percent of the peak; a little over 90 is all that DRAM gives, less in a short kernel
_NEAR_PEAK = 80.0  # percent of peak arithmetic; 85 is about all
_NO_WASTE = 1.05  # bytes moved over the least
_LITTLE = 1.05  # times over what is within reach
_NOTICED_US, _NOTICED = 1.0, 0.01  # that go by outside of kernels, and their share of the time
_MOST_LINES, _MOST_KERNELS = 4, 3
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
        told = [text for text in (_kernel(each, view.task) for each in view.parents) if text]
        if not told:
            return ""
        return fill("profile", kernels="\n\n".join(told), roofline=_roofline(view))


def _kernel(member: Member, task: Task) -> str:
    launch = member.longest
    if launch is None:
        return ""
    waste = _waste(member, task)
    lines = [
        *([] if member.light_share is None else [f"{member.light_share:.0%} of the speed of light"]),
        *_launches(member),
        f"the longest launch, {_name(launch)}: bound by {bound_name(launch.bound)}; {launch.memory_percent:.0f}% of "
        f"DRAM bandwidth, {launch.compute_percent:.0f}% of peak compute; occupancy {launch.occupancy_percent:.0f}% "
        f"(limited by {launch.occupancy_limit}; {launch.registers} registers per thread, "
        f"{launch.shared_bytes_per_block} B of shared memory per block)",
        _traffic(member, launch, waste),
        *(f"finding: {finding.text}" for finding in launch.findings if not _repeats(finding, launch)),
        *_hot_lines(member, launch),
    ]
    remedies = [_REMEDIES[kind] for kind in launch.limits if kind in _REMEDIES]
    if waste is not None and waste <= _NO_WASTE:  # there are no bytes to save
        remedies = [each for each in remedies if each != _REMEDIES[FindingKind.DRAM_BOUND]]
    if remedies:
        lines.append(f"what would help: {'; '.join(remedies[:2])}")
    lines += [f"do not try: {text}" for text in _futile(launch, waste)]
    return f"{member.label[0].upper()}{member.label[1:]}:\n{listed(lines)}"


def _name(launch: LaunchProfile) -> str:
    return f"`{launch.kernel.partition('(')[0].rpartition(' ')[2]}`"


def _launches(member: Member) -> list[str]:
    """Which kernels run, how often and how long, and what goes by between them."""
    total_us = member.time_us
    names = list(dict.fromkeys(map(_name, member.launches)))
    told = []
    for name in names:
        own = [each for each in member.launches if _name(each) == name]
        time_us = sum(each.time_us for each in own)
        times = f"{len(own)} launches, " if len(own) > 1 else ""
        shape = f"{_extent(own[0].grid)} blocks of {_extent(own[0].block)} threads"
        share = min(1.0, time_us / total_us)
        told.append((time_us, f"{name}: {times}{shape}, {time_us:.2f} us ({share:.0%} of the time)"))
    told.sort(key=lambda each: -each[0])
    lines = [text for _, text in told[:_MOST_KERNELS]]
    between_us = total_us - sum(time_us for time_us, _ in told)
    if between_us > max(_NOTICED_US, _NOTICED * total_us):
        lines.append(f"{between_us:.2f} us pass outside of kernels: between launches, in fills and copies")
    return lines


def _extent(extents: tuple[int, int, int]) -> str:
    return " x ".join(str(each) for each in extents[: 3 if extents[2] > 1 else 2 if extents[1] > 1 else 1])


def _waste(member: Member, task: Task) -> float | None:
    """Bytes through DRAM over the least that a kernel has to move."""
    moved = sum(each.dram_bytes for each in member.launches)
    return moved / task.least_bytes if task.least_bytes and moved else None


def _traffic(member: Member, launch: LaunchProfile, waste: float | None) -> str:
    moved = sum(each.dram_bytes for each in member.launches)
    least = "" if waste is None else f", {waste:.2f}x the least"
    used = f"; {launch.bytes_per_sector:.0f} of 32 bytes per sector used" if launch.bytes_per_sector else ""
    conflicts = f"; bank conflicts {launch.bank_conflicts:.1f}x" if launch.bank_conflicts > 1.05 else ""
    return (
        f"{moved / 1e6:.2f} MB through DRAM in all{least}; L1 hits {launch.l1_hit_percent:.0f}%, "
        f"L2 hits {launch.l2_hit_percent:.0f}%{used}{conflicts}"
    )


def _repeats(finding: Finding, launch: LaunchProfile) -> bool:
    """Said already by the lines on what bounds the launch and on what not to try."""
    return finding.kind in (FindingKind.DRAM_BOUND, FindingKind.COMPUTE_BOUND) or finding.text.startswith(
        f"the bottleneck: {bound_name(launch.bound)}"
    )


def _hot_lines(member: Member, launch: LaunchProfile) -> list[str]:
    source = member.source.splitlines()
    hot = []
    for file, number, share in launch.hot_lines[:_MOST_LINES]:
        own = Path(file).name == _SOURCE_FILE and 0 < number <= len(source)
        quoted = f"`{source[number - 1].strip()}`" if own else Path(file).name
        hot.append(f"line {number}, {share:.0%} of a warp's time: {quoted}")
    return hot


def _futile(launch: LaunchProfile, waste: float | None) -> list[str]:
    """Work that cannot pay, by the figures of the longest launch."""
    first = launch.limits[:1]
    memory, compute = launch.memory_percent, launch.compute_percent
    if memory >= _NEAR_BANDWIDTH:
        if waste is not None and waste <= _NO_WASTE:
            return [
                f"it moves hardly more than the least bytes, at {memory:.0f}% of the DRAM bandwidth, and no kernel "
                "gets much beyond 90%: hardly anything can help"
            ]
        return [
            f"what saves no bytes: it already uses {memory:.0f}% of the DRAM bandwidth, only fewer bytes help"
        ]
    if compute >= _NEAR_PEAK:
        return [
            f"what saves no operations: it already runs at {compute:.0f}% of peak compute, only fewer operations help"
        ]
    if FindingKind.DRAM_BOUND in first and FindingKind.COMPUTE_BOUND not in launch.limits:
        return ["cheaper arithmetic, which is hidden behind the memory traffic"]
    if FindingKind.COMPUTE_BOUND in first:
        return ["fewer bytes from DRAM, which are hidden behind the arithmetic"]
    if FindingKind.LAUNCH_OVERHEAD in first:
        return ["changes within a kernel that leave the number of launches and blocks as it is"]
    return []


def _roofline(view: View) -> str:
    task, parent = view.task, view.parents[0]
    if task.light_us is None:
        return "The least possible time on this device is not known."
    reach_us = task.light_us if task.reach_us is None else task.reach_us
    reach = "" if task.reach_us is None else f"; about {task.reach_us:.1f} us is within reach"
    limit = task.light_reason.rpartition(". ")[2].lower()
    headroom = parent.time_us / reach_us
    advice = (
        "Little is left to gain: a few percent at most."
        if headroom < _LITTLE
        else f"There is room for about {headroom:.2f}x."
    )
    return (
        f"Roofline: {task.light_us:.2f} us is the best possible time, since {limit}{reach}. "
        f"{parent.label[0].upper()}{parent.label[1:]} takes {parent.time_us:.2f} us. {advice}"
    )
