"""Failures of the machine are told from those of candidates by what the machine says, not by what anybody prints."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from evoengineer.judge.sandbox import Exit, Surroundings, environment, from_outside


def ending(code: int | None = None, number: int | None = None, limit: str = "") -> Exit:
    return Exit(code, number, limit, 0.1, 1 << 20)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGINT])
def test_signals_that_people_and_the_kernel_send(number: signal.Signals) -> None:
    assert from_outside(ending(number=number))
    assert from_outside(ending(code=128 + number))  # as a shell tells it


@pytest.mark.parametrize(
    "exited",
    [
        ending(code=0),
        ending(code=1),
        ending(number=signal.SIGSEGV),
        ending(number=signal.SIGABRT),
        ending(number=signal.SIGKILL, limit="memory"),
        ending(number=signal.SIGKILL, limit="cpu"),
    ],
)
def test_faults_and_limits_are_not(exited: Exit) -> None:
    assert not from_outside(exited)


def test_a_machine_without_trouble(tmp_path: Path) -> None:
    assert Surroundings.now().trouble(tmp_path) == ""


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Surroundings.now()
    full = SimpleNamespace(f_bavail=10, f_frsize=4096, f_files=1000, f_favail=900)
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    assert "is full" in before.trouble(tmp_path)


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    assert "is gone" in Surroundings.now().trouble(tmp_path / "nowhere")


def test_a_process_killed_for_lack_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Surroundings.now()
    monkeypatch.setattr(environment, "_oom_kills", lambda: before.oom_kills + 1)
    assert "ran out of memory" in before.trouble(tmp_path)
