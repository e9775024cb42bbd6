"""How fast the simulated GPU is, in ratios to the same computation as a C loop on the same core.

    python -m benchmarks.simulator_speed            # prints the table; exit code 1 if a target is missed
    python -m benchmarks.simulator_speed --json
    python -m benchmarks.simulator_speed --write    # also updates docs/simulator-speed.md

One run, one core (`--threads 1`, pinned), memory checks on, an empty cache at the start. Absolute
times depend on the machine; targets are ratios, except those for compile time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.measuring import (
    Timing,
    build_kernels,
    build_loops,
    cache_files,
    instruction_counts,
    run_kernel,
    run_loop,
)

REPORT = Path(__file__).parent.parent / "docs" / "simulator-speed.md"
MATMUL_GFLOP = 2 * 512**3 / 1e9
CONV_GFLOP = 2 * 25 * 1024**2 / 1e9
ADD_GB = 3 * 4 * 16 * 2**20 / 1e9
SOFTMAX_GB = 2 * 4 * 2048**2 / 1e9


MATMUL = ("matmul_ijk", MATMUL_GFLOP, "GFLOP/s")


@dataclass(frozen=True)
class Benchmark:
    name: str
    title: str
    kernel: str  # in kernels.cu
    loop: str  # in loops.c
    amount: float  # of work
    unit: str
    target: float | None  # at least this many times the speed of the loop
    study_jit: float  # seconds in the feasibility study, on another day and load
    study_run: float


BENCHMARKS = (
    Benchmark("vector_add", "vector add, 16 M", "vector_add", "vector_add", ADD_GB, "GB/s", None, 0.03, 9.5e-3),
    Benchmark("softmax", "softmax 2048²", "softmax", "softmax", SOFTMAX_GB, "GB/s", 0.25, 0.29, 13.4e-3),
    Benchmark("matmul_32x8", "matmul 512³ naive, 32×8", "matmul_naive", *MATMUL, 1.0, 0.08, 9.1e-3),
    Benchmark("matmul_16x16", "matmul 512³ naive, 16×16", "matmul_naive", *MATMUL, 1.0, 0.09, 8.0e-3),
    Benchmark("matmul_tiled", "matmul 512³ shared tiles, 32×32", "matmul_tiled", *MATMUL, 0.5, 0.13, 13.7e-3),
    Benchmark("conv2d", "conv2d 1024², 5×5", "conv2d", "conv2d", CONV_GFLOP, "GFLOP/s", None, 0.31, 6.7e-3),
    Benchmark("sgemm", "sgemm 512³, 8×8 register tiles", "sgemm_registers", *MATMUL, None, 3.2, 19.4e-3),
)  # fmt: skip
OTHER_LOOPS = ("matmul_ijk_n", "matmul_ikj")
TWO_THREADS = ("matmul_32x8", "matmul_tiled", "softmax")
MAX_ERROR = 1e-3
HEADING = """# Speed of the simulated GPU

Written by `python -m benchmarks.simulator_speed --write` in one run on one core, with memory checks on.
Times depend on the machine; the ratios are what we promise.
"""


@dataclass(frozen=True)
class Result:
    """A benchmark with everything measured about it."""

    benchmark: Benchmark
    instructions: int
    timing: Timing
    again: Timing  # in a second process, from the cache on disk
    recompiled: int  # files which that process added to the cache: none if it found all it needed
    loop: float
    two_threads: float | None  # best seconds with two threads, where measured

    @property
    def ratio(self) -> float:
        return self.loop / self.timing.best

    @property
    def jit_target(self) -> float:
        return 0.5 if self.instructions < 500 else 3.0


@dataclass(frozen=True)
class Target:
    """One thing promised: what, how much was measured, and whether that is enough."""

    what: str
    measured: str
    wanted: str
    met: bool


def targets(results: list[Result]) -> list[Target]:
    """Every promise, in the order of the table."""
    found = []
    for one in results:
        name, timing = one.benchmark.title, one.timing
        found.append(
            Target(
                f"{name}: result",
                f"error {timing.error:.1e}",
                f"≤ {MAX_ERROR:.0e}",
                timing.error <= MAX_ERROR,
            )
        )
        if one.benchmark.target is not None:
            wanted = one.benchmark.target
            found.append(
                Target(
                    f"{name}: speed of the C loop", f"{one.ratio:.2f}×", f"≥ {wanted:g}×", one.ratio >= wanted
                )
            )
        size = f"{one.instructions} PTX instructions"
        found.append(
            Target(
                f"{name}: compile time ({size})",
                f"{timing.jit:.2f} s",
                f"< {one.jit_target:g} s",
                timing.jit < one.jit_target,
            )
        )
        extra, slack = timing.second - timing.best, max(0.25 * timing.jit, 0.03)
        found.append(
            Target(
                f"{name}: second launch compiles nothing",
                f"{extra * 1e3:.1f} ms more than the best",
                f"< {slack * 1e3:.0f} ms",
                extra < slack,
            )
        )
        found.append(
            Target(
                f"{name}: second process compiles nothing",
                f"{one.recompiled} new cache files",
                "0",
                one.recompiled == 0,
            )
        )
        if one.two_threads is not None:
            gain = timing.best / one.two_threads
            found.append(Target(f"{name}: two threads against one", f"{gain:.2f}×", "≥ 1.6×", gain >= 1.6))
    return found  # fmt: skip


def measure(
    scratch: Path, launches: int, rounds: int, only: list[str], log: Callable[[str], None]
) -> tuple[list[Result], dict[str, float]]:
    """All benchmarks one after another, and the further C loops for comparison.

    Kernel and loop take turns for several rounds and the best of each counts, so that a busy machine
    hits both alike.
    """
    kernels, loops, counts = build_kernels(scratch), build_loops(scratch), instruction_counts(scratch)
    cores = sorted(os.sched_getaffinity(0))
    one, two, cache = cores[-1:], cores[-2:], scratch / "cache"
    results = []
    for benchmark in BENCHMARKS:
        if only and benchmark.name not in only:
            continue
        log(benchmark.title)
        timing = run_kernel(kernels, benchmark.name, launches, cache, one)
        loop = run_loop(loops, benchmark.loop, launches, one)
        files = cache_files(cache)
        again = run_kernel(kernels, benchmark.name, launches, cache, one)
        added = len(cache_files(cache) - files)
        both = None
        for _ in range(rounds):
            more = run_kernel(kernels, benchmark.name, launches, cache, one)
            timing = replace(timing, best=min(timing.best, again.best, more.best))
            loop = min(loop, run_loop(loops, benchmark.loop, launches, one))
            if benchmark.name in TWO_THREADS and len(two) == 2:
                best = run_kernel(kernels, benchmark.name, launches, cache, two).best
                both = best if both is None else min(both, best)
        results.append(Result(benchmark, counts[benchmark.kernel], timing, again, added, loop, both))
    others = {name: min(run_loop(loops, name, launches, one) for _ in range(rounds)) for name in OTHER_LOOPS}
    return results, others


def table(results: list[Result], others: dict[str, float]) -> str:
    """The measurements as a Markdown table."""
    lines = ["| kernel (fp32) | PTX instr. | JIT s (study) | from cache s | run ms (study) | rate "
             "| C loop ms | speed of the C loop | two threads |",
             "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for one in results:
        benchmark, timing = one.benchmark, one.timing
        gain = "–" if one.two_threads is None else f"{timing.best / one.two_threads:.2f}×"
        lines.append(
            f"| {benchmark.title} | {one.instructions} | {timing.jit:.2f} ({benchmark.study_jit:.2f}) "
            f"| {one.again.jit:.2f} | {timing.best * 1e3:.1f} ({benchmark.study_run * 1e3:.1f}) "
            f"| {benchmark.amount / timing.best:.1f} {benchmark.unit} "
            f"| {one.loop * 1e3:.1f} | {one.ratio:.2f}× | {gain} |"
        )
    lines.append("")
    lines.append("The matmul loop is i, j, k with the size known at compile time, which gcc reorders and vectorises. "
                 f"With the size as an argument it takes {others['matmul_ijk_n'] * 1e3:.1f} ms, in the order i, k, j "
                 f"{others['matmul_ikj'] * 1e3:.1f} ms. In brackets: the feasibility study's figures.")  # fmt: skip
    return "\n".join(lines)


def target_table(found: list[Target]) -> str:
    lines = ["| target | measured | wanted | |", "|---|---|---|---|"]
    lines += [f"| {t.what} | {t.measured} | {t.wanted} | {'met' if t.met else '**missed**'} |" for t in found]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument(
        "--write", action="store_true", help=f"write the tables to {REPORT.relative_to(REPORT.parent.parent)}"
    )
    parser.add_argument("--launches", type=int, default=7, help="of each kernel; the best counts")
    parser.add_argument("--rounds", type=int, default=2, help="of kernel and loop in turn; the best counts")
    parser.add_argument("only", nargs="*", help=f"some of: {', '.join(b.name for b in BENCHMARKS)}")
    options = parser.parse_args()
    unknown = set(options.only) - {b.name for b in BENCHMARKS}
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="speed-") as directory:
        log: Callable[[str], None] = lambda text: print(f"… {text}", file=sys.stderr, flush=True)  # noqa: E731
        results, others = measure(Path(directory), options.launches, options.rounds, options.only, log)
    found = targets(results)
    text = f"{table(results, others)}\n\n{target_table(found)}\n"
    if options.json:
        print(
            json.dumps(
                {
                    "results": [asdict(r) for r in results],
                    "loops": others,
                    "targets": [asdict(t) for t in found],
                },
                indent=2,
            )
        )
    else:
        print(text)
    if options.write:
        _, heading, rest = REPORT.read_text(encoding="utf-8").partition("\n## ")  # benchmarks/guards.py
        REPORT.write_text(f"{HEADING}\n{text}{heading}{rest}", encoding="utf-8")
    missed = sum(not t.met for t in found)
    print(f"{len(found) - missed} of {len(found)} targets met", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
