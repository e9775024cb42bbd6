"""Kernels with divergent guards in inner loops: CPU time per launch, with and without exact totals, before and after.

    python -m benchmarks.guards                        # this tree
    python -m benchmarks.guards --before OTHER_TREE    # beside another checkout, in turn
    python -m benchmarks.guards --write                # also puts the table into docs/simulator-speed.md

The kernels are baselines of `kernels91` as they are, on inputs that take a fraction of a second, and a product whose
size is no multiple of its tiles. Each measurement is a process of its own with an empty cache; the best of several
launches counts, in CPU time, so that a busy machine matters little. Both trees must give the same bits and run the same
number of instructions, or it fails.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trees import REPORT, ROOT, in_tree, ptx_of, report

SUITE = ROOT / "src/evoengineer/suites/kernels91/convolution"
MOST_FOR_TOTALS = 1.15
PRODUCT = r"""
__global__ void product(const float* a, const float* b, float* out, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    out[row * n + column] = sum;
}
"""


@dataclass(frozen=True)
class Work:
    """One launch: device code, the kernel's name, inputs, elements of the result, what follows the pointers."""

    title: str
    source: Path | None  # None: PRODUCT
    kernel: str
    inputs: tuple[int, int]
    outputs: int
    scalars: bytes
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


def _convolution(
    title: str, folder: str, kernel: str, inputs: tuple[int, int], total: int, *shape: int
) -> Work:
    words = struct.pack(f"{len(shape)}i", *shape)
    scalars = words + b"\0" * (-len(words) % 8) + struct.pack("q", total)
    grid = (-(-total // 256), 1, 1)
    return Work(title, SUITE / folder / "baseline.cu", kernel, inputs, total, scalars, grid, (256, 1, 1))


WORKS = (
    _convolution("conv2d 3×3, padded, 8 × 112²", "conv2d_square_input_square_kernel", "conv2d",
                 (8 * 112**2, 8 * 8 * 9), 8 * 112**2, 8, 112, 112, 8, 3, 112, 112, 1, 1),
    _convolution("conv3d 3×3×3, padded, 8 × 32³", "conv3d_square_input_square_kernel", "conv3d",
                 (8 * 32**3, 8 * 8 * 27), 8 * 32**3, 8, 32, 32, 32, 8, 3, 32, 32, 32, 1, 1),
    _convolution("transposed conv2d, stride 2, groups", "conv_transpose2d_strided_padded_dilated_grouped",
                 "conv_transpose2d", (16 * 28**2, 16 * 4 * 9), 16 * 55**2,
                 16, 28, 28, 16, 3, 3, 55, 55, 4, 4, 2, 2, 1, 1, 1, 1),
    Work("product 250³, 32×8, edges", None, "product", (250**2, 250**2), 250**2, struct.pack("i", 250),
         (8, 32, 1), (32, 8, 1)),
)  # fmt: skip


def measure(launches: int, totals: bool) -> dict[str, dict[str, Any]]:
    """In this process, all works."""
    from evoengineer.files import CACHE_VARIABLE
    from evoengineer.sim.codegen.emitter import Emitter
    from evoengineer.sim.engine.engine import Engine
    from evoengineer.sim.options import DeviceOptions

    if not totals:
        for name in ("count_execution", "count_idle"):
            if hasattr(Emitter, name):
                setattr(Emitter, name, lambda *_: None)
    engine = Engine(DeviceOptions(threads=1, sample_blocks=0))
    with tempfile.TemporaryDirectory(prefix="guards-") as cache:
        os.environ[CACHE_VARIABLE] = cache  # the runtime has been loaded; kernels are not known yet
        return {work.title: _run(engine, work, launches) for work in WORKS}


def _run(engine: Any, work: Work, launches: int) -> dict[str, Any]:
    from evoengineer.sim.runtime import structs

    module = engine.load_module([ptx_of(_device_code(work))])
    name = next(each for each in module.kernels if work.kernel in each)
    random = np.random.default_rng(1)
    inputs = [random.standard_normal(size, dtype=np.float32) for size in work.inputs]
    out = np.zeros(work.outputs, np.float32)
    places = []
    for values in (*inputs, out):
        places.append(engine.memory.allocate(structs.DEVICE, values.nbytes))
        c.memmove(places[-1], values.ctypes.data, values.nbytes)
    params = struct.pack("3Q", *places) + work.scalars
    seconds = []
    for _ in range(launches + 1):
        begin = time.process_time()
        engine.launch(module, name, work.grid, work.block, 0, params)
        seconds.append(time.process_time() - begin)
    c.memmove(out.ctypes.data, places[-1], out.nbytes)
    (image,) = module.images.values()
    return {
        "first": seconds[0],
        "best": min(seconds[1:]),
        "result": hashlib.sha256(out.tobytes()).hexdigest(),
        "instructions": image.request.instructions,
    }


def _device_code(work: Work) -> str:
    """Without torch's headers."""
    if work.source is None:
        return PRODUCT
    text = work.source.read_text(encoding="utf-8").split("torch::Tensor forward")[0]
    return text.replace("#include <torch/extension.h>", "#include <cstdint>")


def best_of(runs: Sequence[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The quickest of several runs; all must have done the same."""
    for run in runs:
        for title, row in run.items():
            if any(row[key] != runs[0][title][key] for key in ("result", "instructions")):
                raise SystemExit(f"{title}: runs differ: {row} and {runs[0][title]}")
    return {
        title: {**row, **{key: min(run[title][key] for run in runs) for key in ("first", "best")}}
        for title, row in runs[0].items()
    }


def table(
    after: dict[str, dict[str, Any]],
    bare: dict[str, dict[str, Any]],
    before: dict[str, dict[str, Any]] | None,
) -> str:
    """The measurements as a Markdown table."""
    lines = [
        "| kernel | before ms | ms | speedup | ms without totals | totals cost | first launch before s | now s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for title, row in after.items():
        old = before[title] if before else None
        then = f"{old['best'] * 1e3:.1f}" if old else "–"
        gain = f"{old['best'] / row['best']:.1f}×" if old else "–"
        first = f"{old['first']:.2f}" if old else "–"
        cost = row["best"] / bare[title]["best"]
        lines.append(
            f"| {title} | {then} | {row['best'] * 1e3:.1f} | {gain} | {bare[title]['best'] * 1e3:.1f} | {cost:.2f}× "
            f"| {first} | {row['first']:.2f} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="another checkout to compare with")
    parser.add_argument("--launches", type=int, default=9, help="of each kernel; the best counts")
    parser.add_argument("--rounds", type=int, default=2, help="of all trees in turn; the best counts")
    parser.add_argument("--write", action="store_true", help=f"write to {REPORT.relative_to(ROOT)}")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--no-totals", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.launches, not options.no_totals)))
        return 0
    child = ("--launches", str(options.launches), "--child")
    runs: dict[str, list[dict[str, dict[str, Any]]]] = {"after": [], "bare": [], "before": []}
    for _ in range(options.rounds):
        runs["after"].append(in_tree(ROOT, "guards", *child))
        runs["bare"].append(in_tree(ROOT, "guards", *child, "--no-totals"))
        if options.before:
            runs["before"].append(in_tree(options.before.resolve(), "guards", *child))
    before = best_of(runs["before"]) if options.before else None
    after = best_of(runs["after"])
    best_of([after, *([before] if before else [])])  # the same bits and instructions, or it ends here
    bare = {title: {"best": min(run[title]["best"] for run in runs["bare"])} for title in after}
    text = table(after, bare, before)
    print(text)
    if options.write:
        report("guards", text)
    worst = max(row["best"] / bare[title]["best"] for title, row in after.items())
    print(f"exact totals cost {worst:.2f}x at most (wanted: {MOST_FOR_TOTALS:g}x)", file=sys.stderr)
    return 0 if worst <= MOST_FOR_TOTALS else 1


if __name__ == "__main__":
    sys.exit(main())
