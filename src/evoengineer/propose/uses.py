"""Which insights a reply says it is built on: a line `used: 3, 7` (or `used: none`) outside the code."""

from __future__ import annotations

import re

_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_USED = re.compile(r"^[ \t>#*_-]*used(?: insights?)?[ \t*_]*[:=]([^\n]*)", re.IGNORECASE | re.MULTILINE)
_MOST = 16


def used_insights(text: str) -> tuple[int, ...]:
    """Numbers in the order in which they are named, each once; empty for a reply that says nothing."""
    found = _USED.search(_FENCED.sub("", text))
    numbers = re.findall(r"\d{1,9}", found[1]) if found else []
    return tuple(dict.fromkeys(int(number) for number in numbers))[:_MOST]
