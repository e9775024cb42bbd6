"""Proof: one technique that one child introduced, and what became of the child against its parent.

Its identity is the hash of all that it says, so that libraries can be merged in any order and as often as one likes.
It names no run, no person and no time of day.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from evoengineer.errors import UsageError
from evoengineer.experience.structure import Structure
from evoengineer.experience.techniques import BY_NAME

_LONGEST = 4000  # characters of a text field


@dataclass(frozen=True)
class Proof:
    """Paired evidence: same problem, same card."""

    technique: str
    problem: str  # as a run names it
    family: str  # the group that the problem belongs to
    reference: str  # digest of the problem's reference
    device: str
    structure: Structure  # of the parent
    together: int  # techniques that the child introduced, this one included
    parent: str  # identity of its text
    child: str
    outcome: str
    gain: float | None  # over the parent; None when the child failed
    thought: str = ""  # in the words of whoever proposed the child
    excerpt: str = ""  # lines of the child that show it

    @cached_property
    def id(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:24]

    @property
    def pair(self) -> tuple[str, str, str, str, str]:
        """The same in two proofs of one fact."""
        return self.technique, self.problem, self.device, self.parent, self.child

    @property
    def log_gain(self) -> float:
        """Of the child as a whole; `attribution.py` shares it out among its techniques."""
        return 0.0 if self.gain is None else math.log(self.gain)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Proof:
        """UsageError for what is none: libraries come from elsewhere."""
        try:
            proof = cls(**{**data, "structure": Structure(**data["structure"])})
            texts = (
                proof.technique, proof.problem, proof.family, proof.reference, proof.device, proof.parent, proof.child,
                proof.outcome, proof.thought, proof.excerpt, *asdict(proof.structure).values(),
            )  # fmt: skip
            whole = isinstance(proof.together, int) and proof.together >= 1
            gain = proof.gain is None or (isinstance(proof.gain, float) and 0 < proof.gain < math.inf)
            readable = all(isinstance(each, str) and len(each) <= _LONGEST for each in texts)
        except (TypeError, KeyError) as error:
            raise UsageError(f"no proof of an experience library: {error}") from error
        if not (whole and gain and readable) or proof.technique not in BY_NAME:
            raise UsageError(f"no proof of an experience library: {str(data)[:200]}")
        return proof
