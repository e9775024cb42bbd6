"""A rewrite for kernels in which one thread keeps a running sum along a row: a block does, as many elements at a time
as it has threads.

    float s = 0;                                   for (first = 0; first < n; first += 256) {
    for (int i = 0; i < n; ++i) {                      i = first + threadIdx.x;
        s += x[row * n + i];                  →        s = carry + the sum of x up to i, by shuffles;
        y[row * n + i] = s;                            if (i < n) y[row * n + i] = s;
    }                                                  carry += the sum of all;
                                                   }

For sums, products and extremes that a loop changes once and then stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tree_sitter import Node

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.rewriter.outputs import indices, total_of
from evoengineer.propose.rewriter.row_printing import STEP
from evoengineer.propose.rewriter.tile import analysed
from evoengineer.propose.rewriter.widening import Loop, counted
from evoengineer.propose.syntax.addresses import has_unit_stride
from evoengineer.propose.syntax.dependence import is_load, statements_of, target_of
from evoengineer.propose.syntax.kernels import Kernel, fresh_name
from evoengineer.propose.syntax.nest import nest_of
from evoengineer.propose.syntax.reductions import combination
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    named,
    operator,
    text,
    walk,
)

_THREADS = (256, 128, 512, 1024)


@dataclass(frozen=True, slots=True)
class BlockScan:
    """The rewrite of this module."""

    name: str = "block scan"
    thought: str = (
        "A block that scans a row together reads neighbouring addresses with neighbouring lanes and has as many loads "
        "under way as threads."
    )
    treats: tuple[str, ...] = ("uncoalesced", "small_grid", "latency_bound")
    weight: float = 5.0  # it changes more than a constant does
    fresh: bool = True

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        for kernel in task.open(source):
            for threads in _THREADS:
                try:
                    yield Change(f"{threads} threads per row", _Printer(source, kernel).text(threads))
                except NotUnderstood:
                    break


@dataclass(frozen=True, slots=True)
class _Scan:
    """A loop, its declarations, how and by what it changes the running value, and what it does then."""

    loop: Loop
    before: tuple[Node, ...]
    after: tuple[Node, ...]
    name: str
    how: str
    operand: Node


def _scan_of(node: Node) -> _Scan:
    loop = counted(node)
    if loop is None:
        raise NotUnderstood("a loop that does not count")
    inside = [each for each in statements_of(field(node, "body")) if each.type != "preproc_call"]
    own = {loop.name} | {
        text(field(each, "declarator"))
        for statement in inside
        if statement.type == "declaration"
        for each in named(statement)
        if each.type == "init_declarator"
    }
    changes = []
    for statement in inside:
        for each in walk(statement):
            if each.type in (
                "for_statement",
                "while_statement",
                "break_statement",
                "continue_statement",
                "do_statement",
            ):
                raise NotUnderstood(f"a {each.type.replace('_', ' ')} in a scan")
            target = target_of(each)
            if target is not None and target.type == "identifier" and text(target) not in own:
                changes.append((statement, each))
    if len(changes) != 1 or changes[0][0].type != "expression_statement":
        raise NotUnderstood("not one running value")
    ((statement, change),) = changes
    how = _change(change)
    place = inside.index(statement)
    before = inside[:place]
    if how is None or how[1] in identifiers(how[2]).union(*map(identifiers, before)):
        raise NotUnderstood("a value that does not run")
    if any(each.type != "declaration" for each in before):
        raise NotUnderstood("a scan that does more before it changes its value")
    stores = [
        target
        for each in inside[place + 1 :]
        for node in walk(each)
        if (target := target_of(node)) is not None and is_load(target)
    ]
    if not stores or not any(has_unit_stride(text(each), loop.name) for each in stores):
        raise NotUnderstood("a running value that is not stored along a row")
    return _Scan(loop, tuple(before), tuple(inside[place + 1 :]), how[1], how[0], how[2])


def _change(node: Node) -> tuple[str, str, Node] | None:
    """How a running value is changed, its name, and the operand."""
    if node.type == "assignment_expression" and operator(node) == "*=":
        return "*", text(field(node, "left")), field(node, "right")
    found = combination(node)
    return None if found is None else (found[0], text(found[1]), found[2])


class _Printer:
    def __init__(self, source: str, kernel: Kernel) -> None:
        self.source, self.nest = source, nest_of(source, kernel)
        analysed(source, self.nest)
        self.total = total_of(self.nest)
        loops = [each for each in self.nest.body if each.type == "for_statement"]
        if len(loops) != 1:
            raise NotUnderstood("not one loop")
        self.node, self.scan = loops[0], _scan_of(loops[0])
        self.name = fresh_name(source, f"{kernel.name}_scan")
        self.stem = self.name.upper()
        self.threads = f"{self.stem}_THREADS"
        if self._type() != "float":
            raise NotUnderstood("a running value that is no float")

    def _type(self) -> str:
        for statement in self.nest.body:
            for each in named(statement) if statement.type == "declaration" else ():
                if each.type == "init_declarator" and text(field(each, "declarator")) == self.scan.name:
                    return text(field(statement, "type"))
        return ""

    def _combined(self, one: str, other: str) -> str:
        how = self.scan.how
        return f"{one} {how} {other}" if how in "+*" else f"{how}({one}, {other})"

    def text(self, threads: int) -> str:
        launch, kernel = self.nest.launch, self.nest.kernel
        total = self.nest.on_host(self.total)
        arguments = ", ".join(text(each) for each in launch.arguments)
        further = "".join(f", {text(each)}" for each in launch.further)
        call = f"{self.name}<<<static_cast<unsigned>({total}), {self.threads}{further}>>>({arguments});"
        plain = text(launch.statement)
        call = f"if ({total} < (1LL << 31)) {{\n        {call}\n    }} else {{\n        {plain}\n    }}"
        head = (
            f"constexpr int {self.threads} = {threads};\n"
            f'static_assert({self.threads} >= 32 && {self.threads} <= 1024, "threads of a block");\n'
            f'static_assert(({self.threads} & ({self.threads} - 1)) == 0, "whole warps");\n\n'
        )
        end = kernel.definition.end_byte
        return edited(
            self.source,
            [
                Edit(end, end, "\n\n" + head + self._function() + self._kernel()),
                Edit(launch.statement.start_byte, launch.statement.end_byte, call),
            ],
        )

    def _function(self) -> str:
        """A function that gives what the threads up to this one have together."""
        running = self._combined("other", "value")
        return (
            f"__device__ float {self.name}_up_to(float value, float* of_warps) {{\n"
            f"{STEP}const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
            f"{STEP}for (int step = 1; step < 32; step *= 2) {{\n"
            f"{STEP * 2}const float other = __shfl_up_sync(0xffffffffu, value, step);\n"
            f"{STEP * 2}if (lane >= step) value = {running};\n"
            f"{STEP}}}\n"
            f"{STEP}if (lane == 31) of_warps[warp] = value;\n"
            f"{STEP}__syncthreads();\n"
            f"{STEP}for (int each = 0; each < warp; ++each) {{\n"
            f"{STEP * 2}const float other = of_warps[warp - 1 - each];\n"
            f"{STEP * 2}value = {running};\n"
            f"{STEP}}}\n"
            f"{STEP}return value;\n"
            f"}}\n\n"
        )

    def _kernel(self) -> str:
        parameters = ", ".join(each.declaration for each in self.nest.kernel.parameters)
        lines = [
            f"__global__ void __launch_bounds__({self.threads}) {self.name}({parameters}) {{\n",
            f"{STEP}__shared__ float of_warps[2][{self.threads} / 32 + 1];\n",
            f"{STEP}const int64_t number_of_output = blockIdx.x;\n",
            *indices(self.nest, "number_of_output"),
        ]
        for statement in self.nest.body:
            if statement == self.node:
                lines.append(self._loop())
                continue
            stores = any(
                (target := target_of(node)) is not None and target.type != "identifier"
                for node in walk(statement)
            )
            lines.append(f"{STEP}{'if (threadIdx.x == 0) ' if stores else ''}{text(statement)}\n")
        return "".join(lines) + "}"

    def _loop(self) -> str:
        """Elements in groups of as many as there are threads. Two arrays take turns, so that a thread that is ahead
        does not overwrite what others still read; the last thread passes on what all have."""
        scan, loop, deep = self.scan, self.scan.loop, STEP * 2
        name, last = scan.name, f"of_warps[turn][{self.threads} / 32]"
        first, end = text(loop.first), loop.end(text(loop.last))
        before = "".join(f"{deep}{STEP}{text(each)}\n" for each in scan.before)
        after = "".join(f"{deep}{STEP}{text(each)}\n" for each in scan.after)
        # Of extremes what was found before is as good as nothing.
        nothing = {"+": "0.0f", "*": "1.0f"}.get(scan.how, f"carried_{name}")
        return (
            f"{STEP}int turn = 0;\n"
            f"{STEP}float carried_{name} = {name};\n"
            f"{STEP}for ({loop.type} first_of_group = {first}; first_of_group < {end}; "
            f"first_of_group += {self.threads}, turn ^= 1) {{\n"
            f"{deep}const {loop.type} {loop.name} = first_of_group + threadIdx.x;\n"
            f"{deep}const bool is_element = {loop.name} < {end};\n"
            f"{deep}float value_of_element = {nothing};\n"
            f"{deep}if (is_element) {{\n{before}{deep}{STEP}value_of_element = {text(scan.operand)};\n{deep}}}\n"
            f"{deep}const float up_to_element = {self.name}_up_to(value_of_element, of_warps[turn]);\n"
            f"{deep}{name} = {self._combined(f'carried_{name}', 'up_to_element')};\n"
            f"{deep}if (threadIdx.x == {self.threads} - 1) {last} = {name};\n"
            f"{deep}if (is_element) {{\n{before}{after}{deep}}}\n"
            f"{deep}__syncthreads();\n"
            f"{deep}carried_{name} = {last};\n"
            f"{STEP}}}\n"
            f"{STEP}{name} = carried_{name};\n"
        )
