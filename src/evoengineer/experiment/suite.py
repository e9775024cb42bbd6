"""A whole suite at once: are its problems sound, its baselines valid, and do they build with PyTorch's headers?"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.errors import EvoEngineerError
from evoengineer.problem.catalog import find_problems, locate
from evoengineer.sim.options import default_threads

if TYPE_CHECKING:
    from evoengineer.cluster.pool import Cluster
    from evoengineer.judge import JudgeOptions, Verdict
    from evoengineer.judge.mutation_score import JudgedMutant
    from evoengineer.kernel.torch_headers import HeaderCheck

_COMPILATIONS = 2  # at once: each takes gigabytes


def judge_baselines(
    names: Sequence[str],
    options: JudgeOptions,
    on_verdict: Callable[[str, Verdict], None] | None = None,
    *,
    cluster: Cluster | None = None,
) -> dict[str, Verdict]:
    """The verdict on each problem's baseline; `on_verdict` is told each as it comes. A `cluster` stays open."""
    from evoengineer.cluster.pool import ClusterPool
    from evoengineer.judge.pool import JudgePool
    from evoengineer.judge.worker import Workers

    descriptions = find_problems(names)
    workers = Workers(options)

    def judge(index: int) -> Verdict:
        description = descriptions[index]
        if description.problem.baseline is None:
            raise EvoEngineerError(f"{description.problem.name} has no baseline.cu")
        if cluster is not None:
            return ClusterPool(cluster, description).judge_baseline()
        with JudgePool(description, options, workers) as pool:
            return pool.judge_baseline()

    at_once = options.worker_count if cluster is None else 2 * max(1, cluster.standing.places)
    verdicts: dict[str, Verdict] = {}
    try:
        with ThreadPoolExecutor(at_once) as threads:
            under_way = {threads.submit(judge, index): name for index, name in enumerate(names)}
            for done in as_completed(under_way):
                verdicts[under_way[done]] = done.result()
                if on_verdict is not None:
                    on_verdict(under_way[done], done.result())
    finally:
        workers.close()
    return {name: verdicts[name] for name in names}


def compile_baselines(names: Sequence[str]) -> Iterator[tuple[str, HeaderCheck]]:
    """Each baseline against the real PyTorch headers, in order."""
    from evoengineer.kernel.torch_headers import compile_with_torch_headers

    def compile_one(name: str) -> HeaderCheck:
        baseline = locate(name)[1].with_name("baseline.cu")
        return compile_with_torch_headers(baseline.read_text(encoding="utf-8"))

    with ThreadPoolExecutor(min(_COMPILATIONS, default_threads())) as threads:
        yield from zip(names, threads.map(compile_one, names), strict=True)


def check_problems(names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """What makes each problem unfit, in order."""
    with ThreadPoolExecutor(default_threads()) as threads:
        yield from zip(names, threads.map(lambda name: findings_of(*locate(name)), names), strict=True)


def judge_all_mutants(names: Sequence[str], workers: int) -> Iterator[tuple[str, list[JudgedMutant]]]:
    """The broken copies of each problem's baseline and what became of them, in order; `workers` problems at once."""
    from evoengineer.judge.mutation_score import judge_mutants

    descriptions = find_problems(names)
    with ThreadPoolExecutor(workers) as threads:
        yield from zip(names, threads.map(lambda each: list(judge_mutants(each)), descriptions), strict=True)


def findings_of(name: str, path: Path) -> list[str]:
    """What makes a problem unfit; found in a process of its own, as it takes torch."""
    run = subprocess.run(
        [sys.executable, "-m", "evoengineer.problem.checking", str(path), name],
        capture_output=True, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    if run.returncode != 0:
        raise EvoEngineerError(f"checking {name} failed\n{run.stderr.strip()}")
    found: list[str] = json.loads(run.stdout.splitlines()[-1])
    return found
