"""Word of launches that take long."""

from __future__ import annotations

import io
import re
import threading

from evoengineer.sim.engine.progress import reported
from evoengineer.sim.runtime.native import launch_progress


class Heard(io.StringIO):
    """Tells when something has been written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def write(self, text: str) -> int:
        found = super().write(text)
        if "\n" in text:
            self.written.set()
        return found


def test_a_long_launch_says_how_far_it_is() -> None:
    heard = Heard()
    with reported("_Z4copyPf", 0.001, heard):
        assert heard.written.wait(60)
    assert re.match(
        r"evoengineer: copy has run for \d+ s; \d+ of its \d+ blocks have started\n", heard.getvalue()
    )


def test_a_short_launch_says_nothing() -> None:
    heard = Heard()
    with reported("copy", 3600, heard):
        pass
    assert heard.getvalue() == ""


def test_blocks_that_have_started_are_never_more_than_there_are() -> None:
    begun, blocks = launch_progress()
    assert 0 <= begun <= blocks
