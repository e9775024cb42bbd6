"""Adaptive credit: operators are drawn by what they paid in this run.

A fold over settled proposals. The reward of one is 0 when it failed or repeated an earlier kernel, a little for a
valid kernel, and more for a gain over the best kernel of that moment. Older rewards fade, so that an operator that
paid early and no longer does gives way. Every operator keeps a share, and begins with the credit of a good one: what
was not tried is not known to be bad.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

_FADE = 0.85  # of all earlier rewards, per use of the operator
_OPTIMISM, _PRIOR = 0.5, 1.0  # the reward that is assumed first, and how many uses it counts for
_VALID = 0.1
_FLOOR = 0.15  # of the draws, shared by all alike
_SHARPNESS = 4.0


def reward(*, valid: bool, best_us: float | None, time_us: float | None) -> float:
    """0 to 1: a doubled speed over the best so far is the most."""
    if not valid or time_us is None:
        return 0.0
    gain = 0.0 if best_us is None else max(0.0, math.log2(best_us / time_us))
    return _VALID + (1 - _VALID) * min(1.0, gain)


class Credit:
    """The standing of operators by name."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, float]] = {}  # faded sum of rewards, faded count

    def settled(self, operator: str, paid: float) -> None:
        """Fold: a proposal of that operator was settled."""
        total, count = self._sums.get(operator, (_OPTIMISM * _PRIOR, _PRIOR))
        self._sums[operator] = (total * _FADE + paid, count * _FADE + 1.0)

    def standing(self, operator: str) -> float:
        """Mean reward, recent uses first."""
        total, count = self._sums.get(operator, (_OPTIMISM * _PRIOR, _PRIOR))
        return total / count

    def shares(self, operators: Sequence[str]) -> list[float]:
        """How likely each is drawn; they sum to 1."""
        weights = [math.exp(_SHARPNESS * self.standing(name)) for name in operators]
        total = sum(weights)
        return [_FLOOR / len(operators) + (1 - _FLOOR) * weight / total for weight in weights]

    def choose(self, operators: Sequence[str], random: Random) -> int:
        """The place of the operator that is drawn."""
        return random.choices(range(len(operators)), self.shares(operators))[0]
