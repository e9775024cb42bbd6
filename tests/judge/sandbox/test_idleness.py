"""Who waits for ever is told from who is kept waiting by a busy machine, without looking at a clock."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from evoengineer.judge.sandbox import idleness
from evoengineer.judge.sandbox.idleness import Idleness

WAITS = "import time; print(flush=True); time.sleep(600)"
WORKS = "print(flush=True)\nwhile True: pass"
CHILD_WORKS = (
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'while True: pass']); print(flush=True); "
    "import time; time.sleep(600)"
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idleness, "_LEAST_SECONDS", 0.3)
    monkeypatch.setattr(idleness, "_LEAST_LOOKS", 4)


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        subprocess.run(["pkill", "-9", "-P", str(process.pid)], check=False)
        process.kill()
        process.wait()


def start(code: str, started: list[subprocess.Popen[str]]) -> int:
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    started.append(process)
    assert process.stdout is not None
    process.stdout.readline()
    return process.pid


def looks(idle: Idleness, times: int) -> list[bool]:
    found = []
    for _ in range(times):
        found.append(idle.look())
        time.sleep(0.1)
    return found


def test_one_who_sleeps_is_idle(started: list[subprocess.Popen[str]]) -> None:
    idle = Idleness([start(WAITS, started)])
    found = looks(idle, 30)
    assert found[-1]
    assert not any(found[:4])  # never at the first looks


@pytest.mark.parametrize("code", [WORKS, CHILD_WORKS])
def test_one_who_works_or_whose_child_does_is_not(code: str, started: list[subprocess.Popen[str]]) -> None:
    assert not any(looks(Idleness([start(code, started)]), 12))


def test_one_who_waits_for_a_worker_is_not(started: list[subprocess.Popen[str]]) -> None:
    waiting, working = start(WAITS, started), start(WORKS, started)
    assert not any(looks(Idleness([waiting, working]), 12))


def test_one_who_stops_himself_is_idle(started: list[subprocess.Popen[str]]) -> None:
    pid = start(WORKS, started)
    started[0].send_signal(signal.SIGSTOP)
    assert looks(Idleness([pid]), 30)[-1]
