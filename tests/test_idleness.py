"""Who waits for ever is told from who is kept waiting by a busy machine, without looking at a clock."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from evoengineer import idleness
from evoengineer.idleness import Endlessness, Idleness

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


def test_processor_time_ends_one_who_works_for_ever(started: list[subprocess.Popen[str]]) -> None:
    endless = Endlessness(start(WORKS, started), 0.3)
    while not (spent := endless.look()):
        time.sleep(0.05)
    assert "0.3 s of processor time" in spent


def test_time_used_before_the_watch_is_not_counted(started: list[subprocess.Popen[str]]) -> None:
    """A reference process lives for a whole run; each draw is watched by itself."""
    pid = start(WORKS, started)
    first = Endlessness(pid, 0.5)
    while not first.look():
        time.sleep(0.05)
    started[0].send_signal(signal.SIGSTOP)
    assert Endlessness(pid, 0.5).look() == ""


def test_one_who_is_not_let_to_work_is_no_sleeper(started: list[subprocess.Popen[str]]) -> None:
    """Ready to run is not asleep, however little processor time it gets."""
    pid = start(WORKS, started)
    endless = Endlessness(pid, 600.0)
    assert not any(endless.look() for _ in range(8))


def test_one_who_sleeps_for_longer_than_he_may_work_is_endless(started: list[subprocess.Popen[str]]) -> None:
    endless = Endlessness(start(WAITS, started), 0.3)
    while not (spent := endless.look()):
        time.sleep(0.05)
    assert "slept" in spent
