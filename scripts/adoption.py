"""How many KernelBench files can be adopted: `python scripts/adoption.py FILE_OR_FOLDER… [--limit N]`.

Does what `evoengineer problems adopt` does with each file, in fewer processes: drafts the problem, has its baseline
written and judges it. Prints a line per file and the rate at the end; the exit code is 1 below 90%. Seed and folder
(build/adoption) are fixed, so that problems and verdicts come from the cache when it is run again: a run that was
stopped goes on where it was. `make adoption` runs it on the files in tests/problem/kernelbench.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from evoengineer.errors import EvoEngineerError
from evoengineer.experiment.adopting import draft, generated_baselines
from evoengineer.experiment.suite import judge_baselines
from evoengineer.judge import JudgeOptions
from evoengineer.problem.catalog import find_problems

WANTED = 0.9
_AT_ONCE = 8  # files that share processes
_SEED = 1
_SCRATCH = Path("build/adoption")


def adopt_all(files: Sequence[Path], scratch: Path, say: Callable[[Path, str], None]) -> None:
    """Tell what became of each file, as it is known; `valid…` for those that can be adopted."""
    folders = {}
    with suppress(EvoEngineerError):  # of one of them, which is told below
        find_problems([str(file) for file in files])  # in one process: each is in the cache then
    for file in files:
        folder = scratch / f"{file.parent.name}-{file.stem}"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            draft(file, folder)
            folders[file] = folder
        except EvoEngineerError as error:
            say(file, f"no problem: {error}")
    for file, answer in zip(list(folders), generated_baselines(list(folders.values())), strict=True):
        if "text" in answer:
            (folders[file] / "baseline.cu").write_text(answer["text"], encoding="utf-8")
        else:
            say(file, f"no baseline: {answer['error']}")
            del folders[file]
    by_name = {str(folder): file for file, folder in folders.items()}
    judge_baselines(
        list(by_name),
        JudgeOptions(workers=1, run_seed=_SEED),
        on_verdict=lambda name, verdict: say(by_name[name], f"{verdict.outcome}: {verdict.summary}"),
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER")
    parser.add_argument("--limit", type=int, metavar="N", help="take only N of them, evenly spread")
    options = parser.parse_args()
    files = [
        file for path in options.paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])
    ]
    if options.limit and options.limit < len(files):
        files = [files[i * len(files) // options.limit] for i in range(options.limit)]
    outcomes: dict[Path, str] = {}

    def say(file: Path, outcome: str) -> None:
        outcomes[file] = outcome
        print(f"{len(outcomes)}/{len(files)}  {file.parent.name}/{file.stem}: {outcome}", flush=True)

    for begin in range(0, len(files), _AT_ONCE):
        adopt_all(files[begin : begin + _AT_ONCE], _SCRATCH, say)
    valid = sum(outcome.startswith("valid") for outcome in outcomes.values())
    print(f"{valid} of {len(files)} files adopted with a valid baseline ({valid / len(files):.1%})")
    return 0 if valid >= WANTED * len(files) else 1


if __name__ == "__main__":
    sys.exit(main())
