"""Starting, stopping and resuming runs: each is a process of its own, as if started in a terminal.

Such a process outlives the server, and everything it does is in the archive. Only settings from closed lists are passed
on: a page cannot name a file or a program.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from evoengineer.archive.browsing import open_runs_of, sessions
from evoengineer.archive.store import Archive, new_run_name
from evoengineer.card.profile import profile_names
from evoengineer.errors import UsageError
from evoengineer.problem.catalog import shipped
from evoengineer.propose.prices import model_names
from evoengineer.search.methods import METHODS

MOST_TRIALS = 100_000
MOST_AT_ONCE = 8


class Work:
    """The runs that this server started."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive
        self._lock = threading.Lock()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @staticmethod
    def choices() -> dict[str, list[str]]:
        """What the form offers."""
        return {
            "problem": list(shipped()),
            "method": [method.name for method in METHODS],
            "model": ["rewriter", *model_names()],
            "device": [f"sim:{key}" for key in profile_names()] + ["cuda:0"],
        }

    def start(self, fields: Mapping[str, str]) -> str:
        """A new run with these settings; its name."""
        chosen = {name: _chosen(name, fields.get(name, ""), known) for name, known in self.choices().items()}
        trials = _whole("trials", fields.get("trials", ""), 1, MOST_TRIALS)
        seed = _whole("seed", fields.get("seed", "0"), 0, 2**31)
        name = new_run_name(chosen["problem"], chosen["method"])
        proposer = ["--rewriter"] if chosen["model"] == "rewriter" else ["--model", chosen["model"]]
        self._launch(
            name,
            [
                *("evolve", chosen["problem"], "--name", name, "--method", chosen["method"], *proposer),
                *("--device", chosen["device"], "--trials", str(trials), "--seed", str(seed)),
            ],
        )
        return name

    def resume(self, run: str, trials: str) -> None:
        """Continue a run, to more trials if they are given."""
        with Archive(self._archive, read_only=True) as archive:
            record = archive.run(run)
            if archive.lock(record.id).held_elsewhere():
                raise UsageError(f"run {record.id} is being worked on already")
        more = ["--trials", str(_whole("trials", trials, record.trials, MOST_TRIALS))] if trials else []
        if record.id.startswith("-"):
            raise UsageError(f"run {record.id} has a name that looks like an option: resume it from Python")
        self._launch(record.id, ["resume", record.id, *more])

    def stop(self, run: str) -> None:
        """Ask the process that works on a run to finish cleanly, as Ctrl-C does."""
        with self._lock:
            started = self._processes.get(run)
        if started is not None and started.poll() is None:
            started.terminate()
            return
        with Archive(self._archive, read_only=True) as archive:
            record = archive.run(run)
            process, host = (sessions(archive, record.id) or [(0, "")])[-1]
            lock = archive.lock(record.id)
            beside = [name for name in open_runs_of(archive, process, host) if name != record.id]
        if not lock.held_elsewhere():
            raise UsageError(f"nobody works on run {record.id}")
        if host != socket.gethostname() or not _has_open(process, lock.path):
            raise UsageError(f"run {record.id} is worked on by another machine ({host}): stop it there")
        if beside:
            raise UsageError(
                f"run {record.id} is part of a bench, whose process works on {len(beside)} more: stop that"
            )
        os.kill(process, signal.SIGTERM)

    def under_way(self, run: str) -> bool:
        """Whether a process that we started works on the run, or is about to."""
        with self._lock:
            process = self._processes.get(run)
        return process is not None and process.poll() is None

    def last_words(self, run: str) -> str:
        """The end of what the process for a run printed."""
        try:
            return self._log(run).read_text(encoding="utf-8", errors="replace")[-4000:]
        except OSError:
            return ""

    def _launch(self, run: str, words: list[str]) -> None:
        with self._lock:
            self._processes = {name: each for name, each in self._processes.items() if each.poll() is None}
            if run in self._processes:
                raise UsageError(f"run {run} is being worked on already")
            if len(self._processes) >= MOST_AT_ONCE:
                raise UsageError(f"{MOST_AT_ONCE} runs are under way: wait for one, or stop one")
            log = self._log(run)
            log.parent.mkdir(parents=True, exist_ok=True)
            options = ["--plain", "--archive", str(self._archive)]
            with log.open("wb") as out:
                self._processes[run] = subprocess.Popen(
                    [sys.executable, "-m", "evoengineer", words[0], *options, *words[1:]],
                    stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                )  # fmt: skip

    def _log(self, run: str) -> Path:
        name = hashlib.sha256(run.encode()).hexdigest()[:16]  # a run's name may hold anything
        return self._archive.with_name(self._archive.name + ".logs") / f"{name}.log"


def _chosen(name: str, value: str, known: list[str]) -> str:
    if value not in known:
        raise UsageError(f"{name} {value!r} is not offered")
    return value


def _whole(name: str, text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most):
        raise UsageError(f"{name} must be a whole number from {least} to {most}, not {text!r}")
    return int(text)


def _has_open(process: int, path: Path) -> bool:
    """Whether that process has the file open: a number in an archive is not enough to send a signal to."""
    try:
        return any(
            os.path.realpath(each) == os.path.realpath(path) for each in Path(f"/proc/{process}/fd").iterdir()
        )
    except OSError:
        return False
