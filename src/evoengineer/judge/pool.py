"""The judge: texts go in, verdicts come out, several at a time.

Builds run ahead in threads of their own (each is a sandboxed nvcc); each worker takes one candidate at a time. A
candidate that hangs or crashes costs its own time limit and nothing else. What was judged before is answered
from the cache, by text and by machine code.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Self, TypeVar

from evoengineer.errors import EnvironmentFailure, EvoEngineerError
from evoengineer.judge.building import build_sandboxed, refuse_inline
from evoengineer.judge.failures import Rejected
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.protocol import Built
from evoengineer.judge.sandbox import require_isolation
from evoengineer.judge.verdict import Verdict
from evoengineer.judge.verdict_cache import VerdictCache
from evoengineer.judge.worker import Baseline, Workers, target_of
from evoengineer.kernel.build import Build
from evoengineer.kernel.inline import Unreadable, in_one_file, is_inline
from evoengineer.kernel.text import Kernel
from evoengineer.problem.catalog import Description

T = TypeVar("T")

_BUILDS_AHEAD = 2  # for each worker


class JudgePool:
    """Judges kernels for one problem on one device. Close it, or use it as a context manager.

    Several pools may share `workers`, which then stay open.
    """

    def __init__(
        self, description: Description, options: JudgeOptions, workers: Workers | None = None
    ) -> None:
        self._target = target_of(options.device)
        require_isolation(options.unsafe)
        self.description, self.options = description, options
        self._signature = description.signature()
        self._workers = workers or Workers(options)
        self._own_workers = workers is None
        self._cache = VerdictCache(description.problem, options.device, self._workers.run_seed)
        count = options.worker_count
        self._builders = ThreadPoolExecutor(_BUILDS_AHEAD * count, "build")
        self._judges = ThreadPoolExecutor(count, "judge")
        self._builds: dict[str, Future[Build | Rejected]] = {}
        self._lock = threading.Lock()
        self._baseline: Future[Verdict | None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._judges.shutdown(cancel_futures=True)
        self._builders.shutdown(cancel_futures=True)
        if self._own_workers:
            self._workers.close()

    # -- what the search asks for ------------------------------------------------------------------

    def build(self, source: str) -> Future[Built]:
        """Compile only: the identity of the machine code, or the verdict that ends it here."""
        kernel = self._kernel(source)
        answer: Future[Built] = Future()

        def tell(done: Future[Build | Rejected]) -> None:
            error = done.exception()
            if error is not None:
                answer.set_exception(error)
                return
            built = done.result()
            if isinstance(built, Rejected):
                answer.set_result(Built(kernel.id, "", self._signed(built.verdict(), kernel, None)))
            else:
                answer.set_result(Built(kernel.id, built.id))

        self._start_build(kernel).add_done_callback(tell)
        return answer

    def judge(self, source: str) -> Future[Verdict]:
        """The verdict on a text, a kernel's in C++ or a Python file's with load_inline."""
        kernel = self._kernel(source)
        known = self._known(kernel.id)
        if known is not None:
            answer: Future[Verdict] = Future()
            answer.set_result(known)
            return answer
        self._start_build(kernel)
        return self._judges.submit(self._judge, kernel)

    def foresee(self, source: str) -> Future[float | None]:
        """Roughly what time the kernel would take; see `protocol.Foreseeing`."""
        kernel = self._kernel(source)
        self._start_build(kernel)
        return self._judges.submit(self._foresee, kernel)

    def judge_baseline(self) -> Verdict:
        """The verdict on the problem's own baseline, whatever it is; in the calling thread."""
        kernel = self._baseline_kernel()
        return self._known(kernel.id) or self._examine(kernel, None)

    def baseline(self) -> Verdict | None:
        """The baseline's own verdict; None for a problem without one. An invalid baseline is an error."""
        with self._lock:
            first = self._baseline is None
            if self._baseline is None:
                self._baseline = Future()
        if first:
            try:
                self._baseline.set_result(self._valid_baseline())
            except BaseException as error:
                self._baseline.set_exception(error)
        return self._baseline.result()

    # -- inside ------------------------------------------------------------------------------------

    def _judge(self, kernel: Kernel) -> Verdict:
        verdict = self.baseline()
        if verdict is None:
            return self._examine(kernel, None)
        if verdict.kernel == kernel.id:
            return verdict
        return self._examine(kernel, Baseline(verdict, lambda: self._result(self._baseline_kernel())))

    def _examine(self, kernel: Kernel, baseline: Baseline | None) -> Verdict:
        return _again_if_disturbed(lambda: self._examine_once(kernel, baseline))

    def _foresee(self, kernel: Kernel) -> float | None:
        return _again_if_disturbed(lambda: self._foresee_once(kernel))

    def _foresee_once(self, kernel: Kernel) -> float | None:
        with self._workers.take() as worker:
            return worker.foresee(self.description, kernel.id, lambda: self._result(kernel))

    def _valid_baseline(self) -> Verdict | None:
        path = self.description.problem.baseline
        if path is None:
            return None
        verdict = self.judge_baseline()
        if verdict.timing is None:
            raise EvoEngineerError(
                f"the baseline of {self.description.problem.name} ({path}) is not valid: {verdict.outcome}: "
                f"{verdict.summary}\n{verdict.evidence}"
            )
        return verdict

    def _baseline_kernel(self) -> Kernel:
        assert self.description.problem.baseline is not None
        return self._kernel(self.description.problem.baseline.read_text(encoding="utf-8"))

    def _kernel(self, source: str) -> Kernel:
        """A Python file as the one text that is judged; if it cannot be read, as it is: `_build` says why."""
        if is_inline(source):
            with suppress(Unreadable):
                return Kernel(in_one_file(source, self._signature))
        return Kernel(source)

    def _examine_once(self, kernel: Kernel, baseline: Baseline | None) -> Verdict:
        begin = time.monotonic()
        started = self._start_build(kernel)
        known = self._known_machine_code(started)
        if known is None:
            with self._workers.take() as worker:
                verdict = worker.judge(self.description, kernel.id, lambda: self._result(kernel), baseline)
            built = started.result()
            verdict = self._signed(verdict, kernel, None if isinstance(built, Rejected) else built)
            verdict = replace(verdict, seconds={"total": time.monotonic() - begin})
        else:
            verdict = replace(known, kernel=kernel.id)
        self._cache.keep(kernel.id, verdict)
        if verdict.build:
            self._cache.keep(verdict.build, verdict)
        with self._lock:
            self._builds.pop(kernel.id, None)
        return verdict

    def _result(self, kernel: Kernel) -> Build:
        """The build, once it is there; what stopped it is raised."""
        built = self._start_build(kernel).result()
        if isinstance(built, Rejected):
            raise built
        return built

    def _start_build(self, kernel: Kernel) -> Future[Build | Rejected]:
        with self._lock:
            started = self._builds.get(kernel.id)
            if started is None or (started.done() and started.exception() is not None):
                self._builds[kernel.id] = self._builders.submit(self._build, kernel)
            return self._builds[kernel.id]

    def _build(self, kernel: Kernel) -> Build | Rejected:
        if is_inline(kernel.source):
            return refuse_inline(kernel.source, self._signature)
        return build_sandboxed(kernel.source, self.description.problem, self._target, self.options)

    def _known(self, identity: str) -> Verdict | None:
        return self._cache.find(identity) if self.options.use_cache else None

    def _known_machine_code(self, started: Future[Build | Rejected]) -> Verdict | None:
        """Another text with the same machine code may have been judged; worth a look if it is compiled by now."""
        if not started.done():
            return None
        built = started.result()
        return None if isinstance(built, Rejected) else self._known(built.id)

    def _signed(self, verdict: Verdict, kernel: Kernel, build: Build | None) -> Verdict:
        return signed(verdict, self.description, self.options, kernel.id, build)


def _again_if_disturbed(act: Callable[[], T]) -> T:
    """A failure of the machine says nothing of a kernel: what it hit is done again, once, before others hear of it."""
    try:
        return act()
    except EnvironmentFailure:
        return act()


def signed(
    verdict: Verdict, description: Description, options: JudgeOptions, kernel: str, build: Build | None
) -> Verdict:
    """The verdict with what it is about: problem, device, text and machine code."""
    return replace(
        verdict,
        problem=description.problem.name,
        device=str(options.device),
        kernel=kernel,
        build=build.id if build else "",
        resources={each.name: asdict(each) for each in build.resources} if build else {},
    )
