"""Which inputs a candidate is judged on.

Every check case is drawn five times, each time from another distribution; the bench case as often as it is
cheap enough, five times at most. Seeds derive from a run seed that a candidate cannot know: with the
kernel's identity for checks, so that no two kernels see the same numbers, and without it for the draw that
is timed, so that all kernels are timed on the same.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice

from evoengineer.files import cache_dir
from evoengineer.problem.catalog import Description
from evoengineer.problem.model import CaseKind, Distribution, Problem

DRAWS = 5
# A draw of the bench case costs about a second of simulation for this much work.
_FLOPS_PER_DRAW, _BYTES_PER_DRAW = 4e9, 4e8
_BENCH_SECONDS = 0.25
# What the simulated GPU does in about half a second, for kernels of the slower kind.
_SIMULATED_FLOPS, _SIMULATED_BYTES = 1.5e8, 1e9


@dataclass(frozen=True, slots=True)
class PlannedDraw:
    """One set of inputs to be drawn: for which case, from which distribution and seed."""

    case: int  # index into the problem's cases
    distribution: Distribution
    seed: int
    bench: bool = False
    timed: bool = False


def plan_draws(description: Description, kernel: str, run_seed: int) -> tuple[PlannedDraw, ...]:
    """Check cases first, the largest first, as it says most about what is wrong; then the bench case."""
    problem = description.problem
    draws = []
    checks = [index for index, case in enumerate(problem.cases) if case.kind is CaseKind.CHECK]
    for index in sorted(checks, key=lambda each: -math.prod(problem.cases[each].sizes.values())):
        for k, distribution in enumerate(islice(cycle(problem.distributions), DRAWS)):
            draws.append(PlannedDraw(index, distribution, _seed(run_seed, kernel, index, k)))
    bench = problem.cases.index(problem.bench_case)
    draws.append(
        PlannedDraw(
            bench, _timed_distribution(problem.distributions), _seed(run_seed, "", bench, 0), True, True
        )
    )
    for k, distribution in enumerate(islice(cycle(problem.distributions), bench_draws(description) - 1)):
        draws.append(PlannedDraw(bench, distribution, _seed(run_seed, kernel, bench, k + 1), True))
    return tuple(draws)


def timed_draws(problem: Problem, run_seed: int, count: int) -> tuple[PlannedDraw, ...]:
    """Sets of inputs for measuring on a real GPU, all different."""
    bench = problem.cases.index(problem.bench_case)
    distribution = _timed_distribution(problem.distributions)
    return tuple(
        PlannedDraw(bench, distribution, _seed(run_seed, "timed", bench, k), True, True) for k in range(count)
    )


def bench_draws(description: Description) -> int:
    """How many draws of the bench case are worth their time; at least the timed one."""
    cost = description.flops() / _FLOPS_PER_DRAW + description.moved_bytes() / _BYTES_PER_DRAW
    return max(1, min(DRAWS, int(_BENCH_SECONDS / cost) if cost > 0 else DRAWS))


def too_large(description: Description) -> bool:
    """Whether running the whole bench case on the simulated GPU would take seconds: then only some blocks run."""
    return description.flops() / _SIMULATED_FLOPS + description.moved_bytes() / _SIMULATED_BYTES > 1.0


def secret_seed() -> int:
    """The run seed of those who give none: drawn once on this machine, kept where no candidate can read it.

    Where nothing can be kept, it is drawn for this process.
    """
    try:
        return _kept_seed()
    except OSError:
        return _own_seed()


@cache
def _own_seed() -> int:
    return secrets.randbits(63)


def _kept_seed() -> int:
    path = cache_dir("secrets") / "run-seed"
    try:
        return int(path.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        pass
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(str(secrets.randbits(63)), encoding="ascii")
    partial.chmod(0o600)
    try:
        os.link(partial, path)  # whoever comes second takes the first one's seed
    except FileExistsError:
        if not path.read_text(encoding="ascii").isdigit():
            os.replace(partial, path)
            return int(path.read_text(encoding="ascii"))
    finally:
        partial.unlink(missing_ok=True)
    return int(path.read_text(encoding="ascii"))


def _timed_distribution(distributions: tuple[Distribution, ...]) -> Distribution:
    return Distribution.NORMAL if Distribution.NORMAL in distributions else distributions[0]


def _seed(*parts: object) -> int:
    digest = hashlib.sha256("\0".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:6], "little")
