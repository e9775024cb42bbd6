"""Tile: a block computes a tile of outputs, a thread several of them, operands may be staged in shared memory.

Works on every kernel that is a nest (`syntax/nest.py`): the original stays in the text as it was, for sizes that
the new one does not take, and the launch decides. Outputs past an edge are computed as copies of the last one
and not stored, so that the inner loops need no tests for edges. Sizes are constants with names: knobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tree_sitter import Node

from evoengineer.propose.rewriter.filling import Side
from evoengineer.propose.rewriter.interior import Interior
from evoengineer.propose.rewriter.preloading import Preloading
from evoengineer.propose.rewriter.staging import Staging
from evoengineer.propose.rewriter.turning import Turning
from evoengineer.propose.rewriter.widening import STEP, Coarse, Widening
from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.dependence import Dependence, Dims, dependence, is_load, is_target, target_of
from evoengineer.propose.syntax.functions import pure_functions
from evoengineer.propose.syntax.kernels import fresh_name
from evoengineer.propose.syntax.nest import Dim, Nest
from evoengineer.propose.syntax.reductions import squeezed
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    is_call_of,
    named,
    operator,
    text,
    walk,
)

_SHARED_BYTES = 49152  # that a block may have without asking
_RESIDENT_THREADS = 512  # of a multiprocessor, to hide latency with
_LOOPS = ("for_statement", "while_statement", "do_statement")
_REGISTERS = 65536
_REGISTERS_BESIDES = 24  # of a thread, at least, besides its sums


@dataclass(frozen=True, slots=True)
class Split:
    """How a dimension is tiled: threads along it, outputs of each, and whether those lie side by side."""

    dim: str
    threads: int
    each: int
    adjacent: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a nest is computed. `step`: iterations of the reduction that are staged at once; 0 for no staging."""

    sides: tuple[Split, ...]
    step: int = 0
    ahead: bool = True  # the next step is loaded while the present one is computed
    wide: bool = True  # operands are loaded four elements at a time where addresses allow it
    assumed: tuple[tuple[str, int], ...] = ()  # parameters with the values that a special version is made for
    turned: bool = False  # bring operands that lie the other way round to shared memory first
    preload: bool = False  # bring operands that the threads of a warp share to shared memory, whole
    parts: int = 1  # blocks that share a long sum, for a second kernel to add up
    resident: int = 0  # blocks that a multiprocessor must have registers for; 0 leaves that to the compiler
    edges_apart: bool = False  # blocks whose outputs all exist run a version without tests for edges
    inside: bool = False  # … and only those in which no test of the computation fails, without these either

    @property
    def together(self) -> int:
        """Blocks that a multiprocessor could hold at once, if the compiler used no more registers than sums and what is
        loaded for them need."""
        threads = prod(side.threads for side in self.sides)
        registers = 64 + prod(side.each for side in self.sides) * 3 // 2
        return max(1, min(_RESIDENT_THREADS // threads, _REGISTERS // (threads * registers)))

    @property
    def words(self) -> str:
        tile = " × ".join(f"{side.threads * side.each} {side.dim}" for side in self.sides)
        each = " × ".join(str(side.each) for side in self.sides)
        staged = f", operands staged {self.step} at a time" if self.step else ""
        staged += f", in {self.parts} parts" if self.parts > 1 else ""
        staged += ", shared operands preloaded" if self.preload else ""
        staged += ", operands turned in shared memory" if self.turned else ""
        staged += f", {self.resident} blocks at a time" if self.resident else ""
        staged += ", without tests inside" if self.inside else ""
        special = "".join(f", {name} = {value}" for name, value in self.assumed)
        return f"blocks of {tile}, {each} per thread{staged}{special}"


def analysed(source: str, nest: Nest, *, adding: bool = False) -> Dependence:
    """Dependence of the nest's variables, or why it cannot be tiled. Where it may be `adding`, an `atomicAdd` outside
    of loops counts as a store."""
    indices: dict[str, Dims] = {dim.name: frozenset({dim.name}) for dim in nest.dims}
    indices |= {linear.name: frozenset(linear.dims) for linear in nest.linears}
    changed = {text(target) for part in nest.body for node in walk(part) if (target := target_of(node))}
    constants = {each.name for each in nest.kernel.parameters if not each.is_pointer} - changed
    functions = pure_functions(source) | ({"atomicAdd"} if adding else set())
    found = dependence(nest.body, indices, functions, frozenset(constants), nest.same)
    if adding:
        found.stored |= _added_to(nest)
    roots = _pointers(nest)
    stored = {roots.get(name, name) for name in found.stored}
    if not stored:
        raise NotUnderstood("no output is stored")
    for statement in nest.body:
        for node in walk(statement):
            if (
                is_load(node)
                and not is_target(node)
                and not _is_address(node)
                and not _is_own(node, statement)
            ):
                base = field(node, "argument")
                names = {text(each) for each in walk(base) if each.type == "identifier"}
                if {roots.get(name, name) for name in names} & stored:
                    raise NotUnderstood("an output is read as well")
    return found


def _is_own(node: Node, statement: Node) -> bool:
    """Whether an output is read where it is stored, as in `c[i] = alpha * sum + beta * c[i];`: by nobody else."""
    change = (
        named(statement)[0] if statement.type == "expression_statement" and named(statement) else statement
    )
    return (
        change.type == "assignment_expression"
        and is_load(field(change, "left"))
        and squeezed(field(change, "left")) == squeezed(node)
    )


def _is_address(node: Node) -> bool:
    """Whether only the place is meant, not what lies there: `&sums[i]`."""
    parent = node.parent
    return parent is not None and parent.type == "pointer_expression" and operator(parent) == "&"


def _added_to(nest: Nest) -> set[str]:
    """Pointers whose elements are added to atomically."""
    found: set[str] = set()
    for statement in nest.body:
        for node in walk(statement):
            if not is_call_of(node, "atomicAdd"):
                continue
            alone = node.parent is not None and node.parent.type == "expression_statement"
            if not alone or any(each.type in _LOOPS for each in walk(statement)):
                raise NotUnderstood("an atomic addition within another statement")
            place = named(field(node, "arguments"))[0]
            found |= {
                each.name
                for each in nest.kernel.parameters
                if each.is_pointer and each.name in identifiers(place)
            }
    return found


def _pointers(nest: Nest) -> dict[str, str]:
    """The parameter in which each local pointer walks."""
    roots = {each.name: each.name for each in nest.kernel.parameters if each.is_pointer}
    for statement in nest.body:
        for node in walk(statement):
            if node.type == "init_declarator" and "*" in text(field(node, "declarator")):
                name = next(
                    text(each) for each in walk(field(node, "declarator")) if each.type == "identifier"
                )
                inside = [text(each) for each in walk(field(node, "value")) if each.type == "identifier"]
                root = next((roots[each] for each in inside if each in roots), None)
                if root is None:
                    raise NotUnderstood(f"the pointer {name} comes from nowhere known")
                roots[name] = root
    return roots


def _template(parameters: Sequence[str]) -> str:
    return f"template <{', '.join(parameters)}>\n" if parameters else ""


def tiled(
    source: str, nest: Nest, found: Dependence, schedule: Schedule, values: Mapping[str, int] | None = None
) -> str:
    """The text with a kernel that computes the nest by the schedule, and a launch that uses it. `values` are what is
    known of the host's variables: a schedule that the launch would not use for them is refused."""
    printer = _Printer(source, nest, found, schedule)
    kernel = printer.kernel()
    if printer.table_bytes(values or {}) > _SHARED_BYTES:
        raise NotUnderstood("the operands do not fit into shared memory")
    definition, launch = nest.kernel.definition, nest.launch.statement
    return edited(
        source,
        [
            Edit(definition.end_byte, definition.end_byte, "\n\n" + kernel),
            Edit(launch.start_byte, launch.end_byte, printer.launch()),
        ],
    )


class _Printer:
    def __init__(self, source: str, nest: Nest, found: Dependence, schedule: Schedule) -> None:
        self.nest, self.found, self.schedule = nest, found, schedule
        self.name = fresh_name(source, f"{nest.kernel.name}_tiled")
        self.stem = self.name.upper()
        self.sides = {side.dim: side for side in schedule.sides}
        self.shared: list[str] = []
        self.preloading: Preloading | None = None
        self.interior: Interior | None = None
        self.prologue = ""

    def constant(self, dim: str, what: str) -> str:
        return f"{self.stem}_{dim.upper()}_{what}"

    @property
    def threads(self) -> str:
        return f"{self.stem}_THREADS"

    def kernel(self) -> str:
        body = self._body()
        head = self._parameters()
        block = self._fixed() + self._tiles() + self._outputs() + self.prologue + body
        assumed = ["bool ASSUMED"] if self.schedule.assumed else []
        resident = f", {self.stem}_RESIDENT" if self.schedule.resident else ""
        limits = f"__launch_bounds__({self.threads}{resident})"
        bounds = f"__global__ void {limits}\n{self.name}({head}) {{\n"
        if not self.schedule.edges_apart:
            return self._constants() + _template(assumed) + bounds + block + "}"
        names = [each.name for each in self.nest.kernel.parameters]
        names += [dim.extent for dim in self.nest.dims if dim.grid]
        calls = [
            f"{self.name}_block<{'ASSUMED, ' if assumed else ''}{whole}>({', '.join(names)});"
            for whole in ("true", "false")
        ]
        whole = " && ".join(
            f"first_{side.dim} + {self.constant(side.dim, 'TILE')} <= {self._extent(side.dim)}"
            for side in self.schedule.sides
        )
        if self.interior is not None:
            whole = " && ".join([whole, *self.interior.tests])
        return (
            self._constants()
            + _template([*assumed, "bool WHOLE"])
            + f"__device__ __forceinline__ void {self.name}_block({head}) {{\n{block}}}\n\n"
            + _template(assumed)
            + bounds
            + self._tiles()
            + f"{STEP}if ({whole}) {calls[0]}\n{STEP}else {calls[1]}\n}}"
        )

    def _fixed(self) -> str:
        return "".join(
            f"{STEP}const int fixed_{place} = ASSUMED ? {self.stem}_ASSUMED_{place} : {name};\n"
            for place, (name, _) in enumerate(self.schedule.assumed, 1)
        )

    def _fixed_nodes(self) -> dict[int, str]:
        names = {name: f"fixed_{place}" for place, (name, _) in enumerate(self.schedule.assumed, 1)}
        fixed = {
            node.id: names[text(node)]
            for statement in self.nest.body
            for node in walk(statement)
            if node.type in ("identifier", "field_expression") and text(node) in names
        }
        for place, dim in self.nest.same.items():
            fixed[place] = f"{dim}[n_{dim}]" if dim in self.sides else dim
        for place, group in self.found.groups.items():
            if group.dim in self.sides:
                fixed[place] = f"(first_{group.dim} / ({group.size}))"
        return fixed

    def _parameters(self) -> str:
        written = [each.declaration for each in self.nest.kernel.parameters]
        stored = set(self.found.stored)
        for place, each in enumerate(self.nest.kernel.parameters):
            if each.is_pointer and "__restrict__" not in written[place] and each.name not in stored:
                written[place] = f"{each.type} __restrict__ {each.name}"
        return ", ".join(written + [f"int {dim.extent}" for dim in self.nest.dims if dim.grid])

    def _may_be_apart(self, side: Split) -> bool:
        """Whether it is a question where a thread's outputs lie. Staged operands are read in runs in any case."""
        return not self.schedule.step and side.each > 1 and side.threads > 1

    def _constants(self) -> str:
        lines = []
        for side in self.schedule.sides:
            lines += [
                f"constexpr int {self.constant(side.dim, 'THREADS')} = {side.threads};\n",
                f"constexpr int {self.constant(side.dim, 'EACH')} = {side.each};\n",
            ]
            if self._may_be_apart(side):
                adjacent = str(side.adjacent).lower()
                lines.append(f"constexpr bool {self.constant(side.dim, 'ADJACENT')} = {adjacent};\n")
        if self.schedule.step:
            lines.append(f"constexpr int {self.stem}_STEP = {self.schedule.step};\n")
            lines.append(f"constexpr bool {self.stem}_AHEAD = {str(self.schedule.ahead).lower()};\n")
        if self.schedule.resident:
            lines.append(f"constexpr int {self.stem}_RESIDENT = {self.schedule.resident};\n")
        for place, (_, value) in enumerate(self.schedule.assumed, 1):
            lines.append(f"constexpr int {self.stem}_ASSUMED_{place} = {value};\n")
        for side in self.schedule.sides:
            threads, each = self.constant(side.dim, "THREADS"), self.constant(side.dim, "EACH")
            lines.append(f"constexpr int {self.constant(side.dim, 'TILE')} = {threads} * {each};\n")
            run = f"{self.constant(side.dim, 'ADJACENT')} ? {each} : 1" if self._may_be_apart(side) else each
            if self.schedule.step:  # operands are read in runs that a thread loads at once, without conflicts
                run = f"{each} % 4 == 0 ? 4 : {each} % 2 == 0 ? 2 : {each}" if side.adjacent else "1"
            lines.append(f"constexpr int {self.constant(side.dim, 'RUN')} = {run};\n")
        if self.schedule.step and len(self.sides) == 2:
            second = [self.constant(dim.name, "THREADS") for dim in self.nest.dims if dim.name in self.sides][
                1
            ]
            lines.append(f"constexpr int {self.stem}_PAIR = {second} % 2 == 0 ? 2 : 1;\n")
        product = " * ".join(self.constant(side.dim, "THREADS") for side in self.schedule.sides)
        each = " * ".join(self.constant(side.dim, "EACH") for side in self.schedule.sides)
        lines += [
            f"constexpr int {self.threads} = {product};\n",
            f'static_assert({self.threads} >= 32 && {self.threads} <= 1024, "threads of a block");\n',
            f'static_assert({each} <= 128, "outputs of a thread");\n',
        ]
        if self.schedule.resident:
            needed = f"{self.threads} * {self.stem}_RESIDENT * ({each} + {_REGISTERS_BESIDES})"
            lines.append(f'static_assert({needed} <= {_REGISTERS}, "registers of a multiprocessor");\n')
        numbers = {name: place for place, (name, _) in enumerate(self.schedule.assumed, 1)}
        for group in dict.fromkeys(self.found.groups.values()):
            if group.dim in self.sides and group.size in numbers:  # else only the launch can tell
                size, tile = f"{self.stem}_ASSUMED_{numbers[group.size]}", self.constant(group.dim, "TILE")
                lines.append(f'static_assert({size} % {tile} == 0, "tiles within groups");\n')
        if self.shared:
            lines.append(
                f'static_assert({" + ".join(self.shared)} <= {_SHARED_BYTES}, "shared memory of a block");\n'
            )
        return "".join(lines) + "\n"

    def _body(self) -> str:
        runs = {self.nest.dims[0].name} if self.schedule.step and self.schedule.wide else set()
        coarse = [
            Coarse(
                side.dim,
                self.constant(side.dim, "EACH"),
                f"n_{side.dim}",
                self.constant(side.dim, "RUN") if side.dim in runs else "",
            )
            for side in self.schedule.sides
        ]
        in_range = " && ".join(
            f"in_{dim.name}{f'[n_{dim.name}]' if dim.name in self.sides else ''}" for dim in self.nest.dims
        )
        stager = None
        if self.schedule.step:
            names = (f"{self.stem}_STEP", self.threads, f"{self.stem}_AHEAD")
            stager = Staging(self.nest, self._staged_sides(), *names, self.schedule.wide, self.shared)
        trips = dict(self.schedule.assumed)
        if self.schedule.inside:
            tiles = {side.dim: self.constant(side.dim, "TILE") for side in self.schedule.sides}
            self.interior = Interior(self.nest, tiles)
        fixed = self._fixed_nodes()
        widening = Widening(self.nest, self.found, coarse, in_range, stager, fixed, trips, self.interior)
        if self.schedule.preload:
            self.preloading = Preloading(widening, self._staged_sides(), self.threads)
            self.prologue = self.preloading.prologue()
        if self.schedule.turned:
            turning = Turning(widening, self._staged_sides(), self.threads)
            self.prologue = turning.prologue()
            self.shared += turning.bytes
        printed = widening.body()
        if stager is not None and not self.shared:
            raise NotUnderstood("no operand to stage")
        return printed

    def _staged_sides(self) -> tuple[Side, ...]:
        dims = {dim.name: dim for dim in self.nest.dims}
        return tuple(
            Side(
                side.dim,
                dims[side.dim].type,
                dims[side.dim].extent,
                self.constant(side.dim, "TILE"),
                f"first_{side.dim}",
                self._place(side.dim),
            )
            for side in self.schedule.sides
        )

    def _extent(self, name: str) -> str:
        return f"static_cast<int>({next(dim.extent for dim in self.nest.dims if dim.name == name)})"

    def _place(self, dim: str) -> str:
        """Where output `n` of the thread lies in the tile."""
        thread, each = f"thread_{dim}", f"n_{dim}"
        run, threads = self.constant(dim, "RUN"), self.constant(dim, "THREADS")
        return f"{each} / {run} * ({threads} * {run}) + {thread} * {run} + {each} % {run}"

    def _tiles(self) -> str:
        """The tile of the block."""
        lines = [f"{STEP}int tile = blockIdx.x;\n"]
        for place, dim in enumerate(self.nest.dims):
            size = self.constant(dim.name, "TILE") if dim.name in self.sides else "1"
            tiles = f"tiles_{dim.name}"
            extent = self._extent(dim.name)
            lines.append(f"{STEP}const int {tiles} = ({extent} + {size} - 1) / {size};\n")
            last = place == len(self.nest.dims) - 1
            index = "tile" if last else f"tile % {tiles}"
            lines.append(f"{STEP}const int first_{dim.name} = {index} * {size};\n")
            if not last:
                lines.append(f"{STEP}tile /= {tiles};\n")
        return "".join(lines)

    def _outputs(self) -> str:
        """The thread's outputs in the tile."""
        lines = []
        behind: list[str] = []
        for dim in self.nest.dims:
            lines.append(self._outputs_along(dim, behind))
            if dim.name in self.sides:
                behind.append(self.constant(dim.name, "THREADS"))
        return "".join(lines)

    def _thread(self, dim: str, behind: Sequence[str]) -> str:
        """The thread's place along a dimension. Where operands are staged, neighbouring lanes differ in the second one
        and share what the first one reads, lanes two apart the other way round: then wide loads from shared memory of
        neighbouring parts of a warp go together."""
        threads = self.constant(dim, "THREADS")
        if not self.schedule.step or len(self.sides) != 2:
            return f"threadIdx.x{''.join(f' / {name}' for name in behind)} % {threads}"
        pair = f"{self.stem}_PAIR"
        if not behind:
            return f"threadIdx.x / {pair} % {threads}"
        return f"threadIdx.x % {pair} + threadIdx.x / ({pair} * {behind[0]}) % ({threads} / {pair}) * {pair}"

    def _outputs_along(self, dim: Dim, behind: Sequence[str]) -> str:
        extent = self._extent(dim.name)
        if dim.name not in self.sides:
            return (
                f"{STEP}const {dim.type} {dim.name} = first_{dim.name};\n"
                f"{STEP}const bool in_{dim.name} = first_{dim.name} < {extent};\n"
            )
        each, count = self.constant(dim.name, "EACH"), f"n_{dim.name}"
        thread = self._thread(dim.name, behind)
        whole, clamped = "", f"min(index, {extent} - 1)"
        if self.schedule.edges_apart:
            whole, clamped = "WHOLE || ", f"WHOLE ? index : {clamped}"
        return (
            f"{STEP}const int thread_{dim.name} = {thread};\n"
            f"{STEP}{dim.type} {dim.name}[{each}];\n"
            f"{STEP}bool in_{dim.name}[{each}];\n"
            f"{STEP}#pragma unroll\n"
            f"{STEP}for (int {count} = 0; {count} < {each}; ++{count}) {{\n"
            f"{STEP * 2}const int index = first_{dim.name} + ({self._place(dim.name)});\n"
            f"{STEP * 2}in_{dim.name}[{count}] = {whole}index < {extent};\n"
            f"{STEP * 2}{dim.name}[{count}] = {clamped};\n"
            f"{STEP}}}\n"
        )

    def table_bytes(self, values: Mapping[str, int]) -> int:
        """Shared memory that preloaded operands take, where it is known; else 0."""
        if self.preloading is None:
            return 0
        tiles = {self.constant(side.dim, "TILE"): side.threads * side.each for side in self.schedule.sides}
        try:
            return value_of(self.preloading.bytes_on_host(), {**values, **tiles})
        except NotUnderstood:
            return 0

    def launch(self) -> str:
        nest, launch = self.nest, self.nest.launch
        tiles = []
        tests = []
        for dim in nest.dims:
            size = self.constant(dim.name, "TILE") if dim.name in self.sides else "1"
            extent = f"static_cast<int64_t>({dim.grid or nest.on_host(dim.extent)})"
            tiles.append(f"(({extent} + {size} - 1) / {size})" if size != "1" else extent)
            if dim.type != "int" and not nest.linears and not dim.grid:
                tests.append(f"{nest.on_host(dim.extent)} < (1LL << 31)")
        for linear in nest.linears:
            size = f"({linear.size})" if linear.grid else nest.on_host(linear.size)
            inner = nest.on_host(linear.inner)
            tests += [f"{size} < (1LL << 31)", f"{size} % ({inner}) == 0"]
        for each in dict.fromkeys(self.found.groups.values()):
            if each.dim in self.sides:
                tests.append(f"({nest.on_host(each.size)}) % {self.constant(each.dim, 'TILE')} == 0")
        arguments = [text(each) for each in launch.arguments]
        arguments += [f"static_cast<int>({dim.grid})" for dim in nest.dims if dim.grid]
        further = "".join(f", {text(each)}" for each in launch.further)
        if self.preloading is not None:
            size = self.preloading.bytes_on_host()
            tests.append(f"{size} <= {_SHARED_BYTES}")
            further = f", {size}" + "".join(f", {text(each)}" for each in launch.further[1:])
        grid = " * ".join(tiles)
        shape = f"<<<{grid}, {self.threads}{further}>>>({', '.join(arguments)});"
        call = f"{self.name}{shape}"
        if self.schedule.assumed:
            special = " && ".join(
                f"{nest.on_host(name)} == {self.stem}_ASSUMED_{place}"
                for place, (name, _) in enumerate(self.schedule.assumed, 1)
            )
            call = f"if ({special}) {self.name}<true>{shape}\n        else {self.name}<false>{shape}"
        if not tests:
            return call
        return f"if ({' && '.join(tests)}) {{\n        {call}\n    }} else {{\n        {text(launch.statement)}\n    }}"
