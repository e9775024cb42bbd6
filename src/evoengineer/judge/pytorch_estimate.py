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
from pathlib import Path
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
_COUNTER = Path(__file__).parents[1] / "problem" / "calls.py"

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


def estimates(
    problems: Mapping[str, str], card: Profile, *, run_files: bool = False
) -> dict[str, tuple[float, float]]:
    """By the problems' names; given are their addresses, as settings have them.

    Of problems that ship with EvoEngineer; of others only if `run_files`: an archive's word alone is no reason to run
    a file.
    """
    known = shipped()
    chosen = {name: address for name, address in problems.items() if address in known}
    chosen |= {
        name: name for name, address in problems.items() if name in known and name.endswith(f"/{address}")
    }
    if run_files:
        chosen |= {
            n: address for n, address in problems.items() if n not in chosen and Path(address).exists()
        }
    if not chosen:
        return {}
    descriptions = dict(zip(chosen, find_problems(list(chosen.values())), strict=True))
    calls = _calls(descriptions)
    return {
        name: estimate(calls[name], each.moved_bytes(), card)
        for name, each in descriptions.items()
        if name in calls
    }


def estimate_of(description: Description, card: Profile) -> tuple[float | None, float | None]:
    """(eager, fused) of one problem, whose file is run; nothing where its calls cannot be had."""
    name = description.problem.name
    calls = _calls({name: description}).get(name)
    return (None, None) if calls is None else estimate(calls, description.moved_bytes(), card)


def _calls(descriptions: Mapping[str, Description]) -> dict[str, list[Call]]:
    keys = {
        name: digest(__version__, each.problem.path.read_bytes(), _COUNTER.read_bytes())
        for name, each in descriptions.items()
    }
    found = {name: json.loads(data) for name, key in keys.items() if (data := _CALLS.get(key)) is not None}
    missing = [(name, each.problem) for name, each in descriptions.items() if name not in found]
    if missing:
        run = subprocess.run(
            [sys.executable, "-m", "evoengineer.problem.calls"],
            input=json.dumps([{"path": str(each.path), "name": each.name} for _, each in missing]),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        for (name, _), line in zip(missing, run.stdout.splitlines(), strict=False):
            answer = json.loads(line)
            if "calls" in answer:
                found[name] = answer["calls"]
                _CALLS.put(keys[name], json.dumps(answer["calls"]).encode())
    return found
