"""Choice: which rewrite a proposal uses. A bandit whose arms are rewrites, weighted by what limits the parent.

An arm has paid when its kernel was valid and faster than its parent. Each proposal draws a chance of success for
every arm from what is known so far (Thompson sampling) and takes the arm with the largest product of chance, prior
weight and fit to the parent's bottlenecks. A weight says what an arm promises before it was tried, so it fades with
every try. All draws come from the run's seed and the proposal's number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from evoengineer.propose.protocol import Tried
from evoengineer.propose.rewriter.change import Rewrite

_PATIENCE = 3  # tries after which half of a weight's order of magnitude is left
PAID = 1.005  # gain over the parent from which a rewrite counts as a success


def ranked(
    rewrites: Sequence[Rewrite], tried: Iterable[Tried], bottlenecks: Sequence[str], random: Random
) -> list[Rewrite]:
    """Rewrites in the order in which they should be tried."""
    wins = {rewrite.name: 1.0 for rewrite in rewrites}
    losses = {rewrite.name: 1.0 for rewrite in rewrites}
    for each in tried:
        name = each.name.partition(":")[0]
        if name not in wins:
            continue
        if each.gain is not None and each.gain > PAID:
            wins[name] += 1
        else:
            losses[name] += (
                1 if each.gain is not None else 2
            )  # a kernel that is not valid is worse than a slow one
    score = {
        rewrite.name: random.betavariate(wins[rewrite.name], losses[rewrite.name])
        * rewrite.weight ** (1 / (1 + (wins[rewrite.name] + losses[rewrite.name] - 2) / _PATIENCE))
        * _fit(rewrite, bottlenecks)
        for rewrite in rewrites
    }
    return sorted(rewrites, key=lambda rewrite: -score[rewrite.name])


def _fit(rewrite: Rewrite, bottlenecks: Sequence[str]) -> float:
    """How well it treats what limits the kernel; the first limits count most."""
    return 0.5 + sum(1 / (place + 1) for place, kind in enumerate(bottlenecks) if kind in rewrite.treats)
