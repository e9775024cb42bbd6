"""A rewrite for kernels in which one thread keeps a running sum along a row or a column: a block does, many elements
at a time.

    float s = 0;                                   for (first = 0; first < n; first += 256) {
    for (int i = 0; i < n; ++i) {                      i = first + threadIdx.x;
        s += x[row * n + i];                  →        s = carry + the sum of x up to i, by shuffles;
        y[row * n + i] = s;                            if (i < n) y[row * n + i] = s;
    }                                                  carry += the sum of all;
                                                   }

For sums, products and extremes that a loop changes once; stores may come before the change, after it, or both. Where
neighbouring threads have neighbouring columns, a block takes as many of them as fill a sector, and a thread several
elements of a column at a time.
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
from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.dependence import is_load, statements_of, target_of
from evoengineer.propose.syntax.host import host_values
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

_ROWS = ((256, 1, 1), (128, 1, 1), (512, 1, 1), (1024, 1, 1))  # threads, scans of a block, elements at a time
_COLUMNS = ((512, 8, 8), (512, 8, 4), (256, 8, 8), (1024, 8, 4), (512, 16, 8), (512, 32, 8))
_ENOUGH = 1 << 17  # scans that fill a card by themselves


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
            try:
                printer = _Printer(source, kernel)
            except NotUnderstood:
                continue
            if printer.outputs(task) >= _ENOUGH:
                continue
            for threads, across, each in _COLUMNS if printer.columns else _ROWS:
                words = (
                    f"{threads} threads for {across} columns"
                    if printer.columns
                    else f"{threads} threads per row"
                )
                yield Change(words, printer.text(threads, across, each))


@dataclass(frozen=True, slots=True)
class _Scan:
    """A loop, its declarations, what it does with the running value, how and by what it changes it, and what it does
    then."""

    loop: Loop
    declarations: tuple[Node, ...]
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
    declarations = [each for each in inside[:place] if each.type == "declaration"]
    before = [each for each in inside[:place] if each.type != "declaration"]
    if how is None or how[1] in identifiers(how[2]).union(*map(identifiers, declarations)):
        raise NotUnderstood("a value that does not run")
    if before and (before[0].start_byte < declarations[-1].start_byte if declarations else False):
        raise NotUnderstood("a scan that does more before it changes its value")
    if any(each.type != "expression_statement" for each in before):
        raise NotUnderstood("a scan that does more before it changes its value")
    return _Scan(loop, tuple(declarations), tuple(before), tuple(inside[place + 1 :]), how[1], how[0], how[2])


def _stores(scan: _Scan) -> list[str]:
    return [
        text(target)
        for each in (*scan.before, *scan.after)
        for node in walk(each)
        if (target := target_of(node)) is not None and is_load(target)
    ]


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
        self.threads, self.across, self.each = (
            f"{self.stem}_{name}" for name in ("THREADS", "ACROSS", "EACH")
        )
        if self._type() != "float":
            raise NotUnderstood("a running value that is no float")
        stores = _stores(self.scan)
        neighbours = {self.nest.dims[0].name, *(each.name for each in self.nest.linears)}
        self.columns = not any(has_unit_stride(each, self.scan.loop.name) for each in stores)
        if self.columns and not any(has_unit_stride(each, name) for each in stores for name in neighbours):
            raise NotUnderstood("a running value that is stored neither along a row nor along columns")

    def outputs(self, task: Task) -> int:
        """How many scans there are for the sizes that count; 0 if that is not known."""
        try:
            return value_of(self.nest.on_host(self.total), host_values(self.nest.launch, task.arguments))
        except NotUnderstood:
            return 0

    def _type(self) -> str:
        for statement in self.nest.body:
            for each in named(statement) if statement.type == "declaration" else ():
                if each.type == "init_declarator" and text(field(each, "declarator")) == self.scan.name:
                    return text(field(statement, "type"))
        return ""

    def _combined(self, one: str, other: str) -> str:
        how = self.scan.how
        return f"{one} {how} {other}" if how in "+*" else f"{how}({one}, {other})"

    def text(self, threads: int, across: int, each: int) -> str:
        launch, kernel = self.nest.launch, self.nest.kernel
        total = self.nest.on_host(self.total)
        arguments = ", ".join([*(text(each) for each in launch.arguments), *self.nest.telling])
        further = "".join(f", {text(each)}" for each in launch.further)
        blocks = f"static_cast<unsigned>(({total} + {self.across} - 1) / {self.across})"
        call = f"{self.name}<<<{blocks}, {self.threads}{further}>>>({arguments});"
        plain = text(launch.statement)
        call = f"if ({total} < (1LL << 31)) {{\n        {call}\n    }} else {{\n        {plain}\n    }}"
        head = (
            f"constexpr int {self.threads} = {threads};\n"
            f"constexpr int {self.across} = {across};\n"
            f"constexpr int {self.each} = {each};\n"
            f'static_assert({self.threads} >= 32 && {self.threads} <= 1024, "threads of a block");\n'
            f'static_assert(({self.threads} & ({self.threads} - 1)) == 0, "whole warps");\n'
            f'static_assert({self.each} <= 32, "elements in registers");\n\n'
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
        """A function that gives what the threads before this one have together, of the same column."""
        running = self._combined("other", "value")
        return (
            f"__device__ float {self.name}_before(float value, float nothing, float (*of_warps)[{self.across}]) {{\n"
            f"{STEP}const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, across = threadIdx.x % {self.across};\n"
            f"{STEP}for (int step = {self.across}; step < 32; step *= 2) {{\n"
            f"{STEP * 2}const float other = __shfl_up_sync(0xffffffffu, value, step);\n"
            f"{STEP * 2}if (lane >= step) value = {running};\n"
            f"{STEP}}}\n"
            f"{STEP}if (lane >= 32 - {self.across}) of_warps[warp][across] = value;\n"
            f"{STEP}value = {self.across} < 32 ? __shfl_up_sync(0xffffffffu, value, {self.across} % 32) : nothing;\n"
            f"{STEP}if (lane < {self.across}) value = nothing;\n"
            f"{STEP}__syncthreads();\n"
            f"{STEP}for (int each = 0; each < warp; ++each) {{\n"
            f"{STEP * 2}const float other = of_warps[warp - 1 - each][across];\n"
            f"{STEP * 2}value = {running};\n"
            f"{STEP}}}\n"
            f"{STEP}return value;\n"
            f"}}\n\n"
        )

    def _kernel(self) -> str:
        declared = (each.declaration for each in self.nest.kernel.parameters)
        parameters = ", ".join([*declared, *self.nest.told])
        lines = [
            f"__global__ void __launch_bounds__({self.threads}) {self.name}({parameters}) {{\n",
            f"{STEP}__shared__ float of_warps[2][{self.threads} / 32 + 1][{self.across}];\n",
            f"{STEP}const int64_t count_of_outputs = {self.total};\n",
            f"{STEP}const int across = threadIdx.x % {self.across}, along = threadIdx.x / {self.across};\n",
            f"{STEP}const int64_t wanted_output = static_cast<int64_t>(blockIdx.x) * {self.across} + across;\n",
            f"{STEP}const bool is_output = wanted_output < count_of_outputs;\n",
            f"{STEP}const int64_t number_of_output = is_output ? wanted_output : count_of_outputs - 1;\n",
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
            lines.append(f"{STEP}{'if (is_output && along == 0) ' if stores else ''}{text(statement)}\n")
        return "".join(lines) + "}"

    def _loop(self) -> str:
        """Elements in groups of as many as the threads of a column take. Two arrays take turns, so that a thread that
        is ahead does not overwrite what others still read; the last thread passes on what all have."""
        scan, loop, pad = self.scan, self.scan.loop, STEP * 2
        deep = pad + STEP
        name, last = scan.name, f"of_warps[turn][{self.threads} / 32][across]"
        first, end = text(loop.first), loop.end(text(loop.last))

        def written(statements: tuple[Node, ...]) -> str:
            return "".join(f"{deep}{STEP}{text(each)}\n" for each in statements)

        # Of extremes what was found before is as good as nothing.
        nothing = {"+": "0.0f", "*": "1.0f"}.get(scan.how, f"carried_{name}")
        each = (
            f"{pad}#pragma unroll\n{pad}for (int each = 0; each < {self.each}; ++each) {{\n"
            f"{deep}const {loop.type} {loop.name} = first_of_group + along * {self.each} + each;\n"
        )
        earlier = f"each > 0 ? {self._combined('all_before', 'up_to[each > 0 ? each - 1 : 0]')} : all_before"
        before = f"{deep}{STEP}{name} = {earlier};\n{written(scan.before)}" if scan.before else ""
        return (
            f"{STEP}int turn = 0;\n"
            f"{STEP}float carried_{name} = {name};\n"
            f"{STEP}for ({loop.type} first_of_group = {first}; first_of_group < {end}; "
            f"first_of_group += {self.threads} / {self.across} * {self.each}, turn ^= 1) {{\n"
            f"{pad}float up_to[{self.each}];\n"
            f"{each}"
            f"{deep}up_to[each] = {nothing};\n"
            f"{deep}if ({loop.name} < {end}) {{\n{written(scan.declarations)}"
            f"{deep}{STEP}up_to[each] = {text(scan.operand)};\n{deep}}}\n"
            f"{pad}}}\n"
            f"{pad}#pragma unroll\n"
            f"{pad}for (int each = 1; each < {self.each}; ++each) "
            f"up_to[each] = {self._combined('up_to[each - 1]', 'up_to[each]')};\n"
            f"{pad}const float of_others = "
            f"{self.name}_before(up_to[{self.each} - 1], {nothing}, of_warps[turn]);\n"
            f"{pad}const float all_before = {self._combined(f'carried_{name}', 'of_others')};\n"
            f"{each}"
            f"{deep}if (is_output && {loop.name} < {end}) {{\n{written(scan.declarations)}{before}"
            f"{deep}{STEP}{name} = {self._combined('all_before', 'up_to[each]')};\n{written(scan.after)}{deep}}}\n"
            f"{pad}}}\n"
            f"{pad}if (along == {self.threads} / {self.across} - 1) "
            f"{last} = {self._combined('all_before', f'up_to[{self.each} - 1]')};\n"
            f"{pad}__syncthreads();\n"
            f"{pad}carried_{name} = {last};\n"
            f"{STEP}}}\n"
            f"{STEP}{name} = carried_{name};\n"
        )
