"""Techniques: what a kernel's text does, read from the text itself. No claim of a reply counts.

A technique is general on purpose: "16 bytes per access" can be told on another problem, "tiles of 96 x 96" cannot. The
difference between a child and its parent is what the child's gain or failure is evidence for.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evoengineer.kernel.text import normalised

_LINES, _AROUND = 40, 4  # of an excerpt, and around each line of it


@dataclass(frozen=True, slots=True)
class Technique:
    """A way to write kernels, and how a text that uses it looks."""

    name: str
    text: str
    sign: str  # regular expression on the text without comments
    needs: str = ""  # another one, on texts to which it can be applied at all
    kinds: tuple[str, ...] = ()  # of operations that it is for (`structure.py`); empty: any


def _table() -> tuple[Technique, ...]:
    data = tomllib.loads((Path(__file__).parent / "techniques.toml").read_text(encoding="utf-8"))
    return tuple(
        Technique(
            each["name"],
            " ".join(each["text"].split()),
            each["sign"],
            each.get("needs", ""),
            tuple(each.get("kinds", ())),
        )
        for each in data["technique"]
    )


TECHNIQUES = _table()
ONE_LAUNCH = Technique("fewer launches", "Do in one launch what took several.", "<<<")
MORE_LAUNCHES = Technique(
    "several launches", "Split the work into launches, so that more blocks can share a reduction.", "<<<"
)
BY_NAME = {each.name: each for each in (*TECHNIQUES, ONE_LAUNCH, MORE_LAUNCHES)}
_SIGNS = {each.name: re.compile(each.sign) for each in TECHNIQUES}


@lru_cache(maxsize=512)
def present(source: str) -> frozenset[str]:
    """Names of the techniques that a text uses."""
    text = normalised(source)
    return frozenset(name for name, sign in _SIGNS.items() if sign.search(text))


def applicable(technique: str, source: str, kind: str, launches: int | None) -> bool:
    """Whether a kernel could take it up: it does not use it yet, and has what it works on. `launches`: that it makes,
    where that is known."""
    if technique == ONE_LAUNCH.name:
        return launches is None or launches > 1
    if technique in present(source):
        return False
    known = BY_NAME[technique]
    fits = not known.kinds or kind in known.kinds
    return fits and (not known.needs or bool(re.search(known.needs, normalised(source))))


def introduced(parent: str, child: str, launches: tuple[int, int] | None = None) -> tuple[str, ...]:
    """What the child does that its parent does not, in the table's order. `launches`: how many each really made, where
    that is known; a text may hold launches for other sizes."""
    new = present(child) - present(parent)
    names = [each.name for each in TECHNIQUES if each.name in new]
    if launches is not None and launches[1] < launches[0]:
        names.append(ONE_LAUNCH.name)
    elif launches is not None and launches[1] > launches[0]:
        names.append(MORE_LAUNCHES.name)
    return tuple(names)


def excerpt(source: str, technique: str) -> str:
    """The function of a text that shows a technique, if it is short; else the lines that do, with some around them."""
    sign = re.compile(BY_NAME[technique].sign)
    lines = source.splitlines()
    function = _function(lines, sign)
    if function:
        return "\n".join(function)
    near: set[int] = set()
    for place, line in enumerate(lines):
        if sign.search(line) and not line.lstrip().startswith("//"):
            near.update(range(max(0, place - _AROUND), min(len(lines), place + _AROUND + 1)))
            if len(near) >= _LINES:
                break
    shown: list[str] = []
    last = -1
    for place in sorted(near)[:_LINES]:
        if last >= 0 and place > last + 1:
            shown.append("…")
        shown.append(lines[place].rstrip())
        last = place
    return "\n".join(shown)


def _function(lines: list[str], sign: re.Pattern[str]) -> list[str]:
    """The first short function whose lines show the sign; by how people lay out a file: what begins at the margin and
    ends with a brace there."""
    start = 0
    for place, line in enumerate(lines):
        if line.startswith("}"):
            body = [each.rstrip() for each in lines[start : place + 1]]
            while body and (not body[0] or body[0].startswith(("#", "//", "using "))):
                del body[0]
            shows = any(sign.search(each) and not each.lstrip().startswith("//") for each in body)
            if shows and 3 < len(body) <= _LINES:
                return body
            start = place + 1
    return []
