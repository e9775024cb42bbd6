"""Tuner: which setting of a kernel's knobs to try next. A greedy local search with a seed.

From the best setting so far it tries neighbours: one knob a step up or down, or two at once in opposite directions
(larger blocks of smaller tiles). Moves that leave the sizes of tiles as they are come first: who wrote the kernel made
those fit the problem. Among the rest, moves that have paid come first and those that cost time last. When no neighbour
is left untried, it draws settings at random. Settings that violate the text's own assertions are never tried. The
spaces are small, ordered and full of constraints, and some
twenty evaluations are all there is: a model of the whole space, as Optuna's samplers build, has no time to pay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random

from evoengineer.propose.syntax.knobs import Knob, allowed, knobs, tiles, with_settings

Setting = tuple[tuple[str, int], ...]  # of all knobs, by name
Move = tuple[str, bool]  # a knob, and whether it was turned up
_DRAWS = 200
_ADVICE = re.compile(r"#pragma unroll[^\n]*|__restrict__|\s+")


class Tuner:
    """Asked for settings and told their times; the same answers give the same questions."""

    def __init__(
        self,
        source: str,
        time_us: float,
        seed: int,
        known: set[str] | None = None,
        history: Iterable[tuple[str, float]] = (),
    ) -> None:
        """`known` are texts that need no evaluation any more; those that are asked for are added. `history` are times
        of other settings of the same text."""
        self.source = source
        self._known = set() if known is None else known
        self.knobs = knobs(source)
        self._random = Random(f"{seed}:tune")
        self._best: Setting = tuple((knob.name, knob.value) for knob in self.knobs)
        self._best_us = time_us
        self._asked = {self._best}
        self._moved: dict[str, tuple[Move, ...]] = {}  # what was turned to get each text
        self._worth: dict[Move, float] = {}  # how much faster a move made the best setting, at its latest try
        self._learn(history)

    def ask(self, count: int) -> list[str]:
        """Up to so many texts that differ from all earlier ones in their settings; none when all are tried."""
        asked = []
        for setting in self._candidates():
            if setting in self._asked or not allowed(self.source, dict(setting)):
                continue
            self._asked.add(setting)
            text = self.text(dict(setting))
            if text in self._known:
                continue
            self._known.add(text)
            best = dict(self._best)
            self._moved[text] = tuple(
                (name, value > best[name]) for name, value in setting if value != best[name]
            )
            asked.append(text)
            if len(asked) == count:
                break
        return asked

    def _learn(self, history: Iterable[tuple[str, float]]) -> None:
        """What one turn of a knob, up or down, was worth to others, seen from here."""
        best = dict(self._best)
        for source, time_us in history:
            found = {knob.name: knob.value for knob in knobs(source)}
            turned = [(name, value > best[name]) for name, value in found.items() if value != best[name]]
            if len(turned) == 1:
                worth = self._best_us / time_us - 1
                self._worth[turned[0]] = max(worth, self._worth.get(turned[0], worth))

    def tell(self, source: str, time_us: float | None) -> None:
        """The time of a text that was asked for; None when it was not valid."""
        for move in self._moved.get(source, ()):
            self._worth[move] = -1.0 if time_us is None else self._best_us / time_us - 1
        if time_us is not None and time_us < self._best_us:
            self._best = tuple((knob.name, knob.value) for knob in knobs(source))
            self._best_us = time_us

    def text(self, setting: Mapping[str, int]) -> str:
        return with_settings(self.source, setting)

    def _candidates(self) -> Iterator[Setting]:
        best = dict(self._best)
        moves = [(knob.name, value) for knob in self.knobs for value in _steps(knob, best[knob.name])]
        doubled = [(knob.name, value) for knob in self.knobs for value in _doubled(knob, best[knob.name])]
        far = list(dict.fromkeys(moves + doubled))
        near: list[tuple[tuple[str, int], ...]] = [(move,) for move in moves]
        pairs: list[tuple[tuple[str, int], ...]] = [
            (up, down)
            for up in far
            for down in far
            if up[0] != down[0] and up[1] > best[up[0]] and down[1] < best[down[0]]
        ]
        size = tiles(self.source, best)
        kept = [turn for turn in near + pairs if tiles(self.source, {**best, **dict(turn)}) == size]
        for turned in (*self._promising(kept), *self._promising(near), *self._promising(pairs)):
            yield tuple({**best, **dict(turned)}.items())
        for _ in range(_DRAWS if self.knobs else 0):
            yield tuple((knob.name, self._random.choice(knob.values)) for knob in self.knobs)

    def _promising(self, turns: Sequence[tuple[tuple[str, int], ...]]) -> list[tuple[tuple[str, int], ...]]:
        """In the order in which they should be tried; chance decides between moves of which nothing is known."""
        best = dict(self._best)

        def worth(turn: tuple[tuple[str, int], ...]) -> float:
            return sum(self._worth.get((name, value > best[name]), 0.0) for name, value in turn)

        return sorted(self._random.sample(turns, len(turns)), key=lambda turn: -worth(turn))


def _steps(knob: Knob, value: int) -> list[int]:
    """The values next to one."""
    if value not in knob.values:
        return []
    place = knob.values.index(value)
    return [each for each in knob.values[max(0, place - 1) : place + 2] if each != value]


def _doubled(knob: Knob, value: int) -> list[int]:
    """Half of a value and twice of it, which another knob can make up for."""
    return [each for each in knob.values if each in (value * 2, value / 2)]


def skeleton(source: str) -> str:
    """The text without the values of its knobs: the same for all of its settings, and for what only advises the
    compiler."""
    return _ADVICE.sub("", with_settings(source, {knob.name: 1 for knob in knobs(source)}))


def changed_settings(before: str, after: str) -> dict[str, int]:
    """The knobs in which two texts differ, with the values of the second."""
    old = {knob.name: knob.value for knob in knobs(before)}
    return {knob.name: knob.value for knob in knobs(after) if old.get(knob.name) != knob.value}
