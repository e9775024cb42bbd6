"""The judge: texts go in, verdicts come out, several at a time.

Builds run ahead in threads of their own (each is a sandboxed nvcc); each worker takes one candidate at a time. A
candidate that hangs or crashes costs its own time limit and nothing else: its worker's processes are replaced or
reused clean. What was judged before is answered from the cache, by text and by machine code.
"""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType
from typing import Self

from evoengineer.device.options import default_threads
from evoengineer.device.profile import profile_for
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.judge.building import build_sandboxed
from evoengineer.judge.failures import Rejected
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.plan import secret_seed
from evoengineer.judge.protocol import Built
from evoengineer.judge.sandbox import require_isolation
from evoengineer.judge.verdict import Verdict
from evoengineer.judge.verdict_cache import VerdictCache
from evoengineer.judge.worker import Worker
from evoengineer.kernel.build import Build
from evoengineer.kernel.text import Kernel
from evoengineer.problem.catalog import Description


class JudgePool:
    """Judges kernels for one problem on one device. Close it, or use it as a context manager."""

    def __init__(self, description: Description, options: JudgeOptions) -> None:
        self._check_device(options.device)
        require_isolation(options.unsafe)
        self.description, self.options = description, options
        run_seed = secret_seed() if options.run_seed is None else options.run_seed
        self._run_seed = run_seed
        self._cache = VerdictCache(description.problem, options.device, run_seed)
        count = options.worker_count
        self._threads = max(1, default_threads() // count)
        self._free: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(count):
            self._free.put(None)  # started when first needed
        self._builders = ThreadPoolExecutor(count, "build")
        self._judges = ThreadPoolExecutor(count, "judge")
        self._builds: dict[str, Future[Build | Rejected]] = {}
        self._lock = threading.Lock()
        self._baseline: Future[float | None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._judges.shutdown(cancel_futures=True)
        self._builders.shutdown(cancel_futures=True)
        while True:
            try:
                worker = self._free.get_nowait()
            except queue.Empty:
                return
            if worker is not None:
                worker.close()

    # -- the two steps -----------------------------------------------------------------------------

    def build(self, source: str) -> Future[Built]:
        """Compile only: the identity of the machine code, or the verdict that ends it here."""
        kernel = Kernel(source)
        outer: Future[Built] = Future()

        def done(inner: Future[Build | Rejected]) -> None:
            try:
                built = inner.result()
            except BaseException as error:
                outer.set_exception(error)
                return
            if isinstance(built, Rejected):
                outer.set_result(Built(kernel.id, "", self._sign(_rejected(built), kernel, None)))
            else:
                outer.set_result(Built(kernel.id, built.id))

        self._start_build(kernel).add_done_callback(done)
        return outer

    def judge(self, source: str) -> Future[Verdict]:
        """The verdict on a text."""
        kernel = Kernel(source)
        if self.options.use_cache:
            known = self._cache.find(kernel.id)
            if known is not None:
                done: Future[Verdict] = Future()
                done.set_result(known)
                return done
        self._start_build(kernel)
        return self._judges.submit(self._judge, kernel)

    def baseline_us(self) -> float | None:
        """The baseline's own time on this device; None for a problem without one."""
        with self._lock:
            if self._baseline is None:
                self._baseline = Future()
                mine = True
            else:
                mine = False
        if mine:
            try:
                self._baseline.set_result(self._time_baseline())
            except BaseException as error:
                self._baseline.set_exception(error)
        return self._baseline.result()

    # -- inside ------------------------------------------------------------------------------------

    def _start_build(self, kernel: Kernel) -> Future[Build | Rejected]:
        with self._lock:
            if kernel.id not in self._builds:
                self._builds[kernel.id] = self._builders.submit(
                    build_sandboxed, kernel.source, self.description.problem, self.options
                )
            return self._builds[kernel.id]

    def _judge(self, kernel: Kernel) -> Verdict:
        baseline_us = self.baseline_us()
        return self._examine(kernel, baseline_us)

    def _time_baseline(self) -> float | None:
        path = self.description.problem.baseline
        if path is None:
            return None
        kernel = Kernel(path.read_text(encoding="utf-8"))
        known = self._cache.find(f"baseline-{kernel.id}") if self.options.use_cache else None
        verdict = known or self._examine(kernel, None)
        if verdict.timing is None:
            raise EvoEngineerError(
                f"the baseline of {self.description.problem.name} ({path}) is not valid: {verdict.outcome}: "
                f"{verdict.summary}\n{verdict.evidence}"
            )
        self._cache.keep(f"baseline-{kernel.id}", verdict)
        return verdict.timing.time_us

    def _examine(self, kernel: Kernel, baseline_us: float | None) -> Verdict:
        begin = time.monotonic()
        started = self._start_build(kernel)
        if self.options.use_cache and started.done() and not isinstance(started.result(), Rejected):
            known = self._find_alike(kernel, started)
            if known is not None:
                return known
        worker = self._free.get()
        keep = False
        try:
            worker = worker or Worker(self.options, self._run_seed, self._threads)

            def build() -> Build:
                built = started.result()
                if isinstance(built, Rejected):
                    raise built
                return built

            verdict = worker.judge(self.description, kernel.id, build, baseline_us)
            keep = True
        finally:
            if not keep and worker is not None:
                worker.close()  # a fault of ours: the next candidate gets a new one
                worker = None
            self._free.put(worker)
        built = started.result()
        verdict = self._sign(verdict, kernel, None if isinstance(built, Rejected) else built)
        verdict = replace(verdict, seconds={**verdict.seconds, "total": time.monotonic() - begin})
        if baseline_us is not None or self.description.problem.baseline is None:
            self._cache.keep(kernel.id, verdict)
            if verdict.build:
                self._cache.keep(verdict.build, verdict)
        return verdict

    def _find_alike(self, kernel: Kernel, started: Future[Build | Rejected]) -> Verdict | None:
        """Another text with the same machine code was judged before."""
        built = started.result()
        assert isinstance(built, Build)
        known = self._cache.find(built.id)
        if known is None:
            return None
        verdict = replace(known, kernel=kernel.id)
        self._cache.keep(kernel.id, verdict)
        return verdict

    def _sign(self, verdict: Verdict, kernel: Kernel, build: Build | None) -> Verdict:
        return replace(
            verdict,
            problem=self.description.problem.name,
            device=self.options.device,
            kernel=kernel.id,
            build=build.id if build else "",
            resources={each.name: _resources(each) for each in build.resources} if build else {},
        )

    def _check_device(self, device: str) -> None:
        if device.startswith("cuda"):
            raise UsageError(f"{device}: judging on a real GPU needs one")
        profile_for(device)
