"""Lessons: what a run is told of the library. Gains by technique and structure, and which of them to show.

A run takes a *snapshot* when it begins: the library may grow meanwhile, and a run that is resumed or compared must not
notice. What was proved on the problem itself is never part of it (nor, with `family`, on its siblings): a lesson must
be a technique that carries over, not an answer that was found before.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from evoengineer.experience.attribution import shares
from evoengineer.experience.proofs import Proof
from evoengineer.experience.structure import Structure
from evoengineer.experience.techniques import BY_NAME, applicable

_FAILURE = math.log(0.5)  # how a failed use counts, next to ln(gain) of a valid one
_PRIOR = 6.0  # uses without a gain that are assumed of every technique, in a place that has nothing in common
_LEAST = 0.02  # worth below that is not worth a line of a prompt
_SHARPNESS = 0.1  # of the draw: differences in worth of a tenth matter
_MOST_PLACES = 4  # problems that a lesson names


@dataclass(frozen=True, slots=True)
class Lesson:
    """A technique in one kind of place: how often it was introduced there, and what came of it."""

    technique: str
    structure: Structure
    uses: int
    failures: int
    log_gain: float  # its share of what the valid ones gained, summed (`attribution.py`)
    places: tuple[tuple[str, float], ...]  # problems, with the best gain there that it is credited with
    excerpt: str = ""  # of the child that gained most by it
    thought: str = ""
    example_place: str = ""  # the problem that the excerpt and the thought come from
    blame: float = 0.0  # its share of the failures: what failed together shares alike

    @property
    def mean_gain(self) -> float:
        return math.exp(self.log_gain / max(1, self.uses - self.failures))

    def shown(self) -> str:
        """As a prompt tells it."""
        proved = ", ".join(f"{place} {gain:.2f}x" for place, gain in self.places)
        failed = f", {self.failures} failed" if self.failures else ""
        return (
            f"{self.technique}: {BY_NAME[self.technique].text} (mean gain {self.mean_gain:.2f}x in {self.uses} "
            f"use{'s' if self.uses > 1 else ''}{failed}; at best {proved or 'nothing yet'})"
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Lesson:
        places = tuple((str(place), float(gain)) for place, gain in data["places"])
        blame = float(data.get("blame", data["failures"]))  # snapshots of older runs have none
        return cls(**{**data, "structure": Structure(**data["structure"]), "places": places, "blame": blame})


def snapshot(
    proofs: Iterable[Proof], *, problem: str, family: str, reference: str, leave_out: str
) -> tuple[Lesson, ...]:
    """What a run on `problem` may know, in a fixed order. `leave_out`: `problem`, or `family` with all siblings."""
    allowed: dict[tuple[str, ...], Proof] = {}
    for proof in sorted(proofs, key=lambda each: each.id):
        same = proof.reference == reference or _leaf(proof.problem) == _leaf(problem)
        if not (same or (leave_out == "family" and proof.family == family)):
            allowed.setdefault(proof.pair, proof)
    credited = shares(allowed.values())  # of what may be known only: an effect would tell of the rest
    groups: dict[tuple[str, Structure], list[Proof]] = {}
    for proof in allowed.values():
        groups.setdefault((proof.technique, proof.structure), []).append(proof)
    lessons = [_lesson(*key, group, credited) for key, group in groups.items()]
    return tuple(sorted(lessons, key=lambda each: (each.technique, *asdict(each.structure).values())))


def digest(lessons: Sequence[Lesson]) -> str:
    """Of a snapshot: the same for two runs that were told the same."""
    data = json.dumps([each.to_json() for each in lessons], sort_keys=True)
    return hashlib.sha256(data.encode()).hexdigest()[:16] if lessons else ""


def choose(
    lessons: Sequence[Lesson],
    here: Structure,
    source: str,
    count: int,
    random: Random,
    launches: int | None = None,
) -> tuple[Lesson, ...]:
    """Techniques that the kernel at hand could take up, by what they paid in places like this one. `launches`: that it
    makes, where that is known."""
    worth: list[tuple[float, Lesson]] = []
    # Whoever proposed the children may have failed often: a technique is to blame for failing more often than others.
    usual = sum(lesson.blame for lesson in lessons) / max(1, sum(lesson.uses for lesson in lessons))
    for technique in dict.fromkeys(lesson.technique for lesson in lessons):
        known = [lesson for lesson in lessons if lesson.technique == technique]
        weights = [here.likeness(lesson.structure) for lesson in known]
        uses = sum(weight * lesson.uses for weight, lesson in zip(weights, known, strict=True))
        blame = sum(weight * lesson.blame for weight, lesson in zip(weights, known, strict=True))
        gains = sum(weight * lesson.log_gain for weight, lesson in zip(weights, known, strict=True))
        value = (gains + max(0.0, blame - usual * uses) * _FAILURE) / (uses + _PRIOR)
        if value > _LEAST and applicable(technique, source, here.kind, launches):
            worth.append((value, _merged(known, weights)))
    chosen: list[Lesson] = []
    while worth and len(chosen) < count:
        top = max(value for value, _ in worth)
        weights = [math.exp((value - top) / _SHARPNESS) for value, _ in worth]
        chosen.append(worth.pop(random.choices(range(len(worth)), weights)[0])[1])
    return tuple(chosen)


def _lesson(
    technique: str, structure: Structure, proofs: list[Proof], credited: Mapping[str, float]
) -> Lesson:
    valid = [each for each in proofs if each.gain is not None]
    best: dict[str, float] = {}
    for each in valid:
        best[each.problem] = max(best.get(each.problem, 0.0), math.exp(credited[each.id]))
    places = sorted(best.items(), key=lambda place: (-place[1], place[0]))[:_MOST_PLACES]
    example = max(valid, key=lambda each: (credited[each.id], each.id), default=None)
    return Lesson(
        technique,
        structure,
        len(proofs),
        len(proofs) - len(valid),
        sum(credited[each.id] for each in valid),
        tuple(places),
        example.excerpt if example else "",
        example.thought if example else "",
        example.problem if example else "",
        sum((1 / each.together for each in proofs if each.gain is None), start=0.0),
    )


def _merged(lessons: list[Lesson], weights: list[float]) -> Lesson:
    """One technique over all places. Its gain is weighed by how like this one they are, as it was chosen by that, and
    the example comes from the place most like it."""
    valid = sum(each.uses - each.failures for each in lessons)
    weighed = sum(weight * (each.uses - each.failures) for weight, each in zip(weights, lessons, strict=True))
    gains = sum(weight * each.log_gain for weight, each in zip(weights, lessons, strict=True))
    best: dict[str, float] = {}
    for lesson in lessons:
        for place, gain in lesson.places:
            best[place] = max(best.get(place, 0.0), gain)
    nearest = max(
        zip(weights, lessons, strict=True),
        key=lambda pair: (bool(pair[1].excerpt), pair[0], pair[1].log_gain),
    )[1]
    return replace(
        nearest,
        uses=sum(each.uses for each in lessons),
        failures=sum(each.failures for each in lessons),
        blame=sum(each.blame for each in lessons),
        log_gain=gains / weighed * valid if weighed else 0.0,
        places=tuple(sorted(best.items(), key=lambda place: (-place[1], place[0]))[:_MOST_PLACES]),
    )


def _leaf(problem: str) -> str:
    return problem.rstrip("/").rpartition("/")[2]
