"""`python -m evoengineer.baseline.generate`: a process that writes baseline kernels for problems.

Reads a JSON list of requests from standard input ({"path", "name"}) and writes one JSON line per request: {"text": …},
or {"error": …} that says which operation the library has no kernel for. A process of its own, because it imports
torch and runs the problems' files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch._decomp import core_aten_decompositions

from evoengineer.baseline.operations.writing import Unsupported
from evoengineer.baseline.text import kernel_text, supported
from evoengineer.baseline.trace import trace
from evoengineer.errors import EvoEngineerError
from evoengineer.problem.answering import open_answers
from evoengineer.problem.live import Live, open_live


def baseline_text(live: Live) -> str:
    """A plain kernel that does what the problem's reference does, call by call."""
    return kernel_text(trace(live, _decompositions()), live.problem.title)


def _decompositions() -> dict[Any, Any]:
    """For what the library does not have, PyTorch's own ways to say it in simpler operations."""
    kept = supported()
    return {
        operation: rule
        for operation, rule in dict(core_aten_decompositions()).items()
        if operation._schema.name.partition("::")[2] not in kept
    }


def main() -> int:
    """Answer every request of standard input: the kernel, or why there is none."""
    torch.set_num_threads(1)
    requests, answers = json.load(sys.stdin), open_answers()
    for request in requests:
        try:
            answer = {"text": baseline_text(open_live(Path(request["path"]), request["name"]))}
        except (EvoEngineerError, Unsupported) as error:
            answer = {"error": str(error)}
        except Exception as error:  # a model does what nobody thought of: no reason to fail for the others
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
