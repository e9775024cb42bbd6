"""How long the dashboard's server needs for its pages: a run of 10,000 trials, and 1,000 runs of 45.

    python -m benchmarks.dashboard

Each page is asked for through the application itself, without a network; the time is the server's own
(`Server-Timing`), the median of several: by the clock, which other work on the machine adds to, and of the processor.
The first answer stands apart: later ones may find the list of runs counted already.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
from pathlib import Path

from starlette.testclient import TestClient
from tests.report.made import Made, add_run

from evoengineer.judge.verdict import Outcome
from evoengineer.web.app import Dashboard
from evoengineer.web.guard import Guard

REPEATS = 7
LIMIT_MS = 300.0


def trials(count: int, seed: int) -> list[Made]:
    """As a search would leave them: a half valid, parents among the latest."""
    choose = random.Random(seed)
    source = "// a line of a kernel, as long as lines are\n" * 120
    return [
        Made(
            choose.uniform(40, 120) if choose.random() < 0.5 else None,
            parents=(max(0, number - choose.randint(1, 20)),),
            source=f"// {seed} {number}\n{source}",
        )
        for number in range(count)
    ]


def finished(made: list[Made]) -> list[Made]:
    """Those without a time failed."""
    failed = Made(outcome=Outcome.WRONG)
    return [each if each.time_us is not None else failed for each in made]


def median_ms(client: TestClient, address: str) -> tuple[float, float, float, int]:
    """Processor time of the first answer, medians by the clock and of the processor, and the page's size."""
    times, busy = [], []
    for _ in range(REPEATS):
        answer = client.get(address)
        assert answer.status_code == 200, answer.text
        wall, processor = (each.partition("dur=")[2] for each in answer.headers["server-timing"].split(","))
        times.append(float(wall))
        busy.append(float(processor))
    return busy[0], statistics.median(times), statistics.median(busy), len(answer.content)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        large, many = Path(folder) / "large.db", Path(folder) / "many.db"
        add_run(large, "large", finished(trials(10_000, 0)))
        for number in range(1000):
            add_run(many, f"run-{number}", finished(trials(45, number)), seed=number)
        pages = [
            (large, "/run?id=large", "run of 10,000 trials"),
            (large, "/run?id=large&page=150&sort=fastest&q=kernel", "the same, sorted and searched"),
            (large, "/run/points?id=large", "all of its chart's data"),
            (large, "/run/points?id=large&after=9990", "what is new of it"),
            (large, "/trial?run=large&n=9000", "one of its trials"),
            (many, "/", "list of 1,000 runs"),
            (many, "/?q=run-77", "the same, searched"),
            (many, "/compare?run=run-1&run=run-2", "two runs compared"),
        ]
        worst = 0.0
        print(
            "| page | first, processor | median, processor | median, clock | size |\n|---|---:|---:|---:|---:|"
        )
        for archive, address, name in pages:
            client = TestClient(Dashboard(archive, Guard("localhost")).app(), base_url="http://localhost")
            first, took, busy, size = median_ms(client, address)
            worst = max(worst, first)
            figures = f"{first:.0f} ms | {busy:.0f} ms | {took:.0f} ms | {size / 1024:.0f} KiB"
            print(f"| {name} | {figures} |", flush=True)
    return 0 if worst < LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
