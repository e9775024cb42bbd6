"""What the search itself costs per trial, next to other systems: an instant endpoint and a judge that does nothing.

    python -m benchmarks.search_overhead                          ours: 1,000 trials, then 10,000
    python -m benchmarks.search_overhead --others OTHER/bin/python

The second compares with evotoolkit 2.0.0 and openevolve, which must be installed apart from this project:

    python -m venv OTHER && OTHER/bin/pip install evotoolkit==2.0.0 openevolve

Every system asks the same fake endpoint over HTTP, one call at a time for each of four workers, and keeps its
run on disk in its own way. What is not installed is skipped, saying so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeVar

from evoengineer.archive import Archive
from evoengineer.archive.reading import summaries
from evoengineer.experiment.journal import RunJournal
from evoengineer.judge.protocol import Built
from evoengineer.judge.verdict import Outcome, Timing, Verdict
from evoengineer.kernel.text import Kernel
from evoengineer.propose.endpoint import Endpoint, EndpointOptions
from evoengineer.propose.fake_endpoint import Answer, Ask, FakeEndpoint
from evoengineer.propose.prices import Model
from evoengineer.search.budget import Budget
from evoengineer.search.endings import LoopOptions
from evoengineer.search.loop import Loop
from evoengineer.search.methods import find_method
from evoengineer.search.progress import Silent
from evoengineer.search.records import Plan, Settled
from evoengineer.search.state import SearchState
from evoengineer.search.task import Task

HERE = Path(__file__).parent
T = TypeVar("T")
WORKERS = 4
KERNEL = """#include <torch/extension.h>
__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * %d.0f;
}
torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
"""


class TrivialJudge:
    """Every kernel is valid; its time follows from its text."""

    def build(self, source: str) -> Future[Built]:
        kernel = Kernel(source).id
        return _done(Built(kernel, kernel))

    def judge(self, source: str) -> Future[Verdict]:
        kernel = Kernel(source).id
        time_us = 50 + int(kernel, 16) % 5000 / 100
        timing = Timing("sim:rtx4090", True, time_us, (time_us, time_us), 100.0, 100 / time_us, (1.0, 1.0))
        return _done(Verdict(Outcome.VALID, "trivial", timing=timing, kernel=kernel, build=kernel))

    def close(self) -> None:
        pass


def _done(value: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(value)
    return future


class Stopwatch(Silent):
    """When each proposal was settled."""

    def __init__(self) -> None:
        self.moments: list[float] = []

    def settled(self, plan: Plan | None, settled: Settled, progress: object) -> None:
        self.moments.append(time.perf_counter())


@dataclass(frozen=True)
class Measured:
    name: str
    trials: int
    seconds: float

    @property
    def ms(self) -> float:
        return 1000 * self.seconds / self.trials


def serve() -> None:
    """The instant endpoint, in a process of its own: a new kernel for every call."""
    numbers = count(1)

    def script(ask: Ask) -> Answer:
        # All systems can read this order of name, code and thought.
        code = KERNEL % next(numbers)
        return Answer(
            f"name: scaled\ncode:\n```cuda\n{code}```\nthought: a thought of ordinary length about memory\n"
        )

    endpoint = FakeEndpoint(script)
    print(endpoint.url, flush=True)
    endpoint.serve()


def run_ours(url: str, trials: int, folder: Path) -> tuple[Measured, list[float]]:
    method, _ = find_method("full")
    task = Task(
        "toy", "Scale a vector.", "def reference(x):\n    return 2 * x", ("x: float32 tensor [1024]",),
        ("float32 tensor [1024]",), ("n=1",), "sim:rtx4090", ("a card",), "13.0", "1e-4", KERNEL % 0,
    )  # fmt: skip
    archive = Archive(folder / "archive.db")
    run = archive.create_run(
        id="run", problem="toy", method="full", proposer="fake", device="sim:rtx4090", seed=0, trials=trials,
        settings={}, task=task.to_json(), environment={},
    )  # fmt: skip
    proposer = Endpoint(Model("fake", "fake", None, "NONE", None), EndpointOptions(base_url=url))
    watch = Stopwatch()
    loop = Loop(
        run="run",
        state=SearchState(method, task, 0),
        journal=RunJournal(archive, run),
        proposer=proposer,
        judge=TrivialJudge(),
        budget=Budget(trials=trials),
        options=LoopOptions(workers=WORKERS),
        observer=watch,  # type: ignore[arg-type]
    )
    started = time.perf_counter()
    result = loop.run()
    seconds = time.perf_counter() - started
    assert result.progress.trials == trials
    proposer.close()
    archive.close()
    return Measured("evoengineer", trials, seconds), watch.moments


def run_other(python: Path, system: str, url: str, trials: int) -> Measured | None:
    """Another system under its own interpreter; None, with a note, when it cannot be run."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(python), str(HERE / "search_overhead_others.py"), system, url, str(trials), folder],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        print(f"{system}: skipped: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
        return None
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    return Measured(answer["name"], answer["trials"], answer["seconds"])


def flatness(moments: list[float]) -> list[tuple[int, float]]:
    """Milliseconds per trial in windows around 10, 100, 1,000 and 10,000 trials."""
    found = []
    for end in (10, 100, 1000, 10_000):
        if end < len(moments):
            start = max(1, end - max(9, end // 5))
            found.append((end, 1000 * (moments[end] - moments[start]) / (end - start)))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="The cost of the search itself, per trial.")
    parser.add_argument(
        "--others", type=Path, metavar="PYTHON", help="an interpreter that has the other systems"
    )
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--long", type=int, default=10_000, help="trials of the long run; 0: none")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.search_overhead", "--serve"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            rows = [run_ours(url, options.trials, Path(folder))[0]]
        if options.others is None:
            print(__doc__)
        else:
            for system in ("evotoolkit", "openevolve"):
                measured = run_other(options.others, system, url, options.trials)
                if measured is not None:
                    rows.append(measured)
        print(f"{'system':<22}{'trials':>8}{'ms per trial':>14}{'of ours':>9}")
        for row in rows:
            print(f"{row.name:<22}{row.trials:>8}{row.ms:>14.2f}{row.ms / rows[0].ms:>8.1f}x")
        if options.long:
            _long_run(url, options.long)
    finally:
        server.terminate()
        server.wait()
    return 0


def _long_run(url: str, trials: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measured, moments = run_ours(url, trials, folder)
        print(f"\n{trials:,} trials: {measured.ms:.2f} ms per trial")
        for end, ms in flatness(moments):
            print(f"  around trial {end:>6,}: {ms:.2f} ms")
        started = time.perf_counter()
        with Archive(folder / "archive.db") as archive:
            listed = summaries(archive)
        seconds = time.perf_counter() - started
        print(f"  opening and listing the archive: {1000 * seconds:.0f} ms ({listed[0].trials:,} trials)")


if __name__ == "__main__":
    sys.exit(main())
