"""Reading a reply in the light of its prompt: a whole file, or blocks that change one of the kernels it showed."""

from __future__ import annotations

from dataclasses import replace

from evoengineer.judge.verdict import Outcome, Verdict
from evoengineer.kernel.inline import is_inline
from evoengineer.propose.edits import edited
from evoengineer.propose.parse import Parsed, parse_reply
from evoengineer.search.records import Plan
from evoengineer.search.task import Task

EDITED = "edited"  # in a verdict's details: the kernel that blocks were meant for


def read_reply(text: str, plan: Plan, sources: tuple[str, ...], task: Task) -> tuple[Parsed, Verdict]:
    """What the reply offers, and the verdict on it if it offers no kernel. A complete file wins over blocks."""
    parsed = parse_reply(text, task.signature())
    nothing = Verdict(Outcome.UNPARSABLE, "no kernel could be read from the reply")
    whole = "PYBIND11_MODULE" in parsed.code or "TORCH_LIBRARY" in parsed.code or is_inline(parsed.code)
    if whole and "<<<<< SEARCH" not in parsed.code:
        return parsed, nothing
    kernels = dict(zip(plan.parents, sources, strict=False))
    if not kernels and task.baseline:
        kernels = {0: task.baseline}
    made = edited(text, kernels)
    if made is None:
        return parsed, nothing
    details = {} if made.target is None else {EDITED: made.target}
    return replace(parsed, code=made.code), Verdict(
        Outcome.UNPARSABLE, made.summary, made.evidence, details=details
    )
