"""Methods against each other on recorded answers: a pool per problem, from which proposals are drawn.

    python -m benchmarks.replay_pool FOLDER --seeds 3

FOLDER holds recordings `PROBLEM-METHOD.jsonl` and `trials.tsv` (run, proposal, operator, kind, verdict, time, speedup,
name: as the judge gave them). For each request an answer of that problem is drawn, by how alike the operators are (how
many kernels their prompts show) and how alike the kernels that are shown; each answer once.

What it can show: how soon a method's choice of parents and operators leads to the good answers of a pool. What it
cannot: anything about what a model would have said to another prompt. All methods draw from the same few answers, so
their last trial has the same best; answers were made to the prompts of two methods, which favours these; and a profile,
an insight or a lesson in the prompt changes nothing here.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

from evoengineer.archive import Archive
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.experiment.journal import RunJournal
from evoengineer.judge.protocol import Built
from evoengineer.judge.verdict import Outcome, Timing, Verdict
from evoengineer.kernel.text import Kernel
from evoengineer.propose.parse import parse_reply
from evoengineer.propose.protocol import Estimate, ProposerError, Reply, Request
from evoengineer.propose.recording import read_recording
from evoengineer.search.budget import Budget
from evoengineer.search.embedding import embed
from evoengineer.search.endings import LoopOptions
from evoengineer.search.loop import Loop
from evoengineer.search.methods import find_method
from evoengineer.search.state import SearchState
from evoengineer.search.task import Task

METHODS = ("guided", "free", "insight", "full", "best-of-n")
_NEAR = 1.02  # times the pool's best time: reached
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """A recorded reply, what it was shown and what the judge said."""

    text: str
    shown: tuple[str, ...]  # kernels in its prompt
    kernel: str  # identity
    outcome: Outcome
    time_us: float | None


@dataclass(frozen=True)
class Pool:
    """The answers to one problem."""

    problem: str
    baseline: str
    baseline_us: float
    answers: tuple[Answer, ...]

    @property
    def best_us(self) -> float:
        return min(each.time_us for each in self.answers if each.time_us is not None)


def read_pools(folder: Path) -> list[Pool]:
    """Of a folder; UsageError for one that is none."""
    table = folder / "trials.tsv"
    if not table.is_file():
        raise UsageError(f"{table}: no such file; name a folder of recordings")
    with table.open(encoding="utf-8") as file:
        rows = {(row["run"], int(row["proposal"])): row for row in csv.DictReader(file, delimiter="\t")}
    found: dict[str, list[Answer]] = defaultdict(list)
    baselines: dict[str, tuple[str, float]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        problem = path.stem.rpartition("-")[0]
        for entry in read_recording(path):
            row = rows.get((path.stem, int(entry["number"])))
            if row is None or row["kind"] != "trial":
                continue
            shown = tuple(_kernels(entry["user"]))
            time_us = float(row["time_us_simulated"]) if row["time_us_simulated"] else None
            if time_us is not None and problem not in baselines and shown:
                baselines[problem] = (shown[0], time_us * float(row["speedup"]))
            code = parse_reply(entry["reply"]["text"]).code
            found[problem].append(
                Answer(entry["reply"]["text"], shown, Kernel(code).id, Outcome(row["verdict"]), time_us)
            )
    return [Pool(problem, *baselines[problem], tuple(found[problem])) for problem in sorted(baselines)]


def _kernels(prompt: str) -> list[str]:
    return [
        part.partition("```")[0]
        for part in prompt.split("```cuda\n")[1:]
        if "PYBIND11_MODULE" in part.partition("```")[0]
    ]


class PoolProposer:
    """Draws without replacement."""

    name = "pool"

    def __init__(self, pool: Pool) -> None:
        self.left = list(pool.answers)
        self._vectors = {text: embed(text) for each in pool.answers for text in each.shown}

    def estimate(self, system: str, user: str) -> Estimate:
        return Estimate()

    def propose(self, request: Request) -> Reply:
        if not self.left:
            raise ProposerError("the pool is empty", fatal=True)
        shown = request.parents or (request.baseline,)
        wanted = embed(shown[0])
        weights = [self._likeness(each, wanted, len(shown)) for each in self.left]
        place = Random(f"{request.seed}:{request.number}:pool").choices(range(len(self.left)), weights)[0]
        return Reply(self.left.pop(place).text, self.name)

    def _likeness(self, answer: Answer, wanted: list[float], count: int) -> float:
        alike = max(
            (sum(a * b for a, b in zip(self._vectors[text], wanted, strict=True)) for text in answer.shown),
            default=0.0,
        )
        return (2.0 if len(answer.shown) == count else 1.0) * max(alike, 0.05) ** 4

    def close(self) -> None:
        pass


class PoolJudge:
    """Says what was said."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.known = {each.kernel: each for each in pool.answers}

    def build(self, source: str) -> Future[Built]:
        kernel = Kernel(source).id
        return _done(Built(kernel, kernel))

    def judge(self, source: str) -> Future[Verdict]:
        kernel = Kernel(source).id
        answer = self.known.get(kernel)
        time_us = self.pool.baseline_us if answer is None else answer.time_us
        if time_us is None:
            assert answer is not None
            return _done(Verdict(answer.outcome, "as recorded", kernel=kernel, build=kernel))
        speedup = self.pool.baseline_us / time_us
        timing = Timing(
            "sim:rtx4090",
            True,
            time_us,
            (time_us, time_us),
            self.pool.baseline_us,
            speedup,
            (speedup, speedup),
        )
        return _done(Verdict(Outcome.VALID, "as recorded", timing=timing, kernel=kernel, build=kernel))

    def close(self) -> None:
        pass


def run(pool: Pool, method: str, seed: int, folder: Path) -> tuple[int, float]:
    """Trials until the pool's best is as good as reached; the best time so far in pool's bests, mean over trials."""
    task = Task(
        pool.problem,
        pool.problem,
        "def reference():\n    ...",
        (),
        (),
        (),
        "sim:rtx4090",
        (),
        "13.0",
        "",
        pool.baseline,
    )
    trials = len({each.kernel for each in pool.answers})
    found = find_method(method)[0].with_switches(repair=False, knowledge=False, lookahead=1)
    with Archive(folder / "archive.db") as archive:
        record = archive.create_run(
            id=f"{pool.problem}-{method}-{seed}", problem=pool.problem, method=method, proposer="pool",
            device=task.device, seed=seed, trials=trials, settings={}, task=task.to_json(), environment={},
        )  # fmt: skip
        Loop(
            run=record.id,
            state=SearchState(found, task, seed),
            journal=RunJournal(archive, record),
            proposer=PoolProposer(pool),
            judge=PoolJudge(pool),
            budget=Budget(trials=trials),
            options=LoopOptions(workers=1),
        ).run()
        times = [
            row[0]
            for row in archive.connection.execute(
                "SELECT time_us FROM proposals WHERE run = ? AND kind = 'trial' ORDER BY trial", (record.id,)
            )
        ]
    best, bests = pool.baseline_us, []
    for time_us in times:
        best = min(best, time_us or best)
        bests.append(best)
    reached = next((place for place, each in enumerate(bests, 1) if each <= _NEAR * pool.best_us), len(bests))
    return reached, statistics.fmean(each / pool.best_us for each in bests)


def _done(value: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(value)
    return future


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(arguments)
    try:
        pools = read_pools(options.folder)
    except EvoEngineerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(
        f"{len(pools)} problems, {sum(len(each.answers) for each in pools)} answers, {options.seeds} seeds\n"
    )
    print(
        "| method | trials until within 2% of the pool's best | mean of the best so far, in pool's bests |\n"
        "|---|---|---|"
    )
    for method in METHODS:
        with tempfile.TemporaryDirectory() as folder:
            found = [run(pool, method, seed, Path(folder)) for pool in pools for seed in range(options.seeds)]
        trials = statistics.fmean(each[0] for each in found)
        print(f"| {method} | {trials:.1f} | {statistics.fmean(each[1] for each in found):.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
