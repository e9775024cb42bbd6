"""Knobs: named constants of a text that change how a kernel computes, not what. Their constraints are the text's
own `static_assert`s, so that whoever introduces a knob says there what it may be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.covering import fixed
from evoengineer.propose.syntax.liveness import idle
from evoengineer.propose.syntax.tree import NotUnderstood

_WORDS = "THREADS|BLOCK|TILE|UNROLL|PARTS|WARPS|STEP|EACH|ADJACENT|AHEAD|RESIDENT|PER_THREAD|VECTOR|[tT]hreads|[bB]lock"
_NAME = rf"(?P<name>\w*(?:{_WORDS})\w*)"
_DEFINITION = re.compile(rf"^[ \t]*(?:#define\s+{_NAME}\s+(?P<value>\d+)[ \t]*$)", re.MULTILINE)
_CONSTANT = re.compile(
    rf"\b(?:constexpr|const)\s+(?:static\s+)?(?P<type>int|unsigned|bool|size_t)\s+{_NAME}\s*=\s*(?P<value>\d+|true|false)\s*;"
)
_DERIVED = re.compile(r"\bconstexpr\s+(?:int|unsigned|bool|size_t)\s+(?P<name>\w+)\s*=\s*(?P<value>[^;]+);")
_ASSERTION = re.compile(r"\bstatic_assert\s*\((?P<condition>[^;]*?)(?:,\s*\"[^\"]*\")?\s*\)\s*;")
_GIVEN = re.compile("ASSUMED")  # a size of the problem, whatever other words the name has
_COUNT = re.compile("EACH|RESIDENT")  # need not be a power of two


@dataclass(frozen=True, slots=True)
class Knob:
    """A constant with the values worth trying; `start` and `end` are where the text has its value."""

    name: str
    value: int
    values: tuple[int, ...]
    is_bool: bool
    start: int
    end: int

    def written(self, value: int) -> str:
        return ("false", "true")[value] if self.is_bool else str(value)


def knobs(source: str) -> tuple[Knob, ...]:
    """The knobs of a text, in its order; constants that only a fallback reads are none, and neither are sizes of blocks
    that a grid does not follow."""
    found = []
    without_effect = idle(source)
    try:
        without_effect |= fixed(source)
    except NotUnderstood:
        return ()
    for pattern in (_DEFINITION, _CONSTANT):
        for match in pattern.finditer(source):
            if match["name"] in without_effect or _GIVEN.search(match["name"]):
                continue
            is_bool = match["value"] in ("true", "false")
            value = int(match["value"] == "true") if is_bool else int(match["value"])
            values = (0, 1) if is_bool else _values(value, thirds=bool(_COUNT.search(match["name"])))
            if _is_promised(source, match["name"]):
                values = tuple(each for each in values if each and value % each == 0)
            if len(values) > 1:
                found.append(
                    Knob(match["name"], value, values, is_bool, match.start("value"), match.end("value"))
                )
    return tuple(sorted(found, key=lambda knob: knob.start))


def _is_promised(source: str, name: str) -> bool:
    """Whether the text refuses sizes that this number does not divide: a larger one would refuse more of them."""
    return re.search(rf"\b(?:TORCH_CHECK|assert)\s*\([^;]*%\s*{name}\b", source) is not None


def _values(value: int, *, thirds: bool) -> tuple[int, ...]:
    """Powers of two around one; three times such where a count needs not be one; half and twice of any other."""
    known = {1 << bit for bit in range(11)}
    if thirds:
        known |= {3 << bit for bit in range(5)}
    if value < 1:
        return (value,)
    if value not in known:
        return (*([] if value % 2 else [value // 2]), value, value * 2)
    return tuple(each for each in sorted(known) if value <= each * 8 and each <= value * 8)


def with_settings(source: str, settings: Mapping[str, int]) -> str:
    """The text with knobs at other values."""
    for knob in sorted(knobs(source), key=lambda each: -each.start):
        if knob.name in settings:
            source = source[: knob.start] + knob.written(settings[knob.name]) + source[knob.end :]
    return source


def allowed(source: str, settings: Mapping[str, int]) -> bool:
    """Whether all of the text's assertions that can be evaluated hold for a setting."""
    changed = with_settings(source, settings)
    names = _constants(changed)
    for match in _ASSERTION.finditer(changed):
        try:
            if not value_of(match["condition"], names):
                return False
        except NotUnderstood:
            continue
    return True


def tiles(source: str, settings: Mapping[str, int]) -> tuple[int, ...]:
    """What constants that are called tiles are for a setting: sizes that were chosen to fit those of the problem."""
    found = _constants(with_settings(source, settings))
    return tuple(value for name, value in found.items() if name.endswith("TILE"))


def _constants(source: str) -> dict[str, int]:
    """The values of all constants that can be evaluated."""
    names: dict[str, int] = {}
    for pattern in (_DEFINITION, _DERIVED):
        for match in pattern.finditer(source):
            try:
                value = match["value"].replace("true", "1").replace("false", "0")
                names[match["name"]] = value_of(value, names)
            except NotUnderstood:
                continue
    return names
