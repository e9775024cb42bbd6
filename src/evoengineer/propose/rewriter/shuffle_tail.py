"""The end of a tree reduction within one warp."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from evoengineer.propose.rewriter.change import Change, Task, shuffled


@dataclass(frozen=True, slots=True)
class ShuffleTail:
    """A tree reduction in shared memory ends with shuffles within one warp instead of five barriers.

    Recognises `for (int h = N / 2; h > 0; h /= 2) { if (t < h) s[t] = f(s[t], s[t + h]) or s[t] += …; barrier }`.
    """

    name: str = "shuffle tail"
    thought: str = (
        "The last five steps of the reduction fit one warp: shuffles need neither barriers nor shared memory."
    )
    treats: tuple[str, ...] = ("barriers", "latency_bound")
    weight: float = 1.5
    fresh: bool = False

    _TREE = re.compile(
        r"for\s*\(\s*(?:unsigned\s+)?(?:int|unsigned)\s+(?P<h>\w+)\s*=\s*(?P<n>[^;]+?)\s*;\s*(?P=h)\s*>\s*0\s*;"
        r"\s*(?P=h)\s*(?:/=\s*2|>>=\s*1)\s*\)\s*\{\s*"
        r"if\s*\(\s*(?P<t>[\w.]+)\s*<\s*(?P=h)\s*\)\s*\{?\s*"
        r"(?P<s>\w+)\[(?P=t)\]\s*(?:(?P<plus>\+=)\s*(?P=s)\[(?P=t)\s*\+\s*(?P=h)\]"
        r"|=\s*(?P<f>\w+)\(\s*(?P=s)\[(?P=t)\]\s*,\s*(?P=s)\[(?P=t)\s*\+\s*(?P=h)\]\s*\))\s*;\s*\}?\s*"
        r"__syncthreads\(\)\s*;\s*\}"
    )

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        return shuffled(list(self._all(source)), random)

    def _all(self, source: str) -> Iterator[Change]:
        constants = set(re.findall(r"(?:#define\s+|\bconstexpr\s+(?:int|unsigned)\s+)(\w+)", source))
        changed = self._TREE.sub(lambda match: self._shuffled(match, constants), source)
        yield Change("shuffle reduction", changed)

    def _shuffled(self, match: re.Match[str], constants: set[str]) -> str:
        h, n, t, s = match["h"], match["n"], match["t"], match["s"]
        # Who turns a constant has to leave the warp whole.
        known = set(re.findall(r"[A-Za-z_][\w.]*", n)) <= constants
        whole = f'static_assert({n} >= 16, "a whole warp");\n    ' if known else ""

        def combine(a: str, b: str) -> str:
            return f"{a} + {b}" if match["plus"] else f"{match['f']}({a}, {b})"

        return (
            f"{whole}for (int {h} = {n}; {h} > 16; {h} /= 2) {{\n"
            f"        if ({t} < {h}) {s}[{t}] = {combine(f'{s}[{t}]', f'{s}[{t} + {h}]')};\n"
            f"        __syncthreads();\n"
            f"    }}\n"
            f"    if ({t} < 32) {{\n"
            f"        auto partial = {s}[{t}];\n"
            f"        for (int {h} = 16; {h} > 0; {h} /= 2)\n"
            f"            partial = {combine('partial', f'__shfl_xor_sync(0xffffffffu, partial, {h})')};\n"
            f"        if ({t} == 0) {s}[0] = partial;\n"
            f"    }}\n"
            f"    __syncthreads();"
        )
