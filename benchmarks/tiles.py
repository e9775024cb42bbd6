"""Tiles with one-dimensional blocks: CPU time of launches and of translation, beside another checkout.

    python -m benchmarks.tiles                        # this tree
    python -m benchmarks.tiles --before OTHER_TREE    # beside another checkout, in turn
    python -m benchmarks.tiles --write                # also puts the table into docs/simulator-speed.md

The product is judging.py's, an unrolled register tile of 1,400 PTX instructions, of matrices of 768². Everything is in
CPU time of one thread, so that a busy machine matters little, in a process of its own with an empty cache; the best of
several launches counts. A *first* launch includes the translation of the form that it is first to run: FAST, counted,
with race checks, with checks of undefined values (those two on matrices of 128²). Both trees must give the same bits
and the same instructions, or it fails; where they simulate other times, as trees with different models do, it says so.
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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trees import REPORT, ROOT, in_tree, ptx_of, report

SIZE, CHECKED_SIZE, SAMPLES = 768, 128, 18
ROWS = {
    "first": "first launch, FAST translated",
    "launch": "launch",
    "first_counted": "first counted launch, counted form translated",
    "counted": "counted launch, 18 of 36 blocks",
    "first_race": "first launch with race checks, form translated",
    "race": "launch with race checks, 128²",
    "first_init": "first launch with checks of undefined values, form translated",
    "init": "launch with checks of undefined values, 128²",
}


def measure(launches: int) -> dict[str, Any]:
    """CPU seconds by row, and what must not differ; in this process."""
    from evoengineer.files import CACHE_VARIABLE
    from evoengineer.sim.engine.engine import Engine
    from evoengineer.sim.options import DeviceOptions, Limits
    from evoengineer.sim.runtime import structs

    plain = DeviceOptions(threads=1, sample_blocks=0, reuse_profiles=False, limits=Limits(max_seconds=0.0))
    engine = Engine(plain)
    with tempfile.TemporaryDirectory(prefix="tiles-") as cache:
        os.environ[CACHE_VARIABLE] = cache  # the runtime has been loaded; kernels are not known yet
        engine.warm_up()
        module = engine.load_module([ptx_of(_device_code())])
        generator = np.random.default_rng(1)
        values = [generator.random((SIZE, SIZE), dtype=np.float32) for _ in range(3)]
        places = [engine.memory.allocate(structs.DEVICE, each.nbytes) for each in values]
        found: dict[str, Any] = {}

        def times(name: str, size: int, count: int) -> None:
            for place, each in zip(places, values, strict=True):
                c.memmove(place, each.ctypes.data, each.nbytes)
                engine.memory.mark_initialised(place, each.nbytes)
            grid = (size // 128, size // 128, 1)
            params = struct.pack("<QQQi", *places, size)
            seconds = []
            for _ in range(count):
                begin = time.process_time()
                result = engine.launch(module, kernel, grid, (256, 1, 1), 0, params)
                seconds.append(time.process_time() - begin)
            out = np.empty_like(values[2])
            c.memmove(out.ctypes.data, places[2], out.nbytes)
            found[f"first_{name}" if name != "launch" else "first"] = seconds[0]
            found[name] = min(seconds[1:])
            simulated = result.elapsed_ns if name == "counted" else 0.0
            work = [image.request.instructions for image in module.images.values() if image.request]
            found[f"{name} same"] = [hashlib.sha256(out.tobytes()).hexdigest(), *work]
            found[f"{name} simulated"] = simulated

        kernel = next(name for name in module.kernels if "sgemm" in name)
        times("launch", SIZE, launches)
        engine.configure(replace(plain, sample_blocks=SAMPLES))
        times("counted", SIZE, launches)
        for check in ("race", "init"):
            engine.configure(replace(plain, checks=frozenset({check})))
            times(check, CHECKED_SIZE, 3)
        return found


def _device_code() -> str:
    text = (Path(__file__).parent / "register_tiles.cu").read_text(encoding="utf-8")
    return text.split("// --- host ---")[0].replace("#include <torch/extension.h>", "")


def table(after: dict[str, Any], before: dict[str, Any] | None) -> str:
    """The measurements as a Markdown table."""
    lines = ["| product 768², 8×8 register tiles | before s | now s | speedup |", "|---|---|---|---|"]
    for key, title in ROWS.items():
        then = f"{before[key]:.3f}" if before else "–"
        gain = f"{before[key] / after[key]:.1f}×" if before else "–"
        lines.append(f"| {title} | {then} | {after[key]:.3f} | {gain} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="another checkout to compare with")
    parser.add_argument("--launches", type=int, default=5, help="the best counts")
    parser.add_argument("--write", action="store_true", help=f"write to {REPORT.relative_to(ROOT)}")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.launches)))
        return 0
    child = ("--launches", str(options.launches), "--child")
    before = in_tree(options.before.resolve(), "tiles", *child) if options.before else None
    after = in_tree(ROOT, "tiles", *child)
    if before:
        differing = [key for key in after if key.endswith("same") and after[key] != before[key]]
        if differing:
            raise SystemExit(f"the trees differ: {[(key, before[key], after[key]) for key in differing]}")
        if any(before[key] != after[key] for key in after if key.endswith("simulated")):
            print("the trees simulate different times", file=sys.stderr)
    text = table(after, before)
    print(text)
    if options.write:
        report("tiles", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
