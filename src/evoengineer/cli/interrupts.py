"""Ctrl-C and SIGTERM while a run or an experiment is worked through."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from types import FrameType


class Interruptible(Protocol):
    """Whatever can be asked to finish: a loop, a bench."""

    def interrupt(self) -> None: ...


class Interrupts:
    """The first signal asks the work to finish, the second leaves at once: the archive has everything."""

    def __init__(self) -> None:
        self.work: Interruptible | None = None
        self.count = 0

    def __call__(self, work: Interruptible) -> None:
        self.work = work

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        self.count += 1
        if self.work is None:
            raise SystemExit(128 + number)
        if self.count > 1:
            sys.stdout.flush()
            os._exit(128 + number)
        self.work.interrupt()


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Handles signals inside; call what it gives with the work that is to be interrupted."""
    interrupts = Interrupts()
    previous = {
        number: signal.signal(number, interrupts.handle) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield interrupts
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
