"""Runs for tests: one method, one proposer, a scripted judge, an archive in a temporary folder."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.search.scripted import ScriptedJudge, task

from evoengineer.archive import Archive
from evoengineer.archive.canonical import canonical
from evoengineer.experience.lessons import Lesson
from evoengineer.experiment.journal import RunJournal
from evoengineer.propose.protocol import Estimate, Proposer, Reply, Request, Usage
from evoengineer.search.budget import Budget
from evoengineer.search.endings import LoopOptions, Result
from evoengineer.search.loop import Loop
from evoengineer.search.methods import Method, find_method
from evoengineer.search.state import SearchState
from evoengineer.search.task import Task


class Answers:
    """A proposer whose answer is a function of the request; keeps what it was asked."""

    name = "answers"

    def __init__(self, answer: Callable[[Request], str | Exception], tokens: int = 10) -> None:
        self.answer, self.tokens = answer, tokens
        self.requests: list[Request] = []
        self._lock = threading.Lock()

    def estimate(self, system: str, user: str) -> Estimate:
        return Estimate(2 * self.tokens, 2000 * self.tokens)

    def propose(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
        answer = self.answer(request)
        if isinstance(answer, Exception):
            raise answer
        return Reply(
            answer, "toy", Usage(self.tokens // 2, self.tokens - self.tokens // 2, 0, 1000 * self.tokens)
        )

    def prompt(self, number: int) -> str:
        return next(request.user for request in self.requests if request.number == number)

    def close(self) -> None:
        pass


@dataclass
class Outcomes:
    result: Result
    archive: Archive
    run: str
    loop: Loop
    judge: ScriptedJudge

    def rows(self, columns: str = "*", where: str = "1") -> list[Any]:
        query = f"SELECT {columns} FROM proposals WHERE run = ? AND {where} ORDER BY number"
        return [tuple(row) for row in self.archive.connection.execute(query, (self.run,))]

    def canonical(self) -> dict[str, Any]:
        return canonical(self.archive, self.run)


def evolve(
    path: Path,
    proposer: Proposer,
    *,
    method: str | Method = "full",
    trials: int = 45,
    seed: int = 7,
    repair: bool | None = None,
    knowledge: bool = False,
    lookahead: int | None = None,
    options: LoopOptions | None = None,
    budget: Budget | None = None,
    about: Task | None = None,
    run: str = "run",
    judge: ScriptedJudge | None = None,
    lessons: tuple[Lesson, ...] = (),
    during: Callable[[Loop], None] | None = None,
) -> Outcomes:
    """A run, or the continuation of one that is in the archive already."""
    found = find_method(method)[0] if isinstance(method, str) else method
    found = found.with_switches(repair=repair, knowledge=knowledge, lookahead=lookahead)
    archive = Archive(path / "archive.db")
    about = about or task()
    known = archive.connection.execute("SELECT 1 FROM runs WHERE id = ?", (run,)).fetchone()
    record = (
        archive.run(run)
        if known
        else archive.create_run(
            id=run,
            problem=about.name,
            method=found.name,
            proposer=proposer.name,
            device=about.device,
            seed=seed,
            trials=trials,
            settings={},
            task=about.to_json(),
            environment={},
        )
    )
    judge = judge or ScriptedJudge()
    loop = Loop(
        run=run,
        state=SearchState(found, about, seed, lessons),
        journal=RunJournal(archive, record),
        proposer=proposer,
        judge=judge,
        budget=budget or Budget(trials=trials),
        options=options,
        ended=record.ending,
    )
    if during is not None:
        during(loop)
    result = loop.run()
    return Outcomes(result, archive, run, loop, judge)
