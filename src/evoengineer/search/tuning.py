"""Tuning: further evaluations of the knobs of promising kernels, after the trials and apart from them.

They are judged like every kernel and kept in the archive in a table of their own: no trial is charged, and no
figure of validity counts them. A tuning that was interrupted goes on where it stood. Settings are asked for in
pairs, whatever the number of workers, so that a run with a seed is repeatable.

A setting that cannot win is given up before it is judged: a judge that can foresee times (`judge.protocol`) is asked
about it and about the best setting so far, and judges it only if it looks as fast. What is given up was compiled and
run in part, so it counts as an evaluation.

Promising are the fastest kernels that differ in more than their settings: the best with one size is not always the
best with its own best size. One that has the same knobs as a faster one and takes as long is the same design in other
words (a fallback's block size, an unrolled loop) and would be turned to the same times. Each gets a few evaluations,
and the rest goes to the one that is ahead then. A text
that the run has judged before is not evaluated, and one that compiles to known machine code is no evaluation: a knob
that decides nothing costs a compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import inf

from evoengineer.judge.protocol import Built, Foreseeing, Judge
from evoengineer.judge.verdict import Verdict
from evoengineer.propose.syntax.knobs import knobs
from evoengineer.propose.tuner import Tuner, changed_settings, skeleton
from evoengineer.search.journal import Journal
from evoengineer.search.records import Member, Tuned

_AT_ONCE = 2
_MOST = 3  # kernels that are turned
_FIRST = 4  # evaluations of each before the one that is ahead gets the rest
_MOST_REPEATED = (
    4  # settings that compile to known machine code, for every evaluation, before the rest is given up
)
_NEAR = 1.3  # times of promising kernels, over the best
_AS_LONG = 1.01  # times of kernels with the same knobs that count as one
_HOPELESS = 1.02  # foreseen times, over that of the best setting


def promising(members: Iterable[Member], count: int) -> list[Member]:
    """The members worth turning with so many evaluations, the fastest first."""
    found: dict[str, Member] = {}
    for member in sorted(members, key=lambda each: (each.time_us, each.number)):
        found.setdefault(skeleton(member.source), member)
    ranked = list(found.values())
    turned: list[Member] = []
    times: dict[tuple[str, ...], float] = {}  # the latest of those taken, by what can be turned
    for each in ranked:
        names = tuple(sorted(knob.name for knob in knobs(each.source)))
        if names and _AS_LONG * times.get(names, 0.0) < each.time_us <= _NEAR * ranked[0].time_us:
            times[names] = each.time_us
            turned.append(each)
    return turned[: max(1, min(_MOST, count // (_FIRST + _AT_ONCE)))]


class _Contestant:
    """A kernel whose knobs are turned, and how far that got."""

    def __init__(
        self,
        member: Member,
        others: Iterable[Member],
        seed: int,
        known: set[str],
        earlier: Iterable[Tuned],
    ) -> None:
        self.member = self.best = member
        history = [(each.source, each.time_us) for each in others]
        self.tuner = Tuner(member.source, member.time_us, seed, known, history)
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
    members = list(members)
    families: dict[str, list[Member]] = {}
    for member in members:
        families.setdefault(skeleton(member.source), []).append(member)
    contest = [
        _Contestant(member, families[skeleton(member.source)], seed, asked, journal.tunings(member.number))
        for member in promising(members, count)
    ]
    known_times = _known_times(judge, contest)
    outlook = _Outlook(judge)
    spent = repeated = 0
    while spent < count and repeated < _MOST_REPEATED * count and not stopped():
        able = [each for each in contest if not each.exhausted]
        if not able:
            break
        beginners = [each for each in able if len(contest) > 1 and each.place < _FIRST]
        chosen = beginners[0] if beginners else min(able, key=lambda each: each.best.time_us)
        sources = chosen.tuner.ask(min(_AT_ONCE, count - spent))
        chosen.exhausted = not sources
        new = [source for source in sources if source not in chosen.earlier]
        found = _evaluate(judge, outlook, new, chosen.best.source, known_times)
        for source in sources:
            result = found.get(source)
            if isinstance(result, str):
                repeated += 1
                chosen.tuner.tell(source, known_times[result])
            else:
                spent += 1
                _settle(chosen, source, result, journal, on_tuned)
    return min((each.best for each in contest), key=lambda each: each.time_us, default=None)


class _Outlook:
    """What can be said of a setting's chances before it is judged."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge if isinstance(judge, Foreseeing) else None
        self._best = ""  # the text compared with last, and its foreseen time
        self._best_us: float | None = None

    def hopeless(self, sources: Iterable[str], best: str) -> dict[str, float]:
        """The foreseen times of those that would be slower than the best setting."""
        if self._judge is None:
            return {}
        under_way = {source: self._judge.foresee(source) for source in sources}
        if under_way and self._best != best:
            self._best, self._best_us = best, self._judge.foresee(best).result()
        bar_us = inf if self._best_us is None else _HOPELESS * self._best_us
        foreseen = {source: future.result() for source, future in under_way.items()}
        return {source: us for source, us in foreseen.items() if us is not None and us > bar_us}


def _known_times(judge: Judge, contest: Iterable[_Contestant]) -> dict[str, float | None]:
    """Times by machine code: of the kernels themselves, and of settings that were evaluated before."""
    times: dict[str, float | None] = {}
    for each in contest:
        times[judge.build(each.member.source).result().build] = each.member.time_us
        for tuned in each.earlier.values():
            verdict = tuned.verdict
            build = verdict.build if verdict else judge.build(tuned.source).result().build
            if build:
                times[build] = tuned.time_us
    return times


def _settle(
    chosen: _Contestant,
    source: str,
    result: Verdict | float | None,
    journal: Journal,
    on_tuned: Callable[[Tuned], None],
) -> None:
    """Keep what came of a setting, unless it is `earlier` than this session (None)."""
    chosen.place += 1
    tuned = chosen.earlier.get(source)
    if tuned is None:
        turned = changed_settings(chosen.member.source, source)
        words = ", ".join(f"{name} = {value}" for name, value in turned.items())
        verdict, foreseen_us = (result, None) if isinstance(result, Verdict) else (None, result)
        tuned = Tuned(chosen.member.number, chosen.place, source, verdict, words, foreseen_us)
        journal.tuned(tuned)
        journal.flush()
    chosen.tuner.tell(source, tuned.time_us)
    timing = tuned.verdict and tuned.verdict.timing
    if timing and timing.interval_us[1] < chosen.best.interval_us[0]:
        chosen.best = replace(
            chosen.best,
            source=source,
            time_us=timing.time_us,
            interval_us=timing.interval_us,
            speedup=timing.speedup,
            profile=timing.profile,
        )
    on_tuned(tuned)


def _evaluate(
    judge: Judge, outlook: _Outlook, sources: list[str], best: str, known_times: dict[str, float | None]
) -> dict[str, Verdict | float | str]:
    """By text: its verdict, or the foreseen time of one that was given up, or the machine code of one whose time is
    known. Texts are compiled side by side first, and those that compile alike are judged once. New times are added."""
    builds: list[Built] = [future.result() for future in [judge.build(source) for source in sources]]
    found: dict[str, Verdict | float | str] = {}
    new: dict[str, str] = {}  # machine code by text
    for source, built in zip(sources, builds, strict=True):
        if built.verdict is not None:
            found[source] = built.verdict
        elif built.build in known_times or built.build in new.values():
            found[source] = built.build
        else:
            new[source] = built.build
    hopeless = outlook.hopeless(new, best)
    under_way = {source: judge.judge(source) for source in new if source not in hopeless}
    for source, build in new.items():
        if source in hopeless:
            found[source] = known_times[build] = hopeless[source]
        else:
            verdict = found[source] = under_way[source].result()
            known_times[build] = None if verdict.timing is None else verdict.timing.time_us
    return found
