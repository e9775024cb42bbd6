"""Which inputs a candidate is judged on.

Every check case is drawn from each of the problem's distributions, five times at least; the bench case twice, from
two of them, in either order: ordinary numbers, and such as show what these hide (a softmax without its maximum).
Every seed derives from a run seed that a candidate cannot know and from the kernel's identity: no two kernels see
the same numbers, so that what one of them learns is of no use to the next, and a time rests on inputs that only
one kernel has seen.
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

DRAWS = 5  # of each check case, at least
# For the second draw of the bench case, the most telling first: what looks like the first draw to whoever looks at a
# few places; large values, which overflow exp and cancel in sums.
_UNLIKE_NORMAL = (
    Distribution.MIXED,
    Distribution.LARGE,
    Distribution.SHIFTED,
    Distribution.INTEGERS,
    Distribution.NEAR_CONSTANT,
    Distribution.NORMAL,
)


@dataclass(frozen=True, slots=True)
class PlannedDraw:
    """One set of inputs to be drawn: for which case, from which distribution and seed."""

    case: int  # index into the problem's cases
    distribution: Distribution
    seed: int
    bench: bool = False


def plan_draws(description: Description, kernel: str, run_seed: int) -> tuple[PlannedDraw, ...]:
    """Check cases first, the largest first, as it says most about what is wrong; then the bench case."""
    problem = description.problem
    draws = []
    checks = [index for index, case in enumerate(problem.cases) if case.kind is CaseKind.CHECK]
    for index in sorted(checks, key=lambda each: -math.prod(problem.cases[each].sizes.values())):
        for k, distribution in enumerate(
            islice(cycle(problem.check_distributions), max(DRAWS, len(problem.check_distributions)))
        ):
            draws.append(PlannedDraw(index, distribution, _seed(run_seed, kernel, index, k)))
    bench = problem.cases.index(problem.bench_case)
    kinds = bench_distributions(problem.distributions)
    both = [PlannedDraw(bench, kind, _seed(run_seed, kernel, bench, k), True) for k, kind in enumerate(kinds)]
    # By their number, calls of the bench case must not tell what comes.
    draws += reversed(both) if _seed(run_seed, kernel, "order") % 2 else both
    return tuple(draws)


def timed_draws(problem: Problem, kernel: str, run_seed: int, count: int) -> tuple[PlannedDraw, ...]:
    """Sets of inputs for measuring on a real GPU, all different."""
    bench = problem.cases.index(problem.bench_case)
    timed, _ = bench_distributions(problem.distributions)
    return tuple(
        PlannedDraw(bench, timed, _seed(run_seed, kernel, "timed", bench, k), True) for k in range(count)
    )


def glance_draw(problem: Problem, run_seed: int) -> PlannedDraw:
    """What a kernel's time is foreseen on; the same for all of a run, so that they compare. No result is looked at."""
    bench = problem.cases.index(problem.bench_case)
    timed, _ = bench_distributions(problem.distributions)
    return PlannedDraw(bench, timed, _seed(run_seed, "glance", bench), True)


def bench_distributions(distributions: tuple[Distribution, ...]) -> tuple[Distribution, Distribution]:
    """What the bench case is timed on, and what else it must be right on; the same only if there is no other."""
    usual = [each for each in (Distribution.OWN, Distribution.NORMAL) if each in distributions]
    timed = usual[0] if usual else distributions[0]
    others = [each for each in _UNLIKE_NORMAL if each in distributions and each is not timed]
    return timed, others[0] if others else timed


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


def _seed(*parts: object) -> int:
    digest = hashlib.sha256("\0".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:6], "little")
