"""Macros of a text, expanded as the preprocessor would: then the tree shows what a kernel does.

Numbers keep their names, since they may be knobs. What is defined twice, under a condition, or with `#` or `...`
is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_DEFINITION = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)(?P<parameters>\([^)\n]*\))?(?P<value>(?:\\\n|[^\n])*)",
    re.MULTILINE,
)
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(?P<word>if\w*|endif|undef)\b(?P<rest>[^\n]*)", re.MULTILINE)
_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*'
    r"|(?P<name>[A-Za-z_]\w*)",
    re.DOTALL | re.MULTILINE,
)
_NUMBER = re.compile(r"\(?-?[\d.]+(?:[eE][-+]?\d+)?[fFuUlL]*\)?$")
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class _Macro:
    parameters: tuple[str, ...] | None  # None: no parentheses
    value: str


def expanded(source: str) -> str:
    """The text with macros in place; their definitions stay."""
    macros = _macros(source)
    for _ in range(_DEPTH if macros else 0):
        after = _once(source, macros)
        if after == source:
            break
        source = after
    return source


def _macros(source: str) -> dict[str, _Macro]:
    conditional = list(_under_conditions(source))
    found: dict[str, _Macro] = {}
    refused = {match["rest"].strip() for match in _CONDITIONAL.finditer(source) if match["word"] == "undef"}
    for match in _DEFINITION.finditer(source):
        name = match["name"]
        value = re.sub(r"//[^\n]*|/\*.*?\*/", "", match["value"].replace("\\\n", " ")).strip()
        parameters = match["parameters"]
        names = tuple(part.strip() for part in parameters[1:-1].split(",")) if parameters else None
        if (
            name in found
            or any(start <= match.start() < end for start, end in conditional)
            or "#" in value
            or (names is not None and not all(part.isidentifier() for part in names if part))
        ):
            refused.add(name)
        elif names is not None or (value and not _NUMBER.match(value)):
            found[name] = _Macro(None if names is None else tuple(filter(None, names)), value)
    return {
        name: macro
        for name, macro in found.items()
        if name not in refused and not re.search(rf"\b{name}\b", macro.value)
    }


def _under_conditions(source: str) -> Iterator[tuple[int, int]]:
    depth, start = 0, 0
    for match in _CONDITIONAL.finditer(source):
        if match["word"].startswith("if"):
            start = match.start() if depth == 0 else start
            depth += 1
        elif match["word"] == "endif":
            depth -= 1
            if depth == 0:
                yield start, match.end()


def _once(source: str, macros: Mapping[str, _Macro]) -> str:
    parts, place = [], 0
    for match in _TOKEN.finditer(source):
        macro = macros.get(match["name"] or "")
        if macro is None or match.start() < place:
            continue
        end, value = match.end(), macro.value
        if macro.parameters is not None:
            arguments = _arguments(source, end)
            if arguments is None or len(arguments[0]) != len(macro.parameters):
                continue
            given = dict(zip(macro.parameters, arguments[0], strict=True))
            value = _TOKEN.sub(lambda token, given=given: given.get(token[0], token[0]), value)  # type: ignore[misc]
            end = arguments[1]
        parts.append(source[place : match.start()] + value)
        place = end
    return "".join(parts) + source[place:]


def _arguments(source: str, start: int) -> tuple[list[str], int] | None:
    """What stands in parentheses from here on, and where they end."""
    while start < len(source) and source[start].isspace():
        start += 1
    if source[start : start + 1] != "(":
        return None
    depth, begin = 0, start + 1
    found: list[str] = []
    for place in range(start, len(source)):
        letter = source[place]
        depth += (letter in "([{") - (letter in ")]}")
        if (depth == 1 and letter == ",") or depth == 0:
            found.append(source[begin:place].strip())
            begin = place + 1
        if depth == 0:
            return ([] if found == [""] else found), place + 1
    return None
