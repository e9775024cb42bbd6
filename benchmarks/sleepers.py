"""A crew that does no kernel work: builds at once, judges by sleeping. For `benchmarks.cluster`, on the nodes."""

from __future__ import annotations

import hashlib
import os
import time
from typing import Any

from evoengineer.cluster.crew import BuildReport
from evoengineer.judge.verdict import Outcome, Timing, Verdict

SLEEP_VARIABLE = "EVOENGINEER_BENCH_SLEEP"  # seconds, in the nodes' environment


def build(problem: bytes, source: str, target: Any, options: Any) -> tuple[BuildReport, bytes]:
    return BuildReport(hashlib.sha256(source.encode()).hexdigest()[:20]), source.encode()


class Judge:
    """Every kernel is valid; its time follows from its text."""

    def __init__(self, options: Any, threads: int, gpu: int | None = None) -> None:
        self._seconds = float(os.environ.get(SLEEP_VARIABLE, "0"))

    def ready(self) -> int:
        return os.getpid()

    def judge(self, problem: bytes, kernel: str, build: bytes, baseline: Any, baseline_build: Any) -> Verdict:
        time.sleep(self._seconds)
        time_us = 50 + int(kernel, 16) % 5000 / 100
        timing = Timing("sim:rtx4090", True, time_us, (time_us, time_us), 100.0, 100 / time_us, (1.0, 1.0))
        code = hashlib.sha256(build).hexdigest()[:20]
        return Verdict(
            Outcome.VALID, "asleep", timing=timing, device="sim:rtx4090", kernel=kernel, build=code
        )

    def close(self) -> None:
        pass
