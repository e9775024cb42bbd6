"""What the lanes of a warp add to a base: 32 numbers that the text of a kernel decides, whatever it is given.

`threadIdx.x / 2 % 16` is one base and the steps 0, 0, 1, 1, 2, 2 …, as thread indices begin at a multiple of 32 in each
warp. Lanes lie in segments, each with a base of its own; the first lane of a segment adds nothing.
"""

from __future__ import annotations

from functools import cache

Steps = tuple[int, ...]
FLAT: Steps = (0,) * 32


@cache
def linear(segments: int, stride: int) -> Steps:
    """The same distance from lane to lane within each segment."""
    lanes = 32 // segments
    return tuple(stride * (lane % lanes) for lane in range(32))


@cache
def stride_of(segments: int, steps: Steps) -> int | None:
    """That distance, 0 if lanes add nothing; None if there is no such distance."""
    stride = steps[1] if segments < 32 else 0
    return stride if steps == linear(segments, stride) else None


@cache
def refined(steps: Steps, segments: int) -> Steps:
    """The same with as many segments: what the first lane of each adds goes to its base."""
    lanes = 32 // segments
    return tuple(step - steps[lane // lanes * lanes] for lane, step in enumerate(steps))


@cache
def firsts(steps: Steps, segments: int) -> Steps:
    """What goes to the bases then."""
    return steps[:: 32 // segments]


@cache
def segments_if_flat(steps: Steps) -> int:
    """How many segments it takes until no lane adds anything."""
    return next(count for count in (1, 2, 4, 8, 16, 32) if refined(steps, count) == FLAT)


def plus(a: Steps, b: Steps) -> Steps:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def minus(a: Steps, b: Steps) -> Steps:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def times(steps: Steps, factor: int) -> Steps:
    return tuple(factor * step for step in steps)
