"""The examination of one candidate: every draw called, compared and looked into; then the timed call.

Knows neither how a device works nor how a process is started: a `Stage` is a candidate loaded on a device,
simulated or real. Raises `Rejected` at the first failure; a candidate that comes through is right and honest,
and its stage has seen the timed call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any, Protocol

from evoengineer.judge import integrity
from evoengineer.judge.failures import (
    Rejected,
    finding_rejection,
    mismatch_rejection,
)
from evoengineer.judge.integrity import Finding, Record
from evoengineer.judge.plan import PlannedDraw
from evoengineer.judge.reference.client import Comparison, ReferenceProcess, Staged
from evoengineer.judge.runner.process import Called, Fetched
from evoengineer.judge.verdict import Outcome
from evoengineer.problem.model import Problem


class Mode(StrEnum):
    """How thoroughly the device looks at a call."""

    RACES = "races"  # threads that touch the same memory without synchronisation
    REORDERED = "reordered"  # blocks in another order, and reads of memory that nobody has written
    BENCH = "bench"  # of everything a little, and timed
    GLANCE = "glance"  # the blocks that are counted only: a time, and no results
    LOADING = "loading"  # what a library does before anybody calls it


class Stage(Protocol):
    """A candidate loaded on a device. Failures are raised as Rejected."""

    def put(self, number: int, staged: Staged, where: str) -> None:
        """Make a draw's inputs the contents of set `number`."""
        ...

    def call(self, number: int, mode: Mode, where: str) -> tuple[Called, Record]:
        """Call `forward` on a set; what it returned, and what the device did meanwhile."""
        ...

    def fetch(self, number: int, where: str) -> tuple[Fetched, Record]:
        """Results and inputs of the last call, for the reference to compare; and what the device did since."""
        ...

    def drop(self, number: int) -> None:
        """Free a set."""
        ...


def examine(
    stage: Stage,
    reference: ReferenceProcess,
    problem: Problem,
    draws: Sequence[tuple[int, PlannedDraw]],
) -> None:
    """`draws` are (number in the reference process, plan), grouped by case. Every call runs whole."""
    first = True
    for case, group in groupby(draws, key=lambda each: each[1].case):
        for number, planned in group:
            where = f"case {problem.cases[case].name}, {planned.distribution} inputs"
            # The set keeps its addresses from draw to draw: same pointers and shapes, other contents.
            stage.put(case, reference.stage(number), where)
            _call(stage, reference, case, number, planned, where, first)
            first = False
            reference.drop(number)
        stage.drop(case)


def _call(
    stage: Stage,
    reference: ReferenceProcess,
    case: int,
    number: int,
    planned: PlannedDraw,
    where: str,
    first_of_all: bool,
) -> None:
    """Small cases run twice, each time with other checks; the bench case once, at full speed.

    Races come first: what looks like uninitialised memory may be a value that another thread has yet to write.
    """
    mode = Mode.BENCH if planned.bench else Mode.RACES
    called, record = stage.call(case, mode, where)
    first = _look(stage, reference, case, number, called, record, where)
    if planned.bench:
        _reject_mismatch(first.mismatch, where)
        return
    called_again, again = stage.call(case, Mode.REORDERED, where)
    second = _look(stage, reference, case, number, called_again, again, where)
    if (first.mismatch is None) != (second.mismatch is None):
        differing = first.mismatch or second.mismatch or {}
        text = differing.get("text", "")
        raise Rejected(
            Outcome.RACE,
            f"two calls with the same inputs give different results ({where})",
            f"On {where}, one of two calls with the same inputs is right and the other is not; only the order in "
            f"which blocks ran differs, so threads depend on each other without synchronisation.\n{text}",
            {"where": where, "mismatch": differing},
        )
    _reject_mismatch(second.mismatch, where)
    if not first_of_all:  # in its very first call a kernel may set things up
        _reject(integrity.repeated_call(record, again), where)


def _look(
    stage: Stage,
    reference: ReferenceProcess,
    case: int,
    number: int,
    called: Called,
    record: Record,
    where: str,
) -> Comparison:
    """Fetch and compare; everything but the values decides at once."""
    fetched, after = stage.fetch(case, where)
    if fetched.guards:
        raise Rejected(
            Outcome.MEMORY_ERROR,
            f"memory around a tensor was overwritten ({where})",
            "Writes outside a tensor hit the guard bands:\n" + "\n".join(fetched.guards),
            {"where": where, "guards": list(fetched.guards)},
        )
    comparison = reference.check(number, fetched.tensors, fetched.inputs)
    if comparison.changed_inputs:
        names = ", ".join(comparison.changed_inputs)
        raise Rejected(
            Outcome.MEMORY_ERROR,
            f"forward changes its input {names} ({where})",
            f"The memory of {names} differs after the call. Inputs are read-only: write results to a new tensor.",
            {"where": where, "changed_inputs": list(comparison.changed_inputs)},
        )
    elements = sum(_elements(tensor["sizes"]) for tensor in called.tensors)
    # What is wrong needs no verdict on honesty: a stale or constant result is first of all wrong.
    if comparison.mismatch is None:
        _reject(integrity.during_call(record, elements), where)
        _reject(integrity.returned_again(called.again), where)
        _reject(integrity.after_call(after), where)
    undefined = fetched.undefined
    # Results that were never written show in the values; of undefined ones only the store says where they come from.
    if undefined is not None and (undefined.store or comparison.mismatch is None):
        raise Rejected(
            Outcome.MEMORY_ERROR,
            f"a result was computed from memory that nobody has written ({where})",
            f"byte {undefined.offset} of the result: {undefined.store or 'no kernel has written there'}",
            {"where": where},
        )
    return comparison


def _reject_mismatch(mismatch: Mapping[str, Any] | None, where: str) -> None:
    if mismatch is not None:
        raise mismatch_rejection(mismatch, where, "")


def _reject(finding: Finding | None, where: str) -> None:
    if finding is not None:
        raise finding_rejection(finding, where)


def _elements(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count
