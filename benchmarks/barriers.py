"""Blocks that meet at barriers again and again: CPU time per launch, plain and counted, before and after.

    python -m benchmarks.barriers                        # this tree
    python -m benchmarks.barriers --before OTHER_TREE    # beside another checkout, in turn
    python -m benchmarks.barriers --write                # also puts the table into docs/simulator-speed.md

The kernels are those of barriers.cu. Each round is a process of its own with an empty cache; the best of several
launches counts, in CPU time of one thread, so that a busy machine matters little. *Counted* launches count what some of
the blocks do, for simulated times. Both trees must give the same bits and run the same number of instructions, or it
fails; where they simulate other times, as trees with different models do, it says so.
"""

from __future__ import annotations

import argparse
import ctypes as c
import hashlib
import json
import os
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trees import REPORT, ROOT, in_tree, ptx_of, report

SIZE = 512  # of the matrices; they have as many elements as any kernel needs
SAMPLES = 8  # blocks that are counted
FORMS = ("plain", "counted")


@dataclass(frozen=True)
class Work:
    """One launch of a kernel of barriers.cu."""

    title: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


WORKS = (
    Work("product 512³, shared tiles 32×32", "tiled_32", (16, 16, 1), (32, 32, 1)),
    Work("product 512³, shared tiles 16×16", "tiled_16", (32, 32, 1), (16, 16, 1)),
    Work("product 512³, 4×4 register tiles", "register_tile", (8, 8, 1), (256, 1, 1)),
    Work("softmax 512², 20 barriers", "softmax", (512, 1, 1), (256, 1, 1)),
    Work("scan of 256 × 1024, 11 barriers", "scan", (256, 1, 1), (1024, 1, 1)),
)


def measure(launches: int) -> dict[str, dict[str, Any]]:
    """In this process, all works."""
    from evoengineer.files import CACHE_VARIABLE
    from evoengineer.sim.engine.engine import Engine
    from evoengineer.sim.options import DeviceOptions

    plain = DeviceOptions(threads=1, sample_blocks=0, reuse_profiles=False)
    engine = Engine(plain)
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="barriers-") as cache:
        os.environ[CACHE_VARIABLE] = cache  # the runtime has been loaded; kernels are not known yet
        engine.warm_up()
        module = engine.load_module(
            [ptx_of((Path(__file__).parent / "barriers.cu").read_text(encoding="utf-8"))]
        )
        for work in WORKS:
            row: dict[str, Any] = {}
            for form, options in zip(FORMS, (plain, replace(plain, sample_blocks=SAMPLES)), strict=True):
                engine.configure(options)
                _run(engine, module, work, launches, form, row)
            found[work.title] = row
    return found


def _run(engine: Any, module: Any, work: Work, launches: int, form: str, row: dict[str, Any]) -> None:
    from evoengineer.sim.runtime import structs

    random = np.random.default_rng(1)
    places = []
    for _ in range(3):
        values = random.standard_normal(SIZE * SIZE, dtype=np.float32)
        places.append(engine.memory.allocate(structs.DEVICE, values.nbytes))
        c.memmove(places[-1], values.ctypes.data, values.nbytes)
    params = struct.pack("3Qi", *places, SIZE)
    seconds = []
    for _ in range(launches + 1):
        begin = time.process_time()
        result = engine.launch(module, work.kernel, work.grid, work.block, 0, params)
        seconds.append(time.process_time() - begin)
    out = np.zeros(SIZE * SIZE, np.float32)
    c.memmove(out.ctypes.data, places[-1], out.nbytes)
    for place in places:
        engine.memory.free(place)
    image = next(image for image in module.images.values() if image.kernel == work.kernel)
    row[form] = min(seconds[1:])
    simulated = result.elapsed_ns if form == "counted" else 0.0
    row[f"{form} same"] = [hashlib.sha256(out.tobytes()).hexdigest(), image.request.instructions]
    row[f"{form} simulated"] = simulated


def best_of(runs: Sequence[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The quickest of several runs; all must have done the same."""
    for run in runs:
        for title, row in run.items():
            for key in (f"{form} same" for form in FORMS):
                if row[key] != runs[0][title][key]:
                    raise SystemExit(f"{title}, {key}: runs differ: {row[key]} and {runs[0][title][key]}")
    return {
        title: {**row, **{form: min(run[title][form] for run in runs) for form in FORMS}}
        for title, row in runs[0].items()
    }


def table(after: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]] | None) -> str:
    """The measurements as a Markdown table."""
    heads = [f"{form} {when}" for form in FORMS for when in ("before ms", "ms", "speedup")]
    lines = [f"| kernel | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for title, row in after.items():
        cells = []
        for form in FORMS:
            old = before[title][form] if before else None
            cells += [f"{old * 1e3:.1f}" if old else "–", f"{row[form] * 1e3:.1f}"]
            cells.append(f"{old / row[form]:.1f}×" if old else "–")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="another checkout to compare with")
    parser.add_argument("--launches", type=int, default=15, help="of each kernel; the best counts")
    parser.add_argument("--rounds", type=int, default=3, help="of all trees in turn; the best counts")
    parser.add_argument("--write", action="store_true", help=f"write to {REPORT.relative_to(ROOT)}")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.launches)))
        return 0
    child = ("--launches", str(options.launches), "--child")
    now: list[dict[str, dict[str, Any]]] = []
    then: list[dict[str, dict[str, Any]]] = []
    for _ in range(options.rounds):
        now.append(in_tree(ROOT, "barriers", *child))
        if options.before:
            then.append(in_tree(options.before.resolve(), "barriers", *child))
    best_of([*now, *then])  # the same bits and instructions, or it ends here
    if then and any(
        row["counted simulated"] != then[0][title]["counted simulated"] for title, row in now[0].items()
    ):
        print("the trees simulate different times", file=sys.stderr)
    text = table(best_of(now), best_of(then) if then else None)
    print(text)
    if options.write:
        report("barriers", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
