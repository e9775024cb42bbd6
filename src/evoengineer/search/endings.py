"""How a run can end, the options that decide it, and whether it ends before its budget does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from evoengineer.search.budget import Budget
from evoengineer.search.progress import Progress


class Ending(StrEnum):
    """Why a run ended. All but `FINISHED` and the early stops can be resumed to the full budget."""

    FINISHED = "finished"  # all trials are charged
    STALLED = "stalled"  # no better kernel for a while (early stop)
    TARGET = "target"  # the speedup asked for is reached (early stop)
    ENOUGH = "enough"  # the share of the speed of light asked for is reached (early stop)
    BUDGET = "budget"  # tokens, cost or time do not allow another call
    REPEATS = "repeats"  # the proposer only repeats itself
    PROPOSER = "proposer"  # the proposer gives no answers
    ENVIRONMENT = "environment"  # the machine failed: nothing can be judged on it now
    INTERRUPTED = "interrupted"

    @property
    def gave_up(self) -> bool:
        """Was it something that failed, not something that was decided?"""
        return self in (Ending.PROPOSER, Ending.ENVIRONMENT)

    @property
    def status(self) -> str:
        """As the archive has it: `finished` or `stopped`."""
        done = self in (Ending.FINISHED, Ending.STALLED, Ending.TARGET, Ending.ENOUGH)
        return "finished" if done else "stopped"


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """What decides how long the loop goes on, and how many calls it makes at once."""

    workers: int = 4  # calls to the proposer at once
    most_repeats: int = 25  # duplicates in a row before the run ends
    most_failures: int = 5  # proposals in a row without an answer before the run ends
    stall_trials: int | None = None  # stop after so many trials without a better kernel
    target_speedup: float | None = None
    tune: int = 0  # evaluations of the best kernel's knobs after the trials
    enough_light: float | None = None  # stop at this share of the speed of light


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended, with its totals."""

    ending: Ending
    reason: str
    progress: Progress


def budget_reason(limit: str, budget: Budget) -> str:
    """Why a run ends, for the limit of that name."""
    match limit:
        case "tokens":
            return f"{budget.tokens.used:,} tokens are used; the next call may exceed the limit"
        case "cost":
            return f"${budget.nano_usd.used / 1e9:.4f} is spent; the next call may exceed the limit"
        case "time":
            return f"the time is up after {budget.elapsed():.0f} s"
        case _:
            return f"the limit on {limit} is reached"


def early_end(
    options: LoopOptions, progress: Progress, reach_us: float | None, unused: int
) -> tuple[Ending, str] | None:
    """Whether a run need not, or cannot, go on to the end of its budget, and why. `reach_us`: the time that is within
    reach, where it is known; `unused`: trials that are neither charged nor under way."""
    speedup = 0.0 if progress.best is None else progress.best.speedup or 0.0
    light, reached = _near_light(progress, reach_us)
    stalled = progress.trials - progress.best_trial
    if progress.repeats_in_a_row >= options.most_repeats:
        repeats = progress.repeats_in_a_row
        return Ending.REPEATS, f"the proposer only repeats itself: {repeats} duplicates in a row"
    if progress.failures_in_a_row >= options.most_failures:
        failures = progress.failures_in_a_row
        return Ending.PROPOSER, f"{failures} proposals in a row without an answer; `resume` tries again"
    if options.target_speedup is not None and speedup >= options.target_speedup:
        return Ending.TARGET, f"the speedup asked for is reached: {speedup:.2f}x"
    if options.enough_light is not None and max(light, reached) >= options.enough_light:
        within = "" if light >= options.enough_light else f", {reached:.0%} of what is within reach"
        return (
            Ending.ENOUGH,
            f"the best kernel reaches {light:.0%} of the speed of light{within}: {unused} trials are not needed",
        )
    if options.stall_trials is not None and stalled >= options.stall_trials:
        return Ending.STALLED, f"no better kernel in {stalled} trials"
    return None


def _near_light(progress: Progress, reach_us: float | None) -> tuple[float, float]:
    """The best kernel's share of the speed of light, and of the speed that is within reach: what no kernel can have
    is not worth trials. 0 where it is not known."""
    best = progress.best
    if best is None:
        return 0.0, 0.0
    return best.light_share or 0.0, 0.0 if reach_us is None else min(1.0, reach_us / best.time_us)
