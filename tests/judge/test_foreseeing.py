"""Times that are foreseen: cheap, of the same order as judged ones, and without a trace in verdicts."""

from __future__ import annotations

import pytest
from tests.judge.conftest import OPTIONS
from tests.judge.test_judging import SLOW, VECTORISED
from tests.judge.wrong_kernels import ADD, add

from evoengineer.judge import Outcome
from evoengineer.judge.pool import JudgePool
from evoengineer.judge.protocol import Foreseeing
from evoengineer.judge.worker import Workers
from evoengineer.problem.catalog import find_problem

HALF = add(ADD, launch="add<<<(n + 511) / 512, 256>>>(A, B, C, n);")


def test_foreseen_times_are_those_of_the_judge() -> None:
    """Also when a worker has had another problem in between, and for kernels that are wrong."""
    pytest.importorskip("torch")
    workers = Workers(OPTIONS)
    addition, softmax = (find_problem(name) for name in ("vector_add", "softmax"))
    try:
        with JudgePool(addition, OPTIONS, workers) as pool, JudgePool(softmax, OPTIONS, workers) as other:
            assert isinstance(pool, Foreseeing)
            assert softmax.problem.baseline is not None
            text = softmax.problem.baseline.read_text(encoding="utf-8")
            for source in (VECTORISED, SLOW):
                foreseen = pool.foresee(source).result()
                timing = pool.judge(source).result().timing
                assert timing is not None
                assert foreseen == pytest.approx(timing.time_us)
                theirs = other.judge_baseline().timing
                assert theirs is not None
                assert other.foresee(text).result() == pytest.approx(theirs.time_us)
            half = pool.foresee(HALF).result()
            slow = pool.foresee(SLOW).result()
            assert half is not None
            assert slow is not None
            assert half < slow
            assert pool.judge(HALF).result().outcome is Outcome.WRONG
            assert pool.foresee("this is no kernel").result() is None
    finally:
        workers.close()
