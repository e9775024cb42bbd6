"""What the rewriter and the tuner reach without a model, by family of problems.

    python -m benchmarks.rewriter --problems matmul --trials 45 --tune 20 --seeds 0 1 2 --archive rewriter.db
    python -m benchmarks.rewriter --archive rewriter.db --table
    python -m benchmarks.rewriter --archive rewriter.db --compare 6-4 10-0

Runs are kept in the archive and can be stopped at any time: the next call takes up what is missing. The table is
made from the archive alone, a part for every budget, with the bars of the rewriter and whether they are met.
`--random` replaces the bandit by equal chances, as a control (a budget of its own: `6-4-random`). `--compare` sets
two budgets side by side on what both have: with and without tuning at equal numbers of evaluations, or by chance;
with `--after 4` what they had after four trials, since a run's first trials do not depend on how long it is.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import evoengineer
from evoengineer.archive import reading
from evoengineer.archive.store import Archive
from evoengineer.experiment.evolving import new_settings
from evoengineer.experiment.run import Run
from evoengineer.judge.verdict import Verdict
from evoengineer.propose.rewriter import Rewriter
from evoengineer.report.stats import geometric_mean, paired_test

SUITE = Path(evoengineer.__file__).parent / "suites" / "kernels91"
WEAK = 0.65  # share of the speed of light below which a baseline leaves something to find
_WEAK_PROBLEMS, _PRODUCTS, _OUTSIDE = 44, 16, 20  # that bars are over
_OUTSIDE_FAMILIES = ("corpus", "further", "unseen", "fresh")
_JUDGE_SEED = 0  # the same for all runs: a text that one has judged is known to the others
_NAME = re.compile(r"(?P<problem>.+?)-(?P<budget>\d+-\d+)-s(?P<seed>\d+)(?P<control>-random)?")


def outside(wanted: list[str], family: str) -> dict[str, Path]:
    """The kernels of a family outside the suites whose name contains one of the words."""
    from tests.propose.corpus import CORPUS
    from tests.propose.fresh import FRESH
    from tests.propose.further import FURTHER
    from tests.propose.unseen import UNSEEN

    families = dict(zip(_OUTSIDE_FAMILIES, (CORPUS, FURTHER, UNSEEN, FRESH), strict=True))
    return {
        f"{family}/{each.name}": each.problem.path.parent
        for each in families[family]
        if not wanted or any(word in each.name for word in wanted)
    }


def problems(wanted: list[str]) -> dict[str, Path]:
    """Folders of the suite's problems whose `family/name` contains one of the words."""
    found = sorted(str(path.parent.relative_to(SUITE)) for path in SUITE.glob("*/*/problem.py"))
    return {name: SUITE / name for name in found if not wanted or any(word in name for word in wanted)}


def measure(
    archive: Path,
    problem: str,
    folder: Path,
    seed: int,
    trials: int,
    tune: int,
    *,
    random: bool,
    workers: int,
) -> None:
    """One run, from wherever it stands to its end."""
    name = f"{problem.replace('/', '-')}-{trials}-{tune}-s{seed}" + ("-random" if random else "")
    settings = new_settings({
        "problem": str(folder), "method": "free", "trials": trials, "tune": tune, "seed": seed,
        "judge_workers": workers, "judge_seed": _JUDGE_SEED,
    })  # fmt: skip
    with Archive(archive) as opened:
        known = {each.run.id: each.run.status for each in reading.summaries(opened)}
    if known.get(name) == "finished":
        return
    run = Run(name, archive) if name in known else Run.create(settings, archive, name)
    result = run.work(proposer=Rewriter(bandit=not random))
    print(f"{name}: {run.summary.best_speedup:.2f}x, {result.reason}", flush=True)


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run: what was asked for and what came of it."""

    problem: str  # "matmul-square"
    budget: str  # "6-4": trials and settings; "6-4-random" for the control
    seed: int
    speedup: float
    light: float | None  # shares of the speed of light that baseline and best kernel reach
    best_light: float | None
    proposals: int
    duplicates: int
    rewrites: tuple[
        tuple[str, bool], ...
    ]  # of the trials: the rewrite that is named first, and whether it was valid
    course: tuple[float, ...]  # speedups of the trials; 0 for one that was not valid
    seconds: float

    def best_after(self, trials: int) -> float:
        """The best speedup after so many trials: what a run of that length would have ended with."""
        return max(1.0, *self.course[:trials])

    @property
    def family(self) -> str:
        return self.problem.partition("-")[0]

    @property
    def is_weak(self) -> bool:
        """Whether search has something to find."""
        return self.light is not None and self.light < WEAK


def results(archive: Path) -> list[Result]:
    """The archive's finished runs."""
    found = []
    with Archive(archive, create=False) as opened:
        for summary in reading.summaries(opened):
            name = _NAME.fullmatch(summary.run.id)
            if name is None or summary.run.status != "finished" or summary.best_speedup is None:
                continue
            trials = reading.trials(opened, summary.run.id)
            found.append(
                Result(
                    name["problem"],
                    name["budget"] + (name["control"] or ""),
                    int(name["seed"]),
                    summary.best_speedup,
                    _light(reading.verdict(opened, summary.run.id, 0)),
                    _light(reading.best_verdict(opened, summary.run.id)),
                    summary.proposals,
                    summary.duplicates,
                    tuple((each.name.partition(":")[0], each.outcome == "valid") for each in trials),
                    tuple(each.speedup or 0.0 for each in trials),
                    summary.seconds,
                )
            )
    return found


def table(archive: Path) -> str:
    """For every budget of the archive: the bars, best speedups by family, validity by rewrite, and every run."""
    budgets: dict[str, list[Result]] = defaultdict(list)
    for each in results(archive):
        budgets[each.budget].append(each)
    return "\n\n".join(section(budget, found) for budget, found in sorted(budgets.items()))


def section(budget: str, found: Sequence[Result]) -> str:
    trials, _, rest = budget.partition("-")
    settings, _, control = rest.partition("-")
    seeds = sorted({each.seed for each in found})
    minutes = sum(each.seconds for each in found) / 60
    lines = [
        f"### {trials} trials and {settings} settings"
        + (" by chance" if control else "")
        + f", seeds {', '.join(map(str, seeds))}: {len(found)} runs, {minutes:.0f} min of judging",
        "",
        *bars(found),
        "",
        "| family | runs | geometric mean | least | most |",
        "|---|---:|---:|---:|---:|",
    ]
    for family in sorted({each.family for each in found}):
        speedups = [each.speedup for each in found if each.family == family]
        lines.append(
            f"| {family} | {len(speedups)} | {geometric_mean(speedups):.2f}× | {min(speedups):.2f}× "
            f"| {max(speedups):.2f}× |"
        )
    made, valid = Counter[str](), Counter[str]()
    for each in found:
        for name, good in each.rewrites:
            made[name] += 1
            valid[name] += good
    lines += ["", "| rewrite | trials | valid |", "|---|---:|---:|"]
    lines += [f"| {name} | {made[name]} | {valid[name] / made[name]:.1%} |" for name in sorted(made)]
    lines += ["", "| problem | seed | light, baseline | light, best | speedup |", "|---|---:|---:|---:|---:|"]
    lines += [
        f"| {each.problem.replace('-', '/')} | {each.seed} | {_share(each.light)} | {_share(each.best_light)} "
        f"| {each.speedup:.2f}× |"
        for each in sorted(found, key=lambda each: (each.problem, each.seed))
    ]
    return "\n".join(lines)


def bars(found: Sequence[Result]) -> list[str]:
    """What the rewriter is asked for, next to what these runs reach. Several seeds of a problem count as their
    geometric mean."""
    lines = ["| bar | asked for | reached | over | |", "|---|---:|---:|---:|---|"]

    def add(
        name: str, bar: float, value: float, over: str, form: str, *, most: bool = False, whole: bool = True
    ) -> None:
        met = value <= bar if most else value >= bar
        sign, verdict = "≤" if most else "≥", ("met" if met else "missed") if whole else "not all run"
        lines.append(f"| {name} | {sign} {form.format(bar)} | {form.format(value)} | {over} | {verdict} |")

    suite = _by_problem([each for each in found if each.family not in _OUTSIDE_FAMILIES])
    weak = _by_problem([each for each in found if each.family not in _OUTSIDE_FAMILIES and each.is_weak])
    products = {name: value for name, value in weak.items() if name.startswith("matmul-")}
    outside = _by_problem([each for each in found if each.family == "corpus"])
    if weak:
        over, whole = f"{len(weak)} problems below {WEAK:.0%} of light", len(weak) >= _WEAK_PROBLEMS
        add("geometric mean", 3.5, geometric_mean([*weak.values()]), over, "{:.2f}×", whole=whole)
        add("at 2.5× or more", 30, sum(each >= 2.5 for each in weak.values()), over, "{:.0f}", whole=whole)
    if products:
        over, whole = f"{len(products)} matrix products", len(products) >= _PRODUCTS
        add("geometric mean", 6.0, geometric_mean([*products.values()]), over, "{:.2f}×", whole=whole)
    if suite:
        over, whole = f"{len(suite)} problems", len(suite) >= len(problems([]))
        add("mean", 2.72, sum(suite.values()) / len(suite), over, "{:.2f}×", whole=whole)
        add("least", 1.0, min(suite.values()), over, "{:.2f}×", whole=whole)
    if outside:
        quick, whole = sum(each >= 1.3 for each in outside.values()), len(outside) >= _OUTSIDE
        add("at 1.3× or more", 12, quick, f"{len(outside)} kernels outside the suite", "{:.0f}", whole=whole)
    outcomes = [good for each in found for _, good in each.rewrites]
    if outcomes:
        add("valid trials", 0.95, sum(outcomes) / len(outcomes), f"{len(outcomes)} trials", "{:.1%}")
    proposals = sum(each.proposals for each in found)
    if proposals:
        share = sum(each.duplicates for each in found) / proposals
        add("duplicates", 0.05, share, f"{proposals} proposals", "{:.1%}", most=True)
    return lines


def _by_problem(found: Sequence[Result]) -> dict[str, float]:
    speedups: dict[str, list[float]] = defaultdict(list)
    for each in found:
        speedups[each.problem].append(each.speedup)
    return {name: geometric_mean(values) for name, values in speedups.items()}


def comparison(archive: Path, first: str, second: str, after: int | None = None) -> str:
    """Two budgets on the problems and seeds that both have, with a 95% interval over these pairs; after so many trials
    of both, if that is given."""
    known = {
        (each.budget, each.problem, each.seed): each.speedup if after is None else each.best_after(after)
        for each in results(archive)
    }
    pairs = [
        (speedup, known[second, problem, seed])
        for (budget, problem, seed), speedup in sorted(known.items())
        if budget == first and (second, problem, seed) in known
    ]
    if not pairs:
        return f"no problem has runs of both {first} and {second}"
    test = paired_test([one for one, _ in pairs], [other for _, other in pairs])
    ratio = test.ratio
    interval = "" if ratio.low is None else f" (95% interval {ratio.low:.3f}–{ratio.high:.3f})"
    when = "" if after is None else f" after {after} trials"
    return (
        f"{first} against {second}{when}: {ratio.value:.3f} times as fast{interval}, "
        f"better in {test.first_wins} and worse in {test.second_wins} of {test.problems} runs, p = {test.p_value:.3f}"
    )


def _light(verdict: Verdict | None) -> float | None:
    """The share of the speed of light that a kernel reaches."""
    timing = None if verdict is None else verdict.timing
    if timing is None or timing.speed_of_light_us is None:
        return None
    return timing.speed_of_light_us / timing.time_us


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description="What the rewriter reaches without a model")
    parser.add_argument(
        "--problems",
        nargs="*",
        default=[],
        help="words of which a problem's path has one; all if none is given",
    )
    parser.add_argument("--archive", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=45)
    parser.add_argument("--tune", type=int, default=20)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--workers", type=int, default=1, help="kernels that are judged at a time")
    parser.add_argument("--random", action="store_true", help="equal chances instead of the bandit")
    for family, words in zip(
        _OUTSIDE_FAMILIES, ("the twenty", "further", "still other", "the latest"), strict=True
    ):
        parser.add_argument(
            f"--{family}",
            dest="family",
            action="store_const",
            const=family,
            help=f"{words} kernels outside the suites instead",
        )
    parser.add_argument("--table", action="store_true", help="print the table only")
    parser.add_argument(
        "--compare", nargs=2, metavar="BUDGET", help="set two budgets of the archive side by side"
    )
    parser.add_argument(
        "--after", type=int, metavar="TRIALS", help="compare what both had after so many trials"
    )
    options = parser.parse_args()
    if options.compare:
        print(comparison(options.archive, *options.compare, options.after))
        return
    if not options.table:
        found = problems(options.problems)
        if options.family:
            found = outside(options.problems, options.family)
        for seed in options.seeds:
            for problem, folder in found.items():
                measure(
                    *(options.archive, problem, folder, seed, options.trials, options.tune),
                    random=options.random,
                    workers=options.workers,
                )
    print(table(options.archive))


if __name__ == "__main__":
    main()
