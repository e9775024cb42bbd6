"""`kill -9` at random moments, then resume: the same archive as an uninterrupted run, nothing paid for twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from tests.search.kill_target import main

from evoengineer.archive import Archive
from evoengineer.archive.canonical import canonical, digest

ROOT = Path(__file__).parents[2]
KILLS = 20
TRIALS = 200


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.search.kill_target", str(folder), str(TRIALS)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


def replied(folder: Path) -> set[int]:
    try:
        with sqlite3.connect(f"file:{folder / 'archive.db'}?mode=ro", uri=True) as db:
            return {row[0] for row in db.execute("SELECT number FROM replies")}
    except sqlite3.OperationalError:
        return set()  # not made yet


def paid(folder: Path) -> list[int]:
    path = folder / "paid"
    return [int(line.split()[0]) for line in path.read_text().splitlines()] if path.exists() else []


def kill_at_a_random_moment(folder: Path, random: Random) -> bool:
    """Start or resume the run and kill it a little after its first call; whether it was still alive."""
    before = len(paid(folder))
    process = start(folder)
    try:
        give_up = time.monotonic() + 60
        while len(paid(folder)) == before and process.poll() is None and time.monotonic() < give_up:
            time.sleep(0.002)
        time.sleep(random.uniform(0.0, 0.08))
    finally:
        process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def test_killed_at_twenty_random_moments(tmp_path: Path) -> None:
    random = Random(20)
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    broken.mkdir()
    whole.mkdir()
    for kill in range(KILLS):
        known, before = replied(broken), len(paid(broken))
        assert kill_at_a_random_moment(broken, random), f"the run was over after {kill} kills: make it longer"
        again = set(paid(broken)[before:]) & known
        assert not again, f"paid for again although the archive had the answer: {sorted(again)}"
    numbers = paid(broken)
    assert len(numbers) - len(set(numbers)) <= 3 * KILLS, "only calls in flight may be repeated"

    main(broken, TRIALS)
    main(whole, TRIALS)
    with Archive(broken / "archive.db") as one, Archive(whole / "archive.db") as other:
        assert one.connection.execute("SELECT count(trial) FROM proposals").fetchone()[0] == TRIALS
        assert canonical(one, "run") == canonical(other, "run")
        assert digest(one, "run") == digest(other, "run")
