"""What the rewriter and the tuner reach without a model, by family of problems.

    python -m benchmarks.rewriter --problems matmul --trials 45 --tune 20 --seeds 0 1 2 --archive rewriter.db
    python -m benchmarks.rewriter --archive rewriter.db --table

Runs are kept in the archive and can be stopped at any time: the next call takes up what is missing. The table is
made from the archive alone. `--random` replaces the bandit by equal chances, as a control.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter, defaultdict
from pathlib import Path

import evoengineer
from evoengineer.archive import reading
from evoengineer.archive.store import Archive
from evoengineer.experiment.evolving import new_settings
from evoengineer.experiment.run import Run
from evoengineer.judge.verdict import Verdict
from evoengineer.propose.rewriter import Rewriter

SUITE = Path(evoengineer.__file__).parent / "suites" / "kernels91"


def corpus(wanted: list[str]) -> dict[str, Path]:
    """The kernels outside the suites whose name contains one of the words."""
    from tests.propose.corpus import CORPUS

    return {
        f"corpus/{each.name}": each.problem.path.parent
        for each in CORPUS
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
        "judge_workers": workers,
    })  # fmt: skip
    with Archive(archive) as opened:
        known = {each.run.id: each.run.status for each in reading.summaries(opened)}
    if known.get(name) == "finished":
        return
    run = Run(name, archive) if name in known else Run.create(settings, archive, name)
    result = run.work(proposer=Rewriter(bandit=not random))
    print(f"{name}: {run.summary.best_speedup:.2f}x, {result.reason}", flush=True)


def table(archive: Path) -> str:
    """Best speedups by family, validity by rewrite, and every run in a line."""
    families: dict[str, list[float]] = defaultdict(list)
    made: Counter[str] = Counter()
    valid: Counter[str] = Counter()
    duplicates = proposals = 0
    lines = ["", "| run | light, baseline | light, best | speedup |", "|---|---:|---:|---:|"]
    with Archive(archive, create=False) as opened:
        for summary in reading.summaries(opened):
            if summary.run.status != "finished" or summary.best_speedup is None:
                continue
            families[summary.run.id.split("-")[0]].append(summary.best_speedup)
            duplicates += summary.duplicates
            proposals += summary.proposals
            for trial in reading.trials(opened, summary.run.id):
                made[trial.name.partition(":")[0]] += 1
                valid[trial.name.partition(":")[0]] += trial.outcome == "valid"
            lights = [_light(reading.verdict(opened, summary.run.id, 0)),
                      _light(reading.best_verdict(opened, summary.run.id))]  # fmt: skip
            lines.append(f"| {summary.run.id} | {lights[0]} | {lights[1]} | {summary.best_speedup:.2f}× |")
    head = ["| family | runs | geometric mean | least | most |", "|---|---:|---:|---:|---:|"]
    for family, speedups in sorted(families.items()):
        mean = math.exp(sum(map(math.log, speedups)) / len(speedups))
        head.append(
            f"| {family} | {len(speedups)} | {mean:.2f}× | {min(speedups):.2f}× | {max(speedups):.2f}× |"
        )
    head += ["", "| rewrite | trials | valid |", "|---|---:|---:|"]
    head += [f"| {name} | {made[name]} | {valid[name] / made[name]:.1%} |" for name in sorted(made)]
    head += ["", f"{duplicates} of {proposals} proposals were duplicates."]
    return "\n".join(head + lines)


def _light(verdict: Verdict | None) -> str:
    """The share of the speed of light that a kernel reaches."""
    timing = None if verdict is None else verdict.timing
    if timing is None or timing.speed_of_light_us is None:
        return ""
    return f"{timing.speed_of_light_us / timing.time_us:.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description="What the rewriter reaches without a model")
    parser.add_argument("--problems", nargs="*", default=[], help="words of which a problem's path has one")
    parser.add_argument("--archive", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=45)
    parser.add_argument("--tune", type=int, default=20)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--workers", type=int, default=1, help="kernels that are judged at a time")
    parser.add_argument("--random", action="store_true", help="equal chances instead of the bandit")
    parser.add_argument("--corpus", action="store_true", help="the kernels outside the suites instead")
    parser.add_argument("--table", action="store_true", help="print the table only")
    options = parser.parse_args()
    if not options.table:
        found = corpus(options.problems) if options.corpus else problems(options.problems)
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
