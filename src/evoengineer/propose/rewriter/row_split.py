"""A rewrite for kernels in which a block has a long row: several blocks per row, and a launch for every reduction.

    mean, variance and result of a row        kernel 1: parts of the sum, one per block
    in one block, with barriers         →     kernel 2: the sum from its parts, parts of the variance
                                              kernel 3: both from their parts, the block's part of the result

What all threads compute alike is computed again in every kernel. The rows are done in a few groups, one launch
after the other, so that what one kernel has read is still in L2 for the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.rewriter.one_pass import in_one_pass
from evoengineer.propose.rewriter.row_printing import (
    STEP,
    constants,
    options_of,
    reduction_function,
    statement,
    without_thread,
)
from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.host import host_values
from evoengineer.propose.syntax.kernels import fresh_name, in_terms_of_launch
from evoengineer.propose.syntax.rows import Plain, Rows, Single, Stride, Walk, Whole, Written, rows_of
from evoengineer.propose.syntax.tree import Edit, NotUnderstood, edited, text

# Threads of a block, blocks of a row, groups of rows. A group, and what is written of it, should take up half of L2,
# which loses lines before it is full.
_SHAPES = (
    (512, 8, 4),
    (256, 16, 4),
    (512, 16, 4),
    (1024, 4, 4),
    (512, 8, 2),
    (256, 8, 8),
    (512, 4, 1),
    (256, 32, 4),
    (1024, 8, 8),
    (512, 2, 2),
)
_SHORT = 4096  # elements; a block is enough for them
_MANY = 4  # rows for every multiprocessor, which fill a card by themselves,
_LONG = 32768  # if they are no longer than this
_USUAL_MULTIPROCESSORS = 128


@dataclass(frozen=True, slots=True)
class RowSplit:
    """The rewrite of this module."""

    name: str = "split rows"
    thought: str = (
        "Several blocks per row fill the card and keep more loads under way; groups of rows that fit in L2 are "
        "read from there the second time."
    )
    treats: tuple[str, ...] = ("latency_bound", "small_grid", "dram_bound", "barriers")
    weight: float = 3.0
    fresh: bool = True

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        ranked: list[tuple[float, str, Rows, tuple[int, int, int]]] = []
        for words, passes, rows in _forms(source, task):
            for place, shape in enumerate(_SHAPES, 1):
                ranked.append((passes * place * random.uniform(0.3, 1.7), words, rows, shape))
        for _, words, rows, (threads, parts, groups) in sorted(ranked, key=lambda each: each[0]):
            try:
                yield Change(
                    f"{rows.kernel.name}: {parts} blocks per row, {groups} groups of rows{words}",
                    split(source, rows, threads, parts, groups),
                )
            except NotUnderstood:
                continue


def _forms(source: str, task: Task) -> Iterator[tuple[str, int, Rows]]:
    """The kernels with long rows, with what is special about their passes, and how many there are."""
    for kernel in task.open(source):
        try:
            rows = rows_of(source, kernel)
            if _is_short(rows, task):
                continue
            yield "", sum(isinstance(item, Walk) for item in rows.items), rows
            fused = in_one_pass(rows)
            yield ", sums in one pass", sum(isinstance(item, Walk) for item in fused.items), fused
        except NotUnderstood:
            continue


def _is_short(rows: Rows, task: Task) -> bool:
    """Whether rows are known to be too short to share."""
    values = host_values(rows.launch, task.arguments)
    try:
        many = value_of(rows.grid, values) >= _MANY * (task.multiprocessors or _USUAL_MULTIPROCESSORS)
    except NotUnderstood:
        many = False
    for item in rows.items:
        if isinstance(item, Walk):
            for stride in item.strides:
                try:
                    bound = in_terms_of_launch(rows.kernel, rows.launch, text(stride.bound))
                    if item.node == stride.loop and value_of(bound, values) < (_LONG if many else _SHORT):
                        return True
                except NotUnderstood:
                    continue
    return False


def split(source: str, rows: Rows, threads: int, parts: int, groups: int) -> str:
    """The text with a kernel for every reduction of a row, and a launch of all of them."""
    printer = _Printer(source, rows)
    if printer.last == 0:
        raise NotUnderstood("one reduction is all there is")
    definition, launch = rows.kernel.definition, rows.launch.statement
    settings = {"THREADS": threads, "BLOCKS": parts, "TILE_GROUPS": groups}
    head = constants(printer.stem, settings)
    return edited(
        source,
        [
            Edit(definition.end_byte, definition.end_byte, "\n\n" + head + printer.kernels()),
            Edit(launch.start_byte, launch.end_byte, printer.launch()),
        ],
    )


class _Printer:
    def __init__(self, source: str, rows: Rows) -> None:
        self.rows = rows
        self.name = fresh_name(source, f"{rows.kernel.name}_split")
        self.stem = self.name.upper()
        self.threads, self.parts = f"{self.stem}_THREADS", f"{self.stem}_BLOCKS"
        self.partial = fresh_name(source, f"partial_of_{rows.kernel.name}")
        self.rounds = _rounds(rows)
        self.last = max(self.rounds)
        self.wholes = [item for item in rows.items if isinstance(item, Whole)]
        if any(each.type != "float" for each in self.wholes):
            raise NotUnderstood("sums that are not float")
        self.options = options_of(rows.launch)

    def kernels(self) -> str:
        ways = dict.fromkeys(each.how for each in self.wholes)
        functions = "".join(reduction_function(self._function(how), how, self.threads) for how in ways)
        functions += (
            f"// Elements of a row that one of its blocks has.\n"
            f"template <class Index>\n"
            f"__device__ Index {self.name}_share(Index elements) {{\n"
            f"{STEP}constexpr int at_once = {self.threads} * {self.parts};\n"
            f"{STEP}return (elements + at_once - 1) / at_once * {self.threads};\n"
            f"}}\n\n"
        )
        return functions + "\n\n".join(self._kernel(number) for number in range(self.last + 1))

    def _function(self, how: str) -> str:
        return f"{self.name}_{'sum' if how == '+' else how}"

    def _kernel(self, number: int) -> str:
        parameters = [each.declaration for each in self.rows.kernel.parameters]
        parameters += [f"float* {self.partial}", "int rows_of_all", "int first_row"]
        lines = [
            f"__global__ void __launch_bounds__({self.threads}) {self.name}_{number + 1}"
            f"({', '.join(parameters)}) {{\n",
            f"{STEP}const unsigned row_of_block = first_row + blockIdx.x / {self.parts};\n",
            f"{STEP}const int part_of_row = blockIdx.x % {self.parts};\n",
        ]
        for item, when in zip(self.rows.items, self.rounds, strict=True):
            if isinstance(item, Plain | Written) and when <= number:
                lines.append(STEP + statement(item, {}) + "\n")
            elif isinstance(item, Walk) and when == number:
                lines.append(STEP + without_thread(item, self._header) + "\n")
            elif isinstance(item, Single) and when == number:
                lines.append(f"{STEP}if (part_of_row == 0 && threadIdx.x == 0) {statement(item, {})}\n")
            elif isinstance(item, Whole) and when < number:
                lines.append(self._gathered(item))
            elif isinstance(item, Whole) and when == number:
                lines.append(self._written(item))
        return "".join(lines) + "}"

    def _header(self, stride: Stride) -> str:
        """The loop over the elements of this block's part, which lie side by side."""
        kind, name, bound = stride.type, stride.name, text(stride.bound)
        share = f"{self.name}_share<{kind}>({bound})"
        return (
            f"for ({kind} {name} = part_of_row * {share} + threadIdx.x, "
            f"end_of_{name} = min(static_cast<{kind}>({bound}), static_cast<{kind}>((part_of_row + 1) * {share})); "
            f"{name} < end_of_{name}; {name} += {self.threads})"
        )

    def _slot(self, item: Whole) -> str:
        return f"({self.wholes.index(item)}LL * rows_of_all + row_of_block) * {self.parts}"

    def _written(self, item: Whole) -> str:
        function = self._function(item.how)
        return (
            f"{STEP}const float {item.name} = {function}({item.value});\n"
            f"{STEP}if (threadIdx.x == 0) {self.partial}[{self._slot(item)} + part_of_row] = {item.name};\n"
        )

    def _gathered(self, item: Whole) -> str:
        other = f"{self.partial}[{self._slot(item)} + part]"
        value = f"{item.name} + {other}" if item.how == "+" else f"{item.how}({item.name}, {other})"
        return (
            f"{STEP}float {item.name} = {self.partial}[{self._slot(item)}];\n"
            f"{STEP}#pragma unroll\n"
            f"{STEP}for (int part = 1; part < {self.parts}; ++part) {item.name} = {value};\n"
        )

    def launch(self) -> str:
        launch, stem = self.rows.launch, self.stem
        further = "".join(f", {text(each)}" for each in launch.further)
        arguments = ", ".join(
            [*(text(each) for each in launch.arguments), "parts", "rows_of_all", "first_row"]
        )
        calls = "".join(
            f"            {self.name}_{number + 1}<<<count_of_rows * {self.parts}, {self.threads}{further}>>>"
            f"({arguments.replace('parts, rows_of_all', f'{self.partial}.data_ptr<float>(), rows_of_all')});\n"
            for number in range(self.last + 1)
        )
        return (
            f"if (static_cast<int64_t>({self.rows.grid}) <= (1LL << 31) / 2 / {self.parts}) {{\n"
            f"        const int rows_of_all = {self.rows.grid};\n"
            f"        auto {self.partial} = torch::empty({{{len(self.wholes)} * static_cast<int64_t>(rows_of_all)"
            f" * {self.parts}}}, {self.options}.dtype(torch::kFloat32));\n"
            f"        const int rows_of_group = (rows_of_all + {stem}_TILE_GROUPS - 1) / {stem}_TILE_GROUPS;\n"
            f"        for (int first_row = 0; first_row < rows_of_all; first_row += rows_of_group) {{\n"
            f"            const int count_of_rows = "
            f"rows_of_all - first_row < rows_of_group ? rows_of_all - first_row : rows_of_group;\n"
            f"{calls}"
            f"        }}\n"
            f"    }} else {{\n        {text(launch.statement)}\n    }}"
        )


def _rounds(rows: Rows) -> list[int]:
    """The launch that each item belongs to: a walk or statement comes after the reductions before it, a reduction
    is in the launch of the walk that makes its value."""
    rounds: list[int] = []
    made: dict[str, int] = {}
    done = -1
    for item in rows.items:
        if isinstance(item, Whole):
            rounds.append(made[item.value])
            done = max(done, made[item.value])
            continue
        rounds.append(done + 1)
        if isinstance(item, Walk):
            made.update(dict.fromkeys(item.sums, done + 1))
    return rounds
