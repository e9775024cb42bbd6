"""Word of launches that take long: how far they are, on stderr, so that nobody takes them for stuck."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from evoengineer.sim.runtime.native import launch_progress
from evoengineer.toolchain.demangle import demangle

EVERY_SECONDS = 10.0


@contextmanager
def reported(
    kernel: str, every_seconds: float = EVERY_SECONDS, stream: TextIO | None = None
) -> Iterator[None]:
    """While this is open, a line from time to time; none for a launch that is over before that."""
    done = threading.Event()
    started = time.monotonic()

    def report() -> None:
        while not done.wait(every_seconds):
            print(_line(kernel, time.monotonic() - started), file=stream or sys.stderr, flush=True)

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _line(kernel: str, seconds: float) -> str:
    begun, blocks = launch_progress()
    name = demangle(kernel).partition("(")[0] or kernel
    return f"evoengineer: {name} has run for {seconds:.0f} s; {begun} of its {blocks} blocks have started"
