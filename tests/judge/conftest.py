"""Judges that the tests of a session share: starting one costs seconds, judging a kernel does not."""

from collections.abc import Callable, Iterator

import pytest

from evoengineer.judge import JudgeOptions, Verdict
from evoengineer.judge.pool import JudgePool
from evoengineer.judge.worker import Workers
from evoengineer.problem.catalog import find_problem

JudgeText = Callable[[str, str], Verdict]
OPTIONS = JudgeOptions(workers=1, host_cpu_seconds=10, memory_bytes=2 << 30)


@pytest.fixture(scope="session")
def judge_text() -> Iterator[JudgeText]:
    """`judge_text(problem, source)` → the verdict."""
    pytest.importorskip("torch")
    workers = Workers(OPTIONS)
    pools: dict[str, JudgePool] = {}

    def judge(problem: str, source: str) -> Verdict:
        if problem not in pools:
            pools[problem] = JudgePool(find_problem(problem), OPTIONS, workers)
        return pools[problem].judge(source).result()

    yield judge
    for pool in pools.values():
        pool.close()
    workers.close()
