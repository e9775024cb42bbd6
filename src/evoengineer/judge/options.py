"""How judging is done: where, with which seed, within which limits.

Limits are in work: instructions on the simulated GPU (`effort.py`), processor time of compilers and of a candidate's
host code. None is in wall time, which says more about the machine than about a kernel; `patience_seconds` is there
for faults of our own, and whoever waits so long is not blamed on the candidate.
"""

from __future__ import annotations

from dataclasses import dataclass

from evoengineer.card.name import DEFAULT_DEVICE, DeviceName
from evoengineer.sim.options import default_threads


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """Where a kernel is judged, from which seed, within which limits."""

    device: DeviceName = DEFAULT_DEVICE
    run_seed: int | None = None  # None: a secret of this machine (plan.secret_seed)
    workers: int = 0  # 0: one per core
    compiler_cpu_seconds: int = 120  # of each compiler; ordinary kernels take one or two
    host_cpu_seconds: int = 60  # of a candidate's host code in all its calls; ordinary ones take far less
    patience_seconds: float = 1800.0  # wall time until we take it that something of ours hangs
    memory_bytes: int = 8 << 30  # of a candidate's host process
    unsafe: bool = False  # run without isolation where the system offers none
    use_cache: bool = True  # verdicts of texts that were judged before

    @property
    def worker_count(self) -> int:
        return self.workers or default_threads()
