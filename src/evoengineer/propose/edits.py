"""Replies that change a named kernel instead of giving a whole file: search-and-replace blocks.

    edit: kernel 12
    <<<<<<< SEARCH
    lines that stand in kernel 12 exactly once
    =======
    the lines that take their place
    >>>>>>> REPLACE

Blocks are applied in order. One that does not apply is a failure with evidence (which block, and what the kernel has
where it was meant), never a guess: blanks at the ends of lines are all that may differ. A reply with a complete file
is not an edit, whatever else stands in it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

_TARGET = re.compile(
    r"^[ \t>#*_-]*edit[ \t*_]*[:=][ \t*_]*(?:kernel)?[ \t]*(\d{1,9})?", re.IGNORECASE | re.MULTILINE
)
_BLOCK = re.compile(
    r"^[ \t]*<{5,}[ \t]*SEARCH[ \t]*\n(.*?)^[ \t]*={5,}[ \t]*\n(.*?)^[ \t]*>{5,}[ \t]*REPLACE[ \t]*$",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Edited:
    """What came of a reply's blocks: the new text, or why there is none."""

    code: str  # empty: some block does not apply
    summary: str = ""
    evidence: str = ""
    target: int | None = None  # the kernel that the blocks were meant for, if they name one that was shown


def edited(text: str, kernels: Mapping[int, str]) -> Edited | None:
    """The kernel that a reply's blocks make of one of `kernels`, which the prompt showed; None without blocks."""
    blocks = [(match[1], match[2]) for match in _BLOCK.finditer(text.replace("\r\n", "\n"))]
    if not blocks:
        return None
    target = _TARGET.search(text)
    named = int(target[1]) if target and target[1] else None
    if named is None and len(kernels) == 1:
        named = next(iter(kernels))
    shown = ", ".join(f"kernel {number}" for number in kernels) or "none"
    if named is None or named not in kernels:
        what = "names no kernel" if named is None else f"names kernel {named}, which the prompt did not show"
        return Edited(
            "", f"the edit {what}; it can change: {shown}", "Write `edit: kernel N` before the blocks."
        )
    source = kernels[named]
    for place, (search, replacement) in enumerate(blocks, 1):
        found = _places(source, search)
        if len(found) != 1:
            return _refused(place, len(blocks), named, source, search, len(found))
        start, end = found[0]
        source = source[:start] + replacement + source[end:]
    return Edited(source)


def _places(source: str, search: str) -> list[tuple[int, int]]:
    """Where whole lines of the kernel equal the searched ones but for blanks at their ends."""
    wanted = [line.rstrip() for line in search.splitlines()]
    if not any(wanted):
        return []
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    bare = [line.rstrip() for line in lines]
    return [
        (starts[at], starts[at + len(wanted)])
        for at in range(len(lines) - len(wanted) + 1)
        if bare[at : at + len(wanted)] == wanted
    ]


def _refused(place: int, count: int, number: int, source: str, search: str, found: int) -> Edited:
    if not search.strip():
        return Edited(
            "",
            f"block {place} of {count} searches for nothing",
            "A block needs lines to search for.",
            number,
        )
    why = f"occurs {found} times in" if found else "does not occur in"
    summary = f"block {place} of {count} does not apply: its SEARCH text {why} kernel {number}"
    evidence = f"Searched for:\n{search.rstrip()}\n"
    if not found:
        first = next(line.strip() for line in search.splitlines() if line.strip())
        near = difflib.get_close_matches(first, [line.strip() for line in source.splitlines()], 1, 0.4)
        evidence += f"Nearest line of kernel {number}:\n{near[0]}" if near else "No line of it is alike."
    else:
        evidence += "Take more lines around it, so that it occurs once."
    return Edited("", summary, evidence, number)
