"""Structure: what makes one problem like another. Kind of operation, bottleneck, access pattern.

The kind is read from the reference, the other two from the profile of the kernel at hand.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from evoengineer.sim.timing.profile import LaunchProfile

UNKNOWN = "unknown"
_SCATTERED_BYTES = 16.0  # of a sector's 32: less is scattered
_REUSE = 2.0  # requested over fetched from DRAM: more is reuse

# The first that a reference mentions; an epilogue does not change what the work is.
_KINDS = (
    ("attention", r"scaled_dot_product|attention"),
    ("convolution", r"conv(?:_transpose|transpose)?[123]d"),
    ("product", r"@ |@\w|\bmatmul\b|\bb?mm\b|\baddmm\b|einsum|\blinear\b|tensordot"),
    ("scan", r"cumsum|cumprod|logcumsumexp|cummax"),
    ("normalisation", r"softmax|softmin|layer_?norm|batch_?norm|group_?norm|instance_?norm|rms|normalize|\.norm\("),
    ("loss", r"_loss|cross_entropy|kl_div|nll"),
    ("pooling", r"pool[123]d"),
    ("reduction", r"\b(?:sum|mean|amax|amin|argmax|argmin|max|min|prod|var|std|any|all|logsumexp)\("),
)  # fmt: skip
_COMPILED = tuple((kind, re.compile(sign, re.IGNORECASE)) for kind, sign in _KINDS)


@dataclass(frozen=True, slots=True)
class Structure:
    """Where something was proved, or is needed."""

    kind: str = UNKNOWN
    bottleneck: str = UNKNOWN
    access: str = UNKNOWN

    def likeness(self, other: Structure) -> float:
        """1 for nothing in common, 18 for all; what is not known is not alike."""
        alike = (
            (self.kind, other.kind, 3.0),
            (self.bottleneck, other.bottleneck, 4.0),
            (self.access, other.access, 1.5),
        )
        return math.prod(worth for mine, theirs, worth in alike if mine == theirs != UNKNOWN)


def operation_kind(reference: str) -> str:
    """`product`, `convolution` …, `elementwise` where nothing else is found."""
    return next((kind for kind, sign in _COMPILED if sign.search(reference)), "elementwise")


def access_pattern(launch: LaunchProfile | None) -> str:
    """`scattered`, `reused` or `streamed`, by the bytes that a launch asked for and fetched."""
    if launch is None or not launch.l1_bytes:
        return UNKNOWN
    if 0 < launch.bytes_per_sector < _SCATTERED_BYTES:
        return "scattered"
    return "reused" if launch.l1_bytes > _REUSE * max(launch.dram_bytes, 1.0) else "streamed"


def structure_of(reference: str, launch: LaunchProfile | None) -> Structure:
    """Of a problem and the longest launch of a kernel for it."""
    limits = launch.limits if launch else ()
    return Structure(operation_kind(reference), str(limits[0]) if limits else UNKNOWN, access_pattern(launch))
