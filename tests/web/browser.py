"""A real Chromium, and the dashboard as a process of its own, for tests that look at pages as people do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WAIT_MS = 600_000  # a run on the simulated GPU, on a machine that is busy with other tests


def chromium() -> str:
    """The browser's program; skips where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium: apt-get install chromium")


@contextmanager
def browser() -> Iterator[Any]:
    """Tests may run as root, where Chromium's own sandbox does not work; the pages are ours."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def serving(archive: Path) -> Iterator[str]:
    """The address of a dashboard over the archive."""
    process = subprocess.Popen(
        [sys.executable, "-m", "evoengineer", "serve", "--archive", str(archive), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1].rstrip("/")
    finally:
        process.terminate()
        process.wait()
