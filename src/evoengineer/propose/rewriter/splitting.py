"""Splitting: a long sum is computed in parts by more blocks, and a second kernel adds the parts up.

The result is again a text of plain kernels with one thread per output (and part), so that the first of them can be
tiled like any other. Parts are added in a fixed order, so that results do not depend on the order of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from evoengineer.propose.rewriter.row_printing import options_of
from evoengineer.propose.rewriter.widening import STEP, Loop, counted
from evoengineer.propose.syntax.dependence import target_of
from evoengineer.propose.syntax.kernels import dimensions, fresh_name
from evoengineer.propose.syntax.nest import Nest
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    operator,
    replacing,
    text,
    walk,
)


@dataclass(frozen=True, slots=True)
class Sum:
    """The loop of a nest that adds to one variable, and nothing else that lasts."""

    statement: Node
    loop: Loop
    name: str
    start: Node  # what the variable is before


def sum_of(nest: Nest) -> Sum:
    """The only loop of the computation, as a sum."""
    loops = [each for each in nest.body if each.type == "for_statement"]
    if len(loops) != 1 or (loop := counted(loops[0])) is None:
        raise NotUnderstood("not one loop")
    local = {each.name for each in nest.dims} | {each.name for each in nest.linears}
    local |= {each.name for each in nest.kernel.parameters if each.is_pointer}
    local |= {
        text(_declared(each)) for part in nest.body for each in walk(part) if each.type == "init_declarator"
    }
    if (identifiers(loop.first) | identifiers(loop.last)) & local:
        raise NotUnderstood("a loop whose course is not known before it")
    body = field(loops[0], "body")
    inside = {text(_declared(each)) for each in walk(body) if each.type == "init_declarator"}
    changed = {}
    for each in walk(body):
        target = target_of(each)
        if target is not None and text(target) not in inside:
            changed[text(target)] = each
    if len(changed) != 1:
        raise NotUnderstood("a loop that changes more than one variable")
    ((name, change),) = changed.items()
    if (
        change.type != "assignment_expression"
        or operator(change) != "+="
        or name in identifiers(field(change, "right"))
    ):
        raise NotUnderstood("a loop that does more than add")
    for statement in nest.body:
        for each in walk(statement):
            if each.type == "init_declarator" and text(_declared(each)) == name:
                if statement.type != "declaration" or text(field(statement, "type")) != "float":
                    raise NotUnderstood("a sum that is no float")
                return Sum(loops[0], loop, name, field(each, "value"))
    raise NotUnderstood("a sum that starts from nowhere")


def _declared(node: Node) -> Node:
    return next(each for each in walk(field(node, "declarator")) if each.type == "identifier")


def split(source: str, nest: Nest, parts: int) -> tuple[str, str]:
    """The text with the sum in parts, and the name of the kernel that computes them."""
    named_dims = all(dim.name in identifiers(nest.kernel.body) for dim in nest.dims)
    if not named_dims or any(each.grid for each in nest.linears) or "blockIdx.z" in source:
        raise NotUnderstood("no axis of the grid is free")
    printer = _Printer(source, nest)
    definition, statement = nest.kernel.definition, nest.launch.statement
    calls = printer.launches()
    if statement.parent is None or statement.parent.type != "compound_statement":
        calls = f"{{\n{STEP}{calls}\n{STEP}}}"
    kernels = f"\n\nconstexpr int {printer.count} = {parts};\n\n{printer.partial()}\n\n{printer.total()}"
    text_after = edited(
        source, [Edit(definition.end_byte, definition.end_byte, kernels), replacing(statement, calls)]
    )
    return text_after, printer.first


class _Printer:
    """The two kernels and their launches."""

    def __init__(self, source: str, nest: Nest) -> None:
        self.nest, self.sum = nest, sum_of(nest)
        name = nest.kernel.name
        self.first, self.second = (fresh_name(source, f"{name}_{part}") for part in ("part", "sum"))
        self.count = fresh_name(source, f"{name.upper()}_PARTS")
        self.part, self.parts, self.chunk, self.begin, self.end, self.workspace = (
            fresh_name(source, wanted) for wanted in ("part", "parts", "chunk", "begin", "end", "workspace")
        )
        self.low, self.high = text(self.sum.loop.first), self.sum.loop.end(text(self.sum.loop.last))
        # What only the host knows, the kernels are told, and a test of theirs says what it is.
        self.told = {dim.name: fresh_name(source, f"all_{dim.name}") for dim in nest.dims if dim.grid}
        told = [f"int {name}" for name in self.told.values()]
        self.head = ", ".join([*(each.declaration for each in nest.kernel.parameters), *told])
        tests = " || ".join(f"{dim} >= {extent}" for dim, extent in self.told.items())
        self.bound = f"if ({tests}) return;\n{STEP}" if tests else ""

    @property
    def place(self) -> str:
        """Where a part of an output lies in the workspace."""
        index, size = "", ""
        for dim in reversed(self.nest.dims):
            extent = f"static_cast<int64_t>({self.told.get(dim.name, dim.extent)})"
            index = f"({index}) * {extent} + {dim.name}" if index else dim.name
            size = f"{size} * {extent}" if size else extent
        return f"{self.parts}[static_cast<int64_t>({self.part}) * ({size}) + {index}]"

    def partial(self) -> str:
        """The kernel with its loop from `begin` to `end`, which keeps what it has added."""
        body, loop = self.nest.kernel.body, self.sum.loop
        behind = [each for each in self.nest.body if each.start_byte > self.sum.statement.end_byte]
        if not behind or behind[-1].type != "expression_statement":
            raise NotUnderstood("the sum is not what is stored at the end")
        bounds = (
            f"const {loop.type} {self.begin} = {self.low} + {self.part} * {self.chunk};\n{STEP}"
            f"const {loop.type} {self.end} = min(static_cast<{loop.type}>({self.high}), "
            f"static_cast<{loop.type}>({self.begin} + {self.chunk}));\n{STEP}"
        )
        inside, before = body.start_byte + 1, _with_pragmas(self.sum.statement).start_byte
        changed = _body(
            body,
            [
                Edit(inside, inside, f"\n{STEP}int {self.part} = blockIdx.z;"),
                replacing(self.sum.start, "0.0f"),
                Edit(before, before, self.bound + bounds),
                replacing(loop.first, self.begin),
                replacing(field(self.sum.statement, "condition"), f"{loop.name} < {self.end}"),
                *(replacing(each, "") for each in behind[:-1]),
                replacing(behind[-1], f"{self.place} = {self.sum.name};"),
            ],
        )
        return f"__global__ void {self.first}({self.head}, float* {self.parts}, int {self.chunk}) {changed}"

    def total(self) -> str:
        """The kernel with a loop over the parts in place of its own."""
        counter = f"int {self.part} = 0; {self.part} < {self.count}; ++{self.part}"
        added = f"{self.bound}for ({counter}) {self.sum.name} += {self.place};"
        first, last = _with_pragmas(self.sum.statement), self.sum.statement
        changed = _body(self.nest.kernel.body, [Edit(first.start_byte, last.end_byte, added)])
        return f"__global__ void {self.second}({self.head}, const float* {self.parts}) {changed}"

    def launches(self) -> str:
        nest, launch = self.nest, self.nest.launch
        grid = dimensions(launch.grid)
        if any(each.strip() != "1" for each in grid[2:]):
            raise NotUnderstood("no axis of the grid is free")
        extents = [dim.grid or nest.on_host(dim.extent) for dim in nest.dims]
        sizes = " * ".join(f"static_cast<int64_t>({extent})" for extent in extents)
        length = f"{nest.on_host(self.high)} - ({nest.on_host(self.low)})"
        told = [f"static_cast<int>({dim.grid})" for dim in nest.dims if dim.grid]
        arguments = ", ".join([*(text(each) for each in launch.arguments), *told])
        arguments += f", {self.workspace}.data_ptr<float>()"
        further = "".join(f", {text(each)}" for each in launch.further)
        shape = f"dim3({', '.join((*grid, '1')[:2])}, {self.count}), {text(launch.block)}{further}"
        options = f"{options_of(launch)}.dtype(torch::kFloat32)"
        return (
            f"auto {self.workspace} = torch::empty({{{self.count} * {sizes}}}, {options});\n{STEP}"
            f"{self.first}<<<{shape}>>>({arguments}, ({length} + {self.count} - 1) / {self.count});\n{STEP}"
            f"{self.second}<<<{text(launch.grid)}, {text(launch.block)}{further}>>>({arguments});"
        )


def _with_pragmas(loop: Node) -> Node:
    """What stands before a loop and belongs to it."""
    before = loop.prev_named_sibling
    return before if before is not None and before.type == "preproc_call" else loop


def _body(body: Node, edits: list[Edit]) -> str:
    """A kernel's body with changes."""
    moved = [
        Edit(each.start - body.start_byte, each.end - body.start_byte, each.replacement) for each in edits
    ]
    return edited((body.text or b"").decode(), moved)
