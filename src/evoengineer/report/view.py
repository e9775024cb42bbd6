"""Watching a run: a live view in a terminal, plain lines elsewhere. Both implement `search.progress.Observer`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from evoengineer.report.text import cost, duration, faster_text, outcomes_text, speedup_text, time_text
from evoengineer.search.records import Kind

if TYPE_CHECKING:
    from evoengineer.propose.protocol import Attempt
    from evoengineer.search.progress import Progress
    from evoengineer.search.records import Plan, Settled, Tuned


class PlainView:
    """A line per event that a reader of a log wants to see."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self._nodes: int | None = None

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def say(self, text: str) -> None:
        print(text, file=self.stream, flush=True)

    def planned(self, plan: Plan, progress: Progress) -> None:
        pass

    def attempted(self, attempt: Attempt, progress: Progress) -> None:
        again = f"; again in {attempt.wait_seconds:.1f} s" if attempt.wait_seconds else ""
        self.say(f"  call for proposal {attempt.number} failed: {attempt.kind}: {attempt.message}{again}")

    def settled(self, plan: Plan | None, settled: Settled, progress: Progress) -> None:
        self.say(settled_line(plan, settled, progress))

    def tuned(self, tuned: Tuned, progress: Progress) -> None:
        self.say(tuned_line(tuned))

    def tick(self, progress: Progress) -> None:
        """Nodes come and go; what is under way changes all the time."""
        if progress.cluster is not None and progress.cluster.nodes != self._nodes:
            self._nodes = progress.cluster.nodes
            self.say(f"cluster: {progress.cluster}")


def settled_line(plan: Plan | None, settled: Settled, progress: Progress) -> str:
    """What became of a proposal, in one line."""
    timing = settled.verdict.timing if settled.verdict else None
    if settled.kind is Kind.BASELINE:
        return f"baseline: {time_text(timing)}"
    operator = plan.operator if plan else ""
    if settled.kind is Kind.DUPLICATE:
        return f"   dup  {operator}: the same as proposal {settled.duplicate_of}, not charged"
    if settled.kind is Kind.FAILED:
        return f"     -  {operator}: no answer, not charged"
    limit = f"/{progress.limit}" if progress.limit is not None else ""
    head = f"{settled.trial:>4}{limit}  {operator}: {settled.outcome}"
    name = f"  {settled.name}" if settled.name else ""
    if timing is None:
        summary = settled.verdict.summary if settled.verdict else ""
        return f"{head}  {summary}{name}"
    star = "  * new best" if settled.improved else ""
    return f"{head}  {time_text(timing)}  {faster_text(timing)}{name}{star}"


def tuned_line(tuned: Tuned) -> str:
    """What became of a setting, in one line."""
    head = f"  tune {tuned.place:>3}  proposal {tuned.number}: "
    if tuned.verdict is None:
        return f"{head}given up unjudged, as too slow  {tuned.setting}"
    head += str(tuned.verdict.outcome)
    timing = tuned.verdict.timing
    if timing is None:
        return f"{head}  {tuned.verdict.summary}"
    return f"{head}  {time_text(timing)}  {faster_text(timing)}  {tuned.setting}"


class LiveView:
    """A table that is redrawn, with the latest trials below it."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.live import Live

        self.title = title
        self.recent: list[str] = []
        self._live = Live(console=Console(), refresh_per_second=4, transient=True)
        self._progress: Progress | None = None
        self._drawn = 0.0

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        self._live.console.print(text, highlight=False, markup=False)

    def planned(self, plan: Plan, progress: Progress) -> None:
        self._draw(progress)

    def attempted(self, attempt: Attempt, progress: Progress) -> None:
        self._add(
            f"     !  proposal {attempt.number}: {attempt.kind}, again in {attempt.wait_seconds:.1f} s",
            progress,
        )

    def settled(self, plan: Plan | None, settled: Settled, progress: Progress) -> None:
        self._add(settled_line(plan, settled, progress), progress)

    def tuned(self, tuned: Tuned, progress: Progress) -> None:
        self._add(tuned_line(tuned), progress)

    def tick(self, progress: Progress) -> None:
        if time.monotonic() - self._drawn > 0.25:
            self._draw(progress)

    def _add(self, line: str, progress: Progress) -> None:
        self.recent = [*self.recent, line][-8:]
        self._draw(progress)

    def _draw(self, progress: Progress) -> None:
        self._drawn = time.monotonic()
        self._live.update(self.render(progress))

    def render(self, progress: Progress) -> Any:
        """The view as something that rich can print."""
        from rich.console import Group
        from rich.panel import Panel
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        rows = Table.grid(padding=(0, 2))
        rows.add_column(style="bold")
        rows.add_column()
        limit = progress.limit or 0
        rows.add_row("trials", f"{progress.trials} of {limit}, {progress.in_flight} under way")
        rows.add_row("", ProgressBar(total=max(limit, 1), completed=progress.trials, width=40))
        for label, text in progress_rows(progress):
            rows.add_row(label, text)
        body = Group(rows, Text(""), *(Text(line, overflow="ellipsis", no_wrap=True) for line in self.recent))
        return Panel(body, title=self.title)


def progress_rows(progress: Progress) -> list[tuple[str, str]]:
    """What the live view tells, as label and text."""
    best = progress.best
    rows = []
    if best is not None:
        label = " simulated" if best.simulated else ""
        rows.append(("best", f"{best.time_us:.2f} us{label}, {speedup_text(best.speedup)}  {best.name}"))
    verdicts = outcomes_text(progress.outcomes)
    if progress.duplicates:
        verdicts += f"  duplicates {progress.duplicates}"
    rows.append(("verdicts", verdicts or "none yet"))
    if progress.attempts:
        failed = ", ".join(f"{kind} {count}" for kind, count in progress.attempts.most_common())
        rows.append(("failed calls", failed))
    if progress.cluster is not None:
        rows.append(("cluster", str(progress.cluster)))
    rows.append(
        ("tokens", f"{progress.tokens:,}   cost {cost(progress.nano_usd, known=progress.price_known)}")
    )
    left = remaining_seconds(progress)
    rows.append(
        ("time", duration(progress.seconds) + ("" if left is None else f", about {duration(left)} left"))
    )
    return rows


def remaining_seconds(progress: Progress) -> float | None:
    """By the pace so far, and not beyond the limit on time."""
    if not progress.trials or progress.limit is None:
        return progress.seconds_left
    pace = progress.seconds / progress.trials * (progress.limit - progress.trials)
    return pace if progress.seconds_left is None else min(pace, progress.seconds_left)


def open_view(title: str, *, plain: bool) -> PlainView | LiveView:
    """The live view in a terminal, unless plain lines are asked for."""
    if plain or not sys.stdout.isatty():
        return PlainView()
    return LiveView(title)
