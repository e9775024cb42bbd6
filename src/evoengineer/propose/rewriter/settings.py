"""Other values for the knobs of a kernel, one or two at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.syntax.knobs import allowed, knobs, with_settings

_DRAWS = 40


@dataclass(frozen=True, slots=True)
class Settings:
    """The rewrite of this module."""

    name: str = "settings"
    thought: str = (
        "The sizes of tiles and blocks trade reuse against occupancy; the best ones depend on the card and are "
        "found by trying."
    )
    treats: tuple[str, ...] = (
        "latency_bound",
        "issue_bound",
        "l1_bound",
        "l2_bound",
        "small_grid",
        "bank_conflicts",
    )
    weight: float = 3.0
    fresh: bool = False

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        found = knobs(source)
        if not found:
            return
        for _ in range(_DRAWS):
            chosen = random.sample(found, min(len(found), random.choice((1, 1, 2))))
            settings = {}
            for knob in chosen:
                place = knob.values.index(knob.value)
                near = [value for value in knob.values[max(0, place - 1) : place + 2] if value != knob.value]
                settings[knob.name] = random.choice(near)
            if allowed(source, settings):
                words = ", ".join(f"{name} = {value}" for name, value in settings.items())
                yield Change(words, with_settings(source, settings))
