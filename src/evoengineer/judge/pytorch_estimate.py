"""What PyTorch would take on a card that is only simulated: an estimate, from the reference's own ATen calls.

    eager   call after call: each the longer of moving its bytes and doing its operations, and a launch
    fused   the bytes that have to be moved once, all operations, and a launch for each product or convolution

The constants stand here with their origin; docs/report.md says how far the estimate can be trusted. Where a GPU is,
PyTorch is measured instead (`pytorch_time.py`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from evoengineer.card.profile import Profile
from evoengineer.files import Cache, digest
from evoengineer.problem.catalog import Description, find_problems, shipped
from evoengineer.sim.timing.model import Constants
from evoengineer.version import __version__

# Libraries reach this part of the peak on large products: cuBLAS and cuDNN on cards of these generations are
# commonly measured at 75 to 90%.
LIBRARY_EFFICIENCY = 0.8
_CALLS = Cache("pytorch-calls")

Call = Mapping[str, Any]  # a line of `problem/calls.py`


def estimate(calls: Sequence[Call], least_bytes: int, card: Profile) -> tuple[float, float]:
    """(eager, fused) in microseconds."""
    bandwidth = card.dram_bytes_per_second * Constants().dram_efficiency
    launch_s = card.launch_overhead_ns / 1e9
    eager = sum(max(call["bytes"] / bandwidth, call["flops"] / rate(call, card)) + launch_s for call in calls)
    busy = sum(call["flops"] / rate(call, card) for call in calls)
    launches = max(1, sum(call["kind"] != "other" for call in calls))
    fused = max(least_bytes / bandwidth, busy) + launches * launch_s
    return eager * 1e6, min(eager, fused) * 1e6


def rate(call: Call, card: Profile) -> float:
    """Operations per second: as PyTorch is set by default, convolutions may use TF32 and float32 products may not."""
    half = call["dtype"] in ("float16", "bfloat16")
    if call["dtype"] in ("float64", "complex128"):
        per_clock = max(
            card.fp64_per_clock, card.tensor_fp64_fma_per_clock if call["kind"] == "product" else 0
        )
    elif call["kind"] == "other" or (call["kind"] == "product" and not half):
        per_clock = card.fp32_per_clock
    elif half:
        per_clock = max(card.tensor_fp16_fma_per_clock, card.fp32_per_clock)
    else:
        per_clock = max(card.tensor_tf32_fma_per_clock, card.fp32_per_clock)
    return 2 * per_clock * card.sm_count * card.clock_khz * 1e3 * LIBRARY_EFFICIENCY


def estimates(problems: Sequence[str], card: Profile) -> dict[str, tuple[float, float]]:
    """Of the problems among these that ship with EvoEngineer: an archive's word is no reason to run any other file."""
    known = shipped()
    names = [name for name in problems if name in known]
    if not names:
        return {}
    descriptions = find_problems(names)
    calls = _calls(descriptions)
    return {
        each.problem.name: estimate(calls[each.problem.name], each.moved_bytes(), card)
        for each in descriptions
        if each.problem.name in calls
    }


def _calls(descriptions: Sequence[Description]) -> dict[str, list[Call]]:
    keys = {each.problem.name: digest(__version__, each.problem.path.read_bytes()) for each in descriptions}
    found = {name: json.loads(data) for name, key in keys.items() if (data := _CALLS.get(key)) is not None}
    missing = [each.problem for each in descriptions if each.problem.name not in found]
    if missing:
        run = subprocess.run(
            [sys.executable, "-m", "evoengineer.problem.calls"],
            input=json.dumps([{"path": str(each.path), "name": each.name} for each in missing]),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        for problem, line in zip(missing, run.stdout.splitlines(), strict=False):
            answer = json.loads(line)
            if "calls" in answer:
                found[problem.name] = answer["calls"]
                _CALLS.put(keys[problem.name], json.dumps(answer["calls"]).encode())
    return found
