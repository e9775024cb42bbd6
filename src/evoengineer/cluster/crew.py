"""What runs on a node: builds in tasks, and judges that keep their reference and device process warm.

Failures of the machine are told, not raised: an exception that comes out of here is a fault of Ray's or of ours.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evoengineer.cluster.parcel import pack_build, unpack_build, unpack_problem
from evoengineer.errors import EnvironmentFailure, EvoEngineerError
from evoengineer.files import scratch_folder
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.verdict import Verdict

if TYPE_CHECKING:
    from evoengineer.judge.worker import Target, Worker


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong on a node through no fault of the candidate's."""

    text: str
    machine: bool  # worth another try elsewhere


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What the driver learns of a build; the library itself stays on the cluster."""

    build: str  # identity of the machine code; empty when `verdict` is set
    verdict: Verdict | None = None


def build(
    problem: bytes, source: str, target: Target, options: JudgeOptions
) -> tuple[BuildReport | Trouble, bytes]:
    """Compile on this node, with its own cache; the report, and the packed build."""
    from evoengineer.judge.building import build_sandboxed
    from evoengineer.judge.failures import Rejected
    from evoengineer.judge.pool import signed
    from evoengineer.kernel.text import Kernel

    description = unpack_problem(problem)
    try:
        built = build_sandboxed(source, description.problem, target, options)
    except EvoEngineerError as error:
        return _trouble(error), b""
    if isinstance(built, Rejected):
        verdict = signed(built.verdict(), description, options, Kernel(source).id, None)
        return BuildReport("", verdict), b""
    return BuildReport(built.id), pack_build(built)


class Judge:
    """One candidate at a time, on the device that the options name, or the GPU that Ray gave to this process."""

    def __init__(self, options: JudgeOptions, threads: int, gpu: int | None = None) -> None:
        self._options, self._threads = options, threads
        device = options.device
        self._own = options if gpu is None else replace(options, device=replace(device, index=gpu))
        self._worker: Worker | None = None

    def ready(self) -> int:
        """Says that this process runs; its number."""
        return os.getpid()

    def judge(
        self,
        problem: bytes,
        kernel: str,
        build: bytes,
        baseline: Verdict | None,
        baseline_build: bytes | None,
    ) -> Verdict | Trouble:
        """The verdict on a packed build. Without `baseline`, it is the baseline, or there is none."""
        from evoengineer.judge.pool import signed
        from evoengineer.judge.worker import Baseline, open_worker

        description = unpack_problem(problem)
        begin = time.monotonic()
        assert self._options.run_seed is not None  # the driver's: the same everywhere
        try:
            with scratch_folder() as folder, scratch_folder() as other:
                built = unpack_build(build, folder)
                compared = None
                if baseline is not None:
                    packed = build if baseline_build is None else baseline_build
                    compared = Baseline(baseline, lambda: unpack_build(packed, other))
                if self._worker is None:
                    self._worker = open_worker(self._own, self._options.run_seed, self._threads)
                verdict = self._worker.judge(description, kernel, lambda: built, compared)
        except EvoEngineerError as error:
            self.close()  # the next candidate gets a new reference and device
            return _trouble(error)
        except BaseException:
            self.close()
            raise
        verdict = signed(verdict, description, self._options, kernel, built)
        return replace(verdict, seconds={"total": time.monotonic() - begin})

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()


def _trouble(error: EvoEngineerError) -> Trouble:
    details = error.details.strip()
    return Trouble(f"{error}\n{details}" if details else str(error), isinstance(error, EnvironmentFailure))
