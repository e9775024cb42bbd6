"""Workers of the judge: each takes one built kernel at a time through the examination and times it.

A worker owns a reference process, and a simulated GPU or the right to a real one. They are kept for the next
candidate; a candidate's own process never is. Used by one thread at a time; `pool.py` has several.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol

from evoengineer.card.name import DeviceName
from evoengineer.judge import integrity
from evoengineer.judge.examination import Mode, examine
from evoengineer.judge.failures import Disturbed, Rejected, finding_rejection
from evoengineer.judge.on_sim import SimulatedGpu
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.plan import PlannedDraw, glance_draw, plan_draws, secret_seed
from evoengineer.judge.pytorch_estimate import estimate_of
from evoengineer.judge.reference.client import ReferenceProcess
from evoengineer.judge.verdict import Outcome, Timing, Verdict
from evoengineer.kernel.build import Build
from evoengineer.problem.catalog import Description
from evoengineer.problem.model import Problem
from evoengineer.sim.options import default_threads
from evoengineer.sim.process.region import Region

_TRIES = 3  # at a candidate whose process, or the device's, was ended by a signal that anybody may have sent


@dataclass(frozen=True, slots=True)
class Target:
    """What to compile for."""

    kind: Literal["sim", "cuda"]
    sm: int  # compute capability, 89 for 8.9


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a kernel is compared with: its verdict, and its build where the two are run in turn."""

    verdict: Verdict
    build: Callable[[], Build]


class Worker(Protocol):
    """Judges one candidate at a time on one device."""

    def judge(
        self, description: Description, kernel: str, build: Callable[[], Build], baseline: Baseline | None
    ) -> Verdict:
        """`build` waits for the compilation, or raises Rejected; inputs and references are computed meanwhile.

        Without a `baseline`, the kernel is the baseline, or there is none.
        """
        ...

    def foresee(self, description: Description, kernel: str, build: Callable[[], Build]) -> float | None:
        """See `protocol.Foreseeing`."""
        ...

    def close(self) -> None: ...


def target_of(device: DeviceName) -> Target:
    """Also the check that there is such a card, or GPU."""
    if device.simulated:
        return Target("sim", device.profile.sm)
    from evoengineer.judge.on_cuda import compute_capability

    return Target("cuda", compute_capability(device))


def open_worker(options: JudgeOptions, run_seed: int, threads: int) -> Worker:
    """A worker for the device that the options name."""
    if options.device.simulated:
        return SimulatedWorker(options, run_seed, threads)
    from evoengineer.judge.cuda_worker import CudaWorker

    return CudaWorker(options, run_seed, threads)


class Workers:
    """As many as the options say, started when first needed, for any number of problems."""

    def __init__(self, options: JudgeOptions) -> None:
        self._options = options
        self.run_seed = secret_seed() if options.run_seed is None else options.run_seed
        self._free: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(options.worker_count):
            self._free.put(None)

    @contextmanager
    def take(self) -> Iterator[Worker]:
        """A worker for one candidate; waits for a free one."""
        worker = self._free.get()
        try:
            if worker is None:
                threads = max(1, default_threads() // self._options.worker_count)
                worker = open_worker(self._options, self.run_seed, threads)
            yield worker
        except BaseException:
            if worker is not None:
                worker.close()  # a fault of ours: the next candidate gets a new one
            worker = None
            raise
        finally:
            self._free.put(worker)

    def close(self) -> None:
        while not self._free.empty():
            worker = self._free.get()
            if worker is not None:
                worker.close()


class SimulatedWorker:
    """A reference process and a simulated GPU."""

    def __init__(self, options: JudgeOptions, run_seed: int, threads: int) -> None:
        self._options, self._run_seed = options, run_seed
        self._reference = ReferenceProcess(threads)
        self._gpu = SimulatedGpu(options, threads)
        self._glance = 0  # the number of what times are foreseen on

    def close(self) -> None:
        self._reference.close()
        self._gpu.close()

    def judge(
        self, description: Description, kernel: str, build: Callable[[], Build], baseline: Baseline | None
    ) -> Verdict:
        for left in reversed(range(_TRIES)):
            try:
                return self._judge(description, kernel, build, baseline)
            except Disturbed as disturbed:
                if not left:
                    return disturbed.verdict()
            except Rejected as rejected:
                return rejected.verdict()
        raise AssertionError("the last try returns")

    def _judge(
        self, description: Description, kernel: str, build: Callable[[], Build], baseline: Baseline | None
    ) -> Verdict:
        draws = prepare(self._reference, description, kernel, self._run_seed)
        try:
            loaded = self._gpu.load(build().library, self._reference, description, self._run_seed, kernel)
            with loaded as stage:
                examine(stage, self._reference, description.problem, draws)
        finally:
            for number, _ in draws:
                self._reference.drop(number)
        assert stage.timed is not None  # every plan has draws of the bench case
        timing = simulated_timing(description, stage.timed, self._options.device, baseline)
        finding = integrity.faster_than_light(timing.time_us, timing.speed_of_light_us, description)
        if finding is not None:
            raise finding_rejection(finding, f"case {description.problem.bench_case.name}")
        return valid_verdict(timing, len(draws))

    def foresee(self, description: Description, kernel: str, build: Callable[[], Build]) -> float | None:
        """The candidate's process ends with this: what comes of judging it later depends on nothing that was done
        here."""
        problem = description.problem
        case, where = problem.cases.index(problem.bench_case), f"case {problem.bench_case.name}, at a glance"
        draw = self._glance_draw(problem)
        try:
            loaded = self._gpu.load(build().library, self._reference, description, self._run_seed, kernel)
            with loaded as stage:
                stage.put(case, self._reference.stage(draw), where)
                _, region = stage.call(case, Mode.GLANCE, where)
        except Rejected:
            return None  # judging will say why
        return region.busy_ns / 1e3

    def _glance_draw(self, problem: Problem) -> int:
        """Its number in the reference process, where it stays: it is the same for all kernels."""
        self._reference.load(problem)
        if not self._reference.has(self._glance):
            draw = glance_draw(problem, self._run_seed)
            self._glance = self._reference.prepare(draw.case, draw.distribution, draw.seed)
        return self._glance


def prepare(
    reference: ReferenceProcess, description: Description, kernel: str, run_seed: int
) -> list[tuple[int, PlannedDraw]]:
    """Have all draws computed, in the order in which they are needed."""
    reference.load(description.problem)
    plan = plan_draws(description, kernel, run_seed)
    return [(reference.prepare(draw.case, draw.distribution, draw.seed), draw) for draw in plan]


def simulated_timing(
    description: Description, region: Region, device: DeviceName, baseline: Baseline | None
) -> Timing:
    """Times by the device's own record."""
    from evoengineer.sim.timing.explain import explain
    from evoengineer.sim.timing.light import speed_of_light_us

    time_us = region.busy_ns / 1e3
    baseline_us = baseline_time(description, baseline, time_us)
    speedup = None if baseline_us is None else baseline_us / time_us
    launches = tuple(launch.profile for launch in region.launches if launch.profile)
    card, dtype = device.profile, _dtype(description)
    # Without a baseline PyTorch is what there is to compare with; with one, reports estimate it for all runs at once.
    eager_us, fused_us = (
        estimate_of(description, card) if description.problem.baseline is None else (None, None)
    )
    return Timing(
        device=str(device),
        simulated=True,
        time_us=time_us,
        interval_us=(time_us, time_us),
        baseline_us=baseline_us,
        speedup=speedup,
        speedup_interval=None if speedup is None else (speedup, speedup),
        pytorch_us=eager_us,
        pytorch_compiled_us=fused_us,
        speed_of_light_us=speed_of_light_us(
            description.moved_bytes(), description.least_flops(), card, dtype
        ),
        profile=explain(launches),
        launches=launches,
    )


def baseline_time(description: Description, baseline: Baseline | None, own_us: float) -> float | None:
    """The baseline is its own baseline."""
    if baseline is not None and baseline.verdict.timing is not None:
        return baseline.verdict.timing.time_us
    return None if description.problem.baseline is None else own_us


def valid_verdict(timing: Timing, draws: int) -> Verdict:
    """The verdict on a kernel that came through, in one sentence."""
    kind = "simulated" if timing.simulated else "measured"
    faster = "" if timing.speedup is None else f", {timing.speedup:.3g}x the baseline's speed"
    if timing.speedup is None and timing.pytorch_us is not None:
        estimated = ", as estimated" if timing.simulated else ""
        faster = f", {timing.pytorch_us / timing.time_us:.3g}x PyTorch's speed{estimated}"
    return Verdict(
        Outcome.VALID,
        f"right on all {draws} draws of inputs; {timing.time_us:.2f} us, {kind} on {timing.device}{faster}",
        timing=timing,
    )


def _dtype(description: Description) -> str:
    return next((str(each["dtype"]) for each in description.arguments if "dtype" in each), "float32")
