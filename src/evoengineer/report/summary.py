"""The closing summary of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.card.name import DeviceName
from evoengineer.report.text import cost, duration, outcomes_text, share, speedup_text

if TYPE_CHECKING:
    from evoengineer.archive.reading import RunSummary


def summary_text(summary: RunSummary, best_path: Path | None) -> str:
    """What was spent and what came of it, a line each."""
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
        lines.append(f"  tuning    {summary.tuned} settings of knobs evaluated, apart from the trials")
    if summary.attempts:
        failed = ", ".join(f"{kind} {count}" for kind, count in summary.attempts.most_common())
        lines.append(f"  failed calls, repeated and not charged  {failed}")
    lines.append(
        f"  spent     {summary.tokens:,} tokens, {cost(summary.nano_usd)}, {duration(summary.seconds)}"
    )
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
    if best_path is not None:
        lines.append(f"  kernel    {best_path}")
    if run.reason:
        lines.append(f"  {run.status}: {run.reason}")
    return "\n".join(lines)
