"""Device memory as it was: for launches that are tried in part before they run.

Blocks that wait for one another cannot run apart, and looking for races in all blocks of a large launch takes too long.
So some of them run beforehand, as far as they get with a number of instructions, and what they did is undone.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from contextlib import contextmanager

from evoengineer.sim.runtime import structs
from evoengineer.sim.runtime.native import Memory

_MOST_BYTES = 1 << 29  # that are kept; of a candidate that has more than that, nothing is tried


def may_be_undone(memory: Memory) -> bool:
    """What kernels have allocated themselves they may free, and that cannot be undone."""
    return memory.used() <= _MOST_BYTES and not memory.used(structs.HEAP)


@contextmanager
def undone(memory: Memory) -> Iterator[None]:
    """Contents and allocations are afterwards what they were before."""
    before = memory.allocations()
    kept = [(start, c.string_at(start, size)) for start, size, kind in before if kind != structs.CONSTANT]
    try:
        yield
    finally:
        known = {start for start, _, _ in before}
        for start, _, _ in memory.allocations():
            if start not in known:
                memory.free(start)
        for start, contents in kept:
            c.memmove(start, contents, len(contents))
