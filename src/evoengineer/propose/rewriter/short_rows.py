"""A rewrite for kernels in which a block has a short row: a warp has it, and a block has several rows.

    for (i = threadIdx.x; i < n; i += 256) s += x[i];          for (i = lane; i < n; i += 32) s += x[i];
    … a tree in shared memory, with barriers …           →     … shuffles …
    if (threadIdx.x == 0) y[blockIdx.x] = s;                   if (lane == 0) y[row] = s;

Most threads of a block have one or two elements of a short row, and wait for each other at every barrier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.rewriter.one_pass import in_one_pass
from evoengineer.propose.rewriter.row_printing import STEP, constants, statement, without_thread
from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.host import host_values
from evoengineer.propose.syntax.kernels import fresh_name, in_terms_of_launch
from evoengineer.propose.syntax.rows import Plain, Rows, Single, Stride, Walk, Whole, Written, rows_of
from evoengineer.propose.syntax.tree import Edit, NotUnderstood, edited, identifiers, text

_THREADS = (256, 128, 512, 64)
_LONG = 4096  # elements: too many for a warp


@dataclass(frozen=True, slots=True)
class ShortRows:
    """The rewrite of this module."""

    name: str = "warps for rows"
    thought: str = (
        "A warp reduces a short row by shuffles, without a barrier, with several loads of every lane under way; in a "
        "block, threads with one or two elements each wait most of the time."
    )
    treats: tuple[str, ...] = ("barriers", "latency_bound", "issue_bound")
    weight: float = 4.0
    fresh: bool = True

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        found: list[tuple[float, Change]] = []
        for kernel in task.open(source):
            try:
                rows = rows_of(source, kernel)
                printer = _Printer(source, rows, _lengths(rows, task))
            except NotUnderstood:
                continue
            for place, threads in enumerate(_THREADS, 1):
                words = f"{kernel.name}: a warp per row, {threads // 32} rows in a block"
                found.append((place * random.uniform(0.5, 1.5), Change(words, printer.text(threads))))
            try:
                fused = _Printer(source, in_one_pass(rows), printer.lengths)
                words = (
                    f"{kernel.name}: a warp per row, {_THREADS[0] // 32} rows in a block, sums in one pass"
                )
                found.append((2 * random.uniform(0.5, 1.5), Change(words, fused.text(_THREADS[0]))))
            except NotUnderstood:
                continue
        for _, change in sorted(found, key=lambda each: each[0]):
            yield change


def _lengths(rows: Rows, task: Task) -> tuple[str, ...]:
    """How long the walks are, on the host; `NotUnderstood` where they are known to be long."""
    values = host_values(rows.launch, task.arguments)
    found: dict[str, None] = {}
    for item in rows.items:
        for stride in item.strides if isinstance(item, Walk) else ():
            length = in_terms_of_launch(rows.kernel, rows.launch, text(stride.bound))
            found[length] = None
            try:
                if value_of(length, values) > _LONG:
                    raise NotUnderstood("a long row")
            except NotUnderstood:
                if identifiers(stride.bound) <= set(values):
                    raise
    return tuple(found)


class _Printer:
    def __init__(self, source: str, rows: Rows, lengths: tuple[str, ...]) -> None:
        self.source, self.rows, self.lengths = source, rows, lengths
        if not any(isinstance(item, Whole) for item in rows.items):
            raise NotUnderstood("threads that need not wait for each other")
        if any(item.type not in ("float", "int") for item in rows.items if isinstance(item, Whole)):
            raise NotUnderstood("sums of another type")
        self.name = fresh_name(source, f"{rows.kernel.name}_warps")
        self.stem = self.name.upper()
        self.threads = f"{self.stem}_THREADS"
        self.lane = fresh_name(source, "lane_of_row")

    def text(self, threads: int) -> str:
        definition, launch = self.rows.kernel.definition, self.rows.launch
        parameters = ", ".join(
            [*(each.declaration for each in self.rows.kernel.parameters), "unsigned rows_of_all"]
        )
        head = (
            f"__global__ void __launch_bounds__({self.threads}) {self.name}({parameters}) {{\n"
            f"{STEP}const unsigned row_of_block = (blockIdx.x * {self.threads} + threadIdx.x) / 32;\n"
            f"{STEP}const int {self.lane} = threadIdx.x % 32;\n"
            f"{STEP}if (row_of_block >= rows_of_all) return;\n"
        )
        written = constants(self.stem, {"THREADS": threads}) + head + "".join(self._items()) + "}"
        rows = f"static_cast<unsigned>({self.rows.grid})"
        further = "".join(f", {text(each)}" for each in launch.further)
        arguments = ", ".join([*(text(each) for each in launch.arguments), rows])
        tests = [f"({length}) <= {_LONG}" for length in self.lengths]
        tests.append(f"static_cast<int64_t>({self.rows.grid}) < (1 << 26)")
        call = (
            f"if ({' && '.join(tests)}) {{\n        {self.name}<<<({rows} + {self.threads} / 32 - 1) / "
            f"({self.threads} / 32), {self.threads}{further}>>>({arguments});\n"
            f"    }} else {{\n        {text(launch.statement)}\n    }}"
        )
        return edited(
            self.source,
            [
                Edit(definition.end_byte, definition.end_byte, "\n\n" + written),
                Edit(launch.statement.start_byte, launch.statement.end_byte, call),
            ],
        )

    def _items(self) -> Iterator[str]:
        for item in self.rows.items:
            if isinstance(item, Plain | Written):
                yield STEP + statement(item, {}) + "\n"
            elif isinstance(item, Single):
                yield f"{STEP}if ({self.lane} == 0) {statement(item, {})}\n"
            elif isinstance(item, Walk):
                yield STEP + without_thread(item, self._header) + "\n"
            elif isinstance(item, Whole):
                other = f"__shfl_xor_sync(0xffffffffu, {item.name}, step)"
                combined = (
                    f"{item.name} + {other}" if item.how == "+" else f"{item.how}({item.name}, {other})"
                )
                yield f"{STEP}{item.type} {item.name} = {item.value};\n"
                yield f"{STEP}for (int step = 16; step > 0; step /= 2) {item.name} = {combined};\n"

    def _header(self, stride: Stride) -> str:
        kind, name, bound = stride.type, stride.name, text(stride.bound)
        return (
            f"\n#pragma unroll 4\n{STEP}for ({kind} {name} = {self.lane}; {name} < ({bound}); {name} += 32)"
        )
