"""`python -m evoengineer.problem.describe`: a process that loads problems and says what they are, as JSON.

Reads a JSON list of requests from standard input ({"path", "name", "baseline"}), writes one JSON line per
request: a description, or {"error": …}. Apart from the command line's own process because it imports torch
and runs the problem's file.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.problem.answering import open_answers
from evoengineer.problem.catalog import problem_to_json
from evoengineer.problem.checking import trivial_answers
from evoengineer.problem.live import Live, open_live
from evoengineer.problem.model import Case
from evoengineer.problem.work import Work


def describe(live: Live) -> dict[str, Any]:
    """The record, for the bench case the arguments and outputs by dtype and shape, and the work, and for each check
    case its arguments.

    A KernelBench file that would take a constant or a copy of an input for the answer is refused here; the author of a
    folder chooses cases and inputs, and asks `problems check`.
    """
    if live.problem.form == "kernelbench":
        trivial = trivial_answers(live)
        if trivial:
            raise UsageError(f"{live.problem.path}: degenerate: {'; '.join(trivial)}")
    inputs, outputs, work = _bench_work(live)
    return {
        **problem_to_json(live.problem),
        "arguments": [{"name": name, **shape_of(value)} for name, value in inputs.items()],
        "outputs": [shape_of(output) for output in outputs],
        "work": asdict(work),
        "check_arguments": [_check_arguments(live, case) for case in live.problem.check_cases],
        "mode": live.mode,
    }


def _check_arguments(live: Live, case: Case) -> list[dict[str, Any]]:
    """By dtype and shape, and whether a tensor is contiguous: what a kernel must not assume."""
    try:
        with torch.device("meta"):
            inputs = live.shapes(case)
    except Exception:  # see _bench_work
        inputs = live.inputs(case, live.problem.distributions[0], 0)
    return [
        {
            "name": name,
            **shape_of(value),
            **({"strided": True} if isinstance(value, torch.Tensor) and not value.is_contiguous() else {}),
        }
        for name, value in inputs.items()
    ]


def _bench_work(live: Live) -> tuple[Mapping[str, Any], Sequence[torch.Tensor], Work]:
    """Arguments, outputs and work of the bench case, without computing it where that is possible.

    The author of a folder says in formulas what zeros save; a KernelBench file does not, so there they have to be seen.
    """
    case: Case = live.problem.bench_case
    try:
        if live.problem.form == "kernelbench":
            raise NotImplementedError
        with torch.device("meta"):
            inputs = live.shapes(case)
            work, outputs = live.work(case, inputs)
    except Exception:  # not every problem runs on tensors without contents; the real thing always does
        inputs = live.inputs(case, live.problem.distributions[0], 0)
        work, outputs = live.work(case, inputs)
    return inputs, outputs, work


def shape_of(value: Any) -> dict[str, Any]:
    """Of an argument or output: a tensor by dtype and shape, anything else by its value."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return {
            "kind": "tensor",
            "dtype": dtype,
            "shape": list(value.shape),
            "bytes": value.numel() * value.element_size(),
        }
    return {
        "kind": type(value).__name__,
        "value": value if isinstance(value, (int, float, bool, str)) else repr(value),
    }


def main() -> int:
    """Answer every request of standard input."""
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0))))
    requests = json.load(sys.stdin)
    answers = open_answers()
    for request in requests:
        print(json.dumps(answered(request)), file=answers, flush=True)
    return 0


def answered(request: Mapping[str, Any]) -> dict[str, Any]:
    """A description, or what is wrong with the problem's file."""
    path = Path(request["path"])
    try:
        baseline = Path(request["baseline"]) if request.get("baseline") else None
        answer = describe(open_live(path, request["name"], baseline))
        json.dumps(answer)
    except EvoEngineerError as error:
        return {"error": str(error)}
    except BaseException as error:  # the problem's own code failed: its author needs to know where
        return {"error": f"{blamed(error, path)}: {type(error).__name__}: {error}"}
    return answer


def blamed(error: BaseException, path: Path) -> str:
    """`problem.py, line 12`: the last line of the problem's file that the error came through."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    return f"{path}, line {lines[-1]}" if lines else str(path)


if __name__ == "__main__":
    sys.exit(main())
