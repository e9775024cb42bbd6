"""`python -m evoengineer.problem.calls`: the ATen calls of references on their bench cases, as JSON.

Reads a JSON list of {"path", "name"} from standard input and writes a line per problem: its calls, each with the bytes
that it reads and writes and the operations it does, or {"error": …}. Views cost nothing and are left out, as is what
only allocates. A process of its own, because it imports torch and runs the problem's file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from evoengineer.problem.answering import open_answers
from evoengineer.problem.live import Live, open_live
from evoengineer.problem.work import CONVOLUTIONS, PRODUCTS, convolution_flops

_ALLOCATIONS = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[dict[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::")
        if func.is_view or name in _ALLOCATIONS:
            return result
        given = [each for each in tree_leaves((args, kwargs or {})) if isinstance(each, torch.Tensor)]
        made = [each for each in tree_leaves(result) if isinstance(each, torch.Tensor)]
        kind = "other"
        flops = float(max((each.numel() for each in (*given, *made)), default=0))
        if name in CONVOLUTIONS:
            kind, flops = "convolution", convolution_flops(args, made[0])[0]
        elif name in PRODUCTS:
            a = [each for each in given if each.dim() > 0][-2]
            kind, flops = "product", 2.0 * made[0].numel() * a.shape[-1]
        elif func._overloadpacket in flop_registry:
            flops = float(flop_registry[func._overloadpacket](*args, **(kwargs or {}), out_val=made[0]))
            kind = "product"
        moved = sum(each.numel() * each.element_size() for each in (*given, *made))
        dtype = str((made or given)[0].dtype).removeprefix("torch.") if made or given else "float32"
        self.calls.append({"name": name, "kind": kind, "bytes": moved, "flops": flops, "dtype": dtype})
        return result


def record_calls(live: Live) -> list[dict[str, Any]]:
    """The reference's calls on the bench case, without computing it where that is possible."""
    case = live.problem.bench_case
    recorder = _Recorder()
    try:
        if live.problem.form == "kernelbench":
            raise NotImplementedError
        with torch.device("meta"):
            inputs = live.shapes(case)
            with recorder:
                live.outputs(case, inputs, double=False)
    except Exception:  # not every problem runs on tensors without contents; the real thing always does
        recorder = _Recorder()
        inputs = live.inputs(case, live.problem.distributions[0], 0)
        with recorder:
            live.outputs(case, inputs, double=False)
    return recorder.calls


def main() -> int:
    """Answer every request of standard input."""
    requests, answers = json.load(sys.stdin), open_answers()
    for request in requests:
        answer: dict[str, Any]
        try:
            answer = {"calls": record_calls(open_live(Path(request["path"]), request["name"]))}
        except Exception as error:  # the problem's own code failed
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
