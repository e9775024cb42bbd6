"""Turning: operands that lie the other way round in memory than a warp reads them are brought to shared memory first.

    c[y][x] = a[x][y]        a block loads its tile of `a` along `y`, as it lies in memory, and reads it along `x`

For computations without loops: each operand is read once for every output, and what it costs is how it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tree_sitter import Node

from evoengineer.propose.rewriter.filling import Side
from evoengineer.propose.rewriter.staging import definitions_of, resolved
from evoengineer.propose.rewriter.widening import STEP, Widening
from evoengineer.propose.syntax.addresses import has_unit_stride
from evoengineer.propose.syntax.dependence import is_load, is_target
from evoengineer.propose.syntax.nest import Nest
from evoengineer.propose.syntax.tree import NotUnderstood, text, walk


@dataclass(frozen=True, slots=True)
class _Turned:
    name: str
    kind: str
    address: str  # in terms of `dimension_at`


class Turning:
    """Finds such operands of a nest that is tiled along two dimensions, and makes the widening read the copies."""

    def __init__(self, widening: Widening, sides: tuple[Side, ...], threads: str) -> None:
        order = [dim.name for dim in widening.nest.dims]
        self.widening, self.threads = widening, threads
        self.across, self.along = sorted(sides, key=lambda side: order.index(side.dim))
        self.found: dict[str, _Turned] = {}
        for statement in widening.nest.body:
            for load in widening.outer_loads(statement):
                if not is_target(load) and statement.type in ("declaration", "expression_statement"):
                    self._add(load)
        if not self.found:
            raise NotUnderstood("no operand to turn")

    def _add(self, load: Node) -> None:
        kind = self.widening.element_type(load)
        dims = self.widening.dependence.of(load)
        if not kind or not {self.across.dim, self.along.dim} <= dims:
            return
        names = {side.dim: f"{side.dim}_at" for side in (self.across, self.along)}
        try:
            address = resolved(load, names, definitions_of(self.widening.nest), self.widening, 0)
        except NotUnderstood:
            return
        if has_unit_stride(address, f"{self.across.dim}_at") or not has_unit_stride(
            address, f"{self.along.dim}_at"
        ):
            return
        if address not in self.found:
            self.found[address] = _Turned(self.widening.fresh("turned"), kind, address)
        place = f"[{self.across.place}][{self.along.place}]"
        self.widening.loads[load.id] = self.found[address].name + place

    @property
    def bytes(self) -> list[str]:
        return [
            f"{self.across.tile} * ({self.along.tile} + 1) * sizeof({each.kind})"
            for each in self.found.values()
        ]

    def prologue(self, pad: str = STEP) -> str:
        inner = pad + STEP
        lines = [
            f"{pad}__shared__ {each.kind} {each.name}[{self.across.tile}][{self.along.tile} + 1];\n"
            for each in self.found.values()
        ]
        lines += [
            f"{pad}#pragma unroll\n",
            f"{pad}for (int item = 0; item < {self.across.tile} * {self.along.tile}; item += {self.threads}) {{\n",
            f"{inner}const int place = item + threadIdx.x;\n",
        ]
        for side, place in (
            (self.across, f"place / {self.along.tile}"),
            (self.along, f"place % {self.along.tile}"),
        ):
            last = f"static_cast<int>({side.extent}) - 1"
            lines.append(f"{inner}const {side.type} {side.dim}_at = min({side.first} + {place}, {last});\n")
        lines += [
            f"{inner}{each.name}[place / {self.along.tile}][place % {self.along.tile}] = {each.address};\n"
            for each in self.found.values()
        ]
        return "".join(lines) + f"{pad}}}\n{pad}__syncthreads();\n"


def along_stores(nest: Nest) -> Nest:
    """The nest with the dimension first along which outputs are neighbours in memory, so that a warp stores to
    neighbouring places; as it is where that is not known."""
    firsts: set[str] = set()
    names = {linear.name: linear.dims[0] for linear in nest.linears}
    names |= {dim.name: dim.name for dim in nest.dims}
    for statement in nest.body:
        for node in walk(statement):
            if not is_load(node) or not is_target(node):
                continue
            firsts |= {names[name] for name in names if has_unit_stride(text(node), name)} or {""}
    if len(firsts) != 1 or not firsts < {dim.name for dim in nest.dims}:
        return nest
    return replace(nest, dims=tuple(sorted(nest.dims, key=lambda dim: dim.name not in firsts)))
