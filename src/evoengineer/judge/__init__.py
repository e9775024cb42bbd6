"""Judging: from a kernel's text to a verdict that can be trusted.

    verdict = judge_once(source, find_problem("softmax"))         # one kernel
    with open_judge(find_problem("softmax")) as judge:             # many: futures, in parallel
        futures = [judge.judge(source) for source in sources]

`verdict.py` has the closed set of outcomes; docs/judging.md says how each is found. Importing this package is
cheap: torch lives in processes of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.verdict import Outcome, Timing, Verdict

if TYPE_CHECKING:
    from evoengineer.judge.pool import JudgePool
    from evoengineer.problem.catalog import Description

__all__ = ["JudgeOptions", "Outcome", "Timing", "Verdict", "judge_once", "open_judge"]


def open_judge(description: Description, options: JudgeOptions | None = None) -> JudgePool:
    """A judge for many kernels of one problem. Close it, or use it as a context manager."""
    from evoengineer.judge.pool import JudgePool

    return JudgePool(description, options or JudgeOptions())


def judge_once(source: str, description: Description, options: JudgeOptions | None = None) -> Verdict:
    """The verdict on one kernel."""
    with open_judge(description, options or JudgeOptions(workers=1)) as judge:
        return judge.judge(source).result()
