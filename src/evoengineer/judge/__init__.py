"""Judging: from a kernel's text to a verdict that can be trusted.

    verdict = judge(source, "softmax")                             # one kernel
    with open_judge("softmax") as judge:                           # many: futures, in parallel
        futures = [judge.judge(source) for source in sources]

`verdict.py` has the closed set of outcomes; docs/judging.md says how each is found. Importing this package is
cheap: torch lives in processes of its own.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from evoengineer.card.name import DeviceName
from evoengineer.errors import UsageError
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.verdict import Outcome, Timing, Verdict

if TYPE_CHECKING:
    from evoengineer.judge.pool import JudgePool
    from evoengineer.problem.catalog import Description
    from evoengineer.problem.model import Problem

__all__ = ["JudgeOptions", "Outcome", "Timing", "Verdict", "judge", "open_judge"]


def open_judge(problem: str | Path | Problem | Description, options: JudgeOptions | None = None) -> JudgePool:
    """A judge for many kernels of one problem: its `judge(source)` gives a future with the verdict.

    Close it, or use it as a context manager.
    """
    from evoengineer.judge.pool import JudgePool
    from evoengineer.problem.catalog import Description, find_problem

    description = problem if isinstance(problem, Description) else find_problem(problem)
    return JudgePool(description, options or JudgeOptions())


def judge(
    source: str | Path,
    problem: str | Path | Problem | Description,
    *,
    device: str | None = None,
    options: JudgeOptions | None = None,
) -> Verdict:
    """The verdict on one kernel, given as its text or as the `Path` of its file (.cu, or .py with load_inline).

    `device` is where it runs, `sim:CARD` or `cuda:N`; the rest (seed, limits, cache) is in `options`.
    """
    if isinstance(source, Path):
        try:
            source = source.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(f"{source}: {error.strerror or error}") from error
    elif source.endswith((".cu", ".py")) and "\n" not in source:
        raise UsageError(f"{source!r} is no kernel's text; for a file give Path({source!r})")
    options = replace(options or JudgeOptions(), workers=1)
    with open_judge(
        problem, options if device is None else replace(options, device=DeviceName.parse(device))
    ) as opened:
        return opened.judge(source).result()


class _Package(ModuleType):
    """The public verb has this package's name. Importing any part of the package binds that name in `evoengineer`, so
    that the package itself has to answer the call."""

    def __call__(
        self,
        source: str | Path,
        problem: str | Path | Problem | Description,
        *,
        device: str | None = None,
        options: JudgeOptions | None = None,
    ) -> Verdict:
        """The verdict on one kernel: see `judge` in this package."""
        return judge(source, problem, device=device, options=options)


sys.modules[__name__].__class__ = _Package
