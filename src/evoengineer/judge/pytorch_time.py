"""How long PyTorch itself takes on a problem's bench case: eager, and through torch.compile.

A process of its own, as torch is not for the judge's: `python -m evoengineer.judge.pytorch_time`. Timed as kernels
are: warm-up, caches flushed, inputs in turn, median. Runs on whatever device torch is told, the CPU included.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evoengineer.card.name import DeviceName
from evoengineer.judge.measurement import (
    FLUSH_BYTES,
    LEAST_REPETITIONS,
    WARM_UP_CALLS,
    WARM_UP_SECONDS,
)
from evoengineer.problem.model import Distribution, Problem

INPUT_SETS = 8  # PyTorch keeps no results: a few in turn will do


def pytorch_times(problem: Problem, device: DeviceName) -> tuple[float | None, float | None]:
    """(eager, compiled) in microseconds; None where PyTorch cannot, say because it is a build without CUDA."""
    run = subprocess.run(
        [sys.executable, "-m", "evoengineer.judge.pytorch_time", str(problem.path), problem.name, str(device)],
        capture_output=True, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    if run.returncode != 0 or not run.stdout.strip():
        return None, None
    times = json.loads(run.stdout.splitlines()[-1])
    return times["eager_us"], times["compiled_us"]


def time_calls(
    call: Callable[[int], Any],
    sets: int,
    before: Callable[[], None],
    elapsed_us: Callable[[Callable[[], Any]], float],
) -> float:
    """The median of timed calls on rotating inputs."""
    begin, calls = time.monotonic(), 0
    while calls < WARM_UP_CALLS or time.monotonic() - begin < WARM_UP_SECONDS:
        call(calls % sets)
        calls += 1
    times = []
    for repetition in range(LEAST_REPETITIONS):
        before()
        times.append(elapsed_us(lambda number=repetition % sets: call(number)))  # type: ignore[misc]
    return statistics.median(times)


def main(arguments: Sequence[str]) -> int:
    """Times as JSON on standard output; exit code 1 where there is no such device."""
    import torch

    from evoengineer.problem.live import open_live

    path, name, device = arguments
    on_gpu = torch.device(device).type == "cuda"
    if on_gpu and not torch.cuda.is_available():
        return 1
    live = open_live(Path(path), name)
    case = live.problem.bench_case
    drawn = [live.inputs(case, Distribution.NORMAL, seed) for seed in range(INPUT_SETS)]
    on_device = [{n: _move(v, device) for n, v in inputs.items()} for inputs in drawn]

    def flush() -> None:
        torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=device).zero_()

    def elapsed_us(call: Callable[[], Any]) -> float:
        if not on_gpu:
            begin = time.perf_counter()
            call()
            return (time.perf_counter() - begin) * 1e6
        event: Any = torch.cuda.Event
        start, end = event(enable_timing=True), event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        return float(start.elapsed_time(end)) * 1e3

    def eager(number: int) -> Any:
        return live.outputs(case, on_device[number], double=False)

    times: dict[str, float | None] = {
        "eager_us": time_calls(eager, INPUT_SETS, flush, elapsed_us),
        "compiled_us": None,
    }
    try:
        compiled = torch.compile(eager)
        times["compiled_us"] = time_calls(compiled, INPUT_SETS, flush, elapsed_us)
    except Exception as error:  # not every reference compiles; the eager time stands
        print(f"torch.compile: {error}", file=sys.stderr)
    print(json.dumps(times))
    return 0


def _move(value: Any, device: str) -> Any:
    return value.to(device) if hasattr(value, "to") else value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
