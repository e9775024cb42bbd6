"""From what went wrong to the outcome of a verdict, with evidence that helps to mend it.

`Rejected` is raised anywhere in judging as soon as a candidate has failed; the judge turns it into a
Verdict. This module owns the mapping from the device's and the runner's failures to the closed set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from evoengineer.errors import EnvironmentFailure
from evoengineer.judge.integrity import Finding
from evoengineer.judge.runner.process import CandidateFailure, FailureKind
from evoengineer.judge.verdict import Outcome, Verdict

_MOST_EVIDENCE = 3000

# Errors that the simulated GPU finds, by their names (`sim.codegen.abi.ERROR_NAMES`).
_DEVICE_OUTCOMES = {
    "out_of_bounds": Outcome.MEMORY_ERROR, "misaligned": Outcome.MEMORY_ERROR, "freed": Outcome.MEMORY_ERROR,
    "uninitialised": Outcome.MEMORY_ERROR, "write_to_const": Outcome.MEMORY_ERROR, "invalid_free": Outcome.MEMORY_ERROR,
    "stack_overflow": Outcome.MEMORY_ERROR,
    "race": Outcome.RACE, "barrier_divergence": Outcome.RACE, "missing_members": Outcome.RACE,
    "protocol": Outcome.DISHONEST,
    "deadlock": Outcome.TIMED_OUT, "instruction_budget": Outcome.TIMED_OUT, "wall_limit": Outcome.TIMED_OUT,
    "translation_budget": Outcome.TIMED_OUT, "ptxas": Outcome.COMPILE_ERROR,
}  # fmt: skip
# CUDA's own error numbers, for a real GPU, which says no more.
_CUDA_OUTCOMES = {700: Outcome.MEMORY_ERROR, 716: Outcome.MEMORY_ERROR, 702: Outcome.TIMED_OUT}
_RUNNER_OUTCOMES = {
    FailureKind.NAME: Outcome.FORBIDDEN,
    FailureKind.UNSUPPORTED: Outcome.FORBIDDEN,
    FailureKind.LATE: Outcome.TIMED_OUT,
    FailureKind.NONSENSE: Outcome.DISHONEST,
}


@dataclass(eq=False)  # not frozen: Python writes the traceback into an exception
class Rejected(Exception):
    """The candidate has failed: the verdict is decided."""

    outcome: Outcome
    summary: str
    evidence: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def verdict(self) -> Verdict:
        return Verdict(self.outcome, self.summary, self.evidence, self.details)


class Disturbed(Rejected):
    """As Rejected, but it may have been somebody else's doing: worth another try before it counts."""


class DeviceFailure(Protocol):
    """What the simulated GPU says of a failed kernel."""

    @property
    def kind(self) -> str: ...

    @property
    def code(self) -> int: ...

    @property
    def report(self) -> str: ...


def device_rejection(failure: DeviceFailure, where: str) -> Rejected:
    """By the error that the simulated GPU reports."""
    if failure.kind == "environment":
        raise EnvironmentFailure(f"the simulated GPU's machine failed: {failure.report}")
    outcome = _DEVICE_OUTCOMES.get(failure.kind, Outcome.CRASHED)
    report = "\n".join(line.removeprefix("========= ") for line in failure.report.splitlines())
    headline = report.splitlines()[0] if report else failure.kind.replace("_", " ")
    return Rejected(
        outcome,
        f"{headline} ({where})",
        trimmed(report),
        {"where": where, "error": failure.kind, "cuda_code": failure.code, "report": failure.report},
    )


def runner_rejection(failure: CandidateFailure, where: str) -> Rejected:
    """By what happened to the candidate's process, or what it said."""
    outcome = _RUNNER_OUTCOMES.get(failure.kind, Outcome.CRASHED)
    if failure.kind is FailureKind.CUDA:
        outcome = _CUDA_OUTCOMES.get(failure.code, Outcome.CRASHED)
    first, _, rest = failure.message.partition("\n")
    kind = Disturbed if failure.kind is FailureKind.DISTURBED else Rejected
    return kind(
        outcome,
        f"{first} ({where})",
        trimmed(f"{first}\n{rest}".strip()),
        {"where": where, "error": failure.kind.name.lower(), "cuda_code": failure.code},
    )


def mismatch_rejection(mismatch: Mapping[str, Any], where: str, arguments: str) -> Rejected:
    """Results are wrong; `mismatch` is a `correctness.Mismatch` as JSON."""
    text = str(mismatch["text"])
    return Rejected(
        Outcome.WRONG,
        f"{text.split('. ', maxsplit=1)[0]} ({where})",
        f"On {where}{arguments}:\n{text}",
        {"where": where, **mismatch},
    )


def finding_rejection(finding: Finding, where: str) -> Rejected:
    """A rule of `integrity.py` was broken."""
    return Rejected(
        Outcome.DISHONEST, f"{finding.text} ({where})", finding.text, {"where": where, "rule": finding.rule}
    )


def trimmed(text: str) -> str:
    """Evidence of a length that a prompt can carry."""
    return text if len(text) <= _MOST_EVIDENCE else text[: _MOST_EVIDENCE - 20] + "\n… (cut)"
