"""Reading a reply in the light of its prompt: a whole file, or blocks that change one of the kernels it showed."""

from __future__ import annotations

from dataclasses import replace

from evoengineer.judge.verdict import Outcome, Verdict
from evoengineer.propose.edits import edited
from evoengineer.propose.parse import Parsed, parse_reply
from evoengineer.search.records import Plan


def read_reply(text: str, plan: Plan, sources: tuple[str, ...], baseline: str) -> tuple[Parsed, Verdict]:
    """What the reply offers, and the verdict on it if it offers no kernel. A complete file wins over blocks."""
    parsed = parse_reply(text)
    nothing = Verdict(Outcome.UNPARSABLE, "no kernel could be read from the reply")
    if "<<<<< SEARCH" not in parsed.code and (
        "PYBIND11_MODULE" in parsed.code or "TORCH_LIBRARY" in parsed.code
    ):
        return parsed, nothing
    kernels = dict(zip(plan.parents, sources, strict=False))
    if not kernels and baseline:
        kernels = {0: baseline}
    made = edited(text, kernels)
    if made is None:
        return parsed, nothing
    return replace(parsed, code=made.code), Verdict(Outcome.UNPARSABLE, made.summary, made.evidence)
