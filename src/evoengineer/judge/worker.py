"""One worker of the judge: takes a built kernel through the examination and times it.

Owns a reference process and a simulated GPU, both started at once and kept for the next candidate; a candidate
never meets another's process. Used by one thread at a time; `pool.py` has several of them.
"""

from __future__ import annotations

from collections.abc import Callable

from evoengineer.device.profile import profile_for
from evoengineer.judge.examination import Examined, examine
from evoengineer.judge.failures import Rejected
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.plan import plan_draws
from evoengineer.judge.reference import ReferenceProcess
from evoengineer.judge.simulated import SimulatedGpu
from evoengineer.judge.verdict import Outcome, Timing, Verdict
from evoengineer.kernel.build import Build
from evoengineer.problem.catalog import Description


class Worker:
    def __init__(self, options: JudgeOptions, run_seed: int, threads: int) -> None:
        self._options, self._run_seed = options, run_seed
        self._reference = ReferenceProcess(threads)
        self._gpu = SimulatedGpu(options, threads)

    def close(self) -> None:
        self._reference.close()
        self._gpu.close()

    def judge(
        self, description: Description, kernel: str, build: Callable[[], Build], baseline_us: float | None
    ) -> Verdict:
        """`build` waits for the compilation, or raises Rejected; inputs and references are computed meanwhile."""
        self._reference.load(description.problem)
        plan = plan_draws(description, kernel, self._run_seed)
        draws = [(self._reference.prepare(d.case, d.distribution, d.seed), d) for d in plan]
        try:
            library = build().library
            with self._gpu.load(library, self._reference) as stage:
                examined = examine(stage, self._reference, description.problem, draws)
            return self._valid(description, examined, baseline_us)
        except Rejected as rejected:
            return Verdict(rejected.outcome, rejected.summary, rejected.evidence, rejected.details)
        finally:
            for number, _ in draws:
                self._reference.drop(number)

    def _valid(self, description: Description, examined: Examined, baseline_us: float | None) -> Verdict:
        timing = simulated_timing(description, examined, self._options.device, baseline_us)
        faster = "" if timing.speedup is None else f", {timing.speedup:.3g}x the baseline's speed"
        return Verdict(
            Outcome.VALID,
            f"right on {examined.draws} draws of inputs; {timing.time_us:.2f} us simulated on {timing.device}{faster}",
            timing=timing,
        )


def simulated_timing(
    description: Description, examined: Examined, device: str, baseline_us: float | None
) -> Timing:
    """Times by the device's own record. The baseline is its own baseline."""
    from evoengineer.device.sim.timing.explain import explain
    from evoengineer.device.sim.timing.light import speed_of_light_us
    from evoengineer.device.sim.timing.profile import LaunchProfile

    region = examined.record
    time_us = region.busy_ns / 1e3
    speedup = None if baseline_us is None else baseline_us / time_us
    launches = [launch.profile for launch in region.launches if launch.profile]
    dtype = next((str(each["dtype"]) for each in description.arguments if "dtype" in each), "float32")
    return Timing(
        device=device,
        simulated=True,
        time_us=time_us,
        interval_us=(time_us, time_us),
        baseline_us=baseline_us,
        speedup=speedup,
        speedup_interval=None if speedup is None else (speedup, speedup),
        speed_of_light_us=speed_of_light_us(
            description.moved_bytes(), description.flops(), profile_for(device), dtype
        ),
        profile=explain([LaunchProfile.from_json(dict(launch)) for launch in launches]),
        launches=tuple(launches),
    )
