"""Islands: populations that evolve apart, each a set of clusters of equally fast kernels, as in FunSearch.

- A cluster holds kernels whose times agree within `RESOLUTION`; its score is -ln(time), so that a
  temperature means the same ratio at any speed.
- A parent's cluster is drawn by softmax of the scores; the temperature falls from `temperature` to 0 over
  `period` kernels and starts again. Within a cluster shorter texts are preferred, also by softmax.
- Every `reset_every` valid kernels the weaker half of the islands is emptied and refounded with the best
  kernel of a surviving island.
- Every `migrate_every` valid kernels each island's best is copied to its neighbour (0: never).

Two simplifications: time is counted in kernels, not in hours, so that runs are repeatable; a cluster
remembers its `CLUSTER_SIZE` newest kernels only, so that the work per trial stays flat.
"""

from __future__ import annotations

import math
from collections import deque
from random import Random

from evoengineer.search.populations.protocol import Choice
from evoengineer.search.records import Member

RESOLUTION = 0.02  # times closer than 2% are one cluster
CLUSTER_SIZE = 16
LENGTH_TEMPERATURE = 1.0
_MOST_CLUSTERS = 256


class Cluster:
    """Equally fast kernels."""

    def __init__(self, score: float) -> None:
        self.score = score
        self.members: deque[Member] = deque(maxlen=CLUSTER_SIZE)

    def draw(self, random: Random) -> Member:
        """One of them, short texts more often."""
        lengths = [len(member.source) for member in self.members]
        spread = max(lengths) - min(lengths) or 1
        scores = [-(length - min(lengths)) / spread for length in lengths]
        return random.choices(list(self.members), softmax(scores, LENGTH_TEMPERATURE))[0]


class Island:
    """Clusters by speed."""

    def __init__(self, temperature: float, period: int) -> None:
        self.temperature = temperature
        self.period = period
        self.clusters: dict[int, Cluster] = {}
        self.count = 0
        self.best: Member | None = None

    def add(self, member: Member) -> None:
        score = -math.log(member.time_us)
        key = round(score / math.log1p(RESOLUTION))
        self.clusters.setdefault(key, Cluster(score)).members.append(member)
        if len(self.clusters) > _MOST_CLUSTERS:  # the slowest has no chance of being drawn any more
            del self.clusters[min(self.clusters)]
        self.count += 1
        if self.best is None or member.time_us < self.best.time_us:
            self.best = member

    def draw(self, count: int, random: Random) -> list[Member]:
        """Distinct kernels, each from a different cluster while there are enough."""
        keys = sorted(self.clusters)
        heat = max(self.temperature * (1 - (self.count % self.period) / self.period), 1e-3)
        weights = softmax([self.clusters[key].score for key in keys], heat)
        drawn: list[Member] = []
        while keys and len(drawn) < count:
            place = random.choices(range(len(keys)), weights)[0]
            drawn.append(self.clusters[keys.pop(place)].draw(random))
            weights.pop(place)
            if keys and sum(weights) == 0.0:  # all far behind the one just drawn
                weights = [1.0] * len(keys)
        seen = {member.number for member in drawn}
        rest = [m for cluster in self.clusters.values() for m in cluster.members if m.number not in seen]
        while rest and len(drawn) < count:
            drawn.append(rest.pop(random.randrange(len(rest))))
        return drawn


class Islands:
    """See the module for the rules."""

    def __init__(
        self,
        count: int = 5,
        *,
        temperature: float = 0.1,
        period: int = 30_000,
        reset_every: int = 20,
        migrate_every: int = 0,
    ) -> None:
        for name, value in (("count", count), ("period", period)):
            if value < 1:
                raise ValueError(f"islands: {name} must be at least 1, not {value}")
        self.temperature, self.period = temperature, period
        self.reset_every, self.migrate_every = reset_every, migrate_every
        self.islands = [Island(temperature, period) for _ in range(count)]
        self.added = 0

    def seed(self, member: Member) -> None:
        for island in self.islands:
            island.add(member)

    def add(self, member: Member, island: int) -> None:
        self.islands[island].add(member)
        self.added += 1
        if self.reset_every and self.added % self.reset_every == 0:
            self._reset(Random(f"reset:{self.added}:{member.number}"))
        if self.migrate_every and self.added % self.migrate_every == 0:
            self._migrate()

    def choose(self, count: int, random: Random) -> Choice:
        place = random.randrange(len(self.islands))
        drawn = self.islands[place].draw(count, random)
        return Choice(tuple(sorted(drawn, key=lambda m: (m.time_us, m.number))), place)

    def _reset(self, random: Random) -> None:
        def strength(place: int) -> tuple[float, int]:
            best = self.islands[place].best
            return (math.inf if best is None else best.time_us), place

        ranking = sorted(range(len(self.islands)), key=strength)  # strongest first
        kept = ranking[: len(ranking) - len(ranking) // 2]
        for place in ranking[len(kept) :]:
            founder = self.islands[random.choice(kept)].best
            self.islands[place] = Island(self.temperature, self.period)
            if founder is not None:
                self.islands[place].add(founder)

    def _migrate(self) -> None:
        leaving = [island.best for island in self.islands]
        for place, member in enumerate(leaving):
            neighbour = self.islands[(place + 1) % len(self.islands)]
            if member is not None and (neighbour.best is None or member.time_us < neighbour.best.time_us):
                neighbour.add(member)


def softmax(scores: list[float], temperature: float) -> list[float]:
    """Weights that sum to 1; safe for any finite scores."""
    top = max(scores, default=0.0)
    weights = [math.exp((score - top) / temperature) for score in scores]
    total = sum(weights)
    return [weight / total for weight in weights]
