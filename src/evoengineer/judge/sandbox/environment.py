"""Was it the machine? What tells a failure of the environment from one of the candidate.

A full disk, a process that the kernel killed for lack of memory and a signal from outside are no verdict on
anybody's kernel. Nothing here goes by what a program printed: a candidate's text could print the same.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from evoengineer.judge.sandbox.process import Exit

# Sent by people, shells, service managers and the kernel's killer; none of them by our own limits.
_FROM_OUTSIDE = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL})
_LEAST_FREE_BYTES = 32 << 20
_LEAST_FREE_FILES = 64


@dataclass(frozen=True, slots=True)
class Surroundings:
    """As they were before something was started."""

    oom_kills: int

    @classmethod
    def now(cls) -> Surroundings:
        return cls(_oom_kills())

    def trouble(self, folder: Path) -> str:
        """What has gone wrong with the machine since, as far as can be seen; empty: nothing."""
        if _oom_kills() > self.oom_kills:
            return "the system ran out of memory and killed a process"
        try:
            disk = os.statvfs(folder)
        except OSError as error:
            return f"{folder} is gone: {error.strerror}"
        if disk.f_bavail * disk.f_frsize < _LEAST_FREE_BYTES or (
            disk.f_files and disk.f_favail < _LEAST_FREE_FILES
        ):
            return f"the disk that holds {folder} is full"
        return ""


def from_outside(ending: Exit) -> bool:
    """Was it ended by a signal that neither our limits nor its own faults send? (It may have sent it itself.)"""
    if ending.limit:
        return False
    return ending.signal in _FROM_OUTSIDE or (ending.code or 0) - 128 in _FROM_OUTSIDE


def _oom_kills() -> int:
    try:
        for line in Path("/proc/vmstat").read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
    except OSError:
        pass
    return 0
