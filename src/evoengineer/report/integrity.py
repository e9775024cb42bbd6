"""The judge's own examination as a text: attacks caught, honest kernels refused."""

from __future__ import annotations

from collections.abc import Sequence

from evoengineer.experiment.integrity import RAISED, Trial

_EVIDENCE = 110


def trial_line(trial: Trial, width: int) -> str:
    """One line: what it is, whether the judge did right, what it said."""
    wanted = "|".join(map(str, trial.specimen.expected))
    if trial.specimen.costs is not None:
        wanted += f"|valid at {trial.specimen.costs:g}x"
    return f"{trial.specimen.name.ljust(width)}  {_result(trial):10}  {trial.outcome} ({wanted}): {_evidence(trial)}"


def totals(trials: Sequence[Trial]) -> str:
    """The two numbers, and what does not fit them."""
    attacks = [trial for trial in trials if trial.specimen.hostile]
    controls = [trial for trial in trials if not trial.specimen.hostile]
    caught = sum(trial.passed for trial in attacks)
    refused = sum(not trial.passed for trial in controls)
    lines = [
        f"attacks caught: {caught} of {len(attacks)}",
        f"honest kernels refused: {refused} of {len(controls)}",
    ]
    other = sum(trial.passed and not trial.expected for trial in attacks)
    if other:
        lines.append(f"caught by another verdict than expected: {other}")
    return "\n".join(lines)


def _result(trial: Trial) -> str:
    if not trial.specimen.hostile:
        return "passed" if trial.passed else "REFUSED"
    if not trial.passed:
        return "RAISED" if trial.outcome == RAISED else "MISSED"
    return "caught" if trial.expected else "caught*"


def _evidence(trial: Trial) -> str:
    text = trial.evidence
    if trial.said_too_much:
        text = f"the verdict says {trial.specimen.unsaid!r}; {text}"
    if trial.honest_us is not None and trial.time_us is not None:
        text = f"{trial.time_us:.2f} us where its control takes {trial.honest_us:.2f} us; {text}"
    return text if len(text) <= _EVIDENCE else f"{text[: _EVIDENCE - 1]}…"
