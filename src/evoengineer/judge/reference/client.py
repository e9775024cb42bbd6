"""The judge's end of the reference process (`server.py`).

Requests may be sent ahead: each returns a future, answers come in order, so that drawing inputs and computing
references overlaps with compiling. Owns the process and the two pieces of memory in which tensors pass to and from
it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from typing import Any

from evoengineer.errors import EvoEngineerError
from evoengineer.idleness import LOOK_SECONDS, Endlessness
from evoengineer.problem.catalog import (
    START_SECONDS,
    does_not_end,
    problem_seconds,
    require_torch,
    torch_environment,
)
from evoengineer.problem.model import Distribution, Problem

_FOR_ONE_DRAW = 4  # times what loading may take: inputs, the reference twice, comparisons


@dataclass(frozen=True, slots=True)
class Staged:
    """Inputs that lie in the shared memory: the runner's lines for them, and how many arguments they make."""

    lines: tuple[str, ...]
    count: int
    tensors: tuple[tuple[int, int], ...]  # offset and bytes of each tensor in the memory


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the reference process says of the results of one call."""

    mismatch: dict[str, Any] | None  # Mismatch as JSON; None when the results are right
    changed_inputs: tuple[str, ...]


class ReferenceProcess:
    """A reference process and the memory shared with it. One problem at a time."""

    def __init__(self, threads: int = 1) -> None:
        require_torch()
        self.inputs_fd = os.memfd_create("evoengineer-inputs")
        self.outputs_fd = os.memfd_create("evoengineer-outputs")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "evoengineer.judge.reference.server",
             str(self.inputs_fd), str(self.outputs_fd), str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(self.inputs_fd, self.outputs_fd),
            encoding="utf-8", errors="replace", bufsize=1,
            env=torch_environment(),
            process_group=0,  # Ctrl-C in a terminal reaches the whole group, and is meant for us
        )  # fmt: skip
        self._waiting: deque[Future[dict[str, Any]]] = deque()
        self._lock = threading.Lock()
        self._loaded: Problem | None = None
        self._answered = 0
        self._next_draw = 1
        self._prepared: dict[int, Future[dict[str, Any]]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def load(self, problem: Problem) -> None:
        """Make `problem` the current one; draws of another one are forgotten."""
        if self._loaded is not problem:
            self._request("load", path=str(problem.path), name=problem.name)
            self._loaded = problem
            self._prepared.clear()

    def prepare(self, case: int, distribution: Distribution, seed: int) -> int:
        """Have a draw computed; its number at once, its failure when it is staged."""
        draw, self._next_draw = self._next_draw, self._next_draw + 1
        self._prepared[draw] = self._request(
            "prepare", draw=draw, case=case, distribution=str(distribution), seed=seed
        )
        return draw

    def has(self, draw: int) -> bool:
        """Whether a draw is there, computed or soon to be."""
        return draw in self._prepared

    def stage(self, draw: int) -> Staged:
        """A draw's inputs in the shared memory; waits until it has been computed."""
        self._answer(self._prepared[draw])
        answer = self._answer(self._request("stage", draw=draw))
        places = tuple((offset, size) for offset, size in answer["tensors"])
        return Staged(tuple(answer["lines"]), answer["count"], places)

    def check(
        self, draw: int, tensors: Sequence[dict[str, Any]], inputs: Sequence[tuple[int, int]]
    ) -> Comparison:
        """What was put into the shared memory, against what it should be."""
        answer = self._answer(self._request("check", draw=draw, tensors=list(tensors), inputs=list(inputs)))
        return Comparison(answer["mismatch"], tuple(answer["changed_inputs"]))

    def drop(self, draw: int) -> None:
        """Forget a draw."""
        self._prepared.pop(draw, None)
        self._request("drop", draw=draw)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        for fd in (self.inputs_fd, self.outputs_fd):
            os.close(fd)

    def _request(self, command: str, **arguments: Any) -> Future[dict[str, Any]]:
        assert self._process.stdin is not None
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            self._waiting.append(future)
            try:
                self._process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
            except OSError as error:
                raise EvoEngineerError(f"the reference process has ended: {error}") from error
        return future

    def _answer(self, future: Future[dict[str, Any]]) -> dict[str, Any]:
        """Wait for an answer; each that is due before it may take as long."""
        answered, endless = -1, None
        while True:
            try:
                return future.result(LOOK_SECONDS)
            except NotYet:
                if endless is None or answered != self._answered:
                    answered = self._answered
                    most_seconds = START_SECONDS + _FOR_ONE_DRAW * problem_seconds()
                    endless = Endlessness(self._process.pid, most_seconds)
                elif (spent := endless.look()) and self._loaded is not None:
                    self._process.kill()
                    what = f"problem {self._loaded.name} ({self._loaded.path})"
                    raise does_not_end(what, "drawn or its reference computed", spent) from None

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            future = self._waiting.popleft()
            self._answered += 1
            if "error" in answer:
                future.set_exception(EvoEngineerError(f"the problem's reference fails: {answer['error']}"))
            else:
                future.set_result(answer)
        while self._waiting:
            self._waiting.popleft().set_exception(
                EvoEngineerError("the reference process ended unexpectedly")
            )
