"""Verdicts for people: one in full, and those of a suite's baselines as a table."""

from __future__ import annotations

from collections.abc import Mapping

from evoengineer.judge.verdict import Timing, Verdict
from evoengineer.report.text import table


def verdict_text(verdict: Verdict) -> str:
    """A verdict for people."""
    lines = [f"{verdict.outcome}: {verdict.summary}"]
    if verdict.evidence:
        lines += ["", *(f"  {line}" for line in verdict.evidence.splitlines())]
    if verdict.timing is not None:
        lines += ["", *timing_lines(verdict.timing)]
    return "\n".join(lines)


def timing_lines(timing: Timing) -> list[str]:
    """Times and what they compare with, a line each, and the profile."""
    kind = "simulated" if timing.simulated else "measured"
    low, high = timing.interval_us
    spread = "" if low == high else f" (95%: {low:.2f} to {high:.2f})"
    lines = [f"  time      {timing.time_us:.2f} us{spread}, {kind} on {timing.device}"]
    if timing.baseline_us is not None and timing.speedup is not None:
        lines.append(f"  baseline  {timing.baseline_us:.2f} us; speedup {timing.speedup:.3g}x")
    for name, other_us in (("PyTorch ", timing.pytorch_us), ("compiled", timing.pytorch_compiled_us)):
        if other_us is not None:
            estimated = ", estimated" if timing.simulated else ""
            lines.append(f"  {name}  {other_us:.2f} us{estimated}; speedup {other_us / timing.time_us:.3g}x")
    if timing.speed_of_light_us is not None:
        share = timing.speed_of_light_us / timing.time_us
        lines.append(f"  speed of light {timing.speed_of_light_us:.2f} us ({share:.0%} reached)")
    if timing.profile:
        lines += ["", *(f"  {line}" for line in timing.profile.splitlines())]
    return lines


def baseline_table(verdicts: Mapping[str, Verdict], *, markdown: bool = False) -> str:
    """A row per problem: what its baseline's time is bound by, and how far it is from the speed of light."""
    head = ("problem", "verdict", "simulated time", "bound by", "speed of light reached")
    rows = [(name, str(verdict.outcome), *_figures(verdict)) for name, verdict in verdicts.items()]
    return table([head, *rows], right=frozenset({2, 4}), markdown=markdown)


def _figures(verdict: Verdict) -> tuple[str, str, str]:
    timing = verdict.timing
    if timing is None:
        return "-", verdict.summary, "-"
    from evoengineer.sim.timing.explain import bound_name

    longest = max(timing.launches, key=lambda each: each.time_ns, default=None)
    light = f"{timing.speed_of_light_us / timing.time_us:.0%}" if timing.speed_of_light_us else "-"
    return f"{timing.time_us:.1f} us", bound_name(longest.bound) if longest else "-", light
