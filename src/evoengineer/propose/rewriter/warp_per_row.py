"""A rewrite for kernels in which one thread walks along a row: let a warp walk along it, or a block.

    int row = blockIdx.x * blockDim.x + threadIdx.x;        int row = (… ) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;                                if (row >= rows) return;
    float sum = 0;                                          float sum = 0;
    for (int c = 0; c < columns; ++c) sum += x[c];    →     for (int c = lane; c < columns; c += 32) sum += x[c];
                                                            sum += shuffles…
    y[row] = sum;                                           if (lane == 0) y[row] = sum;

Neighbouring lanes then touch neighbouring addresses. Applied only when every outermost loop counts by one and does
nothing but add up, take maxima or minima, and store where its counter says; anything else is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tree_sitter import Node

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.rewriter.outputs import indices, total_of
from evoengineer.propose.rewriter.row_printing import STEP, constants, reduction_function
from evoengineer.propose.rewriter.widening import Loop, counted
from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.dependence import Dependence, dependence, is_load, target_of
from evoengineer.propose.syntax.folds import LEAVING, folds
from evoengineer.propose.syntax.functions import pure_functions
from evoengineer.propose.syntax.host import host_values
from evoengineer.propose.syntax.kernels import Kernel, fresh_name
from evoengineer.propose.syntax.nest import nest_of
from evoengineer.propose.syntax.reductions import squeezed
from evoengineer.propose.syntax.tree import Edit, NotUnderstood, edited, field, text, walk

_ZERO = re.compile(r"[-+]?0*\.?0*[fF]?$")
_FEW_ROWS = 4096  # warps that it takes to fill a card
_MANY_ROWS = 1 << 17  # threads that fill a card by themselves


@dataclass(frozen=True, slots=True)
class WarpPerRow:
    """The rewrite of this module."""

    name: str = "warp per row"
    thought: str = (
        "A warp per row reads neighbouring addresses with neighbouring lanes, so that each sector is used in full, "
        "and fills the card with 32 times as many threads."
    )
    treats: tuple[str, ...] = ("uncoalesced", "small_grid", "latency_bound")
    weight: float = 4.0  # it changes more than a constant does
    fresh: bool = True

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        for kernel in task.open(source):
            ways = [("a warp per row", 128, True), ("a block per row", 256, False)]
            rows = _rows(source, kernel, task)
            if rows >= _MANY_ROWS:
                continue
            if rows * 2 <= _FEW_ROWS:
                ways.reverse()
            for what, threads, warps in ways:
                try:
                    yield Change(what, by_rows(source, kernel, threads, warps=warps))
                except NotUnderstood:
                    continue


def _rows(source: str, kernel: Kernel, task: Task) -> int:
    try:
        nest = nest_of(source, kernel)
        return value_of(nest.on_host(total_of(nest)), host_values(nest.launch, task.arguments))
    except NotUnderstood:
        return _FEW_ROWS


def by_rows(source: str, kernel: Kernel, threads: int, *, warps: bool) -> str:
    """The text with a warp, or a block, for what a thread does of the kernel."""
    printer = _Printer(source, kernel, warps=warps)
    body = printer.body()
    functions = "".join(
        reduction_function(printer.function(how), how, printer.threads) for how in sorted(printer.ways)
    )
    nest = printer.nest
    parameters = ", ".join([*(each.declaration for each in kernel.parameters), *nest.told])
    head = f"__global__ void __launch_bounds__({printer.threads}) {printer.name}({parameters}) {{\n"
    written = constants(printer.stem, {"THREADS": threads}) + functions + head + body + "}"
    launch = nest.launch
    rows = f"static_cast<int64_t>({nest.on_host(printer.rows)})"
    blocks = f"({rows} * 32 + {printer.threads} - 1) / {printer.threads}" if warps else rows
    further = "".join(f", {text(each)}" for each in launch.further)
    arguments = ", ".join([*(text(each) for each in launch.arguments), *nest.telling])
    call = f"{printer.name}<<<{blocks}, {printer.threads}{further}>>>({arguments});"
    end = kernel.definition.end_byte
    return edited(
        source,
        [
            Edit(end, end, "\n\n" + written),
            Edit(launch.statement.start_byte, launch.statement.end_byte, call),
        ],
    )


class _Printer:
    def __init__(self, source: str, kernel: Kernel, *, warps: bool) -> None:
        self.nest, self.warps = nest_of(source, kernel), warps
        self.rows = total_of(self.nest)
        indices_of = {each.name: frozenset({each.name}) for each in self.nest.dims}
        indices_of |= {each.name: frozenset(each.dims) for each in self.nest.linears}
        self._require_rows(dependence(self.nest.body, indices_of, pure_functions(source)))
        self.name = fresh_name(source, f"{kernel.name}_rows")
        self.stem = self.name.upper()
        self.threads = f"{self.stem}_THREADS"
        self.lane = fresh_name(source, "lane_of_row")
        self.ways: set[str] = set()  # how the block combines values
        self.types: dict[str, str] = {}
        self.starts: dict[str, str] = {}  # what a variable was set to, as long as that is known
        self._require_apart()

    def _require_rows(self, found: Dependence) -> None:
        """Several dimensions together number rows only if some load of a loop has to do with all of them."""
        dims = frozenset(each.name for each in self.nest.dims)
        loops = [each for each in self.nest.body if each.type == "for_statement"]
        loads = [node for each in loops for node in walk(each) if is_load(node)]
        if len(dims) > 1 and not any(found.of(node) == dims for node in loads):
            raise NotUnderstood("outputs that share all that they load")

    def function(self, how: str) -> str:
        return f"{self.name}_{'sum' if how == '+' else how}"

    def body(self) -> str:
        number = "number_of_row"
        if self.warps:
            lines = [
                f"{STEP}const int64_t {number} = "
                f"(static_cast<int64_t>(blockIdx.x) * {self.threads} + threadIdx.x) / 32;\n",
                f"{STEP}const int {self.lane} = threadIdx.x % 32;\n",
                f"{STEP}if ({number} >= {self.rows}) return;\n",
            ]
        else:
            lines = [f"{STEP}const int64_t {number} = blockIdx.x;\n"]
        lines += indices(self.nest, number)
        loops = 0
        for statement in self.nest.body:
            if statement.type == "for_statement":
                lines.append(self._loop(statement))
                loops += 1
            elif statement.type != "preproc_call":
                lines.append(self._plain(statement))
        if not loops:
            raise NotUnderstood("no loop along a row")
        return "".join(lines)

    @property
    def _first(self) -> str:
        return self.lane if self.warps else "threadIdx.x"

    def _plain(self, statement: Node) -> str:
        stores = changes = False
        for node in walk(statement):
            target = target_of(node)
            if target is not None and target.type == "identifier":
                changes = True
                value = node.child_by_field_name("right")
                plain = statement.type == "expression_statement" and squeezed(node)[len(text(target))] == "="
                self.starts[text(target)] = squeezed(value) if value is not None and plain else ""
            elif target is not None:
                stores = True
            if node.type == "init_declarator":
                name = next(
                    text(each) for each in walk(field(node, "declarator")) if each.type == "identifier"
                )
                self.starts[name] = squeezed(field(node, "value"))
                self.types[name] = text(field(node.parent, "type")) if node.parent is not None else ""
            if node.type == "for_statement" or node.type in LEAVING:
                raise NotUnderstood(f"a {node.type.replace('_', ' ')} within a statement")
        if stores and changes:
            raise NotUnderstood("a statement that stores and changes variables")
        return (
            f"{STEP}if ({self._first} == 0) {text(statement)}\n" if stores else f"{STEP}{text(statement)}\n"
        )

    def _loop(self, node: Node) -> str:
        loop = counted(node)
        if loop is None or loop.inclusive:
            raise NotUnderstood("a loop that does not count")
        body = field(node, "body")
        sums = self._sums(loop, body)
        first = "" if squeezed(loop.first) == "0" else f" + ({text(loop.first)})"
        step = "32" if self.warps else self.threads
        if not self.warps and first:
            raise NotUnderstood("a loop that does not count from zero")
        written = "".join(self._alone(name) for name, how in sums.items() if how == "+")
        written += (
            f"{STEP}for ({loop.type} {loop.name} = {self._first}{first}; {loop.name} < {text(loop.last)}; "
            f"{loop.name} += {step}) {text(body)}\n"
        )
        for name, how in sums.items():
            written += self._combined(name, how)
            self.starts[name] = ""
        return written

    def _alone(self, name: str) -> str:
        """What a variable was before a sum counts once."""
        if _ZERO.match(self.starts.get(name, "")) and self.starts.get(name):
            return ""
        if not self.warps:
            raise NotUnderstood(f"{name} does not start with zero")
        return f"{STEP}if ({self.lane} != 0) {name} = 0;\n"

    def _combined(self, name: str, how: str) -> str:
        if not self.warps:
            if self.types.get(name) != "float":
                raise NotUnderstood("sums that are not float")
            self.ways.add(how)
            return f"{STEP}{name} = {self.function(how)}({name});\n"
        other = f"__shfl_xor_sync(0xffffffffu, {name}, step)"
        value = f"{name} + {other}" if how == "+" else f"{how}({name}, {other})"
        return f"{STEP}for (int step = 16; step > 0; step /= 2) {name} = {value};\n"

    def _sums(self, loop: Loop, body: Node) -> dict[str, str]:
        """Variables from outside that a loop combines, with how."""
        found = folds([loop.name], body, storing=True)
        if any(each.place for each in found):
            raise NotUnderstood("a value that is kept with its place")
        return {each.name: each.how for each in found}

    def _require_apart(self) -> None:
        """What is stored may be read only at the place where the same lane has stored it."""
        stored: set[str] = set()
        places: dict[str, set[str]] = {}
        reads: set[str] = set()
        loads: list[tuple[str, str, Node]] = []
        for statement in self.nest.body:
            loop = counted(statement) if statement.type == "for_statement" else None
            for node in walk(statement):
                if not is_load(node):
                    continue
                base = field(node, "argument")
                if base.type != "identifier":
                    raise NotUnderstood("a place in memory by an expression")
                written = squeezed(node)
                written = re.sub(rf"\b{loop.name}\b", "@", written) if loop is not None else written
                loads.append((text(base), written, node))
        for pointer, _, node in loads:
            parent = node.parent
            target = target_of(parent) if parent is not None else None
            if target != node or parent is None:
                reads.add(pointer)
                continue
            stored.add(pointer)
            if not squeezed(parent)[len(squeezed(node)) :].startswith("="):
                reads.add(pointer)
        for pointer, written, _ in loads:
            if pointer in stored:
                places.setdefault(pointer, set()).add(written)
        for pointer in stored & reads:
            if len(places[pointer]) > 1 or "@" not in next(iter(places[pointer])):
                raise NotUnderstood("an output is read at another place")
        if not any(re.search(r"[\[+]@[\]+]", written) for _, written, _ in loads):
            raise NotUnderstood("no load along the row")
