"""Small texts that all reports share: times, speedups, costs, counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evoengineer.judge.verdict import Outcome, Timing


def time_text(timing: Timing | None) -> str:
    """`12.34 us simulated`."""
    if timing is None:
        return "no time"
    label = " simulated" if timing.simulated else ""
    return f"{timing.time_us:.2f} us{label}"


def speedup_text(speedup: float | None) -> str:
    """`1.50x`."""
    return "no baseline" if speedup is None else f"{speedup:.2f}x"


def faster_text(timing: Timing) -> str:
    """`1.23x` the baseline's speed; without a baseline, PyTorch's if it is known."""
    if timing.speedup is None and timing.pytorch_us is not None:
        return f"{timing.pytorch_us / timing.time_us:.2f}x PyTorch"
    return speedup_text(timing.speedup)


def cost(nano_usd: int, *, known: bool = True) -> str:
    """Dollars, from billionths; a model without a known price did not cost nothing."""
    return f"${nano_usd / 1e9:.4f}" if known else "unknown"


def duration(seconds: float) -> str:
    """`2 h 05 min`, `1 min 00 s` or `7 s`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], width: int = 60) -> str:
    """A line of bars from the least to the largest value, `·` where there is none; at most `width` of them."""
    if len(values) > width:  # the last of each stretch: a curve of bests keeps its end
        values = [values[(at + 1) * len(values) // width - 1] for at in range(width)]
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    span = (high - low) or 1.0
    return "".join(
        "·" if value is None else _BARS[round((value - low) / span * (len(_BARS) - 1))] for value in values
    )


def outcomes_text(outcomes: Mapping[Outcome, int]) -> str:
    """`valid 12  wrong 3`, the good news first."""
    order = [Outcome.VALID, *(outcome for outcome in Outcome if outcome is not Outcome.VALID)]
    return "  ".join(f"{outcome} {outcomes[outcome]}" for outcome in order if outcomes.get(outcome))


def share(part: int, whole: int) -> str:
    """A percentage; `-` of nothing."""
    return "-" if whole == 0 else f"{100 * part / whole:.1f}%"


def table(
    rows: Sequence[tuple[str, ...]], *, right: frozenset[int] = frozenset(), markdown: bool = False
) -> str:
    """Columns with two spaces between, or as Markdown; the first row is the head."""
    if markdown:
        rule = "|".join("---:" if column in right else "---" for column in range(len(rows[0])))
        head, *body = (f"| {' | '.join(row)} |" for row in rows)
        return "\n".join([head, f"|{rule}|", *body])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
