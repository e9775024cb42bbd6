"""A rewrite for long sums of few outputs: several threads share an output's loop, and several blocks if need be.

    for (r = 0; r < rows; ++r)          for (r = along; r < rows; r += 8)       8 threads for each of 32 columns
        s += x[r * columns + c];   →        s += x[r * columns + c];            (or all of a block for one output)
    y[c] = s;                           fold(s); if (along == 0) y[c] = s;

Sums, extremes, and extremes with their place. One thread per output leaves most of a card idle when there are few,
and has one load under way at a time. With several blocks per output a second kernel combines what they have found, in
a fixed order. Loops within each other that do nothing else are one loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tree_sitter import Node

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.rewriter.outputs import indices, total_of
from evoengineer.propose.rewriter.row_printing import STEP, options_of
from evoengineer.propose.rewriter.tile import analysed
from evoengineer.propose.rewriter.widening import Loop, counted
from evoengineer.propose.syntax.addresses import has_unit_stride
from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.dependence import is_load, is_target, statements_of, target_of
from evoengineer.propose.syntax.folds import Fold, folds
from evoengineer.propose.syntax.host import host_values
from evoengineer.propose.syntax.kernels import Kernel, fresh_name
from evoengineer.propose.syntax.nest import nest_of
from evoengineer.propose.syntax.reductions import squeezed
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    is_call_of,
    text,
    walk,
)

_WARP = 32
_SECTOR = 8  # neighbours that are read at once
_ENOUGH = 1 << 17  # outputs that fill a card by themselves
_SHORT = 64  # iterations that are not worth sharing
_BLOCKS = 4  # for every multiprocessor
_EACH = 4  # iterations of a thread, at least
_THREADS = (256, 512, 128)
_USUAL_MULTIPROCESSORS = 128


@dataclass(frozen=True, slots=True)
class SharedSum:
    """The rewrite of this module."""

    name: str = "share sum"
    thought: str = (
        "Few outputs with a long sum each leave a card idle; threads and blocks that share a sum fill it and keep more "
        "loads under way."
    )
    treats: tuple[str, ...] = ("small_grid", "latency_bound", "uncoalesced")
    weight: float = 5.0  # it changes more than a constant does
    fresh: bool = True

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        found = [change for kernel in task.open(source) for change in _of(source, kernel, task)]
        ranked = [(place * random.uniform(0.5, 1.5), change) for place, change in enumerate(found)]
        for _, change in sorted(ranked, key=lambda each: each[0]):
            yield change


def _of(source: str, kernel: Kernel, task: Task) -> Iterator[Change]:
    try:
        shape = _Shape(source, kernel)
    except NotUnderstood:
        return
    values = host_values(shape.nest.launch, task.arguments)
    outputs, iterations = shape.sizes(values)
    if outputs >= _ENOUGH or 0 < iterations < _SHORT:
        return
    multiprocessors = task.multiprocessors or _USUAL_MULTIPROCESSORS
    # Blocks cannot share a sum that another one needs: fewer outputs per block, as few as fill a sector, make more.
    alone = len(shape.foldings) > 1
    together = (_SECTOR, _WARP) if alone and outputs < _WARP * multiprocessors else (_WARP,)
    for across in (*together, 1) if shape.reads_across() else (1, *together):
        for threads in _THREADS:
            blocks = -(-outputs // across) or multiprocessors
            lanes = threads // across
            parts = 1
            while (
                not alone
                and blocks * parts * 2 <= _BLOCKS * multiprocessors
                and iterations >= lanes * parts * 2 * _EACH
            ):
                parts *= 2
            for count in dict.fromkeys((parts, max(1, parts // 4))):
                words = (
                    f"{lanes} threads" + (f" in each of {count} blocks" if count > 1 else "") + " per output"
                )
                try:
                    yield Change(
                        f"{kernel.name}: {words}", _Printer(source, shape, threads, across, count).text()
                    )
                except NotUnderstood:
                    continue


@dataclass(frozen=True, slots=True)
class _Folding:
    """A loop, or several within each other, that do nothing but combine."""

    node: Node
    loops: tuple[Loop, ...]
    body: Node
    folds: tuple[Fold, ...]

    @property
    def length(self) -> str:
        loop = self.loops[0]
        if len(self.loops) > 1:
            return " * ".join(f"({text(each.last)})" for each in self.loops)
        return f"{loop.end(text(loop.last))} - ({text(loop.first)})"


class _Shape:
    """A nest whose loops can be shared: its statements, with their foldings."""

    def __init__(self, source: str, kernel: Kernel) -> None:
        self.nest = nest_of(source, kernel)
        self.found = analysed(source, self.nest, adding=True)
        self.total = total_of(self.nest)
        self.items: list[Node | _Folding] = []
        for statement in self.nest.body:
            if statement.type == "for_statement":
                self.items.append(_folding(statement))
            elif statement.type != "preproc_call":
                if any(each.type == "for_statement" for each in walk(statement)):
                    raise NotUnderstood("a loop within a statement")
                self.items.append(statement)
        self.foldings = [each for each in self.items if isinstance(each, _Folding)]
        if not self.foldings:
            raise NotUnderstood("no loop")
        self._require_no_reuse()

    def _require_no_reuse(self) -> None:
        """Where outputs share what they load, it pays more to compute several in a thread; along one dimension there
        is nothing to gain from that."""
        if len(self.nest.dims) == 1:
            return
        dims = frozenset(dim.name for dim in self.nest.dims)
        for each in self.foldings:
            loads = [node for node in walk(each.body) if is_load(node) and not is_target(node)]
            if not any(self.found.of(load) == dims for load in loads):
                raise NotUnderstood("outputs share all that they load")

    def reads_across(self) -> bool:
        """Whether neighbouring outputs read neighbouring places."""
        fastest = self.nest.dims[0].name
        names = {fastest, *(each.name for each in self.nest.linears)}
        return any(
            has_unit_stride(text(node), name)
            for each in self.foldings
            for node in walk(each.body)
            if is_load(node) and not is_target(node)
            for name in names
        )

    def sizes(self, values: dict[str, int]) -> tuple[int, int]:
        """Outputs, and iterations of the shortest loop, for the sizes that count; 0 where they are not known."""
        counts = []
        for each in (self.total, *(folding.length for folding in self.foldings)):
            try:
                counts.append(value_of(self.nest.on_host(each), values))
            except NotUnderstood:
                counts.append(0)
        return counts[0], min(counts[1:])


def _folding(node: Node) -> _Folding:
    loops: list[Loop] = []
    body = node
    while body.type == "for_statement":
        loop = counted(body)
        if loop is None:
            raise NotUnderstood("a loop that does not count")
        loops.append(loop)
        inside = [each for each in statements_of(field(body, "body")) if each.type != "preproc_call"]
        body = inside[0] if len(inside) == 1 and inside[0].type == "for_statement" else field(body, "body")
    counters = [each.name for each in loops]
    rectangular = all(
        squeezed(each.first) == "0" and not each.inclusive and not identifiers(each.last) & set(counters)
        for each in loops
    )
    if len(loops) > 1 and not rectangular:
        loops, body = loops[:1], field(node, "body")
    found = folds([each.name for each in loops], body)
    if not found or (len(loops) > 1 and any(each.place for each in found)):
        raise NotUnderstood("a loop that combines nothing")
    return _Folding(node, tuple(loops), body, found)


class _Printer:
    def __init__(self, source: str, shape: _Shape, threads: int, across: int, parts: int) -> None:
        self.source, self.shape, self.nest = source, shape, shape.nest
        self.sizes = {"THREADS": threads, "ACROSS": across} | ({"PARTS": parts} if parts > 1 else {})
        if parts > 1 and len(shape.foldings) > 1:
            raise NotUnderstood("a loop that needs another one's result")
        kernel = self.nest.kernel
        self.name = fresh_name(source, f"{kernel.name}_shared")
        self.stem = self.name.upper()
        self.parameters = ", ".join([*(each.declaration for each in kernel.parameters), *self.nest.told])
        self.parted = parts > 1
        self.types = {
            text(field(node, "declarator")): text(field(statement, "type"))
            for statement in self.nest.body
            if statement.type == "declaration"
            for node in statement.named_children
            if node.type == "init_declarator"
        }
        for each in shape.foldings:
            for name in {name for fold in each.folds for name in fold.names}:
                if name not in self.types:
                    raise NotUnderstood(f"{name} is not declared in the kernel")
            if self.parted and any(self.types[fold.name] != "float" for fold in each.folds):
                raise NotUnderstood("sums that are not float")

    def text(self) -> str:
        definition, statement = self.nest.kernel.definition, self.nest.launch.statement
        written = self._constants() + self._functions() + self._first()
        if self.parted:
            written += "\n\n" + self._second()
        return edited(
            self.source,
            [
                Edit(definition.end_byte, definition.end_byte, "\n\n" + written),
                Edit(statement.start_byte, statement.end_byte, self._launch()),
            ],
        )

    def _size(self, name: str) -> str:
        return f"{self.stem}_{name}"

    def _constants(self) -> str:
        threads, across, lanes = (self._size(name) for name in ("THREADS", "ACROSS", "LANES"))
        lines = [f"constexpr int {self._size(name)} = {value};\n" for name, value in self.sizes.items()]
        return "".join(lines) + (
            f"constexpr int {lanes} = {threads} / {across};\n"
            f'static_assert({threads} >= 32 && {threads} <= 1024 && {across} <= {threads}, "threads of a block");\n'
            f'static_assert(({lanes} & ({lanes} - 1)) == 0, "halves of halves");\n\n'
        )

    def _function(self, fold: Fold) -> str:
        return f"{self.name}_fold_{fold.name}"

    def _functions(self) -> str:
        return (
            "\n\n".join(
                self._reduction(fold)
                for fold in dict.fromkeys(fold for each in self.shape.foldings for fold in each.folds)
            )
            + "\n\n"
        )

    def _reduction(self, fold: Fold) -> str:
        """A function after which all threads of an output have what they have found together."""
        lanes, across = self._size("LANES"), self._size("ACROSS")
        arguments = ", ".join(f"{self.types[name]}& {name}" for name in fold.names)
        lines = [f"__device__ void {self._function(fold)}({arguments}) {{\n"]
        for name in fold.names:
            lines.append(f"{STEP}__shared__ {self.types[name]} all_{name}[{lanes}][{across}];\n")
        lines.append(f"{STEP}const int across = threadIdx.x % {across}, along = threadIdx.x / {across};\n")
        lines.append(f"{STEP}__syncthreads();  // an earlier result may still be read\n")
        kept = "".join(f" all_{name}[along][across] = {name};" for name in fold.names)
        lines.append(f"{STEP}{kept.strip()}\n{STEP}__syncthreads();\n")
        others = [f"all_{name}[along + half][across]" for name in fold.names]
        lines.append(
            f"{STEP}for (int half = {lanes} / 2; half > 0; half /= 2) {{\n"
            f"{STEP * 2}if (along < half) {{ {fold.combined(*others)}{kept} }}\n"
            f"{STEP * 2}__syncthreads();\n{STEP}}}\n"
        )
        lines += [f"{STEP}{name} = all_{name}[0][across];\n" for name in fold.names]
        return "".join(lines) + "}"

    def _first(self) -> str:
        """The kernel in which threads share loops; with several blocks per output it keeps what each has found."""
        across = self._size("ACROSS")
        more = ", float* parts_of_outputs" if self.parted else ""
        lines = [
            f"__global__ void __launch_bounds__({self._size('THREADS')}) {self.name}({self.parameters}{more}) {{\n",
            f"{STEP}const int across = threadIdx.x % {across}, along = threadIdx.x / {across};\n",
            f"{STEP}const int64_t count_of_outputs = {self.shape.total};\n",
            f"{STEP}const int64_t wanted_output = static_cast<int64_t>(blockIdx.x) * {across} + across;\n",
            f"{STEP}const bool is_output = wanted_output < count_of_outputs;\n",
            f"{STEP}const int64_t number_of_output = is_output ? wanted_output : count_of_outputs - 1;\n",
            *indices(self.nest, "number_of_output"),
        ]
        for item in self.shape.items:
            if isinstance(item, _Folding):
                lines.append(self._loop(item))
                if self.parted:
                    lines += self._kept(item)
                    break
            else:
                found = [(node, target_of(node)) for node in walk(item)]
                stores = any(
                    is_call_of(node, "atomicAdd") or (target is not None and target.type != "identifier")
                    for node, target in found
                )
                if stores and any(target is not None and target.type == "identifier" for _, target in found):
                    raise NotUnderstood("a statement that stores and changes variables")
                lines.append(f"{STEP}{'if (is_output && along == 0) ' if stores else ''}{text(item)}\n")
        return "".join(lines) + "}"

    def _loop(self, item: _Folding) -> str:
        lanes, loop = self._size("LANES"), item.loops[0]
        lines = []
        for fold in item.folds:
            if fold.how == "+":  # what it was before counts once
                lines.append(f"{STEP}{'' if self.parted else 'if (along != 0) '}{fold.name} = 0;\n")
        kind = loop.type if len(item.loops) == 1 else "int"
        name = loop.name if len(item.loops) == 1 else "place_in_loops"
        first = text(loop.first) if len(item.loops) == 1 else "0"
        last = loop.end(text(loop.last)) if len(item.loops) == 1 else item.length
        inside = text(item.body)
        if len(item.loops) > 1:
            digits, divisor = "", ""
            for each in reversed(item.loops):
                digits += f"const {each.type} {each.name} = {name}{divisor} % ({text(each.last)}); "
                divisor += f" / ({text(each.last)})"
            inside = f"{{ {digits}{inside} }}"
        if self.parted:
            share = f"({item.length} + {self._size('PARTS')} - 1) / {self._size('PARTS')}"
            lines.append(f"{STEP}const {kind} share_of_block = {share};\n")
            lines.append(f"{STEP}const {kind} first_of_block = {first} + blockIdx.y * share_of_block;\n")
            lines.append(
                f"{STEP}const {kind} end_of_block = min(static_cast<{kind}>({last}), "
                f"static_cast<{kind}>(first_of_block + share_of_block));\n"
            )
            first, last = "first_of_block", "end_of_block"
        head = f"{kind} {name} = {first} + along; {name} < {last}; {name} += {lanes}"
        lines.append(f"{STEP}for ({head}) {inside}\n")
        lines += [f"{STEP}{self._function(fold)}({', '.join(fold.names)});\n" for fold in item.folds]
        return "".join(lines)

    def _slots(self, item: _Folding, part: str) -> Iterator[tuple[Fold, str, str]]:
        """Every variable, with where a part of it lies."""
        names = [(fold, name) for fold in item.folds for name in fold.names]
        for place, (fold, name) in enumerate(names):
            where = f"({place} * {self._size('PARTS')} + {part}) * count_of_outputs + number_of_output"
            yield fold, name, f"parts_of_outputs[{where}]"

    def _kept(self, item: _Folding) -> Iterator[str]:
        for fold, name, slot in self._slots(item, "blockIdx.y"):
            value = f"__int_as_float(static_cast<int>({name}))" if name == fold.place else name
            yield f"{STEP}if (is_output && along == 0) {slot} = {value};\n"

    def _second(self) -> str:
        """The kernel that combines the parts of an output and does the rest."""
        lines = [
            f"__global__ void __launch_bounds__({_WARP * 2}) {self.name}_rest({self.parameters}, "
            f"const float* parts_of_outputs) {{\n",
            f"{STEP}const int64_t count_of_outputs = {self.shape.total};\n",
            f"{STEP}const int64_t number_of_output = static_cast<int64_t>(blockIdx.x) * {_WARP * 2} + threadIdx.x;\n",
            f"{STEP}if (number_of_output >= count_of_outputs) return;\n",
            *indices(self.nest, "number_of_output"),
        ]
        for item in self.shape.items:
            if not isinstance(item, _Folding):
                lines.append(f"{STEP}{text(item)}\n")
                continue
            lines.append(f"{STEP}#pragma unroll\n")
            lines.append(f"{STEP}for (int part = 0; part < {self._size('PARTS')}; ++part) {{\n")
            slots = {name: slot for _, name, slot in self._slots(item, "part")}
            for fold in item.folds:
                others = []
                for name in fold.names:
                    value = f"__float_as_int({slots[name]})" if name == fold.place else slots[name]
                    lines.append(f"{STEP * 2}const auto other_{name} = {value};\n")
                    others.append(f"other_{name}")
                lines.append(f"{STEP * 2}{fold.combined(*others)}\n")
            lines.append(f"{STEP}}}\n")
        return "".join(lines) + "}"

    def _launch(self) -> str:
        launch, total = self.nest.launch, self.nest.on_host(self.shape.total)
        tests = [f"{total} < (1LL << 31)"]
        for each in self.shape.foldings:
            if len(each.loops) > 1:
                length = " * ".join(f"static_cast<int64_t>({text(loop.last)})" for loop in each.loops)
                parameters = {each.name for each in self.nest.kernel.parameters if not each.is_pointer}
                if not set().union(*(identifiers(loop.last) for loop in each.loops)) <= parameters:
                    raise NotUnderstood("loops whose course is not known before them")
                tests.append(f"{self.nest.on_host(length)} < (1LL << 31) - (1 << 20)")
        arguments = ", ".join([*(text(each) for each in launch.arguments), *self.nest.telling])
        further = "".join(f", {text(each)}" for each in launch.further)
        across, threads = self._size("ACROSS"), self._size("THREADS")
        blocks = f"static_cast<unsigned>(({total} + {across} - 1) / {across})"
        if not self.parted:
            calls = f"{self.name}<<<{blocks}, {threads}{further}>>>({arguments});"
        else:
            slots = sum(len(fold.names) for fold in self.shape.foldings[0].folds)
            size = f"{slots} * {self._size('PARTS')} * {total}"
            parts = "parts_of_outputs.data_ptr<float>()"
            rest = f"static_cast<unsigned>(({total} + {_WARP * 2 - 1}) / {_WARP * 2})"
            calls = (
                f"auto parts_of_outputs = torch::empty({{{size}}}, "
                f"{options_of(launch)}.dtype(torch::kFloat32));\n        "
                f"{self.name}<<<dim3({blocks}, {self._size('PARTS')}), {threads}{further}>>>({arguments}, {parts});\n"
                f"        {self.name}_rest<<<{rest}, {_WARP * 2}{further}>>>({arguments}, {parts});"
            )
        return (
            f"if ({' && '.join(tests)}) {{\n        {calls}\n    }} else {{\n        "
            f"{text(launch.statement)}\n    }}"
        )
