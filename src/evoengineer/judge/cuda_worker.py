"""A worker that judges on a real GPU: examination, then candidate and baseline timed in turn.

PyTorch's own times, eager and compiled, come from a process of their own (`pytorch_time.py`), measured the same
way. Everything here runs under the lock of the GPU.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import count

from evoengineer.judge.examination import examine
from evoengineer.judge.failures import Rejected, finding_rejection, mismatch_rejection, runner_rejection
from evoengineer.judge.integrity import Finding
from evoengineer.judge.measurement import (
    FLUSH_BYTES,
    MOST_REPETITIONS,
    Measured,
    Unlaunched,
    dishonest_times,
    measure,
)
from evoengineer.judge.on_cuda import CudaStage, GpuWatch, exclusive_gpu, load_on_gpu
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.plan import PlannedDraw, timed_draws
from evoengineer.judge.pytorch_time import pytorch_times
from evoengineer.judge.reference.client import ReferenceProcess
from evoengineer.judge.runner.process import CandidateFailure
from evoengineer.judge.verdict import Timing, Verdict
from evoengineer.judge.worker import Baseline, prepare, valid_verdict
from evoengineer.kernel.build import Build
from evoengineer.problem.catalog import Description
from evoengineer.problem.model import Problem


class CudaWorker:
    """Judges on the GPU that the options name; see `worker.Worker`."""

    def __init__(self, options: JudgeOptions, run_seed: int, threads: int) -> None:
        self._options, self._run_seed = options, run_seed
        self._reference = ReferenceProcess(threads)

    def close(self) -> None:
        self._reference.close()

    def judge(
        self, description: Description, kernel: str, build: Callable[[], Build], baseline: Baseline | None
    ) -> Verdict:
        draws = prepare(self._reference, description, kernel, self._run_seed)
        try:
            library = build().library
            other = baseline.build().library if baseline else library
            with ExitStack() as stack:
                stack.enter_context(exclusive_gpu(self._options.device))
                watch = stack.enter_context(GpuWatch(self._options.device))
                mine = stack.enter_context(load_on_gpu(library, self._reference, self._options))
                examine(mine, self._reference, description.problem, draws)
                theirs = stack.enter_context(load_on_gpu(other, self._reference, self._options))
                measured = self.measure(description.problem, mine, theirs, kernel)
        except Rejected as rejected:
            return rejected.verdict()
        finally:
            for number, _ in draws:
                self._reference.drop(number)
        eager_us, compiled_us = pytorch_times(description.problem, self._options.device)
        timing = Timing(
            device=str(self._options.device),
            simulated=False,
            time_us=measured.time_us,
            interval_us=measured.interval_us,
            baseline_us=measured.baseline_us,
            speedup=measured.speedup,
            speedup_interval=measured.speedup_interval,
            pytorch_us=eager_us,
            pytorch_compiled_us=compiled_us,
            profile=watch.summary(),
        )
        return valid_verdict(timing, len(draws))

    def foresee(self, description: Description, kernel: str, build: Callable[[], Build]) -> float | None:
        """A real GPU's times need warm-up and repetitions, which is most of what judging costs there."""
        return None

    def measure(self, problem: Problem, mine: CudaStage, theirs: CudaStage, kernel: str) -> Measured:
        """Both kernels on the same inputs, of which none comes twice; the results of every timed call are compared."""
        where = f"case {problem.bench_case.name}, timed"
        draws = timed_draws(problem, kernel, self._run_seed, MOST_REPETITIONS + 1)
        inputs = _TimedInputs(self._reference, draws, mine, theirs, where)
        chance = random.Random(f"{self._run_seed}{kernel}")
        try:
            measured = measure(mine.runner, theirs.runner, inputs, flush_bytes=FLUSH_BYTES, chance=chance)
        except Unlaunched:
            nothing = Finding(
                "no_kernel", "forward launched no kernel: its result was not computed in this call"
            )
            raise finding_rejection(nothing, where) from None
        except CandidateFailure as failure:
            raise runner_rejection(failure, where) from failure
        finding = dishonest_times(measured)
        if finding is not None:
            raise finding_rejection(finding, where)
        return measured


class _TimedInputs:
    """Sets of inputs for a measurement, each placed for both kernels at addresses of their own."""

    def __init__(
        self,
        reference: ReferenceProcess,
        draws: Sequence[PlannedDraw],
        mine: CudaStage,
        theirs: CudaStage,
        where: str,
    ) -> None:
        self._reference, self._mine, self._theirs, self._where = reference, mine, theirs, where
        self._draws = iter(draws)
        self._numbers = count()
        self._drawn: dict[int, int] = {}  # set → draw

    def fresh(self) -> int:
        planned, number = next(self._draws), next(self._numbers)
        draw = self._reference.prepare(planned.case, planned.distribution, planned.seed)
        staged = self._reference.stage(draw)
        for stage in (self._mine, self._theirs):
            stage.put(number, staged, self._where)
        self._drawn[number] = draw
        return number

    def verify(self, number: int) -> None:
        fetched, _ = self._mine.fetch(number, self._where)
        comparison = self._reference.check(self._drawn[number], fetched.tensors, fetched.inputs)
        if comparison.mismatch is not None:
            raise mismatch_rejection(comparison.mismatch, self._where, "")

    def drop(self, number: int) -> None:
        self._reference.drop(self._drawn.pop(number))
        for stage in (self._mine, self._theirs):
            stage.drop(number)
