"""How judging is done: where, with which seed, within which limits."""

from __future__ import annotations

from dataclasses import dataclass

from evoengineer.card.profile import DEFAULT_DEVICE
from evoengineer.sim.options import default_threads


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Where a kernel is judged, from which seed, within which limits."""

    device: str = DEFAULT_DEVICE
    run_seed: int | None = None  # None: a secret of this machine (plan.secret_seed)
    workers: int = 0  # 0: one per core
    build_seconds: float = 60.0  # wall time for one compilation
    run_seconds: float = 120.0  # wall time for all calls of one candidate
    kernel_seconds: float = 20.0  # wall time for one launch on the simulated GPU
    memory_bytes: int = 8 << 30
    unsafe: bool = False  # run without isolation where the system offers none
    use_cache: bool = True  # verdicts of texts that were judged before

    @property
    def worker_count(self) -> int:
        return self.workers or default_threads()
