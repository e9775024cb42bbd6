"""The files that a problem consists of: what its verdicts depend on, and what travels to another machine."""

from __future__ import annotations

import re
from pathlib import Path

from evoengineer.problem.model import Problem


def files_of(problem: Problem) -> tuple[Path, ...]:
    """The problem's file, and the files and folders that lie beside it and are named in it, or in one of them."""
    named = [problem.path]
    for path in named:
        if path.suffix == ".py":
            words = set(re.findall(r"\w+", path.read_text(encoding="utf-8", errors="replace")))
            beside = sorted(each for each in path.parent.iterdir() if each.stem in words)
            named += [each for each in beside if each not in named]
    return tuple(named)
