"""Judging on a real GPU (`cuda:N`): the same runner, against NVIDIA's runtime.

Guard bands and poison take the place of the simulated GPU's checks, and timing is a measurement: candidate and
baseline run in turn in processes of their own, under an exclusive lock on the GPU, while its clocks are
watched. `CudaStage` works with any libcudart, which is how it is exercised without a GPU.
"""

from __future__ import annotations

import contextlib
import fcntl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from evoengineer.card.name import DeviceName
from evoengineer.errors import EvoEngineerError
from evoengineer.files import cache_dir, scratch_folder
from evoengineer.judge.examination import Mode
from evoengineer.judge.failures import runner_rejection
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.reference.client import ReferenceProcess, Staged
from evoengineer.judge.runner.process import Called, CandidateFailure, Fetched, RunnerProcess, no_forward
from evoengineer.judge.runner.start import start_runner
from evoengineer.toolchain.compilers import find_toolchain
from evoengineer.toolchain.toolkit import toolkit_of

GUARD_BYTES = 512
_WATCHED = "clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_throttle_reasons.active"


@dataclass(frozen=True, slots=True)
class Unseen:
    """A call on a GPU keeps no record of its own but how many launches the runner saw: most rules on records pass, the
    clocks and the results decide."""

    launch_count: int = 0
    host_to_device_bytes: int = 0
    device_to_host_bytes: int = 0
    informed_bytes: int = 0
    device_to_device_bytes: int = 0
    memset_bytes: int = 0
    host_visible_allocations: int = 0
    host_calls: int = 0
    resets: int = 0


class CudaStage:
    """A candidate on a real GPU."""

    def __init__(self, runner: RunnerProcess) -> None:
        self.runner = runner

    def open(self, library: Path) -> None:
        with _rejecting("loading the kernel"):
            self.runner.policy(GUARD_BYTES, poison=True, reuse=True)
            functions = self.runner.open(library)
        if "forward" not in functions:
            raise runner_rejection(no_forward(functions), "loading the kernel")

    def put(self, number: int, staged: Staged, where: str) -> None:
        with _rejecting(where):
            self.runner.put(number, staged)

    def call(self, number: int, mode: Mode, where: str) -> tuple[Called, Unseen]:
        with _rejecting(where):
            called = self.runner.call(number)
            return called, Unseen(called.launches)

    def fetch(self, number: int, where: str) -> tuple[Fetched, Unseen]:
        with _rejecting(where):
            return self.runner.fetch(number), Unseen()

    def drop(self, number: int) -> None:
        with contextlib.suppress(CandidateFailure):
            self.runner.drop(number)


@contextmanager
def _rejecting(where: str) -> Iterator[None]:
    try:
        yield
    except CandidateFailure as failure:
        raise runner_rejection(failure, where) from failure


@contextmanager
def load_on_gpu(library: Path, reference: ReferenceProcess, options: JudgeOptions) -> Iterator[CudaStage]:
    """A candidate on the GPU that `options.device` names."""
    folder = toolkit_of(find_toolchain()).cudart().parent
    environment = {"CUDA_VISIBLE_DEVICES": str(options.device.index), "LD_LIBRARY_PATH": str(folder)}
    with scratch_folder() as scratch:
        runner = start_runner(
            library, Path(scratch), options, environment, (folder,),
            memory=(reference.inputs_fd, reference.outputs_fd), gpu=True,
        )  # fmt: skip
        with runner:
            stage = CudaStage(runner)
            stage.open(library)
            yield stage


def compute_capability(device: DeviceName) -> int:
    """89 for compute capability 8.9."""
    major, _, minor = _query(device, "compute_cap").partition(".")
    return 10 * int(major) + int(minor or 0)


def gpu_identity(device: DeviceName) -> str:
    """Card and driver."""
    return _query(device, "name,uuid,driver_version")


class GpuWatch:
    """Clocks, temperature and throttling while something is measured, by NVIDIA's management library."""

    def __init__(self, device: DeviceName) -> None:
        self._device = device
        self._before: str = ""
        self._after: str = ""

    def __enter__(self) -> Self:
        self._before = self._look()
        return self

    def __exit__(self, *error: object) -> None:
        self._after = self._look()

    def summary(self) -> str:
        """For the verdict: a time taken while the card throttles is to be mistrusted."""
        return f"GPU before: {self._before}; after: {self._after or self._look()}"

    def _look(self) -> str:
        return _query(self._device, _WATCHED)


def _query(device: DeviceName, fields: str) -> str:
    """What nvidia-smi, the command line of the management library, says of a GPU."""
    try:
        run = subprocess.run(
            ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader", "-i", str(device.index)],
            capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=30,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EvoEngineerError(
            f"{device}: no NVIDIA GPU or driver here (nvidia-smi: {error}). Use a simulated one: --device sim:rtx4090"
        ) from error
    if run.returncode != 0:
        raise EvoEngineerError(f"{device}: nvidia-smi does not know it: {(run.stdout + run.stderr).strip()}")
    return run.stdout.strip()


@contextmanager
def exclusive_gpu(device: DeviceName) -> Iterator[None]:
    """Nobody else of us measures on this GPU meanwhile. Judging waits for its turn."""
    with (cache_dir("locks") / f"gpu-{device.index}").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
