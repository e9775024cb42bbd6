"""Cutting a failing kernel down: statements are deleted as long as it still fails."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.generator import Kernel
from tests.fuzz.tree import Node, bodies


def reduce_kernel(kernel: Kernel, still_fails: Callable[[Kernel], bool], attempts: int = 250) -> Kernel:
    """The smallest kernel found within the number of attempts; each costs two compilations and a run."""
    left = attempts
    chunk = max(len(kernel.body) // 2, 1)
    while left > 0:
        changed = False
        for depth in range(sum(1 for _ in bodies(kernel.body))):
            start = 0
            while left > 0:
                smaller = without(kernel, depth, start, chunk)
                if smaller is None:
                    break
                if smaller is kernel:  # nothing there that may go
                    start += chunk
                    continue
                left -= 1
                if still_fails(smaller):
                    kernel, changed = smaller, True
                else:
                    start += chunk
        if chunk > 1:
            chunk //= 2
        elif not changed:
            break
    return kernel


def without(kernel: Kernel, depth: int, start: int, count: int) -> Kernel | None:
    """The kernel without statements [start, start + count) of its depth-th statement list.

    None past the end of the list; the kernel itself if nothing there is removable.
    """
    body: list[Node] = copy.deepcopy(kernel.body)
    lists = list(bodies(body))
    if depth >= len(lists) or start >= len(lists[depth]):
        return None
    chosen = lists[depth]
    kept = [node for i, node in enumerate(chosen) if not (start <= i < start + count and node.removable)]
    if len(kept) == len(chosen):
        return kernel
    chosen[:] = kept
    return replace(kernel, body=body)
