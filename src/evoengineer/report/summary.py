"""The closing summary of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.card.name import DeviceName
from evoengineer.report.text import cost, duration, outcomes_text, share, speedup_text

if TYPE_CHECKING:
    from evoengineer.archive.reading import RunSummary
    from evoengineer.judge.verdict import Timing


def summary_text(summary: RunSummary, best_path: Path | None, best: Timing | None = None) -> str:
    """What was spent and what came of it, a line each. `best` is the best kernel's timing."""
    run = summary.run
    simulated = " simulated" if DeviceName.parse(run.device).simulated else ""
    lines = [
        f"run {run.id}: {run.problem}, method {run.method}, proposer {run.proposer}, {run.device}, seed {run.seed}"
    ]
    lines.append(
        f"  trials    {summary.trials} of {run.trials} charged; {summary.duplicates} duplicates and "
        f"{summary.failed} unanswered proposals not charged"
    )
    lines.append(f"  verdicts  {outcomes_text(summary.outcomes) or 'none'}")
    functional, compiled = share(summary.valid, summary.trials), share(summary.compiled, summary.trials)
    lines.append(f"  validity  functional {functional}, compile {compiled}")
    if summary.tuned:
        given_up = f"; {summary.given_up} of them given up unjudged, as too slow" if summary.given_up else ""
        lines.append(
            f"  tuning    {summary.tuned} settings of knobs evaluated, apart from the trials{given_up}"
        )
    if summary.attempts:
        failed = ", ".join(f"{kind} {count}" for kind, count in summary.attempts.most_common())
        lines.append(f"  failed calls, repeated and not charged  {failed}")
    lines += _models(summary)
    lines.append(f"  spent     {summary.tokens:,} tokens, {_cost(summary)}, {duration(summary.seconds)}")
    if summary.baseline_us is not None:
        lines.append(f"  baseline  {summary.baseline_us:.2f} us{simulated}")
    if summary.best_us is not None:
        faster = (
            f", {speedup_text(summary.best_speedup)} the baseline's speed" if summary.best_speedup else ""
        )
        what = "the baseline itself" if summary.best_number == 0 else f"proposal {summary.best_number}"
        if summary.best_setting is not None:
            what += f", setting {summary.best_setting} of its knobs"
        lines.append(f"  best      {summary.best_us:.2f} us{simulated}{faster} ({what})")
    if summary.baseline_us is None and best is not None:
        lines += [f"  {line}" for line in without_baseline(best)]
    if best_path is not None:
        lines.append(f"  kernel    {best_path}")
    if run.note:
        lines.append(f"  note      {run.note}")
    if run.reason:
        lines.append(f"  {run.status}: {run.reason}")
    return "\n".join(lines)


def _models(summary: RunSummary) -> list[str]:
    """A line for each of several models; a single one is the run itself."""
    if len([each for each in summary.models if each.model]) < 2:
        return []
    known = summary.price_known
    return [
        f"  model     {each.model or 'without an answer'}: {each.proposals} proposals, {each.trials} trials, "
        f"{each.valid} valid, {each.improved} new bests, {each.tokens:,} tokens, {cost(each.nano_usd, known=known)}"
        for each in summary.models
    ]


def without_baseline(timing: Timing) -> list[str]:
    """What a time can be compared with where there is no baseline: PyTorch if its time is known, and the light."""
    lines = []
    if timing.pytorch_us is not None:
        faster = speedup_text(timing.pytorch_us / timing.time_us)
        estimated = ", estimated" if timing.simulated else ""
        lines.append(f"PyTorch   {timing.pytorch_us:.2f} us{estimated}; {faster} its speed")
    if timing.speed_of_light_us is not None:
        share = timing.speed_of_light_us / timing.time_us
        lines.append(f"light     {timing.speed_of_light_us:.2f} us ({share:.0%} of its speed reached)")
    return lines


def no_baseline_text(problem: str) -> str:
    """Said when a run begins without one."""
    return (
        f"{problem} has no baseline kernel: the search starts from the model's first valid one, and speedups are over "
        "PyTorch, estimated where it is not measured. `evoengineer problems adopt` makes a folder with one of a "
        "KernelBench file; --baseline FILE.cu gives one."
    )


def _cost(summary: RunSummary) -> str:
    if summary.price_known:
        return cost(summary.nano_usd)
    return f"cost unknown (no price of {summary.run.proposer} is known: --prices FILE)"
