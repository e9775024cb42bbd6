"""Judging on the simulated GPU: a device process that outlives candidates, and a sandboxed runner per candidate.

The device's own process counts what a call did and how long it took; the candidate's process only holds the
thin client. Memory errors, races and uninitialised reads come as the device's report.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evoengineer.device.options import DEFAULT_SAMPLE_BLOCKS, DeviceOptions, Limits
from evoengineer.device.sim.control import ControlledDevice, Region
from evoengineer.errors import DeviceError
from evoengineer.judge.examination import Mode
from evoengineer.judge.failures import device_rejection, runner_rejection
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.reference import ReferenceProcess, Staged
from evoengineer.judge.runner_process import Called, CandidateFailure, Fetched, RunnerProcess, no_forward
from evoengineer.judge.runner_start import start_runner

_CHECKS = {Mode.RACES: frozenset({"race"}), Mode.REORDERED: frozenset({"init"})}  # besides those always on
_TIMED = (Mode.TIMED, Mode.SAMPLED)
_EXTRA_BLOCKS = 48  # that run besides those counted for the timing model, whose choice is no secret
_MARK_SECONDS = 30.0


class SimulatedGpu:
    """A device process, started in the background and reused from candidate to candidate."""

    def __init__(self, options: JudgeOptions, threads: int) -> None:
        limits = Limits(max_seconds=options.kernel_seconds)
        self._options = options
        self._device = ControlledDevice(
            DeviceOptions(options.device, threads, limits=limits, sample_blocks=0)
        )
        self._used = False

    def close(self) -> None:
        self._device.close()

    @contextmanager
    def load(self, library: Path, reference: ReferenceProcess, seed: int) -> Iterator[SimulatedStage]:
        """A candidate's library in a runner of its own; the seed decides which blocks run where only some do."""
        if self._used:
            try:
                self._device.new_client()
            except DeviceError:
                self._device.restart()
        self._used = True
        self._device.mark()  # waits for the process to be there: its start is not the candidate's time
        with tempfile.TemporaryDirectory(prefix="evoengineer-run-") as scratch:
            environment = self._device.client_environment()
            runtime = Path(environment["LD_PRELOAD"]).parent
            runner = start_runner(
                library, reference, Path(scratch), self._options, environment, (runtime,),
                pass_fds=(self._device.client_fd,),
            )  # fmt: skip
            with runner:
                try:
                    stage = SimulatedStage(self._device, runner, seed)
                    stage.open(library)
                    yield stage
                finally:
                    self._device.disconnect()


class SimulatedStage:
    """A candidate on the simulated GPU."""

    def __init__(self, device: ControlledDevice, runner: RunnerProcess, seed: int) -> None:
        self._device, self._runner, self._seed = device, runner, seed
        self._mode: Mode | None = None
        self.timed: Region | None = None  # the record of the timed call

    def open(self, library: Path) -> None:
        try:
            # The device checks every access against the exact bounds of each block: no guard bands, no reuse.
            self._runner.policy(guard_bytes=0, poison=False, reuse=False)
            functions = self._runner.open(library)
        except CandidateFailure as failure:
            raise self._rejection(failure, "loading the kernel") from failure
        if "forward" not in functions:
            raise runner_rejection(no_forward(functions), "loading the kernel")

    def put(self, number: int, staged: Staged, where: str) -> None:
        try:
            self._runner.put(number, staged)
        except CandidateFailure as failure:
            raise self._rejection(failure, where) from failure

    def call(self, number: int, mode: Mode, where: str) -> tuple[Called, Region]:
        self._configure(mode)
        self._device.mark(_MARK_SECONDS)
        try:
            called = self._runner.call(number)
        except CandidateFailure as failure:
            raise self._rejection(failure, where) from failure
        region = self._mark(where)
        if mode in _TIMED:
            self.timed = region
        return called, region

    def fetch(self, number: int, where: str) -> tuple[Fetched, Region]:
        try:
            fetched = self._runner.fetch(number)
        except CandidateFailure as failure:
            raise self._rejection(failure, where) from failure
        return fetched, self._mark(where)

    def drop(self, number: int) -> None:
        with contextlib.suppress(CandidateFailure):  # a failure shows at the next call, with its reason
            self._runner.drop(number)

    def _configure(self, mode: Mode) -> None:
        if mode is self._mode:
            return
        self._mode = mode
        self._device.configure(
            checks=_CHECKS.get(mode, frozenset()),
            block_order="reversed" if mode is Mode.REORDERED else "ascending",
            sample_blocks=DEFAULT_SAMPLE_BLOCKS if mode in _TIMED else 0,
            sampled_only=mode is Mode.SAMPLED,
            extra_blocks=_EXTRA_BLOCKS if mode is Mode.SAMPLED else 0,
            extra_seed=self._seed,
            reuse_profiles=False,
            poison=True,
        )

    def _mark(self, where: str) -> Region:
        region = self._device.mark(_MARK_SECONDS)
        if region.failure is not None:
            raise device_rejection(region.failure, where)
        return region

    def _rejection(self, failure: CandidateFailure, where: str) -> Exception:
        """The device knows better than the runner why a kernel failed."""
        with contextlib.suppress(DeviceError):
            region = self._device.mark(_MARK_SECONDS)
            if region.failure is not None and region.failure.kind not in ("interrupted", "protocol"):
                return device_rejection(region.failure, where)
        return runner_rejection(failure, where)
