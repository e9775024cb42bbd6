"""The mutation score of a problem: which broken copies of its baseline does the judge let through?

A mutant that is `valid` has survived: the problem's cases do not tell it from the baseline. One whose machine code is
the baseline's is no mutant (the compiler saw through the change). Some that survive may be harmless, like a
barrier that nothing needs; that is for a person to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from evoengineer.errors import EvoEngineerError
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.pool import JudgePool
from evoengineer.judge.verdict import Outcome
from evoengineer.judge.worker import Workers
from evoengineer.problem.catalog import Description
from evoengineer.problem.model import Case
from evoengineer.problem.mutation import Mutant, mutants_of

OPTIONS = JudgeOptions(workers=1, run_seed=1)  # the same inputs every time: a score is to be repeated


class Fate(StrEnum):
    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"  # the same machine code
    STILLBORN = "stillborn"  # does not compile: says nothing of the problem


@dataclass(frozen=True, slots=True)
class JudgedMutant:
    mutant: Mutant
    fate: Fate
    outcome: Outcome | None  # None for what was not judged
    summary: str = ""


@dataclass(frozen=True, slots=True)
class MutationScore:
    """Of the mutants of one baseline: how many are found out."""

    killed: int
    survived: int
    left_out: int  # equivalent or stillborn

    @classmethod
    def of(cls, mutants: Sequence[JudgedMutant]) -> MutationScore:
        fates = [each.fate for each in mutants]
        killed, survived = fates.count(Fate.KILLED), fates.count(Fate.SURVIVED)
        return cls(killed, survived, len(fates) - killed - survived)

    def __str__(self) -> str:
        left_out = f"; {self.left_out} compile to the same code or not at all" if self.left_out else ""
        return (
            f"{self.killed} of {self.killed + self.survived} mutants of the baseline are found out{left_out}"
        )


def judge_mutants(description: Description, options: JudgeOptions = OPTIONS) -> Iterator[JudgedMutant]:
    """Each mutant of the baseline with its fate, in the order of `mutants_of`."""
    path = description.problem.baseline
    if path is None:
        raise EvoEngineerError(f"{description.problem.name} has no baseline to make mutants of")
    workers = Workers(options)
    try:
        with (
            JudgePool(_without_bench_case(description), options, workers) as cheap,
            JudgePool(description, options, workers) as whole,
        ):
            yield from _judged(path.read_text(encoding="utf-8"), cheap, whole)
    finally:
        workers.close()


def _judged(baseline: str, cheap: JudgePool, whole: JudgePool) -> Iterator[JudgedMutant]:
    same = cheap.build(baseline).result().build
    for mutant in mutants_of(baseline):
        built = cheap.build(mutant.source).result()
        if built.verdict is not None:
            yield JudgedMutant(mutant, Fate.STILLBORN, built.verdict.outcome, built.verdict.summary)
            continue
        if built.build == same:
            yield JudgedMutant(mutant, Fate.EQUIVALENT, None)
            continue
        verdict = cheap.judge(mutant.source).result()
        if verdict.valid:
            verdict = whole.judge(mutant.source).result()
        fate = Fate.SURVIVED if verdict.valid else Fate.KILLED
        yield JudgedMutant(mutant, fate, verdict.outcome, verdict.summary)


def _without_bench_case(description: Description) -> Description:
    """The same problem with its last check case in the place of the bench case: nearly all mutants end before it.

    So small a case has no speed of light.
    """
    problem = description.problem
    *checks, last = problem.check_cases
    return replace(
        description,
        problem=replace(
            problem, name=f"{problem.name} (check cases)", cases=(*checks, Case.bench(**last.sizes))
        ),
        work={**description.work, "bytes": 0, "least_flops": 0},
    )
