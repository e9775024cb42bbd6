"""An archive with runs for pages to show, one of them hostile, and a client without a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.report.made import Made, add_run

from evoengineer.judge.verdict import Outcome
from evoengineer.web.app import Dashboard
from evoengineer.web.guard import Guard

HOSTILE = '</script><script>window.fooled = 1</script><img src=x onerror="window.fooled = 2">\'"{{ 7*7 }}'


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    file = tmp_path / "archive.db"
    trials = [
        Made(80),
        Made(outcome=Outcome.WRONG, parents=(1,)),
        Made(50, parents=(1, 0)),
        Made(60, parents=(3,)),
    ]
    add_run(file, "good", trials, problem="s/f/toy")
    add_run(file, "b/s/f/toy/full/m/0", [Made(40)], problem="s/f/toy", method="full")
    bad = Made(20, source=f"// {HOSTILE}\n__global__ void k() {{}}\n", name=HOSTILE, thought=HOSTILE)
    add_run(file, HOSTILE, [bad], problem=HOSTILE, method=HOSTILE, model=HOSTILE)
    return file


@pytest.fixture
def guard() -> Guard:
    return Guard("127.0.0.1")


@pytest.fixture
def client(archive: Path, guard: Guard) -> TestClient:
    return TestClient(
        Dashboard(archive, guard).app(), base_url="http://127.0.0.1:8765", follow_redirects=False
    )
