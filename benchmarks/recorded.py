"""What the judge makes today of kernels that a model wrote once: none that was valid may be refused.

    python -m benchmarks.recorded FOLDER                 # kernels/RUN/NNN.cu, and trials.tsv with the verdicts of then
    python -m benchmarks.recorded FOLDER --runs square   # runs whose name contains a word

A run's name is FAMILY-PROBLEM-METHOD, with a problem of kernels91. Prints a line for every kernel; exit code 1 if one
is not valid, but for those that did not compile then.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from evoengineer.judge import JudgeOptions, Outcome, open_judge


def verdicts_of_then(folder: Path) -> dict[tuple[str, int], str]:
    with (folder / "trials.tsv").open(encoding="utf-8", newline="") as rows:
        return {
            (row["run"], int(row["proposal"])): row["verdict"] for row in csv.DictReader(rows, delimiter="\t")
        }


def judged(folder: Path, words: list[str], seed: int) -> Iterator[tuple[str, str, str]]:
    """Run and number, the verdict of then, the verdict of today with its time or what is wrong."""
    then = verdicts_of_then(folder)
    for run in sorted({run for run, _ in then}):
        if words and not any(word in run for word in words):
            continue
        family, name, _method = run.split("-")
        with open_judge(f"kernels91/{family}/{name}", JudgeOptions(workers=1, run_seed=seed)) as judge:
            for file in sorted((folder / "kernels" / run).glob("*.cu")):
                verdict = judge.judge(file.read_text(encoding="utf-8")).result()
                said = f"{verdict.timing.time_us:9.2f} us" if verdict.timing else verdict.summary
                yield (
                    f"{run} {int(file.stem):2}",
                    then[run, int(file.stem)],
                    f"{verdict.outcome.value:13} {said}",
                )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", nargs="*", default=[], metavar="WORD")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    refused = compared = 0
    for kernel, then, now in judged(given.folder, given.runs, given.seed):
        compared += 1
        refused += not now.startswith(Outcome.VALID.value) and then != Outcome.COMPILE_ERROR.value
        print(f"{kernel:60} then {then:13} now {now}", flush=True)
    print(f"{compared} kernels, {refused} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
