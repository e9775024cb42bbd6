"""The numbers of a report: cells, groups of cells, and methods against each other.

A *cell* is a problem, a method, a model and a device; its figures are medians over the cell's repeats. A *group* is
all cells of a method and model (or of one family of problems among them); its figures are over cells, each under the
name of how it was made:

    mean speedup             mean over problems of the median over repeats: most likely the paper's "averaged median"
    median speedup           median over problems of the same
    geometric mean speedup   geometric mean over problems of the same

Every figure comes from `facts.py`, and from nowhere else but PyTorch's times, which on a simulated GPU are estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import mean, median
from typing import TypeVar

from evoengineer.card.name import DeviceName
from evoengineer.report.facts import RunFacts
from evoengineer.report.stats import Estimate, PairedTest, bootstrap, holm, paired_test

OVER = (1.1, 2.0, 5.0)
FAST_P = (0.0, 1.0, 1.5, 2.0)
T = TypeVar("T")
_SAME = 1e-9  # speedups that differ by less are a tie


@dataclass(frozen=True, slots=True)
class PyTorchTime:
    """PyTorch's own time on a problem, eager and with its calls fused (or through torch.compile)."""

    eager_us: float
    fused_us: float | None
    estimated: bool


PyTorchTimes = Mapping[tuple[str, str], PyTorchTime]  # by problem and device


@dataclass(frozen=True, slots=True)
class Cell:
    """The repeats of one problem, method, model and device."""

    device: str
    problem: str
    family: str
    method: str
    model: str
    runs: tuple[str, ...]
    best_run: str  # the one with the fastest kernel
    speedup: float | None  # median over repeats, as all that follow
    light_reached: float | None
    headroom_closed: float | None
    over_pytorch: float | None
    over_fused: float | None
    trial_over_pytorch: float | None  # of the fastest valid trial; 0 where no trial was valid
    trials: int  # sums over repeats, as all that follow
    valid: int
    compiled: int
    tokens: int
    nano_usd: int
    judge_seconds: float


@dataclass(frozen=True, slots=True)
class Group:
    """Cells of one method and model on one device, all of them or those of a family."""

    device: str
    method: str
    model: str
    family: str  # empty: all
    runs: int
    problems: int  # with a speedup
    mean_speedup: Estimate | None
    median_speedup: Estimate | None
    geometric_mean_speedup: Estimate | None
    over: Mapping[float, float]  # share of problems whose speedup is over 1.1, 2, 5
    functional: float | None  # shares of all trials
    compile: float | None
    light_reached: float | None  # mean over problems
    headroom_closed: float | None  # mean over problems that have headroom
    headroom_problems: int
    mean_over_pytorch: float | None
    geometric_mean_over_pytorch: Estimate | None
    geometric_mean_over_fused: Estimate | None
    most_over_pytorch: float | None
    fast_p: Mapping[
        float, float
    ]  # share of problems with a valid trial that is over p times as fast as PyTorch
    trials: int
    tokens: int
    nano_usd: int
    judge_seconds: float


@dataclass(frozen=True, slots=True)
class Wins:
    """On how many problems a method was the fastest of those compared, per model; a tie is shared."""

    device: str
    model: str
    method: str
    wins: float
    of: int
    wins_over_2: float  # among problems on which some method is over 2x
    of_over_2: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two methods with one model on the same problems."""

    device: str
    model: str
    first: str
    second: str
    test: PairedTest
    p_holm: float
    repeats: int  # the fewest of any cell compared


@dataclass(frozen=True, slots=True)
class Curve:
    """Best speedup so far, by trial, over the problems of a group: median and quartiles of the cells' medians."""

    device: str
    method: str
    model: str
    low: tuple[float, ...]
    middle: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Everything that a report says in figures."""

    runs: tuple[RunFacts, ...]
    cells: tuple[Cell, ...]
    groups: tuple[Group, ...]
    families: tuple[Group, ...]
    wins: tuple[Wins, ...]
    comparisons: tuple[Comparison, ...]
    curves: tuple[Curve, ...]
    pytorch: PyTorchTimes = field(default_factory=dict)


def count(runs: Sequence[RunFacts], pytorch: PyTorchTimes | None = None) -> Numbers:
    """All numbers of the runs. Methods, models and problems stay in the order in which they come."""
    times = {**_measured(runs), **(pytorch or {})}
    cells = [
        _cell(group, times) for group in _grouped(runs, lambda r: (r.device, r.problem, r.method, r.model))
    ]
    rows = _grouped(cells, lambda cell: (cell.device, cell.method, cell.model))
    groups = [_group(row, "", times) for row in rows]
    families = [
        _group(part, part[0].family, times)
        for row in rows
        for part in _grouped(row, lambda cell: cell.family)
    ]
    arenas = _grouped(cells, lambda cell: (cell.device, cell.model))
    return Numbers(
        runs=tuple(runs),
        cells=tuple(cells),
        groups=tuple(groups),
        families=tuple(families),
        wins=tuple(each for arena in arenas for each in _wins(arena)),
        comparisons=tuple(each for arena in arenas for each in _comparisons(arena)),
        curves=tuple(
            _curve(group) for group in _grouped(runs, lambda run: (run.device, run.method, run.model))
        ),
        pytorch=times,
    )


def _grouped(items: Iterable[T], key: Callable[[T], object]) -> list[list[T]]:
    groups: dict[object, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _known(values: Iterable[T | None]) -> list[T]:
    return [value for value in values if value is not None]


def _median(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return median(known) if known else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return mean(known) if known else None


def _measured(runs: Sequence[RunFacts]) -> dict[tuple[str, str], PyTorchTime]:
    """PyTorch's times that stand beside kernels' in verdicts, the median where there are several."""
    found = {}
    for group in _grouped(runs, lambda run: (run.problem, run.device)):
        eager = _median(run.pytorch_us for run in group)
        if eager is not None:
            fused = _median(run.pytorch_compiled_us for run in group)
            found[group[0].problem, group[0].device] = PyTorchTime(
                eager, fused, estimated=DeviceName.parse(group[0].device).simulated
            )
    return found


def _cell(runs: Sequence[RunFacts], times: PyTorchTimes) -> Cell:
    first = runs[0]
    pytorch = times.get((first.problem, first.device))
    eager = pytorch.eager_us if pytorch else None
    fused = pytorch.fused_us if pytorch else None
    timed = [run for run in runs if run.best_us is not None]
    return Cell(
        device=first.device,
        problem=first.problem,
        family=first.family,
        method=first.method,
        model=first.model,
        runs=tuple(run.id for run in runs),
        best_run=min(timed, key=lambda run: run.best_us or 0.0).id if timed else first.id,
        speedup=_median(run.best_speedup for run in runs),
        light_reached=_median(run.light_reached for run in runs),
        headroom_closed=_median(run.headroom_closed for run in runs),
        over_pytorch=_median(eager / run.best_us if eager and run.best_us else None for run in runs),
        over_fused=_median(fused / run.best_us if fused and run.best_us else None for run in runs),
        trial_over_pytorch=None
        if eager is None
        else median(eager / run.best_trial_us if run.best_trial_us else 0.0 for run in runs),
        trials=sum(run.trials for run in runs),
        valid=sum(run.valid for run in runs),
        compiled=sum(run.compiled for run in runs),
        tokens=sum(run.tokens for run in runs),
        nano_usd=sum(run.nano_usd for run in runs),
        judge_seconds=sum(run.judge_seconds for run in runs),
    )


def _group(cells: Sequence[Cell], family: str, times: PyTorchTimes) -> Group:
    first = cells[0]
    speedups = _known(cell.speedup for cell in cells)
    over_pytorch = _known(cell.over_pytorch for cell in cells)
    over_fused = _known(cell.over_fused for cell in cells)
    trial_over = _known(cell.trial_over_pytorch for cell in cells)
    headrooms = _known(cell.headroom_closed for cell in cells)
    trials = sum(cell.trials for cell in cells)
    return Group(
        device=first.device,
        method=first.method,
        model=first.model,
        family=family,
        runs=sum(len(cell.runs) for cell in cells),
        problems=len(speedups),
        mean_speedup=bootstrap(speedups, "mean") if speedups else None,
        median_speedup=bootstrap(speedups, "median") if speedups else None,
        geometric_mean_speedup=bootstrap(speedups, "geometric mean") if speedups else None,
        over={x: mean(each > x for each in speedups) for x in OVER} if speedups else {},
        functional=sum(cell.valid for cell in cells) / trials if trials else None,
        compile=sum(cell.compiled for cell in cells) / trials if trials else None,
        light_reached=_mean(cell.light_reached for cell in cells),
        headroom_closed=_mean(headrooms),
        headroom_problems=len(headrooms),
        mean_over_pytorch=_mean(over_pytorch),
        geometric_mean_over_pytorch=bootstrap(over_pytorch, "geometric mean") if over_pytorch else None,
        geometric_mean_over_fused=bootstrap(over_fused, "geometric mean") if over_fused else None,
        most_over_pytorch=max(over_pytorch, default=None),
        fast_p={p: mean(each > p for each in trial_over) for p in FAST_P} if trial_over else {},
        trials=trials,
        tokens=sum(cell.tokens for cell in cells),
        nano_usd=sum(cell.nano_usd for cell in cells),
        judge_seconds=sum(cell.judge_seconds for cell in cells),
    )


def _wins(arena: Sequence[Cell]) -> list[Wins]:
    """Of the methods that ran with one model on one device."""
    methods = list(dict.fromkeys(cell.method for cell in arena))
    if len(methods) < 2:
        return []
    won = {method: [0.0, 0.0] for method in methods}
    contested = contested_over_2 = 0
    for problem in _grouped((cell for cell in arena if cell.speedup is not None), lambda cell: cell.problem):
        if len(problem) < 2:
            continue
        best = max(cell.speedup or 0.0 for cell in problem)
        winners = [cell.method for cell in problem if (cell.speedup or 0.0) >= best * (1 - _SAME)]
        contested += 1
        contested_over_2 += best > 2
        for method in winners:
            won[method][0] += 1 / len(winners)
            won[method][1] += (best > 2) / len(winners)
    device, model = arena[0].device, arena[0].model
    return [
        Wins(device, model, method, every, contested, over_2, contested_over_2)
        for method, (every, over_2) in won.items()
    ]


def _comparisons(arena: Sequence[Cell]) -> list[Comparison]:
    by_method = {group[0].method: group for group in _grouped(arena, lambda cell: cell.method)}
    tests = []
    for first, second in combinations(by_method, 2):
        others = {cell.problem: cell for cell in by_method[second] if cell.speedup}
        pairs = [(c, others[c.problem]) for c in by_method[first] if c.speedup and c.problem in others]
        if pairs:
            test = paired_test([a.speedup or 0.0 for a, _ in pairs], [b.speedup or 0.0 for _, b in pairs])
            tests.append((first, second, test, min(len(cell.runs) for pair in pairs for cell in pair)))
    corrected = holm([test.p_value for _, _, test, _ in tests])
    return [
        Comparison(arena[0].device, arena[0].model, first, second, test, p, repeats)
        for (first, second, test, repeats), p in zip(tests, corrected, strict=True)
    ]


def _curve(runs: Sequence[RunFacts]) -> Curve:
    """A run that ended early keeps its last value to the end of the longest."""
    first = runs[0]
    length = max(len(run.curve) for run in runs)
    problems = _grouped([run for run in runs if run.curve[-1] is not None], lambda run: run.problem)
    bands: list[list[float]] = []
    for trial in range(length):
        at = [[run.curve[min(trial, len(run.curve) - 1)] for run in problem] for problem in problems]
        values = sorted(_known(_median(each) for each in at))
        bands.append([_quantile(values, q) for q in (0.25, 0.5, 0.75)] if values else [1.0, 1.0, 1.0])
    low, middle, high = (tuple(band[which] for band in bands) for which in range(3))
    return Curve(first.device, first.method, first.model, low, middle, high)


def _quantile(ordered: Sequence[float], q: float) -> float:
    at = q * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)
