"""Processes that must not outlive the one that started them, nor end before it wants them to."""

import ctypes
import signal
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl  # found beforehand: after a fork nothing but the system call is safe


def die_with_parent() -> None:
    """The kernel ends this process when the one that started it ends, however that ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def belong_to_parent() -> None:
    """As `die_with_parent`; signals to the process group (Ctrl-C, `timeout`, a closed terminal) are for the parent to
    act upon, and when memory runs out the kernel is to take this process rather than that one."""
    die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")
