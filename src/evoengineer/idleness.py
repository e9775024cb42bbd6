"""Is anybody still working? Tells a program that waits for ever from one that a busy machine keeps waiting.

A process that wants to run but is not let to is runnable, however busy the machine; one that sleeps while all whom
it could wait for sleep, too, will never go on. So no limit on wall time is needed to end it, and none is used; one that
works for ever is known by the processor time that it has used (`Endlessness`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

_WAITING = frozenset("StTZX")  # sleeping, stopped, traced, dead; R runs or is ready to, D waits for a disk
_LEAST_SECONDS = 10.0  # of rest until a program counts as idle
_LEAST_LOOKS = 10
LOOK_SECONDS = 0.5  # between two looks


class Idleness:
    """Watches processes with all their descendants. `look` every half second or so.

    Of `supervisors` only the descendants count: they look around themselves, which is no progress.
    """

    def __init__(
        self, pids: Iterable[int] = (), supervisors: Iterable[int] = (), least_seconds: float | None = None
    ) -> None:
        self._pids, self._supervisors = tuple(pids), tuple(supervisors)
        self._least_seconds = _LEAST_SECONDS if least_seconds is None else least_seconds
        self._ticks = -1
        self._since = 0.0
        self._looks = 0

    def look(self) -> bool:
        """Whether nobody has done anything, or was ready to, in many looks over many seconds."""
        below = [child for each in self._supervisors for child in _children_of(each)]
        ticks, active = _activity((*self._pids, *below))
        now = time.monotonic()
        if active or ticks != self._ticks:
            self._ticks, self._since, self._looks = ticks, now, 0
            return False
        self._looks += 1
        return self._looks >= _LEAST_LOOKS and now - self._since >= self._least_seconds


class Endlessness:
    """Watches one process with its descendants: has it used more processor time than it may, or will it wait for ever?

    What it has used before the watch began is not counted.
    """

    def __init__(self, pid: int, most_seconds: float) -> None:
        self._pid, self._most_seconds = pid, most_seconds
        self._idle = Idleness([pid], least_seconds=most_seconds)
        self._before = _cpu_seconds(pid)

    def look(self) -> str:
        """How it spent its time, if it will not end; nothing as long as it may."""
        if _cpu_seconds(self._pid) - self._before > self._most_seconds:
            return f"it has used {self._most_seconds:g} s of processor time"
        return f"it has slept for {self._most_seconds:g} s" if self._idle.look() else ""


def _cpu_seconds(pid: int) -> float:
    return _activity((pid,))[0] / os.sysconf("SC_CLK_TCK")


def _activity(pids: tuple[int, ...]) -> tuple[int, bool]:
    """Clock ticks used by all of them together, and whether any is running or ready to."""
    total, active, waiting, seen = 0, False, list(pids), set(pids)
    while waiting:
        pid = waiting.pop()
        for task in _listed(Path(f"/proc/{pid}/task")):
            state, ticks = _state(task)
            total += ticks
            active = active or state not in _WAITING
            for child in _children(task):
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
    return total, active


def _children_of(pid: int) -> list[int]:
    return [child for task in _listed(Path(f"/proc/{pid}/task")) for child in _children(task)]


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # it has ended
        return []


def _state(task: Path) -> tuple[str, int]:
    try:
        fields = (task / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "X", 0
    return fields[0], int(fields[11]) + int(fields[12])


def _children(task: Path) -> list[int]:
    try:
        return [int(word) for word in (task / "children").read_text().split()]
    except OSError:
        return []
