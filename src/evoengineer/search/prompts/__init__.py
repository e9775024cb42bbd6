"""The texts of prompts: one readable template per file beside this one, `$name` marks what is filled in.

`VERSION` changes whenever a template changes; it is recorded with every prompt. Values are never read as
templates, so code may contain `$`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

_DIRECTORY = Path(__file__).parent
SUFFIX = ".txt"


@cache
def version() -> str:
    """Of all templates together."""
    return (_DIRECTORY / "VERSION").read_text().strip()


@cache
def template(name: str) -> Template:
    """The template of that name."""
    return Template((_DIRECTORY / f"{name}{SUFFIX}").read_text().strip())


@cache
def names() -> frozenset[str]:
    """Of all templates."""
    return frozenset(path.name.removesuffix(SUFFIX) for path in _DIRECTORY.glob(f"*{SUFFIX}"))


def fill(template_name: str, /, **values: str) -> str:
    """A template with its values; a value that is missing is an error."""
    return template(template_name).substitute(values)
