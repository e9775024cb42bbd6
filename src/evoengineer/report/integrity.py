"""The judge's own examination as a text: attacks caught, honest kernels refused."""

from __future__ import annotations

from collections.abc import Sequence

from evoengineer.judge.corpus import RAISED, Result

_EVIDENCE = 110


def result_line(result: Result, width: int) -> str:
    """One line: what it is, whether the judge did right, what it said."""
    wanted = "|".join(map(str, result.specimen.expected))
    if result.specimen.costs is not None:
        wanted += f"|valid at {result.specimen.costs:g}x"
    name = result.specimen.name.ljust(width)
    return f"{name}  {_mark(result):7}  {result.outcome} ({wanted}): {_evidence(result)}"


def totals(results: Sequence[Result]) -> str:
    """The two numbers, and what does not fit them."""
    attacks = [result for result in results if result.specimen.hostile]
    controls = [result for result in results if not result.specimen.hostile]
    caught = sum(result.passed for result in attacks)
    refused = sum(not result.passed for result in controls)
    lines = [
        f"attacks caught: {caught} of {len(attacks)}",
        f"honest kernels refused: {refused} of {len(controls)}",
    ]
    other = sum(result.passed and not result.expected for result in attacks)
    if other:
        lines.append(f"caught by another verdict than expected: {other}")
    return "\n".join(lines)


def _mark(result: Result) -> str:
    if not result.specimen.hostile:
        return "passed" if result.passed else "REFUSED"
    if not result.passed:
        return "RAISED" if result.outcome == RAISED else "MISSED"
    return "caught" if result.expected else "caught*"


def _evidence(result: Result) -> str:
    text = result.evidence
    if result.said_too_much:
        text = f"the verdict says {result.specimen.unsaid!r}; {text}"
    if result.honest_us is not None and result.time_us is not None:
        text = f"{result.time_us:.2f} us where its control takes {result.honest_us:.2f} us; {text}"
    return text if len(text) <= _EVIDENCE else f"{text[: _EVIDENCE - 1]}…"
