"""Processes that must not outlive the one that started them."""

import ctypes
import signal

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl  # found beforehand: after a fork nothing but the system call is safe


def die_with_parent() -> None:
    """The kernel ends this process when the one that started it ends, however that ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
