"""How a failure is told in one line: outcome, stage and reason. `timed_out` alone does not say what was too slow."""

from __future__ import annotations

from evoengineer.judge.verdict import Outcome, Verdict

_LONGEST = 200  # characters of a reason
_SAID_BY_OUTCOME = ("does not compile: ", "forbidden: ")


def stage_of(verdict: Verdict) -> str:
    """Where it failed: a case, loading, compiling; empty where nothing is known or needed."""
    where = str(verdict.details.get("where", ""))
    if where:
        return where
    if verdict.outcome is Outcome.UNPARSABLE:
        return "reading the reply"
    return "compiling" if verdict.outcome is Outcome.TIMED_OUT and not verdict.build else ""


def reason(verdict: Verdict) -> str:
    """The summary in one line, without what the outcome says already."""
    summary = " ".join(verdict.summary.split())
    return next(
        (summary.removeprefix(each) for each in _SAID_BY_OUTCOME if summary.startswith(each)), summary
    )


def told(verdict: Verdict) -> str:
    """`timed_out (compiling): …`; the stage is named once."""
    summary = reason(verdict)
    if len(summary) > _LONGEST:
        summary = summary[:_LONGEST] + " …"
    stage = stage_of(verdict)
    named = f" ({stage})" if stage and stage not in summary else ""
    return f"{verdict.outcome}{named}: {summary}"
