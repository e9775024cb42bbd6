"""Tuning: further evaluations of the best kernel's knobs, after the trials and apart from them.

They are judged like every kernel and kept in the archive in a table of their own: no trial is charged, and no
figure of validity counts them. A tuning that was interrupted goes on where it stood. Settings are asked for in
pairs, whatever the number of workers, so that a run with a seed is repeatable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from evoengineer.judge.protocol import Built, Judge
from evoengineer.judge.verdict import Verdict
from evoengineer.propose.syntax.knobs import knobs
from evoengineer.propose.tuner import Tuner, changed_settings
from evoengineer.search.journal import Journal
from evoengineer.search.records import Member, Tuned

_AT_ONCE = 2
_NEAR = 1.25  # times the best kernel's time, that tuning can make up for


def tunable(best: Member, parametrised: Member | None) -> Member:
    """The best kernel; if it has no knobs, one whose sizes were made constants, where it is not far behind."""
    if parametrised is None or parametrised.time_us > _NEAR * best.time_us or knobs(best.source):
        return best
    return parametrised


def tune(
    member: Member,
    count: int,
    seed: int,
    judge: Judge,
    journal: Journal,
    *,
    stopped: Callable[[], bool],
    on_tuned: Callable[[Tuned], None],
) -> Member:
    """The member with the best setting found in `count` evaluations."""
    tuner = Tuner(member.source, member.time_us, seed)
    earlier = {each.source: each for each in journal.tunings(member.number)}
    best, place = member, 0
    while place < count and not stopped():
        sources = tuner.ask(min(_AT_ONCE, count - place))
        if not sources:
            break
        verdicts = _verdicts(judge, [source for source in sources if source not in earlier])
        for source in sources:
            place += 1
            tuned = earlier.get(source)
            if tuned is None:
                turned = changed_settings(member.source, source)
                words = ", ".join(f"{name} = {value}" for name, value in turned.items())
                tuned = Tuned(member.number, place, source, verdicts[source], words)
                journal.tuned(tuned)
                journal.flush()
            timing = tuned.verdict.timing
            tuner.tell(source, None if timing is None else timing.time_us)
            if timing is not None and timing.interval_us[1] < best.interval_us[0]:
                best = replace(
                    best,
                    source=source,
                    time_us=timing.time_us,
                    interval_us=timing.interval_us,
                    speedup=timing.speedup,
                    profile=timing.profile,
                )
            on_tuned(tuned)
    return best


def _verdicts(judge: Judge, sources: list[str]) -> dict[str, Verdict]:
    """Compiled side by side first; settings that compile alike are judged once."""
    builds: list[Built] = [future.result() for future in [judge.build(source) for source in sources]]
    first = {built.build: source for source, built in reversed(list(zip(sources, builds, strict=True)))}
    under_way = {
        source: judge.judge(source)
        for source, built in zip(sources, builds, strict=True)
        if built.verdict is None and first[built.build] == source
    }
    return {
        source: built.verdict if built.verdict is not None else under_way[first[built.build]].result()
        for source, built in zip(sources, builds, strict=True)
    }
