"""Systematically broken copies of a kernel: would a problem's cases notice?

`mutants_of(source)` rewrites a kernel's text, one small fault at a time, each of a kind that candidates really have:
a tail that is not computed, a missing guard or barrier, exchanged indices, a lower precision, an answer that was not
computed. Text only; what becomes of a mutant is the judge's to say (`judge/mutation_score.py`). Works on kernels
written like the baselines: a host function `forward` after the device code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_FORWARD = re.compile(r"^[\w:<>,\s]+?\bforward\s*\(([^)]*)\)\s*\{", re.MULTILINE)
_RETURN = re.compile(r"return (\w+);(?=\s*\}\s*\Z|\s*\}\s*PYBIND11_MODULE)")
_MOST_OF_A_KIND = 4

_GUARD = re.compile(r"if \((?P<test>[^;{}]*)\) (?:return|continue);")
_IF = re.compile(r"if \((?P<test>\w[\w.]* < [\w.]+)\) (?=\w)")
_LOOP = re.compile(r"for \([^;]*;\s*\w+ < (?P<bound>[\w.]+);[^;)]*(?:\+\+|\+=)[^;)]*\)")
_INDEX = re.compile(
    r"\[(?:static_cast<int64_t>\((?P<outer>\w+)\)|(?P<plain>\w+)) \* (?P<size>[\w.]+) \+ (?P<inner>\w+)\]"
)
_EXTENT = re.compile(r"<<<(?P<blocks>[^,<>]+(?:\([^<>]*?\))?[^,<>]*),")
_GRID = re.compile(r"dim3 \w*blocks\w*\((?P<blocks>.+?)\);")


@dataclass(frozen=True, slots=True)
class Mutant:
    kind: str  # "dropped tail"
    change: str  # what was changed where, in a line
    source: str


def mutants_of(source: str) -> list[Mutant]:
    """All kinds, at most a few of each, in a fixed order; none twice."""
    found: dict[str, Mutant] = {}
    for make in _KINDS:
        kind = make.__name__.strip("_").replace("_", " ")
        for change, text in islice(make(source), _MOST_OF_A_KIND):
            if text != source:
                found.setdefault(text, Mutant(kind, change, text))
    return list(found.values())


Changed = Iterator[tuple[str, str]]  # (what was changed, the new text)


def _dropped_tail(source: str) -> Changed:
    """The last element, row or column is not computed."""
    for at, test in _tests(source):
        for match in re.finditer(r"(>=|<) ([\w.]+)(?: \* ([\w.]+))?", test):
            yield _replaced(source, at + match.end(), at + match.end(), " - 1")


def _dropped_tile(source: str) -> Changed:
    """The last block of the grid does not run, if there is more than one."""
    code = _code(source)
    for match in (*_EXTENT.finditer(code), *_GRID.finditer(code)):
        parts = _split(match["blocks"])
        only = match["blocks"].strip()
        if only == "1" or f"dim3 {only}(" in code:
            continue
        for place, part in enumerate(parts):
            less = [*parts]
            less[place] = f"({part}) > 1 ? ({part}) - 1 : 1"
            yield _replaced(source, match.start("blocks"), match.end("blocks"), ", ".join(less))


def _missing_guard(source: str) -> Changed:
    code = _code(source)
    for match in (*_GUARD.finditer(code), *_IF.finditer(code)):
        if _in_device_code(source, match.start()):
            yield _replaced(source, match.start(), match.end(), "")


def _guard_off_by_one(source: str) -> Changed:
    for at, test in _tests(source):
        for match in re.finditer(r">=|<(?! 0\b)(?!=)", test):
            yield _replaced(source, at + match.start(), at + match.end(), ">" if match[0] == ">=" else "<=")


def _swapped_index(source: str) -> Changed:
    for match in _INDEX.finditer(_code(source)):
        outer, inner = match["outer"] or match["plain"], match["inner"]
        if _in_device_code(source, match.start()):
            yield _replaced(source, match.start(), match.end(), f"[{inner} * {match['size']} + {outer}]")


def _missing_barrier(source: str) -> Changed:
    for match in re.finditer(r"__syncthreads\(\);", _code(source)):
        yield _replaced(source, match.start(), match.end(), "")


def _lower_precision(source: str) -> Changed:
    """What is read from memory goes through float16."""
    names = set(re.findall(r"const float\s*\*\s*(?:__restrict__\s+)?(\w+)", _code(source)))
    text, rounded = source, 0
    for name in sorted(names):
        at = 0
        while (match := re.compile(rf"(?<![\w.]){name}\[").search(_code(text), at)) is not None:
            end = _matching(text, match.end() - 1)
            at = end + len("rounded()")
            if _in_device_code(text, match.start()) and not re.match(r"\s*[-+*/]?=(?!=)", text[end:]):
                text = f"{text[: match.start()]}rounded({text[match.start() : end]}){text[end:]}"
                rounded += 1
    if rounded:
        helper = "#include <cuda_fp16.h>\n__device__ float rounded(float v) { return __half2float(__float2half(v)); }\n"
        yield f"{rounded} loads of {', '.join(sorted(names))} go through half", _after_includes(text, helper)


def _sign_flip(source: str) -> Changed:
    """A sum becomes a difference, or the other way round; not in the computing of places."""
    opposite = {"+": "-", "-": "+"}
    for match in re.finditer(r"(?<=[\w)\]] )([+-])(=?)(?= [\w(])", _code(source)):
        before = source[source.rfind("\n", 0, match.start()) + 1 : match.start()]
        placing = before.count("[") > before.count("]") or re.search(
            r"^\s*int(64_t)? \w+ =|(for|if) \([^)]*$", before
        )
        if _in_device_code(source, match.start()) and not placing:
            yield _replaced(source, match.start(), match.end(), opposite[match[1]] + match[2])


def _loop_bound(source: str) -> Changed:
    """One iteration too many, and one too few."""
    for match in _LOOP.finditer(_code(source)):
        if _in_device_code(source, match.start()):
            for step in (" + 1", " - 1"):
                yield _replaced(source, match.end("bound"), match.end("bound"), step)


def _wrong_start(source: str) -> Changed:
    """A reduction begins with the wrong value."""
    for match in re.finditer(r"(?<== )(-?INFINITY|-?FLT_MAX|0\.0f|1\.0f|x\[0\])(?=;)", _code(source)):
        other = "1.0f" if match[0] == "0.0f" else "0.0f"
        if _in_device_code(source, match.start()):
            yield _replaced(source, match.start(), match.end(), other)


def _copy_of_an_input(source: str) -> Changed:
    for name in _tensor_parameters(source):
        mine, theirs = _element_type(source, name), _element_type(source, _returned(source))
        if theirs and mine == theirs:
            yield _overwritten(
                source, f"the result is {name}", f"{name}.data_ptr<{theirs}>()", f"{name}.numel()"
            )


def _constant(source: str) -> Changed:
    for value in ("0", "1"):
        yield _overwritten(source, f"the result is {value} everywhere", "nullptr", "0", value)


def _first_case_only(source: str) -> Changed:
    """Right for the sizes of the first call only; zeros for all others."""
    name = next(iter(_tensor_parameters(source)), "")
    if name:
        remember = f"static const int64_t first_size = {name}.numel(); if ({name}.numel() != first_size)"
        yield _overwritten(
            source, "zeros unless the sizes are those of the first call", "nullptr", "0", "0", remember
        )


def _stale_end(source: str) -> Changed:
    """The last element of the result is not written: what is in the memory stays there."""
    yield _overwritten(
        source, "the last element is that of the memory before", "nullptr", "0", "stale", "if (true)"
    )


_KINDS = (
    _dropped_tail, _dropped_tile, _missing_guard, _guard_off_by_one, _swapped_index, _missing_barrier, _lower_precision,
    _sign_flip, _loop_bound, _wrong_start, _copy_of_an_input, _constant, _first_case_only, _stale_end,
)  # fmt: skip


# -- text ------------------------------------------------------------------------------------------


def _code(source: str) -> str:
    """The text with comments and strings blanked, so that places in it are places in the source."""
    return _COMMENTS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def _in_device_code(source: str, place: int) -> bool:
    host = _FORWARD.search(_code(source))
    return host is None or place < host.start()


def _tests(source: str) -> Iterator[tuple[int, str]]:
    """(place, text) of the conditions that guard device code."""
    code = _code(source)
    for match in (*_GUARD.finditer(code), *_IF.finditer(code)):
        if _in_device_code(source, match.start()):
            yield match.start("test"), match["test"]


def _replaced(source: str, begin: int, end: int, new: str) -> tuple[str, str]:
    text = source[:begin] + new + source[end:]
    number = source.count("\n", 0, begin) + 1
    line = text.split("\n")[number - 1].strip()
    return f"line {number}: {line[:100]}", text


def _matching(text: str, opening: int) -> int:
    """The place after the bracket that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(text)):
        depth += {"[": 1, "]": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def _split(arguments: str) -> list[str]:
    """By the commas outside brackets."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(arguments):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(arguments[begin:place].strip())
            begin = place + 1
    return [*parts, arguments[begin:].strip()]


def _after_includes(source: str, text: str) -> str:
    last = [match.end() for match in re.finditer(r"^#include.*\n", source, re.MULTILINE)][-1]
    return source[:last] + text + source[last:]


def _tensor_parameters(source: str) -> list[str]:
    host = _FORWARD.search(_code(source))
    return re.findall(r"torch::Tensor&?\s+(\w+)", host[1]) if host else []


def _returned(source: str) -> str:
    found = _RETURN.search(_code(source))
    return found[1] if found else ""


def _element_type(source: str, name: str) -> str:
    found = re.search(rf"\b{name}\.data_ptr<([\w:]+)>\(\)", _code(source)) if name else None
    return found[1] if found else ""


def _overwritten(
    source: str, change: str, values: str, count: str, constant: str = "0", condition: str = ""
) -> tuple[str, str]:
    """The result, overwritten before it is returned: with values of an input, or with a constant."""
    name, kind = _returned(source), _element_type(source, _returned(source))
    if not kind:
        return change, source
    kernel = (
        f"__global__ void mutant(const {kind}* from, {kind}* to, int64_t count, int64_t size) {{\n"
        "    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
        f"    if (i < size) to[i] = i < count ? from[i] : static_cast<{kind}>({constant});\n}}\n"
    )
    launch = (
        f"mutant<<<({name}.numel() + 255) / 256, 256>>>"
        f"({values}, {name}.data_ptr<{kind}>(), {count}, {name}.numel());"
    )
    if constant == "stale":
        kernel = (
            f"__global__ void mutant(const {kind}* from, {kind}* to, int64_t size) {{\n"
            "    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
            "    if (i < size - 1) to[i] = from[i];\n}\n"
        )
        launch = (
            f"auto stale = torch::empty_like({name}); mutant<<<({name}.numel() + 255) / 256, 256>>>"
            f"({name}.data_ptr<{kind}>(), stale.data_ptr<{kind}>(), {name}.numel()); {name} = stale;"
        )
        condition = ""
    at = _RETURN.search(_code(source))
    assert at is not None  # there is a name, so there is a return
    text = source[: at.start()] + f"{condition} {launch}\n    " + source[at.start() :]
    return change, _after_includes(text, kernel)
