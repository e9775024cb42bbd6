"""The rewriter's rules: small changes to a text that keep its meaning in most kernels, and often its speed not.

Each works on patterns of ordinary CUDA code and does nothing where it does not recognise one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evoengineer.propose.rewriter import Change
from evoengineer.propose.warp_per_row import WarpPerRow

_BLOCK_NAMES = r"(?:[A-Za-z_]*(?:THREADS|BLOCK|Threads|Block|threads|block)[A-Za-z_]*)"
_SIZES = (32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True, slots=True)
class BlockSize:
    """Constants that are named like a block size, and literal sizes in launches."""

    name: str = "block size"
    thought: str = "Another block size changes occupancy, the work per thread and the cost of a barrier."

    _DEFINITION = re.compile(
        rf"(#define\s+{_BLOCK_NAMES}\s+|\b(?:constexpr|const|static)[\w\s]*\s{_BLOCK_NAMES}\s*=\s*)(\d+)\b"
    )
    _VARIABLE = re.compile(rf"(\b(?:int|auto|unsigned|dim3)\s+{_BLOCK_NAMES}\s*[=({{]\s*)(\d+)(?=\s*[;)}}])")
    _LAUNCH = re.compile(r"(<<<[^;{}]*?,\s*)(\d+)(?=\s*(?:,[^;{}]*?)?>>>)")

    def changes(self, source: str) -> Iterator[Change]:
        for pattern in (self._DEFINITION, self._VARIABLE, self._LAUNCH):
            for match in pattern.finditer(source):
                present = int(match[2])
                if present not in _SIZES:
                    continue
                for size in _SIZES:
                    if size != present:
                        changed = source[: match.start(2)] + str(size) + source[match.end(2) :]
                        yield Change(f"block of {size}", changed)


_FOR = re.compile(r"^([ \t]*)(?:#pragma unroll[^\n]*\n[ \t]*)?(for\s*\()", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Unroll:
    """Unroll factors of loops."""

    name: str = "unroll"
    thought: str = "Unrolling lets several loads be under way at once and removes branches."

    def changes(self, source: str) -> Iterator[Change]:
        for place, match in enumerate(_FOR.finditer(source), 1):
            for factor in (2, 4, 8):
                loop = f"{match[1]}#pragma unroll {factor}\n{match[1]}{match[2]}"
                changed = source[: match.start()] + loop + source[match.end() :]
                yield Change(f"loop {place} unrolled by {factor}", changed)


@dataclass(frozen=True, slots=True)
class UnrollAll:
    """The same factor for every loop whose step is not 1, which are the ones that walk over data."""

    name: str = "unroll all"
    thought: str = "Unrolling every loop over the data keeps more loads under way."

    def changes(self, source: str) -> Iterator[Change]:
        for factor in (2, 4, 8):

            def unrolled(match: re.Match[str], factor: int = factor) -> str:
                header = source[match.end() : source.find("\n", match.end())]
                walks = "+=" in header.split(")")[0]
                return f"{match[1]}#pragma unroll {factor}\n{match[1]}{match[2]}" if walks else match[0]

            yield Change(f"data loops unrolled by {factor}", _FOR.sub(unrolled, source))


@dataclass(frozen=True, slots=True)
class Restrict:
    """`__restrict__` on the pointers of kernels."""

    name: str = "restrict"
    thought: str = "Pointers that do not overlap let the compiler reorder loads and use the read-only path."

    _HEAD = re.compile(r"__global__[^;{]*\{", re.DOTALL)
    _POINTER = re.compile(r"\*\s*(?!__restrict__)(?=\w)")

    def changes(self, source: str) -> Iterator[Change]:
        changed = self._HEAD.sub(lambda head: self._POINTER.sub("* __restrict__ ", head[0]), source)
        yield Change("restricted pointers", changed)


@dataclass(frozen=True, slots=True)
class FastMath:
    """Intrinsics in place of exact functions."""

    name: str = "fast math"
    thought: str = (
        "Hardware approximations take fewer instructions; the judge decides whether they are exact enough."
    )

    _CALLS = re.compile(r"(?<![\w.:])(expf|logf|sinf|cosf|powf|exp|log)(?=\s*\()")

    def changes(self, source: str) -> Iterator[Change]:
        def fast(match: re.Match[str]) -> str:
            return f"__{match[1].removesuffix('f')}f"

        yield Change("fast intrinsics", self._CALLS.sub(fast, source))


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """A quotient by a scalar becomes a product with its reciprocal, which the compiler takes out of the loop."""

    name: str = "reciprocal"
    thought: str = "A division costs many instructions; the reciprocal of a loop's constant is computed once."

    _QUOTIENT = re.compile(r"\s/\s([A-Za-z_]\w*)\s*;")

    def changes(self, source: str) -> Iterator[Change]:
        for match in self._QUOTIENT.finditer(source):
            if not re.search(rf"\b(?:float|scalar_t|auto)\s+(?:\w+[^;]*,\s*)?{match[1]}\b", source):
                continue  # an integer quotient is no product
            changed = source[: match.start()] + f" * (1.0f / {match[1]});" + source[match.end() :]
            yield Change(f"times 1/{match[1]}", changed)


@dataclass(frozen=True, slots=True)
class ShuffleTail:
    """A tree reduction in shared memory ends with shuffles within one warp instead of five barriers.

    Recognises `for (int h = N / 2; h > 0; h /= 2) { if (t < h) s[t] = f(s[t], s[t + h]) or s[t] += …; barrier }`.
    """

    name: str = "shuffle tail"
    thought: str = (
        "The last five steps of the reduction fit one warp: shuffles need neither barriers nor shared memory."
    )

    _TREE = re.compile(
        r"for\s*\(\s*(?:unsigned\s+)?(?:int|unsigned)\s+(?P<h>\w+)\s*=\s*(?P<n>[^;]+?)\s*;\s*(?P=h)\s*>\s*0\s*;"
        r"\s*(?P=h)\s*(?:/=\s*2|>>=\s*1)\s*\)\s*\{\s*"
        r"if\s*\(\s*(?P<t>[\w.]+)\s*<\s*(?P=h)\s*\)\s*\{?\s*"
        r"(?P<s>\w+)\[(?P=t)\]\s*(?:(?P<plus>\+=)\s*(?P=s)\[(?P=t)\s*\+\s*(?P=h)\]"
        r"|=\s*(?P<f>\w+)\(\s*(?P=s)\[(?P=t)\]\s*,\s*(?P=s)\[(?P=t)\s*\+\s*(?P=h)\]\s*\))\s*;\s*\}?\s*"
        r"__syncthreads\(\)\s*;\s*\}"
    )

    def changes(self, source: str) -> Iterator[Change]:
        changed = self._TREE.sub(self._shuffled, source)
        yield Change("shuffle reduction", changed)

    def _shuffled(self, match: re.Match[str]) -> str:
        h, n, t, s = match["h"], match["n"], match["t"], match["s"]

        def combine(a: str, b: str) -> str:
            return f"{a} + {b}" if match["plus"] else f"{match['f']}({a}, {b})"

        return (
            f"for (int {h} = {n}; {h} > 16; {h} /= 2) {{\n"
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


RULES = (
    WarpPerRow(),
    BlockSize(),
    Unroll(),
    UnrollAll(),
    Restrict(),
    FastMath(),
    Reciprocal(),
    ShuffleTail(),
)
