"""Judging on the simulated GPU: a device process that outlives candidates, and a sandboxed runner per candidate.

The device's own process counts what a call did and how long it took; the candidate's process only holds the
thin client. Memory errors, races and uninitialised reads come as the device's report.
"""

from __future__ import annotations

import bisect
import contextlib
import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from evoengineer.errors import DeviceError, EnvironmentFailure
from evoengineer.files import scratch_folder
from evoengineer.judge import integrity
from evoengineer.judge.effort import MOST_TRANSLATED, effort_of
from evoengineer.judge.examination import Mode
from evoengineer.judge.failures import (
    Disturbed,
    Rejected,
    device_rejection,
    finding_rejection,
    runner_rejection,
)
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.reference.client import ReferenceProcess, Staged
from evoengineer.judge.runner.process import (
    ELEMENT_BYTES,
    Called,
    CandidateFailure,
    Extent,
    FailureKind,
    Fetched,
    RunnerProcess,
    Undefined,
    no_forward,
    span_bytes,
)
from evoengineer.judge.runner.start import start_runner
from evoengineer.judge.verdict import Outcome
from evoengineer.problem.catalog import Description
from evoengineer.sim.control import ControlledDevice
from evoengineer.sim.options import BlockOrder, DeviceOptions, Limits
from evoengineer.sim.process.region import Region

# Besides those that are always on. Of the bench case some blocks are looked into.
_CHECKS = {
    Mode.RACES: frozenset({"race"}), Mode.REORDERED: frozenset({"init"}), Mode.BENCH: frozenset({"race"}),
}  # fmt: skip
_ORDERS: dict[Mode, BlockOrder] = {Mode.REORDERED: "reversed", Mode.BENCH: "drawn"}
_SPOT_BLOCKS = 24
_SAMPLE_BLOCKS = 18  # counted for the timing model
_HOST_BYTES = 2 << 30  # staging, pinned and managed memory
_ALIGNMENT = 256


class SimulatedGpu:
    """A device process, started in the background and reused from candidate to candidate."""

    def __init__(self, options: JudgeOptions, threads: int) -> None:
        self._options = options
        self._device = ControlledDevice(
            DeviceOptions(
                device=options.device,
                threads=threads,
                limits=Limits(max_seconds=0.0),
                host_bytes=_HOST_BYTES,
                sample_blocks=0,
                reuse_profiles=False,
                poison=True,
            )
        )
        self._used = False

    def close(self) -> None:
        self._device.close()

    @contextmanager
    def load(
        self, library: Path, reference: ReferenceProcess, description: Description, run_seed: int, kernel: str
    ) -> Iterator[SimulatedStage]:
        """A candidate's library in a runner of its own."""
        self._make_ready()
        with scratch_folder() as scratch:
            environment = self._device.client_environment()
            runtime = Path(environment["LD_PRELOAD"]).parent
            runner = start_runner(
                library, Path(scratch), self._options, environment, (runtime,),
                pass_fds=(self._device.client_fd,), beside=(self._device.pid,),
            )  # fmt: skip
            with runner:
                try:
                    patience = self._options.patience_seconds
                    stage = SimulatedStage(
                        self._device, runner, reference, description, run_seed, kernel, patience
                    )
                    stage.open(library)
                    yield stage
                    self._device.disconnect()
                except BaseException as error:
                    self._recover(error)
                    raise

    def _make_ready(self) -> None:
        """A device that nobody has used; its process's start is not the candidate's business."""
        try:
            if self._used:
                self._device.new_client()
            self._device.mark(self._options.patience_seconds)
        except DeviceError as error:
            self._device.restart()
            self._used = False
            raise EnvironmentFailure(f"the simulated GPU does not start: {error}\n{error.details}") from error
        self._used = True

    def _recover(self, error: BaseException) -> None:
        """Ready for the next candidate, whatever state this one has left the device in."""
        harmless = isinstance(error, Rejected) and error.outcome not in (Outcome.TIMED_OUT, Outcome.CRASHED)
        if harmless:
            self._device.disconnect()
            return
        self._device.restart()
        self._used = False


class SimulatedStage:
    """A candidate on the simulated GPU."""

    def __init__(
        self,
        device: ControlledDevice,
        runner: RunnerProcess,
        reference: ReferenceProcess,
        description: Description,
        run_seed: int,
        kernel: str,
        patience_seconds: float,
    ) -> None:
        self._patience_seconds = patience_seconds
        self._device, self._runner = device, runner
        self._reference, self._description = reference, description
        # Which blocks are counted is the run's secret, and the same for all its kernels, so that they compare.
        self._sample_seed = _number(f"blocks {run_seed}")
        self._seed = f"{run_seed} {kernel}"
        self._calls = self._bench_calls = 0
        self._inputs: tuple[tuple[int, int], ...] = ()  # address and bytes of the tensors among the arguments
        self._returned: tuple[dict[str, Any], ...] = ()
        self._given: list[Extent] = []  # where results of earlier calls lay
        self._mode = Mode.LOADING
        self._output_bytes = 0  # that may be copied out of the device after a call
        self.timed: Region | None = None  # the record of the timed call

    def open(self, library: Path) -> None:
        self._configure(Mode.LOADING, 0)
        try:
            # The device checks every access against the exact bounds of each block: no guard bands, no reuse.
            self._runner.policy(guard_bytes=0, poison=False, reuse=False)
            functions = self._runner.open(library)
        except CandidateFailure as failure:
            raise self._rejection(failure, "loading the kernel") from failure
        if "forward" not in functions:
            raise runner_rejection(no_forward(functions), "loading the kernel")
        self._reject_host_memory("loading the kernel")

    def put(self, number: int, staged: Staged, where: str) -> None:
        """Inputs go from the reference to the device and never through the candidate's process, whose host code
        could otherwise read and use them where no clock runs."""
        try:
            addresses = self._runner.place(number, staged)
        except CandidateFailure as failure:
            raise self._rejection(failure, where) from failure
        for address, (offset, size) in zip(addresses, staged.tensors, strict=True):
            with self._answering(where):
                there = self._device.copy_in(address, size, self._reference.inputs_fd, offset)
            if not there:
                lost = CandidateFailure(FailureKind.NONSENSE, "an argument has no memory")
                raise runner_rejection(lost, where)
        self._inputs = tuple(zip(addresses, (size for _, size in staged.tensors), strict=True))

    def call(self, number: int, mode: Mode, where: str) -> tuple[Called, Region]:
        """All calls of the bench case are alike: nothing that a candidate can see tells it which one is timed, and the
        slower one is. So a shortcut that it dares to take in one of them only, by their number or by what lies in a
        few places, gains nothing. Where the counted blocks of one call did not stand for the rest, the next one has
        others among them. No call is repeated on the same inputs: it could be answered from the first one's results.
        """
        self._configure(mode, number)
        called, region = self._call(number, where)
        if mode is Mode.BENCH:
            calls = [region] if self.timed is None else [self.timed, region]
            self.timed = max(calls, key=lambda each: (_tells(each), each.busy_ns))
        return called, region

    def _call(self, number: int, where: str) -> tuple[Called, Region]:
        self._reject_early_work(where)
        held = self._still_held()
        try:
            called = self._runner.call(number, held=held)
        except CandidateFailure as failure:
            raise self._rejection(failure, where) from failure
        left = integrity.left_running(called.threads)
        if left is not None:
            raise finding_rejection(left, where)
        region = self._mark(where)
        self._returned = called.tensors
        self._given = [*held, *called.given]
        self._reject_host_memory(where)
        return called, region

    def _still_held(self) -> list[Extent]:
        """Results of earlier calls that are still allocated. The runner has let go of all but the last: the candidate
        has kept them."""
        live = sorted((each.address, each.address + each.bytes) for each in self._device.allocations())
        return [each for each in self._given if _covered(each, live)]

    def _reject_host_memory(self, where: str) -> None:
        finding = integrity.host_memory(each.kind for each in self._device.allocations())
        if finding is not None:
            raise finding_rejection(finding, where)

    def _reject_early_work(self, where: str) -> None:
        """Between two calls the candidate has no business on the device."""
        finding = integrity.between_calls(self._mark(where))
        if finding is not None:
            raise finding_rejection(finding, where)

    def fetch(self, number: int, where: str) -> tuple[Fetched, Region]:
        """Results and inputs as the device has them, whatever the candidate's process says, and what it did since
        the call: until the results had been read, not until we began to."""
        before = self._mark(where)
        at = 0
        tensors: list[dict[str, Any]] = []
        for tensor in self._returned:
            size = span_bytes(tensor)
            tensors.append({**tensor, "offset": at, "bytes": size})
            if tensor["device"] == "cuda":
                at = self._copy_out(tensor["address"], size, at, where)
        inputs: list[tuple[int, int]] = []
        for address, size in self._inputs:
            inputs.append((at, size))
            at = self._copy_out(address, size, at, where)
        fetched = Fetched(tuple(tensors), tuple(inputs), undefined=self._undefined(tensors))
        return fetched, before.followed_by(self._mark(where))

    def _undefined(self, tensors: list[dict[str, Any]]) -> Undefined | None:
        """Asked of results without gaps only: what lies between rows is nobody's concern."""
        if self._mode is not Mode.REORDERED:
            return None
        for tensor in tensors:
            dense = tensor["bytes"] == math.prod(tensor["sizes"]) * ELEMENT_BYTES.get(tensor["dtype"], 0)
            if dense and tensor["bytes"] and tensor["device"] == "cuda":
                found = self._device.first_undefined(tensor["address"], tensor["bytes"])
                if found is not None:
                    return Undefined(found.offset, found.report)
        return None

    def _copy_out(self, address: int, size: int, at: int, where: str) -> int:
        """Device memory to the memory that the reference reads; the next free place there."""
        reason = f"it has {size} bytes, far more than the results need"
        there = at + size <= self._output_bytes
        if there and size:
            reason = f"{size} bytes at 0x{address:x} are not inside an allocation"
            with self._answering(where):
                there = self._device.copy_out(address, size, self._reference.outputs_fd, at)
        if not there:
            raise Rejected(
                Outcome.WRONG,
                f"a returned tensor is not in device memory ({where})",
                f"forward must return tensors that it has allocated: {reason}",
                {"where": where},
            )
        return -(-(at + size) // _ALIGNMENT) * _ALIGNMENT

    def drop(self, number: int) -> None:
        with contextlib.suppress(CandidateFailure):  # a failure shows at the next call, with its reason
            self._runner.drop(number)

    def _configure(self, mode: Mode, case: int) -> None:
        """A kernel may do other things in the bench case than in the cases that are looked into in every block. So
        there blocks come in an order that is drawn for each call, in some of them races are looked for, and what nobody
        has written holds noise."""
        self._mode = mode
        bench = mode is Mode.BENCH
        self._calls += 1
        self._bench_calls += bench
        effort = effort_of(self._description, case, sum(size for _, size in self._inputs))
        self._output_bytes = effort.output_bytes
        options = replace(
            self._device.options,
            checks=_CHECKS.get(mode, frozenset()),
            block_order=_ORDERS.get(mode, "ascending"),
            order_seed=self._order_seed() if bench else 0,
            spot_blocks=_SPOT_BLOCKS if bench else 0,
            inputs=self._inputs,
            # Where reads of memory that nobody wrote are looked for, results show by their pattern what is not there.
            noise=0 if mode is Mode.REORDERED else self._secret(f"noise {self._calls}"),
            sample_blocks=_SAMPLE_BLOCKS if mode in (Mode.BENCH, Mode.GLANCE) else 0,
            sampled_only=mode is Mode.GLANCE,
            sample_seed=self._sample_seed,
            limits=Limits(max_seconds=0.0, max_work=effort.instructions, max_translated=MOST_TRANSLATED),
            memory_bytes=effort.memory_bytes,
        )
        self._device.configure(options)

    def _order_seed(self) -> int:
        """Of two calls one is odd: what nothing orders then comes in the opposite order."""
        return (
            2 * self._secret(f"order {self._bench_calls}") + (self._secret("first") + self._bench_calls) % 2
        )

    def _secret(self, what: str) -> int:
        """A number that differs from kernel to kernel, and that none of them can know."""
        return _number(f"{what} {self._seed}")

    @contextmanager
    def _answering(self, where: str) -> Iterator[None]:
        """Around what is asked of the device: its process may break, or somebody may end it."""
        try:
            yield
        except DeviceError as error:
            raise Disturbed(
                Outcome.CRASHED,
                f"the simulated GPU cannot run this: {error} ({where})",
                error.details,
                {"where": where},
            ) from error

    def _mark(self, where: str) -> Region:
        with self._answering(where):
            region = self._device.mark(self._patience_seconds)
        if region.failure is not None:
            raise device_rejection(region.failure, where)
        return region

    def _rejection(self, failure: CandidateFailure, where: str) -> Exception:
        """The device knows better than the runner why a kernel failed."""
        with contextlib.suppress(DeviceError):
            region = self._device.mark(self._patience_seconds)
            if region.failure is not None and region.failure.kind not in ("interrupted", "protocol"):
                return device_rejection(region.failure, where)
        return runner_rejection(failure, where)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "little")


def _covered(one: Extent, live: list[Extent]) -> bool:
    """Does it lie in one of these, which are in order?"""
    at = bisect.bisect_right(live, (one[0], math.inf)) - 1
    return at >= 0 and one[1] <= live[at][1]


def _tells(region: Region) -> bool:
    """Do the counted blocks stand for all of them, in every launch?"""
    return all(each.profile is None or each.profile.representative for each in region.launches)
