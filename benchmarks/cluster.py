"""What a cluster costs the driver: overhead per judgement, and trials per second against judges that only sleep.

    python -m benchmarks.cluster                     64 sleepers, 10,000 trials
    python -m benchmarks.cluster --sleepers 16 --trials 1000

A Ray cluster is started on this machine whose one node claims as many cores as the sleepers need; they sleep, so it
does not matter that it has fewer. The whole driver is at work: search, archive, gateway, Ray. Reported are

- the overhead per judgement: build and judge through the cluster, one after the other, against the same crew called
  from a pool of threads in this process;
- settled trials per second, and around trial 100, 1,000 and 10,000; wall time against the sleepers' own;
- of the driver's own processes: milliseconds of CPU time per trial; bytes in the archive per trial.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.search_overhead import KERNEL, Stopwatch
from benchmarks.sleepers import SLEEP_VARIABLE, Judge, build
from evoengineer.archive.store import Archive
from evoengineer.cluster.pool import Cluster, ClusterPool
from evoengineer.experiment.journal import RunJournal
from evoengineer.judge.options import JudgeOptions
from evoengineer.problem.catalog import Description, find_problem
from evoengineer.propose.fake_script import reply_text
from evoengineer.propose.protocol import Estimate, Reply, Request, Usage
from evoengineer.search.budget import Budget
from evoengineer.search.endings import LoopOptions
from evoengineer.search.loop import Loop
from evoengineer.search.methods import find_method
from evoengineer.search.state import SearchState
from evoengineer.search.task import Task

ROOT = Path(__file__).parents[1]
OPTIONS = JudgeOptions(run_seed=1, use_cache=False)
CREW = "benchmarks.sleepers"
WINDOWS = (100, 1000, 10_000)


class Instant:
    """A proposer that has a new kernel for every call."""

    name = "instant"

    def estimate(self, system: str, user: str) -> Estimate:
        return Estimate()

    def propose(self, request: Request) -> Reply:
        text = reply_text(KERNEL % request.number, "scaled", "a thought of ordinary length about memory")
        return Reply(text, "instant", Usage(0, 0, 0, 0))

    def close(self) -> None:
        pass


@contextmanager
def one_node(sleepers: int, seconds: float) -> Iterator[str]:
    """The address of a cluster with places for so many judges."""
    from ray.cluster_utils import Cluster as RayCluster

    from evoengineer.cluster.gateway import UNWATCHED

    folder = tempfile.mkdtemp(prefix="evo-ray-", dir="/tmp")
    Path("/tmp/ray").mkdir(exist_ok=True)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    os.environ[SLEEP_VARIABLE] = str(seconds)
    cluster = RayCluster()
    try:
        cores = next(n for n in range(2, 2 * sleepers + 4) if n - -(-n // 4) >= sleepers)
        cluster.add_node(num_cpus=cores, include_dashboard=False, temp_dir=folder, _system_config=UNWATCHED)
        yield cluster.address
    finally:
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def overhead_ms(judgements: int) -> tuple[float, float]:
    """Of a judgement by a crew that does nothing: through the cluster, and in threads of this process."""
    sources = [KERNEL % (1_000_000 + k) for k in range(judgements)]
    description = find_problem("softmax")
    with one_node(1, 0.0) as address, Cluster(address, OPTIONS, crew=CREW) as cluster:
        pool = ClusterPool(cluster, description)
        for source in [KERNEL % k for k in range(3_000_000, 3_000_010)]:  # everything is started
            pool.judge(source).result()
        begin = time.perf_counter()
        for source in sources:
            pool.build(source).result()
            pool.judge(source).result()
        there = time.perf_counter() - begin
    judge = Judge(OPTIONS, 1)
    with ThreadPoolExecutor(1) as builders, ThreadPoolExecutor(1) as judges:
        begin = time.perf_counter()
        for k, source in enumerate(sources):
            _, package = builders.submit(build, b"", source, None, OPTIONS).result()
            judges.submit(judge.judge, b"", f"{k:x}", package, None, None).result()
        here = time.perf_counter() - begin
    return 1000 * there / judgements, 1000 * here / judgements


def throughput(sleepers: int, trials: int, seconds: float) -> bool:
    """Run the whole driver; whether every target is met."""
    description = find_problem("softmax")
    with one_node(sleepers, seconds) as address, Cluster(address, OPTIONS, crew=CREW) as cluster:
        pool = ClusterPool(cluster, description)
        pool.judge_baseline()
        while cluster.standing.judges < sleepers:
            time.sleep(0.5)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "archive.db"
            begin, before = time.perf_counter(), cpu_seconds()
            moments = run(path, description, pool, trials, lookahead=2 * sleepers)
            wall, after = time.perf_counter() - begin, cpu_seconds()
            size = path.stat().st_size
    ideal = trials * seconds / sleepers
    print(f"{trials:,} trials, {sleepers} sleepers of {seconds:g} s: {trials / wall:.0f} trials per second")
    print(f"  wall time {wall:.1f} s, the sleepers' own {ideal:.1f} s: {wall / ideal:.2f}x of ideal")
    for part, used in after.items():
        print(f"  CPU time per trial, {part}: {1000 * (used - before[part]) / trials:.2f} ms")
    print(f"  archive: {size / trials:.0f} bytes per trial")
    rates = []
    for end in WINDOWS:
        if end < len(moments):
            start = end - max(50, end // 5)
            rates.append((end - start) / (moments[end] - moments[start]))
            print(f"  around trial {end:>6,}: {rates[-1]:.0f} per second")
    return trials / wall >= 150 and wall <= 1.15 * ideal


def cpu_seconds() -> dict[str, float]:
    """CPU time of this process and of all that it started, by what they are."""
    tick = os.sysconf("SC_CLK_TCK")
    parents, found = {}, {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(fields[1])
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            found[int(entry.name)] = (words, (int(fields[11]) + int(fields[12])) / tick)
    sums = {"driver": 0.0, "gateway": 0.0, "Ray's daemons": 0.0, "builders and sleepers": 0.0}
    for pid, (words, seconds) in found.items():
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid():
            sums[_part(pid, words)] += seconds
    return sums


def _part(pid: int, words: str) -> str:
    if pid == os.getpid():
        return "driver"
    if "cluster.gateway" in words:
        return "gateway"
    return "builders and sleepers" if words.startswith("ray::") else "Ray's daemons"


def run(path: Path, description: Description, pool: ClusterPool, trials: int, lookahead: int) -> list[float]:
    """A search with an instant proposer; when each trial was settled."""
    method = find_method("full")[0].with_switches(repair=None, knowledge=False, lookahead=lookahead)
    assert description.problem.baseline is not None
    task = Task(
        "toy", "Scale a vector.", "def reference(x):\n    return 2 * x", ("x: float32 tensor [1024]",),
        ("float32 tensor [1024]",), ("n=1",), "sim:rtx4090", ("a card",), "13.0", "1e-4",
        description.problem.baseline.read_text(encoding="utf-8"),
    )  # fmt: skip
    with Archive(path) as archive:
        record = archive.create_run(
            id="run", problem="toy", method="full", proposer="instant", device="sim:rtx4090", seed=0,
            trials=trials, settings={}, task=task.to_json(), environment={},
        )  # fmt: skip
        watch = Stopwatch()
        loop = Loop(
            run="run",
            state=SearchState(method, task, 0),
            journal=RunJournal(archive, record),
            proposer=Instant(),
            judge=pool,
            budget=Budget(trials=trials),
            options=LoopOptions(workers=8),
            observer=watch,  # type: ignore[arg-type]
            standing=pool.standing,
        )
        result = loop.run()
        assert result.progress.trials == trials, result.reason
    return watch.moments


def main() -> int:
    parser = argparse.ArgumentParser(description="What a cluster costs the driver.")
    parser.add_argument("--sleepers", type=int, default=64)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=0.4, help="that each judgement sleeps")
    parser.add_argument("--judgements", type=int, default=200, help="for the overhead; 0: not measured")
    options = parser.parse_args()
    good = True
    if options.judgements:
        there, here = overhead_ms(options.judgements)
        print(
            f"a judgement that does nothing: {there:.2f} ms through the cluster, {here:.2f} ms in threads here"
        )
        print(f"  overhead {there - here:.2f} ms (target: at most 15)")
        good = there - here <= 15
    good &= throughput(options.sleepers, options.trials, options.seconds)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
