"""A rewrite for kernels in which one thread walks along a row: let a warp walk along it.

    int row = blockIdx.x * blockDim.x + threadIdx.x;        int row = (… ) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;                                if (row >= rows) return;
    float sum = 0;                                          float sum = 0;
    for (int c = 0; c < columns; ++c) sum += x[c];    →     for (int c = lane; c < columns; c += 32) sum += x[c];
                                                            sum += shuffles…
    y[row] = sum;                                           if (lane == 0) y[row] = sum;

Neighbouring lanes then touch neighbouring addresses. Applied only when every outermost loop has this form and
does nothing but add up, take maxima or minima, and store; anything else is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from evoengineer.propose.rewriter.change import Change, Task

_KERNEL = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(?P<name>\w+)\s*\([^)]*\)\s*\{")
_INDEX = re.compile(
    r"(?P<type>(?:const\s+)?(?:int|unsigned|int64_t|long|size_t)\s+)(?P<row>\w+)\s*=\s*"
    r"(?P<thread>blockIdx\.x\s*\*\s*blockDim\.x\s*\+\s*threadIdx\.x)\s*;"
)
_LOOP = re.compile(
    r"for\s*\(\s*(?P<type>int|unsigned|int64_t|long|size_t)\s+(?P<i>\w+)\s*=\s*0\s*;\s*(?P=i)\s*<\s*(?P<n>[\w.]+)\s*;"
    r"\s*(?:\+\+\s*(?P=i)|(?P=i)\s*\+\+|(?P=i)\s*\+=\s*1)\s*\)\s*"
)
_ADD = re.compile(r"^(?P<a>\w+)\s*\+=\s*(?P<e>.+)$", re.DOTALL)
_EXTREME = re.compile(r"^(?P<a>\w+)\s*=\s*(?P<f>fmaxf|fminf|max|min)\(\s*(?P=a)\s*,.+\)$", re.DOTALL)
_STORE = re.compile(r"^\w+\[[^=]*\]\s*(?:[-+*/]?=)(?!=)\s*.+$", re.DOTALL)
_LOCAL = re.compile(r"^(?:const\s+)?(?:float|double|int|auto|scalar_t)\s+\w+\s*=\s*[^;]+$", re.DOTALL)
_FORBIDDEN = ("__shared__", "__syncthreads", "__shfl", "atomic", "goto", "while")


@dataclass(frozen=True, slots=True)
class WarpPerRow:
    """The rewrite of this module."""

    name: str = "warp per row"
    thought: str = (
        "A warp per row reads neighbouring addresses with neighbouring lanes, so that each sector is used in full, "
        "and fills the card with 32 times as many threads."
    )
    treats: tuple[str, ...] = ("uncoalesced", "small_grid", "latency_bound")
    weight: float = 4.0  # it changes more than a constant does
    fresh: bool = False

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        for match in _KERNEL.finditer(source):
            end = _closing(source, match.end() - 1)
            if end is None:
                continue
            body = _body(source[match.end() : end])
            launch = re.compile(rf"(\b{match['name']}\s*<<<\s*)([^;]*?)(,\s*[^,;]+>>>)")
            if body is None or not launch.search(source):
                continue
            changed = source[: match.end()] + body + source[end:]
            yield Change("a warp per row", launch.sub(r"\1(\2) * 32\3", changed, count=1))


def _body(body: str) -> str | None:
    """The kernel's body, changed; None where it is not understood."""
    index = _INDEX.search(body)
    others = body.replace(index[0], "", 1) if index else body
    if (
        index is None
        or re.search(r"threadIdx|blockIdx|blockDim", others)
        or any(w in body for w in _FORBIDDEN)
    ):
        return None
    head = f"{index['type']}{index['row']} = ({index['thread']}) / 32;\n    const int lane_of_row = threadIdx.x % 32;"
    text = body[: index.start()] + head
    place = index.end()
    found = False
    for loop in _outer_loops(body, place):
        start, inner_start, end = loop
        header = _LOOP.match(body, start)
        if header is None:
            return None
        results = _results(body[inner_start:end], body[:start])
        if results is None:
            return None
        text += _guarded(body[place:start])
        i = header["i"]
        text += f"for ({header['type']} {i} = lane_of_row; {i} < {header['n']}; {i} += 32) "
        text += body[inner_start:end] + "".join(_combined(name, how) for name, how in results.items())
        place, found = end, True
    return text + _guarded(body[place:]) if found else None


def _outer_loops(body: str, start: int) -> Iterator[tuple[int, int, int]]:
    """(begin, begin of what is repeated, end) of each loop that is not inside another."""
    while True:
        loop = re.compile(r"\bfor\s*\(").search(body, start)
        if loop is None:
            return
        inner = _closing(body, loop.end() - 1, "()")
        if inner is None:
            return
        inner += 1
        while inner < len(body) and body[inner].isspace():
            inner += 1
        if inner < len(body) and body[inner] == "{":
            closing = _closing(body, inner)
            end = len(body) if closing is None else closing + 1
        else:
            end = body.find(";", inner) + 1 or len(body)
        yield loop.start(), inner, end
        start = end


def _results(repeated: str, before: str) -> dict[str, str] | None:
    """Scalars that the loop adds up ("+") or takes extremes of (the function); None for anything else."""
    inside = repeated.strip()
    if inside.startswith("{"):
        inside = inside[1:-1]
    if any(word in inside for word in ("for", "if", "return", "break", "continue", "{")):
        return None
    results: dict[str, str] = {}
    for statement in filter(None, (part.strip() for part in inside.split(";"))):
        add, extreme = _ADD.match(statement), _EXTREME.match(statement)
        if add and "[" not in add["a"]:
            if not re.search(rf"\b{add['a']}\s*=\s*0(?:\.0*)?f?\s*;[^=]*$", before, re.DOTALL):
                return None  # it would be counted 32 times
            results[add["a"]] = "+"
        elif extreme:
            results[extreme["a"]] = extreme["f"]
        elif not (_STORE.match(statement) or _LOCAL.match(statement)):
            return None
    return results


def _combined(name: str, how: str) -> str:
    other = f"__shfl_xor_sync(0xffffffffu, {name}, step)"
    value = f"{name} + {other}" if how == "+" else f"{how}({name}, {other})"
    return f"\n    for (int step = 16; step > 0; step /= 2) {name} = {value};"


def _guarded(text: str) -> str:
    """Stores outside the loops are one lane's business."""
    return re.sub(r"(?m)^(\s*)(\w+\[[^=;]*\]\s*=(?!=))", r"\1if (lane_of_row == 0) \2", text)


def _closing(text: str, start: int, pair: str = "{}") -> int | None:
    """The bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == pair[0]) - (text[place] == pair[1])
        if depth == 0:
            return place
    return None
