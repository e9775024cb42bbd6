"""Does a baseline's verdict depend on the seed? Every baseline on many run seeds, none of them refused.

    python -m benchmarks.seeds                           # all that ship, 200 seeds
    python -m benchmarks.seeds --seeds 20 relu softmax   # those whose name contains a word
    python -m benchmarks.seeds --seeds 5 --bench         # the draws of the bench cases instead of the check cases

Only what can depend on the seed is done again: a baseline is built once and loaded once; for each seed all draws of
its cases are drawn, run and compared as the judge does it, without the race and initialisation checks, which
do not look at values. Prints a line per problem; exit code 1 if any draw was refused. One process at a time.
"""

from __future__ import annotations

import argparse
import sys
import time

from evoengineer.judge.building import build_sandboxed
from evoengineer.judge.examination import Mode
from evoengineer.judge.failures import Rejected
from evoengineer.judge.on_sim import SimulatedGpu, SimulatedStage
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.plan import plan_draws
from evoengineer.judge.reference.client import ReferenceProcess
from evoengineer.judge.worker import target_of
from evoengineer.kernel.text import Kernel
from evoengineer.problem.catalog import Description, find_problem, shipped


class Examiner:
    """A reference process and a simulated GPU, kept from problem to problem."""

    def __init__(self) -> None:
        self._options = JudgeOptions(workers=1, host_cpu_seconds=1 << 20)
        self._reference = ReferenceProcess(1)
        self._gpu = SimulatedGpu(self._options, 1)

    def close(self) -> None:
        self._reference.close()
        self._gpu.close()

    def refused(self, description: Description, seeds: range, bench: bool) -> tuple[int, list[str]]:
        """How many draws were compared, and what is said of those that are not right."""
        problem = description.problem
        assert problem.baseline is not None
        text = problem.baseline.read_text(encoding="utf-8")
        build = build_sandboxed(text, problem, target_of(self._options.device), self._options)
        if isinstance(build, Rejected):
            return 0, [build.summary]
        self._reference.load(problem)
        compared, found = 0, []
        kernel = Kernel(text).id
        with self._gpu.load(build.library, self._reference, description, 0, kernel) as stage:
            for seed in seeds:
                for planned in plan_draws(description, kernel, seed):
                    if planned.bench != bench:
                        continue
                    draw = self._reference.prepare(planned.case, planned.distribution, planned.seed)
                    said = self._compare(stage, planned.case, draw)
                    self._reference.drop(draw)
                    compared += 1
                    if said:
                        where = f"{problem.cases[planned.case].name}, {planned.distribution}"
                        found.append(f"seed {seed}, {where}: {said}")
        return compared, found

    def _compare(self, stage: SimulatedStage, case: int, draw: int) -> str:
        stage.put(case, self._reference.stage(draw), "")
        stage.call(case, Mode.LOADING, "")  # nothing is looked into
        fetched, _ = stage.fetch(case, "")
        comparison = self._reference.check(draw, fetched.tensors, fetched.inputs)
        return str(comparison.mismatch["text"]) if comparison.mismatch else ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="only problems whose name contains one of these")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument(
        "--bench", action="store_true", help="draws of the bench case instead of the check cases"
    )
    options = parser.parse_args()
    names = [name for name in shipped() if not options.words or any(word in name for word in options.words)]
    refused = 0
    examiner = Examiner()
    for name in names:
        begin = time.monotonic()
        try:
            compared, found = examiner.refused(find_problem(name), range(options.seeds), options.bench)
        except Rejected as rejected:
            compared, found = 0, [rejected.summary]
        refused += len(found)
        print(f"{name}: {compared} draws, {len(found)} refused, {time.monotonic() - begin:.0f} s", flush=True)
        for each in found[:5]:
            print(f"    {each}", flush=True)
    examiner.close()
    print(f"{len(names)} baselines, {options.seeds} seeds: {refused} draws refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
