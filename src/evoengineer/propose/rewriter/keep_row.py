"""A rewrite for kernels that go over the same elements several times: they are loaded once and kept in registers.

    for (i = threadIdx.x; i < n; i += 256) s += x[i];        for (k = 0; k < 16; ++k) { kept[k] = x[i]; s += kept[k]; }
    …                                                   →    …
    for (i = threadIdx.x; i < n; i += 256) y[i] = x[i] - m;  for (k = 0; k < 16; ++k) y[i] = kept[k] - m;

For loops of a block along its row (`syntax/rows.py`), and for loops of a single thread, which need an exact number of
iterations. Loops become straight code; rows that are too long for it go to the original kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from tree_sitter import Node

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.rewriter.one_pass import in_one_pass
from evoengineer.propose.rewriter.row_printing import STEP, constants, reduction_function, rows_in, statement
from evoengineer.propose.rewriter.warp_per_row import by_rows
from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.dependence import statements_of, target_of
from evoengineer.propose.syntax.host import host_values
from evoengineer.propose.syntax.kernels import Kernel, fresh_name, in_terms_of_launch, kernels, only_launch
from evoengineer.propose.syntax.reductions import squeezed
from evoengineer.propose.syntax.rows import Plain, Rows, Single, Walk, Whole, Written, rows_of
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    named,
    operator,
    render,
    stripped,
    text,
    walk,
)

_MOST = 64  # values that a thread keeps
_THREADS = (512, 256, 1024, 128)


@dataclass(frozen=True, slots=True)
class KeepRow:
    """The rewrite of this module."""

    name: str = "keep row"
    thought: str = (
        "What several passes read is loaded once and kept in registers, so that DRAM and L2 see one pass."
    )
    treats: tuple[str, ...] = ("dram_bound", "l2_bound", "barriers", "latency_bound")
    weight: float = 2.0
    fresh: bool = True

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        found = list(self._all(source, task))
        ranked = [(place * random.uniform(0.3, 1.7), change) for place, change in enumerate(found)]
        for _, change in sorted(ranked, key=lambda each: each[0]):
            yield change

    def _all(self, source: str, task: Task) -> Iterator[Change]:
        for kernel in task.open(source):
            try:
                values = host_values(only_launch(source, kernel), task.arguments)
            except NotUnderstood:
                continue
            yield from _of_blocks(source, kernel, values)
            yield from _of_threads(source, kernel, values)
            yield from _of_threads_as_blocks(source, kernel, values)


def _of_blocks(source: str, kernel: Kernel, values: Mapping[str, int]) -> Iterator[Change]:
    try:
        plain = rows_of(source, kernel)
    except NotUnderstood:
        return
    for threads in _THREADS:
        for fused in (True, False):
            try:
                rows = in_one_pass(plain) if fused else plain
                printer = _Blocks(source, rows)
                elements = value_of(printer.bound_on_host, values)
                each = 1 << max(-(-elements // threads) - 1, 0).bit_length()
                if each * len(printer.kept) > _MOST or elements * 2 <= threads:
                    continue
                words = f"{kernel.name}: {each} elements in each of {threads} threads"
                words += ", sums in one pass" if fused else ""
                yield Change(words, printer.text(threads, each))
            except NotUnderstood:
                continue


def _of_threads_as_blocks(source: str, kernel: Kernel, values: Mapping[str, int]) -> Iterator[Change]:
    """A thread per row as a block per row first, where rows are long enough for it."""
    try:
        changed = by_rows(source, kernel, _THREADS[1], warps=False)
    except NotUnderstood:
        return
    known = {each.name for each in kernels(source)}
    for each in kernels(changed):
        if each.name not in known:
            yield from _of_blocks(changed, each, values)


class _Blocks:
    """Prints the kernel of a block per row with its elements in registers."""

    def __init__(self, source: str, rows: Rows) -> None:
        self.source, self.rows = source, rows
        self.name = fresh_name(source, f"{rows.kernel.name}_kept")
        self.stem = self.name.upper()
        self.threads, self.each = f"{self.stem}_THREADS", f"{self.stem}_EACH"
        self.walks = [item for item in rows.items if isinstance(item, Walk)]
        if any(item.node != item.strides[0].loop for item in self.walks):
            raise NotUnderstood("loops around the walk along a row")
        bounds = {squeezed(item.strides[0].bound) for item in self.walks}
        if len(bounds) != 1:
            raise NotUnderstood("walks of different lengths")
        self.bound = text(self.walks[0].strides[0].bound)
        self.bound_on_host = in_terms_of_launch(rows.kernel, rows.launch, self.bound)
        if any(item.type != "float" for item in rows.items if isinstance(item, Whole)):
            raise NotUnderstood("sums that are not float")
        bodies = [(item.strides[0].name, field(item.strides[0].loop, "body")) for item in self.walks]
        self.kept = kept_loads(rows.kernel, bodies, _changed(rows.items, self.walks[0]))

    def text(self, threads: int, each: int) -> str:
        definition, launch = self.rows.kernel.definition, self.rows.launch
        settings = constants(self.stem, {"THREADS": threads, "EACH": each})
        further = "".join(f", {text(one)}" for one in launch.further)
        arguments = ", ".join(text(one) for one in launch.arguments)
        call = (
            f"if (({self.bound_on_host}) <= {self.threads} * {self.each}) {{\n"
            f"        {self.name}<<<{self.rows.grid}, {self.threads}{further}>>>({arguments});\n"
            f"    }} else {{\n        {text(launch.statement)}\n    }}"
        )
        return edited(
            self.source,
            [
                Edit(definition.end_byte, definition.end_byte, "\n\n" + settings + self._kernel()),
                Edit(launch.statement.start_byte, launch.statement.end_byte, call),
            ],
        )

    def _function(self, how: str) -> str:
        return f"{self.name}_{'sum' if how == '+' else how}"

    def _kernel(self) -> str:
        ways = dict.fromkeys(item.how for item in self.rows.items if isinstance(item, Whole))
        lines = [reduction_function(self._function(how), how, self.threads) for how in ways]
        parameters = ", ".join(each.declaration for each in self.rows.kernel.parameters)
        lines.append(f"__global__ void __launch_bounds__({self.threads}) {self.name}({parameters}) {{\n")
        lines.append(f"{STEP}const unsigned row_of_block = blockIdx.x;\n")
        for place, load in enumerate(self.kept):
            lines.append(f"{STEP}{load.type} kept_{place}[{self.each}];\n")
        filled: set[int] = set()
        for item in self.rows.items:
            if isinstance(item, Plain | Written):
                lines.append(STEP + statement(item, {}) + "\n")
            elif isinstance(item, Single):
                lines.append(f"{STEP}if (threadIdx.x == 0) {statement(item, {})}\n")
            elif isinstance(item, Whole):
                lines.append(f"{STEP}const float {item.name} = {self._function(item.how)}({item.value});\n")
            elif isinstance(item, Walk):
                lines.append(self._walk(item, filled))
        return "".join(lines) + "}"

    def _walk(self, item: Walk, filled: set[int]) -> str:
        stride = item.strides[0]
        body = field(stride.loop, "body")
        nodes = rows_in(body)
        head, replaced = loads_kept(self.kept, stride.name, body, filled)
        if item.nodes:  # a rewrite has written the body: it mentions loads as they were
            (written,) = item.nodes.values()
            for load, place in self.kept_in(stride.name):
                written = written.replace(load, f"kept_{place}[k]")
            nodes.update(dict.fromkeys(item.nodes, written))
        inside = render(body, {}, {**replaced, **nodes})
        return (
            f"{STEP}#pragma unroll\n"
            f"{STEP}for (int k = 0; k < {self.each}; ++k) {{\n"
            f"{STEP * 2}const {stride.type} {stride.name} = threadIdx.x + k * {self.threads};\n"
            f"{STEP * 2}if ({stride.name} < ({self.bound})) {{\n"
            f"{head}{STEP * 3}{inside}\n"
            f"{STEP * 2}}}\n"
            f"{STEP}}}\n"
        )

    def kept_in(self, counter: str) -> list[tuple[str, int]]:
        """The kept loads as a walk writes them, with their places."""
        return [(load.written.replace("@", counter), place) for place, load in enumerate(self.kept)]


@dataclass(frozen=True, slots=True)
class Load:
    """A load that several loops make; `written` has `@` for the loop's counter."""

    written: str
    type: str


def kept_loads(kernel: Kernel, bodies: list[tuple[str, Node]], changed: frozenset[str]) -> tuple[Load, ...]:
    """Loads from parameters that at least two of the loops make, with the same index; `changed` are names that do
    not stay what they are from loop to loop."""
    counts: dict[str, int] = {}
    types: dict[str, str] = {}
    roots = _roots(kernel)
    stored = {
        roots.get(text(field(target, "argument")), "")
        for _, body in bodies
        for node in walk(body)
        if (target := target_of(node)) is not None and target.type == "subscript_expression"
    }
    for counter, body in bodies:
        seen = set()
        for node, written in _loads(counter, body):
            name = text(field(node, "argument"))
            pointer = kernel.parameter(roots.get(name, ""))
            if pointer is None or {pointer.name, ""} & stored or {name, pointer.name} & changed:
                continue
            if "@" not in written or (identifiers(node) - {counter}) & changed:
                continue
            seen.add(written)
            types[written] = pointer.element
        for written in seen:
            counts[written] = counts.get(written, 0) + 1
    found = tuple(Load(written, types[written]) for written, count in counts.items() if count > 1)
    if not found:
        raise NotUnderstood("nothing is loaded twice")
    return found


def _roots(kernel: Kernel) -> dict[str, str]:
    """The parameter that each pointer walks in: itself, or the one that `const float* row = x + n * columns` names."""
    pointers = {each.name for each in kernel.parameters if each.is_pointer}
    found = {name: name for name in pointers}
    for node in walk(kernel.body):
        if node.type != "init_declarator" or field(node, "declarator").type != "pointer_declarator":
            continue
        name = next(text(each) for each in walk(field(node, "declarator")) if each.type == "identifier")
        named_by = {found[each] for each in identifiers(field(node, "value")) if each in found}
        found[name] = named_by.pop() if len(named_by) == 1 and name not in found else ""
    return found


def _loads(counter: str, body: Node) -> Iterator[tuple[Node, str]]:
    """Loads that every round of a loop makes, with local names written out."""
    assigned = {text(target) for node in walk(body) if (target := target_of(node)) is not None}
    local: dict[str, str] = {}
    for node in walk(body):
        if node.type == "init_declarator" and field(node, "declarator").type == "identifier":
            name = text(field(node, "declarator"))
            if name not in assigned:
                local[name] = f"({render(field(node, 'value'), local)})"
    if any(each.type in ("continue_statement", "break_statement") for each in walk(body)):
        return
    for node in walk(body):
        if node.type != "subscript_expression" or field(node, "argument").type != "identifier":
            continue
        parent = node.parent
        if parent is not None and parent.type == "assignment_expression" and field(parent, "left") == node:
            continue
        if _is_conditional(node, body):
            continue
        index = stripped(named(field(node, "indices"))[0])
        written = local[text(index)][1:-1] if text(index) in local else render(index, local)
        marked = "".join(re.sub(rf"\b{counter}\b", "@", written).split())
        yield node, f"{text(field(node, 'argument'))}[{marked}]"


def _is_conditional(node: Node, body: Node) -> bool:
    """Whether a load is made in some rounds only, or several times in one."""
    around = node.parent
    while around is not None and around != body:
        if around.type in ("if_statement", "conditional_expression", "for_statement"):
            return True
        if around.type == "binary_expression" and operator(around) in ("&&", "||"):
            return True
        around = around.parent
    return body.type in ("if_statement", "for_statement")


def loads_kept(
    kept: tuple[Load, ...], counter: str, body: Node, filled: set[int]
) -> tuple[str, dict[int, str]]:
    """Statements that fill what this loop is the first to load, and what takes the place of its loads."""
    head = ""
    nodes: dict[int, str] = {}
    for node, written in _loads(counter, body):
        place = next((place for place, load in enumerate(kept) if load.written == written), None)
        if place is None:
            continue
        if place not in filled:
            filled.add(place)
            head += f"{STEP * 3}kept_{place}[k] = {written.replace('@', counter)};\n"
        nodes[node.id] = f"kept_{place}[k]"
    return head, nodes


def _changed(items: tuple[object, ...], first: Walk) -> frozenset[str]:
    """Names that are set after the first walk has begun."""
    names: set[str] = set()
    after = False
    for item in items:
        after = after or item is first
        if after and isinstance(item, Plain | Walk):
            for node in walk(item.node):
                target = target_of(node)
                if target is not None and target.type == "identifier":
                    names.add(text(target))
    return frozenset(names)


def _of_threads(source: str, kernel: Kernel, values: Mapping[str, int]) -> Iterator[Change]:
    """Loops of one thread over a small number of elements."""
    try:
        launch = only_launch(source, kernel)
        loops = [(each, _counted(each)) for each in named(kernel.body) if each.type == "for_statement"]
        bounds = {bound for _, (_, _, bound) in loops}
        if len(bounds) != 1 or len(loops) < 2:
            return
        (bound,) = bounds
        if "threadIdx" in "".join(text(each) for each, _ in loops) or "__shared__" in text(kernel.body):
            return
        count = value_of(in_terms_of_launch(kernel, launch, bound), values)
        changed = _changed_in(kernel.body, loops[0][0])
        kept = kept_loads(kernel, [(name, field(each, "body")) for each, (_, name, _) in loops], changed)
    except NotUnderstood:
        return
    if not 2 <= count * len(kept) <= 2 * _MOST or bound in changed:
        return
    name = fresh_name(source, f"{kernel.name}_kept")
    number = f"{name.upper()}_COUNT"
    nodes: dict[int, str] = {}
    filled: set[int] = set()
    for loop, (kind, counter, _) in loops:
        body = field(loop, "body")
        head, replaced = loads_kept(kept, counter, body, filled)
        nodes[loop.id] = (
            f"#pragma unroll\n{STEP}for (int k = 0; k < {number}; ++k) {{\n"
            f"{STEP * 2}const {kind} {counter} = k;\n{head}{STEP * 2}{render(body, {}, replaced)}\n{STEP}}}"
        )
    arrays = "".join(f"\n{STEP}{load.type} kept_{place}[{number}];" for place, load in enumerate(kept))
    body_text = render(kernel.body, {}, nodes)
    parameters = ", ".join(each.declaration for each in kernel.parameters)
    further = "".join(f", {text(each)}" for each in launch.further)
    arguments = ", ".join(text(each) for each in launch.arguments)
    written = (
        f"\n\nconstexpr int {number} = {count};\n"
        f"__global__ void {name}({parameters}) {{{arrays}{body_text[1:]}"
    )
    call = (
        f"if (({in_terms_of_launch(kernel, launch, bound)}) == {number}) {{\n"
        f"        {name}<<<{text(launch.grid)}, {text(launch.block)}{further}>>>({arguments});\n"
        f"    }} else {{\n        {text(launch.statement)}\n    }}"
    )
    yield Change(
        f"{kernel.name}: {count} elements in each thread",
        edited(
            source,
            [
                Edit(kernel.definition.end_byte, kernel.definition.end_byte, written),
                Edit(launch.statement.start_byte, launch.statement.end_byte, call),
            ],
        ),
    )


def _counted(loop: Node) -> tuple[str, str, str]:
    """(type, counter, bound) of `for (type counter = 0; counter < bound; ++counter)`."""
    start, condition = field(loop, "initializer"), stripped(field(loop, "condition"))
    declared = [each for each in named(start) if each.type == "init_declarator"]
    if len(declared) != 1 or squeezed(field(declared[0], "value")) != "0":
        raise NotUnderstood("a loop that does not count from zero")
    name = text(field(declared[0], "declarator"))
    if (
        condition.type != "binary_expression"
        or operator(condition) != "<"
        or squeezed(field(condition, "left")) != name
        or squeezed(field(loop, "update")) not in (f"++{name}", f"{name}++", f"{name}+=1")
        or any(each.type in ("break_statement", "return_statement") for each in walk(field(loop, "body")))
    ):
        raise NotUnderstood("a loop that does not count")
    return text(field(start, "type")), name, squeezed(field(condition, "right"))


def _changed_in(body: Node, first: Node) -> frozenset[str]:
    names = set()
    for each in statements_of(body):
        if each.start_byte < first.start_byte:
            continue
        for node in walk(each):
            target = target_of(node)
            if target is not None and target.type == "identifier":
                names.add(text(target))
    return frozenset(names)
