"""Nothing is left behind: whoever is killed, the device process and its shared memory go too."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs" / "lifecycle"
SOURCE = Path(__file__).parents[1] / "src"
START_SECONDS = 120
END_SECONDS = 20


def parents() -> dict[int, int]:
    """Every process that runs (zombies do not) and its parent."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # pid (name) state parent …; the name may contain anything
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # it has ended meanwhile
        if state not in "ZX":
            found[int(entry.name)] = int(parent)
    return found


def descendants(root: int) -> set[int]:
    parent_of = parents()
    found: set[int] = set()
    fresh = {root}
    while fresh:
        fresh = {pid for pid, parent in parent_of.items() if parent in fresh} - found
        found |= fresh
    return found


def session(leader: int) -> set[int]:
    """Processes of the session that the command line was started in, orphans included."""
    found = set()
    for pid in parents():
        try:
            if os.getsid(pid) == leader:
                found.add(pid)
        except OSError:
            continue
    return found


def executable(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/exe").resolve().name
    except OSError:
        return ""


def shared_memory() -> set[str]:
    folder = Path("/dev/shm")
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()


def ends(condition: Callable[[], bool], seconds: float = END_SECONDS) -> bool:
    """Whether the condition comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@contextmanager
def running(name: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command line running a program that has said it is ready."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
    # A shell has its background jobs ignore it, and all that these start: the tests may be one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-m", "evoengineer", "sim", "run", str(PROGRAMS / f"{name}.cu")],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + START_SECONDS
    assert process.stdout is not None
    try:
        said = b""
        while b"ready" not in said:
            if select.select([process.stdout], [], [], 0.1)[0]:
                said += os.read(process.stdout.fileno(), 4096)
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{name} did not start: exit code {process.poll()}, said {said!r}")
        yield process
    finally:
        for pid in session(process.pid) | descendants(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait()
        process.stdout.close()


def program_of(process: subprocess.Popen[bytes], name: str) -> int:
    found = [pid for pid in descendants(process.pid) if executable(pid) == name]
    assert len(found) == 1, f"expected one process of {name}, found {found}"
    return found[0]


@pytest.mark.parametrize("name", ["idle", "busy"])
def test_killed_program_leaves_nothing(name: str) -> None:
    before = shared_memory()
    with running(name) as process:
        everybody = descendants(process.pid)
        os.kill(program_of(process, name), signal.SIGKILL)
        assert ends(lambda: process.poll() is not None), "the command line does not notice"
        assert process.returncode != 0
        assert ends(lambda: not everybody & set(parents())), f"left behind: {everybody & set(parents())}"
        assert ends(lambda: shared_memory() <= before), f"left behind: {shared_memory() - before}"


@pytest.mark.parametrize("name", ["idle", "busy"])
def test_killed_command_line_leaves_nothing(name: str) -> None:
    before = shared_memory()
    with running(name) as process:
        everybody = descendants(process.pid)
        process.kill()
        process.wait()
        assert ends(lambda: not everybody & set(parents())), f"left behind: {everybody & set(parents())}"
        assert ends(lambda: shared_memory() <= before), f"left behind: {shared_memory() - before}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_interrupted_command_line_leaves_nothing(number: signal.Signals) -> None:
    with running("busy") as process:
        everybody = descendants(process.pid)
        process.send_signal(number)
        assert ends(lambda: process.poll() is not None), "the command line does not notice"
        assert process.returncode != 0
        assert ends(lambda: not everybody & set(parents())), f"left behind: {everybody & set(parents())}"
