"""`python -m evoengineer.baseline.generate PATH NAME`: a baseline kernel for a problem, as JSON.

Prints {"text": …}, or {"error": …} that says which operation the library has no kernel for. A process of its own,
because it imports torch and runs the problem's file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch._decomp import core_aten_decompositions

from evoengineer.baseline.operations import Unsupported
from evoengineer.baseline.text import kernel_text, supported
from evoengineer.baseline.trace import trace
from evoengineer.errors import EvoEngineerError
from evoengineer.problem.live import Live, open_live


def baseline_text(live: Live) -> str:
    """A plain kernel that does what the problem's reference does, call by call."""
    return kernel_text(trace(live, _decompositions()), live.problem.title)


def _decompositions() -> dict[Any, Any]:
    """For what the library does not have, PyTorch's own ways to say it in simpler operations."""
    kept = supported()
    return {
        operation: rule
        for operation, rule in core_aten_decompositions().items()
        if operation._schema.name.partition("::")[2] not in kept
    }


def main() -> int:
    """Print the kernel, or why there is none."""
    path, name = sys.argv[1:3]
    torch.set_num_threads(1)
    try:
        answer = {"text": baseline_text(open_live(Path(path), name))}
    except (EvoEngineerError, Unsupported) as error:
        answer = {"error": str(error)}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
