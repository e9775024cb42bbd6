"""Ctrl-C as a terminal sends it, to the whole process group, and what a killed command leaves behind."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from pathlib import Path

import pytest

KERNEL = str(Path(__file__).parents[2] / "examples" / "softmax_warp.cu")
LONG_SECONDS = 300  # to wait for what will come, on however busy a machine


class Terminal:
    """A command in a pseudo-terminal of its own."""

    def __init__(self, *words: str, **environment: str) -> None:
        self.said = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(environment)
            os.execv(sys.executable, [sys.executable, "-m", "evoengineer", *words])

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + LONG_SECONDS
        while text not in self.said:
            assert time.monotonic() < deadline, self.said
            assert self._read(), f"ended without {text!r}:\n{self.said}"

    def press_ctrl_c(self) -> None:
        os.write(self.fd, b"\x03")

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> bool:
        ready, _, _ = select.select([self.fd], [], [], LONG_SECONDS)
        assert ready, self.said
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other end is closed
            return False
        self.said += data.decode("utf-8", "replace")
        return bool(data)


@pytest.mark.parametrize("moment", ["softmax, full, rewriter", "baseline: "])
def test_ctrl_c_in_a_terminal_finishes_cleanly(moment: str, tmp_path: Path) -> None:
    """Helpers used to get it, too, and died first, with tracebacks: right after they start, and while they work."""
    terminal = Terminal(
        *("evolve", "softmax", "--trials", "400", "--name", "r", "--plain", "--judge-workers", "1"),
        *("--archive", str(tmp_path / "a.db")),
    )
    terminal.wait_for(moment)
    if moment.startswith("softmax"):
        time.sleep(1.0)  # helpers are starting; whenever it comes, the end must be the same
    terminal.press_ctrl_c()
    code = terminal.end()
    assert "Traceback" not in terminal.said
    assert "ended unexpectedly" not in terminal.said
    assert code == 128 + signal.SIGINT, terminal.said


def test_what_a_killed_command_leaves_is_swept_by_the_next(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    terminal = Terminal(
        *("evolve", "softmax", "--trials", "400", "--plain", "--judge-workers", "1"),
        *("--archive", str(tmp_path / "a.db")),
        TMPDIR=str(scratch),
    )
    terminal.wait_for("baseline: ")
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.end()
    deadline = time.monotonic() + LONG_SECONDS
    left = list(scratch.iterdir())
    while True:
        next_one = Terminal("judge", KERNEL, "--problem", "softmax", TMPDIR=str(scratch))
        next_one.end()
        still = [each for each in left if each.exists()]
        if not still:  # a helper of the killed one may take a moment to end
            break
        assert time.monotonic() < deadline, still
    assert list(scratch.iterdir()) == [], "and it leaves nothing itself"


def test_the_time_limit_of_a_run_is_kept_by_the_command(tmp_path: Path) -> None:
    """It waited for whatever was being judged. The baseline here is never done in half a second."""
    terminal = Terminal(
        *("evolve", "softmax", "--max-seconds", "0.5", "--judge-seed", str(os.getpid()), "--plain"),
        *("--name", "r", "--archive", str(tmp_path / "a.db")),
    )
    assert terminal.end() == 0, terminal.said
    assert "stopped: the time is up after" in terminal.said
    assert "Traceback" not in terminal.said
