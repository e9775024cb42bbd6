"""Which divergent branches FAST survives: regions that run under a mask until all lanes meet again.

The *region* of a branch is every block between it and the *join*, the first block that all lanes come to. masked.py
makes one function of it. In FAST registers may be scalars that hold for all lanes, and a region keeps them so: that is
sound as long as no lanes write a scalar which others, on the other side of the branch or at the join, still have to
read. A branch for which it is not sound is left to SLOW.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evoengineer.sim.codegen.forms import Form
from evoengineer.sim.ptx.flow import Block, destinations

MOST_INSTRUCTIONS = 1500  # of a region; larger ones take longer to compile than SLOW takes to run them


@dataclass(frozen=True, slots=True)
class Region:
    """What lies between the branch at the end of block `branch` and `join`."""

    branch: int
    join: int
    blocks: tuple[int, ...]  # ascending; all come before the join


def find_regions(blocks: list[Block], forms: dict[str, Form | None]) -> dict[int, Region]:
    """Branch → its region, for every branch at which lanes may part and whose region keeps scalars sound."""
    candidates = _candidates(blocks, forms)
    return {region.branch: region for region, unsound in candidates if not unsound}


def regions_lost(blocks: list[Block], forms: dict[str, Form | None]) -> frozenset[str]:
    """Registers that had better be vectors: scalars only by the bits of linear values, they stand in the way of a
    region, which is worth more."""
    lost: set[str] = set()
    for _, unsound in _candidates(blocks, forms):
        if all(form is not None and form.cut for form in map(forms.get, unsound)):
            lost |= unsound
    return frozenset(lost)


def _candidates(blocks: list[Block], forms: dict[str, Form | None]) -> list[tuple[Region, set[str]]]:
    """Regions of the branches at which lanes may part, each with the scalars that would not be kept sound."""
    parting = [b for b in blocks if may_part(b, forms)]
    if not parting:
        return []
    joins = _joins(blocks)
    scalars = [
        {n for i in b.instrs for n in destinations(i) if forms.get(n) is not None} for b in blocks
    ]  # written there
    found = [_region(blocks, scalars, block, joins[block.index]) for block in parting]
    return [each for each in found if each is not None]


def may_part(block: Block, forms: dict[str, Form | None]) -> bool:
    """Does the block end in a branch that lanes may decide differently?"""
    end = block.terminator
    if end is None or end.op != "bra" or end.guard is None:
        return False
    form = forms.get(end.guard.name)
    return form is None or not form.uniform


def _region(
    blocks: list[Block], scalars: list[set[str]], block: Block, join: int | None
) -> tuple[Region, set[str]] | None:
    if join is None or len(set(block.successors)) != 2:
        return None
    sides = [_reachable(blocks, s, join) for s in block.successors]
    inside = sides[0] | sides[1]
    # Smallest block first (dispatch.cpp): lanes wait at a join only if it comes last.
    if not inside or max(inside) >= join:
        return None
    unsound: set[str] = set()
    for mine, other in (sides, reversed(sides)):
        written = set().union(*(scalars[i] for i in mine)) if mine else set()
        unsound |= written & set().union(*(blocks[i].live_in for i in (*other, join)))
    return Region(block.index, join, tuple(sorted(inside))), unsound


def _reachable(blocks: list[Block], start: int, join: int) -> set[int]:
    """Blocks on the way from `start` to `join`, which is none of them."""
    found: set[int] = set()
    todo = [start]
    while todo:
        index = todo.pop()
        if index != join and index not in found:
            found.add(index)
            todo += blocks[index].successors
    return found


def _joins(blocks: list[Block]) -> list[int | None]:
    """The nearest block that every way from a block to the function's end goes through, if there is one."""
    everything = (1 << len(blocks)) - 1
    after = [everything] * len(blocks)  # bit j of row i: j is on all ways from i to the end
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            trapped = block.terminator is not None and block.terminator.op == "trap"
            ways = everything if block.successors or trapped else 0  # what traps goes nowhere
            for s in block.successors:
                ways &= after[s]
            row = ways | 1 << block.index
            if row != after[block.index]:
                after[block.index], changed = row, True
    return [_nearest(after, block.index) for block in blocks]


def _nearest(after: list[int], index: int) -> int | None:
    row = after[index] & ~(1 << index)
    candidates = [j for j in _bits(row) if after[j] | 1 << index == row | 1 << index]
    return candidates[0] if len(candidates) == 1 else None


def _bits(row: int) -> Iterable[int]:
    while row:
        yield (row & -row).bit_length() - 1
        row &= row - 1
