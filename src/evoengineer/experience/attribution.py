"""Attribution: how much of a child's gain each of the techniques that it introduced is to be credited with.

A child that changes six things at once says little about each. But the same technique comes in other company
elsewhere, so that all children together say more: ln(gain) is taken as a sum of one effect per technique, and the
effects are those that fit all children best, drawn towards nothing where there is little to go by (ridge regression).
A trimming that often came without a gain (`__restrict__`, unrolling) has an effect near zero then, and what it
came with gets the credit. A child that introduced more than two is a rewrite, whose gain also comes from what the
table of techniques does not know: that has an effect of its own, which no technique is credited with. Of one child,
each technique is credited with its effect, and what the effects do not explain is shared alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from evoengineer.experience.proofs import Proof

_RIDGE = 1.0  # as if each technique had been seen once, alone, without any effect
_MOST_ALONE = 2  # techniques of a child that is no rewrite
_REWRITE = "(a rewrite)"  # what rewrites have in common, among the effects

Child = tuple[str, str, str, str]  # problem, device, parent, child


def shares(proofs: Iterable[Proof]) -> dict[str, float]:
    """ln(gain) that each proof of a valid child is credited with, by the proof's identity. Those of a child that is no
    rewrite add up to its ln(gain) if all of its proofs are given; proofs that were forgotten keep an equal share."""
    children: dict[Child, list[Proof]] = {}
    for proof in sorted(proofs, key=lambda each: each.id):
        if proof.gain is not None:
            children.setdefault((proof.problem, proof.device, proof.parent, proof.child), []).append(proof)
    known = [(each[0].log_gain * _known(each), _causes(each)) for each in children.values()]
    effects = _effects(known)
    credited = {}
    for (log_gain, causes), together in zip(known, children.values(), strict=True):
        unexplained = log_gain - sum(effects[name] for name in causes)
        for proof in together:
            credited[proof.id] = effects[proof.technique] + unexplained / len(causes)
    return credited


def _causes(proofs: list[Proof]) -> list[str]:
    """What the gain of a child may come from."""
    names = [proof.technique for proof in proofs]
    return [*names, _REWRITE] if proofs[0].together > _MOST_ALONE else names


def _known(proofs: list[Proof]) -> float:
    """How much of a child is told by the proofs at hand, 0 to 1."""
    return min(1.0, len(proofs) / proofs[0].together)


def _effects(children: list[tuple[float, list[str]]]) -> dict[str, float]:
    """The effect of each technique on ln(gain), by least squares with a ridge."""
    names = sorted({name for _, techniques in children for name in techniques})
    place = {name: at for at, name in enumerate(names)}
    matrix = [[_RIDGE if row == column else 0.0 for column in range(len(names))] for row in range(len(names))]
    right = [0.0] * len(names)
    for log_gain, techniques in children:
        used = [place[name] for name in techniques]
        for row in used:
            right[row] += log_gain
            for column in used:
                matrix[row][column] += 1.0
    return dict(zip(names, _solved(matrix, right), strict=True))


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a symmetric, positive definite system, by Cholesky's decomposition."""
    size = len(right)
    lower = [[0.0] * size for _ in range(size)]
    for row in range(size):
        for column in range(row + 1):
            rest = matrix[row][column] - sum(lower[row][k] * lower[column][k] for k in range(column))
            lower[row][column] = math.sqrt(rest) if row == column else rest / lower[column][column]
    forward: list[float] = []
    for row in range(size):
        known = sum(lower[row][k] * forward[k] for k in range(row))
        forward.append((right[row] - known) / lower[row][row])
    solution = [0.0] * size
    for row in reversed(range(size)):
        known = sum(lower[k][row] * solution[k] for k in range(row + 1, size))
        solution[row] = (forward[row] - known) / lower[row][row]
    return solution
