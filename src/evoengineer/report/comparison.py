"""Two kernels side by side, on one card or several."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from evoengineer.judge.verdict import Verdict
from evoengineer.report.text import table, time_text

Pair = tuple[Verdict, Verdict]


def comparison_text(names: tuple[str, str], verdicts: Mapping[str, Pair], width: int = 110) -> str:
    """A table with a row per device, then both verdicts and profiles of each device in two columns."""
    rows = [("DEVICE", *names, "")]
    for device, (first, second) in verdicts.items():
        rows.append((device, _short(first), _short(second), _who_is_faster(names, first, second)))
    parts = [table(rows)]
    column = (width - 3) // 2
    for device, pair in verdicts.items():
        parts += ["", f"---- {device} ----", *_beside(names, pair, column)]
    return "\n".join(parts)


def _short(verdict: Verdict) -> str:
    return time_text(verdict.timing) if verdict.valid else str(verdict.outcome)


def _who_is_faster(names: tuple[str, str], first: Verdict, second: Verdict) -> str:
    if first.timing is None or second.timing is None:
        right = [name for name, verdict in zip(names, (first, second), strict=True) if verdict.valid]
        return f"only {right[0]} is valid" if right else "neither is valid"
    ratio = first.timing.time_us / second.timing.time_us
    if 0.995 < ratio < 1.005:
        return "equally fast"
    return f"{names[1]} is {ratio:.2f}x as fast" if ratio > 1 else f"{names[0]} is {1 / ratio:.2f}x as fast"


def _beside(names: tuple[str, str], pair: Pair, column: int) -> list[str]:
    sides = [_lines(name, verdict, column) for name, verdict in zip(names, pair, strict=True)]
    height = max(map(len, sides))
    padded = [side + [""] * (height - len(side)) for side in sides]
    return [f"{left:<{column}} | {right}".rstrip() for left, right in zip(*padded, strict=True)]


def _lines(name: str, verdict: Verdict, column: int) -> list[str]:
    timing = verdict.timing
    texts = [name, f"{verdict.outcome}: {verdict.summary}", *verdict.evidence.splitlines()]
    if timing is not None:
        if timing.speed_of_light_us:
            texts.append(f"{timing.speed_of_light_us / timing.time_us:.0%} of the speed of light")
        texts += timing.profile.splitlines()
    return [line for text in texts for line in textwrap.wrap(text, column) or [""]]
