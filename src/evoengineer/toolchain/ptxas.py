"""What `ptxas -v` says of each kernel: registers, stack, spills, shared memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)'")
_FRAME = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers(?P<rest>.*)")
_SHARED = re.compile(r"(?P<bytes>\d+)(?:\+\d+)? bytes smem")


@dataclass(frozen=True, slots=True)
class Usage:
    """Of one `__global__` function; `symbol` as the linker knows it."""

    symbol: str
    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    static_shared_bytes: int


def parse_usage(log: str) -> list[Usage]:
    """In the order of ptxas; lines that belong to no kernel are passed over."""
    found = []
    symbol, (stack, stores, loads) = "", (0, 0, 0)
    for line in log.split("\n"):
        entry, frame, used = _ENTRY.search(line), _FRAME.search(line), _USED.search(line)
        if entry:
            symbol, (stack, stores, loads) = entry["name"], (0, 0, 0)
        elif frame:
            stack, stores, loads = int(frame["stack"]), int(frame["stores"]), int(frame["loads"])
        elif used and symbol:
            shared = _SHARED.search(used["rest"])
            shared_bytes = int(shared["bytes"]) if shared else 0
            found.append(Usage(symbol, int(used["registers"]), stores, loads, stack, shared_bytes))
            symbol = ""
    return found
