"""Tuning: further evaluations of the knobs of promising kernels, after the trials and apart from them.

They are judged like every kernel and kept in the archive in a table of their own: no trial is charged, and no
figure of validity counts them. A tuning that was interrupted goes on where it stood. Settings are asked for in
pairs, whatever the number of workers, so that a run with a seed is repeatable.

Promising are the fastest kernels that differ in more than their settings: the best with one size is not always the
best with its own best size. Each gets a few evaluations, and the rest goes to the one that is ahead then. A text
that the run has judged before is not evaluated, and one that compiles to known machine code is not judged again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from evoengineer.judge.protocol import Built, Judge
from evoengineer.judge.verdict import Verdict
from evoengineer.propose.syntax.knobs import knobs
from evoengineer.propose.tuner import Tuner, changed_settings, skeleton
from evoengineer.search.journal import Journal
from evoengineer.search.records import Member, Tuned

_AT_ONCE = 2
_MOST = 3  # kernels that are turned
_FIRST = 4  # evaluations of each before the one that is ahead gets the rest
_NEAR = 1.3  # times of promising kernels, over the best


def promising(members: Iterable[Member], count: int) -> list[Member]:
    """The members worth turning with so many evaluations, the fastest first."""
    found: dict[str, Member] = {}
    for member in sorted(members, key=lambda each: (each.time_us, each.number)):
        found.setdefault(skeleton(member.source), member)
    ranked = list(found.values())
    turned = [each for each in ranked if knobs(each.source) and each.time_us <= _NEAR * ranked[0].time_us]
    return turned[: max(1, min(_MOST, count // (_FIRST + _AT_ONCE)))]


class _Contestant:
    """A kernel whose knobs are turned, and how far that got."""

    def __init__(self, member: Member, seed: int, known: set[str], earlier: Iterable[Tuned]) -> None:
        self.member = self.best = member
        self.tuner = Tuner(member.source, member.time_us, seed, known)
        self.earlier = {each.source: each for each in earlier}
        self.place = 0
        self.exhausted = False


def tune(
    members: Iterable[Member],
    count: int,
    seed: int,
    judge: Judge,
    journal: Journal,
    *,
    known: Iterable[str] = (),
    stopped: Callable[[], bool],
    on_tuned: Callable[[Tuned], None],
) -> Member | None:
    """The best setting found in `count` evaluations; None when there was nothing to turn. `known` are the texts that
    the run has judged."""
    asked = set(known)
    contest = [
        _Contestant(member, seed, asked, journal.tunings(member.number))
        for member in promising(members, count)
    ]
    verdicts = {
        each.verdict.build: each.verdict
        for contestant in contest
        for each in contestant.earlier.values()
        if each.verdict.build
    }
    spent = 0
    while spent < count and not stopped():
        able = [each for each in contest if not each.exhausted]
        if not able:
            break
        beginners = [each for each in able if len(contest) > 1 and each.place < _FIRST]
        chosen = beginners[0] if beginners else min(able, key=lambda each: each.best.time_us)
        sources = chosen.tuner.ask(min(_AT_ONCE, count - spent))
        chosen.exhausted = not sources
        fresh = [source for source in sources if source not in chosen.earlier]
        found = _verdicts(judge, fresh, verdicts)
        for source in sources:
            spent += 1
            _settle(chosen, source, found, journal, on_tuned)
    return min((each.best for each in contest), key=lambda each: each.time_us, default=None)


def _settle(
    chosen: _Contestant,
    source: str,
    verdicts: Mapping[str, Verdict],
    journal: Journal,
    on_tuned: Callable[[Tuned], None],
) -> None:
    chosen.place += 1
    tuned = chosen.earlier.get(source)
    if tuned is None:
        turned = changed_settings(chosen.member.source, source)
        words = ", ".join(f"{name} = {value}" for name, value in turned.items())
        tuned = Tuned(chosen.member.number, chosen.place, source, verdicts[source], words)
        journal.tuned(tuned)
        journal.flush()
    timing = tuned.verdict.timing
    chosen.tuner.tell(source, None if timing is None else timing.time_us)
    if timing is not None and timing.interval_us[1] < chosen.best.interval_us[0]:
        chosen.best = replace(
            chosen.best,
            source=source,
            time_us=timing.time_us,
            interval_us=timing.interval_us,
            speedup=timing.speedup,
            profile=timing.profile,
        )
    on_tuned(tuned)


def _verdicts(judge: Judge, sources: list[str], known: dict[str, Verdict]) -> dict[str, Verdict]:
    """Compiled side by side first; settings that compile alike are judged once. `known` are verdicts by machine
    code, to which the new ones are added."""
    builds: list[Built] = [future.result() for future in [judge.build(source) for source in sources]]
    first = {built.build: source for source, built in reversed(list(zip(sources, builds, strict=True)))}
    under_way = {
        source: judge.judge(source)
        for source, built in zip(sources, builds, strict=True)
        if built.verdict is None and first[built.build] == source and built.build not in known
    }
    for source, future in under_way.items():
        verdict = future.result()
        known[next(build for build, other in first.items() if other == source)] = verdict
    return {
        source: built.verdict if built.verdict is not None else known[built.build]
        for source, built in zip(sources, builds, strict=True)
    }
