"""Preloading: an operand that few outputs tell apart is brought to shared memory whole, before the computation.

An operand qualifies when it does not depend on the fastest dimension of the tile, so that the threads of a warp read
the same value: the weights of a convolution, the smaller matrix of a product. Its place in the table is given by the
counters of the loops around it and by the dimensions of the tile that it depends on, the latter side by side, so
that a thread reads several at once. The table's size is known when the kernel is launched; the launch decides whether
it fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from evoengineer.propose.rewriter.filling import PADDING, Side
from evoengineer.propose.rewriter.staging import definitions_of, resolved
from evoengineer.propose.rewriter.widening import STEP, Loop, Widening, counted
from evoengineer.propose.syntax.addresses import has_unit_stride
from evoengineer.propose.syntax.dependence import condition_of, ends_iteration, is_load, is_target
from evoengineer.propose.syntax.tree import NotUnderstood, expression, field, identifiers, named, text, walk


@dataclass(frozen=True, slots=True)
class Table:
    """A preloaded operand: elements of type `kind`, by the counters of `loops` and by places along `sides`."""

    name: str
    kind: str
    loops: tuple[Loop, ...]  # the outermost first
    sides: tuple[Side, ...]
    address: str

    @property
    def row(self) -> str:
        """Places along the sides, padded: all threads of a warp read from one row, but they write to a column."""
        places = " * ".join(side.tile for side in self.sides)
        return f"({places} + {places} / 16 * {PADDING})"


class Preloading:
    """Finds the tables of a nest and makes the widening read them."""

    def __init__(self, widening: Widening, sides: tuple[Side, ...], threads: str) -> None:
        self.widening, self.sides, self.threads = widening, sides, threads
        self.fastest = widening.nest.dims[0].name
        self.tables: dict[str, Table] = {}
        types = _pointer_types(widening)
        definitions = definitions_of(widening.nest)
        for statement in widening.nest.body:
            for load in _loads(statement):
                try:
                    table = self._table(load, types, definitions)
                except NotUnderstood:
                    continue
                if table is not None:
                    widening.loads[load.id] = self._read(table)
                    widening.tables[load.id] = table.kind
        if not self.tables:
            raise NotUnderstood("no operand to preload")

    def _table(self, load: Node, types: dict[str, str], definitions: dict[str, str]) -> Table | None:
        base = field(load, "argument")
        kind = types.get(text(base), "")
        dims = self.widening.dependence.of(load)
        sides = tuple(side for side in self.sides if side.dim in dims)
        if not kind or not sides or self.fastest in dims:
            return None
        loops = tuple(self._loops(load, dims))
        varying = {side.dim for side in sides} | {loop.name for loop in loops}
        replaced = {name: f"{name}_at" for name in varying}
        address = resolved(load, replaced, definitions, self.widening, 0)
        used = identifiers(expression(address))
        loops = tuple(loop for loop in loops if f"{loop.name}_at" in used)
        if not loops:
            return None
        key = address + "".join(f"|{text(loop.first)}|{text(loop.last)}" for loop in loops)
        if key not in self.tables:
            name = self.widening.fresh("table")
            self.tables[key] = Table(name, kind, loops, sides, address)
        return self.tables[key]

    def _loops(self, load: Node, dims: frozenset[str]) -> Iterator[Loop]:
        """The loops around a load, from outside; each must run the same way for all outputs."""
        nest = self.widening.nest
        around: list[Node] = []
        top = {each.id for each in nest.body}
        node = load.parent
        while node is not None and (not around or around[-1].id not in top):
            around.append(node)
            node = node.parent
        parameters = {each.name for each in nest.kernel.parameters if not each.is_pointer}
        for outer in reversed(around):
            for each in (outer, *named(outer)):
                guards = each.type == "if_statement" and (each == outer or ends_iteration(each))
                if guards and each not in nest.body and not self._is_of_others(each, dims):
                    raise NotUnderstood("a condition that may be there to protect the load")
            if outer.type != "for_statement":
                continue
            loop = counted(outer)
            if loop is None or not identifiers(loop.first) | identifiers(loop.last) <= parameters:
                raise NotUnderstood("a loop whose course is not known before it")
            yield loop

    def _is_of_others(self, statement: Node, dims: frozenset[str]) -> bool:
        """Whether a condition concerns dimensions that the load has nothing to do with."""
        return bool(self.widening.dependence.of(condition_of(statement)) - dims)

    def _read(self, table: Table) -> str:
        place = f"({table.sides[0].place})"
        for side in table.sides[1:]:
            place = f"({place}) * {side.tile} + ({side.place})"
        return f"{table.name}[{self._index(table, '')} * {table.row} + {place}]"

    def _index(self, table: Table, suffix: str) -> str:
        index = ""
        for loop in table.loops:
            counter = loop.name + suffix
            if text(loop.first) != "0":
                counter = f"({counter} - ({self.widening.expression(loop.first)}))"
            index = f"({index} * {self._count(loop)} + {counter})" if index else counter
        return index

    def _count(self, loop: Loop) -> str:
        """Iterations, in terms of the kernel's parameters."""
        end = loop.end(self.widening.expression(loop.last))
        if text(loop.first) == "0":
            return f"({end})"
        return f"({end} - ({self.widening.expression(loop.first)}))"

    def prologue(self, pad: str = STEP) -> str:
        lines = [f"{pad}extern __shared__ __align__(16) unsigned char table_bytes[];\n"]
        offset = ""
        for table in self.tables.values():
            start = f"table_bytes{offset}"
            lines.append(f"{pad}{table.kind}* {table.name} = reinterpret_cast<{table.kind}*>({start});\n")
            offset += f" + {self._bytes(table)}"
        for table in self.tables.values():
            lines += self._fill(table, pad)
        return "".join(lines) + f"{pad}__syncthreads();\n"

    def _bytes(self, table: Table) -> str:
        counts = " * ".join(self._count(loop) for loop in table.loops)
        return f"({counts} * {table.row} * sizeof({table.kind}) + 15) / 16 * 16"

    def bytes_on_host(self) -> str:
        nest = self.widening.nest
        parts = []
        for table in self.tables.values():
            counts = []
            for loop in table.loops:
                first, last = nest.on_host(text(loop.first)), nest.on_host(text(loop.last))
                counts.append(f"static_cast<int64_t>({loop.end(last)} - ({first}))")
            size = f"{' * '.join(counts)} * {table.row} * sizeof({table.kind})"
            parts.append(f"({size} + 15) / 16 * 16")
        return " + ".join(parts)

    def _fill(self, table: Table, pad: str) -> list[str]:
        inner = pad + STEP
        total = " * ".join(
            [*(self._count(loop) for loop in table.loops), *(each.tile for each in table.sides)]
        )
        lines = [
            f"{pad}#pragma unroll 4\n",
            f"{pad}for (int item = threadIdx.x; item < {total}; item += {self.threads}) {{\n",
            f"{inner}int left = item;\n",
        ]
        # Neighbouring threads read neighbouring places: what moves by one element in memory is counted first.
        digits: list[Loop | Side] = [*reversed(table.loops), *reversed(table.sides)]
        digits.sort(
            key=lambda each: (
                not has_unit_stride(table.address, f"{each.name if isinstance(each, Loop) else each.dim}_at")
            )
        )
        for place, each in enumerate(digits):
            size = self._count(each) if isinstance(each, Loop) else each.tile
            digit = "left" if place == len(digits) - 1 else f"left % {size}"
            if isinstance(each, Loop):
                first = self.widening.expression(each.first)
                lines.append(f"{inner}const {each.type} {each.name}_at = {first} + {digit};\n")
            else:
                last = f"static_cast<{each.type}>(({each.extent}) - 1)"
                at = f"min(static_cast<{each.type}>({each.first} + place_{each.dim}), {last})"
                lines.append(f"{inner}const int place_{each.dim} = {digit};\n")
                lines.append(f"{inner}const {each.type} {each.dim}_at = {at};\n")
            if place < len(digits) - 1:
                lines.append(f"{inner}left /= {size};\n")
        column = f"place_{table.sides[0].dim}"
        for side in table.sides[1:]:
            column = f"({column}) * {side.tile} + place_{side.dim}"
        place_in_table = f"{self._index(table, '_at')} * {table.row} + {column}"
        lines.append(f"{inner}{table.name}[{place_in_table}] = {table.address};\n{pad}}}\n")
        return lines


def _pointer_types(widening: Widening) -> dict[str, str]:
    """What pointers point to, by name: parameters and local ones."""
    nest = widening.nest
    found = {each.name: each.element for each in nest.kernel.parameters if each.type.count("*") == 1}
    for statement in nest.body:
        for node in walk(statement):
            if node.type == "declaration" and "*" in text(node):
                for each in named(node):
                    if (
                        each.type == "init_declarator"
                        and field(each, "declarator").type == "pointer_declarator"
                    ):
                        name = next(part for part in walk(each) if part.type == "identifier")
                        found[text(name)] = text(field(node, "type"))
    return found


def _loads(statement: Node) -> Iterator[Node]:
    """Loads of a statement; of nested ones the outermost."""
    if is_load(statement) and not is_target(statement):
        yield statement
        return
    for child in statement.named_children:
        yield from _loads(child)
