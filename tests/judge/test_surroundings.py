"""What the machine does is never a verdict: nothing is charged or kept, and the next try tells the truth."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.judge.conftest import OPTIONS
from tests.judge.wrong_kernels import ADD, WRONG, add

from evoengineer.errors import EnvironmentFailure
from evoengineer.judge import Outcome, building
from evoengineer.judge.pool import JudgePool
from evoengineer.judge.sandbox import environment
from evoengineer.judge.worker import Workers
from evoengineer.problem.catalog import find_problem

NEW = secrets.randbelow(1 << 20)  # texts that no cache of this machine knows from an earlier run


def kernel(number: int) -> str:
    """A right kernel that no other test has judged."""
    return add(ADD.replace("a[i] + b[i]", f"a[i] + b[i] + 0 * {NEW}.{number}f"))


@pytest.fixture(scope="module")
def pool() -> Iterator[JudgePool]:
    pytest.importorskip("torch")
    options = replace(OPTIONS, run_seed=11)
    workers = Workers(options)
    with JudgePool(find_problem("vector_add"), options, workers) as opened:
        yield opened
    workers.close()


def killed(start: Any, number: int) -> Any:
    """The sandbox, in which every command is ended by a signal from outside as soon as it has begun."""

    def begin(command: Any, *arguments: Any, **named: Any) -> Any:
        return start(["/bin/sh", "-c", f"kill -{number} $$"], *arguments, **named)

    return begin


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_compiler_that_is_killed_says_nothing_of_the_kernel(
    number: int, pool: JudgePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = kernel(100 + number)
    with monkeypatch.context() as patch:
        patch.setattr(building, "start", killed(building.start, number))
        with pytest.raises(EnvironmentFailure, match="not the kernel's"):
            pool.judge(source).result()
    assert pool.judge(source).result().outcome is Outcome.VALID


def test_a_full_disk_while_compiling_is_no_compile_error(
    pool: JudgePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = add(ADD.replace("a[i]", f"a[i] +* {NEW}"))
    with monkeypatch.context() as patch:
        patch.setattr(environment.Surroundings, "trouble", lambda self, folder: "the disk is full")
        with pytest.raises(EnvironmentFailure, match="the disk is full"):
            pool.judge(source).result()
    assert pool.judge(source).result().outcome is Outcome.COMPILE_ERROR


def test_a_text_that_claims_a_full_disk_is_not_believed(pool: JudgePool) -> None:
    source = '#error "No space left on device; cc1plus: Killed signal terminated program"\n' + kernel(3)
    assert pool.judge(source).result().outcome is Outcome.COMPILE_ERROR


def device_pid(pool: JudgePool) -> int:
    with pool._workers.take() as worker:
        return int(worker._gpu._device.pid)  # type: ignore[attr-defined]


def test_a_device_process_that_is_killed_costs_time_only(pool: JudgePool) -> None:
    assert pool.judge(kernel(5)).result().valid
    os.kill(device_pid(pool), signal.SIGKILL)
    assert pool.judge(kernel(6)).result().valid


def test_signals_to_the_group_are_not_for_our_helpers(pool: JudgePool) -> None:
    assert pool.judge(kernel(7)).result().valid
    pid = device_pid(pool)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(pid, number)
    assert pool.judge(kernel(8)).result().valid
    assert device_pid(pool) == pid


def test_a_candidate_that_kills_itself_gets_its_verdict(pool: JudgePool) -> None:
    """Nobody can tell who sent the signal: three times is enough."""
    source = add(ADD, launch="kill(getpid(), SIGKILL);").replace(
        "#include", "#include <csignal>\n#include <unistd.h>\n#include", 1
    )
    verdict = pool.judge(source).result()
    assert verdict.outcome is Outcome.CRASHED
    assert "SIGKILL" in verdict.evidence


def test_a_candidate_that_sleeps_for_ever_is_found_without_a_clock(pool: JudgePool) -> None:
    source = add(ADD, launch="sleep(100000);").replace("#include", "#include <unistd.h>\n#include", 1)
    verdict = pool.judge(source).result()
    assert verdict.outcome is Outcome.TIMED_OUT
    assert "never comes" in verdict.summary


def test_an_endless_kernel_ends_by_its_instructions(pool: JudgePool) -> None:
    verdict = pool.judge(WRONG["endless_kernel"].source).result()
    assert verdict.outcome is Outcome.TIMED_OUT
    assert "instructions of warps" in verdict.evidence
