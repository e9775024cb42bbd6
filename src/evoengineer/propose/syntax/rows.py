"""Rows: a kernel in which a block works on one row, walks along it with strided loops and reduces over its threads.

    item        example                                         who does it
    plain       x += blockIdx.x * n;   mean = whole / n;        all threads alike
    walk        for (i = threadIdx.x; i < n; i += THREADS) …    every thread its elements
    whole       block_sum(sum), a tree in shared memory         the block
    single      if (threadIdx.x == 0) y[blockIdx.x] = mean;     one thread

Walks add up, take extremes and store; nothing depends on which thread has which element, so a row may be given to
more threads, or to several blocks. What is not understood raises `NotUnderstood`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from tree_sitter import Node

from evoengineer.propose.syntax.dependence import target_of
from evoengineer.propose.syntax.kernels import Kernel, Launch, dimensions, only_launch
from evoengineer.propose.syntax.reductions import (
    block_reductions,
    combination,
    is_barrier,
    squeezed,
    tree_of,
)
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    field,
    identifiers,
    named,
    operator,
    stripped,
    text,
    walk,
)

THREAD = "threadIdx.x"
_ZEROS = ("0", "0.0", "0.", "0.f", "0.0f", "0.0F", "0.F", "0.0", "0.00f")


@dataclass(frozen=True, slots=True)
class Stride:
    """`for (type name = threadIdx.x; name < bound; name += block)`."""

    loop: Node
    type: str
    name: str
    bound: Node


@dataclass(frozen=True, slots=True)
class Plain:
    node: Node
    nodes: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Walk:
    node: Node
    strides: tuple[Stride, ...]
    sums: Mapping[str, str]  # how each variable from outside is combined
    nodes: Mapping[int, str] = dataclass_field(default_factory=dict)  # what takes the place of parts of it


@dataclass(frozen=True, slots=True)
class Whole:
    """`name` stands for the reduction of `value`, a variable of the thread, over the block."""

    name: str
    type: str
    how: str
    value: str


@dataclass(frozen=True, slots=True)
class Single:
    node: Node
    nodes: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Written:
    """Statements of all threads alike that a rewrite has written."""

    text: str


Item = Plain | Walk | Whole | Single | Written


@dataclass(frozen=True, slots=True)
class Rows:
    kernel: Kernel
    launch: Launch
    grid: str  # the number of rows, on the host
    items: tuple[Item, ...]
    threads: frozenset[str]  # ways to write the number of a thread

    @property
    def stored(self) -> frozenset[str]:
        """Pointers that walks and single threads store through."""
        return frozenset(
            text(field(target, "argument"))
            for item in self.items
            if isinstance(item, Walk | Single)
            for node in walk(item.node)
            if (target := target_of(node)) is not None and target.type == "subscript_expression"
        )


def rows_of(source: str, kernel: Kernel) -> Rows:
    """The kernel as rows, or the reason why it is none."""
    launch = only_launch(source, kernel)
    grid, block = dimensions(launch.grid), dimensions(launch.block)
    if any(each.strip() != "1" for each in (*grid[1:], *block[1:])):
        raise NotUnderstood("more than one axis")
    reader = _Reader(block_reductions(source), "".join(block[0].split()))
    for statement in named(kernel.body):
        reader.read(statement)
    rows = Rows(kernel, launch, grid[0], tuple(reader.items), frozenset(reader.threads))
    if not any(isinstance(item, Walk) for item in rows.items):
        raise NotUnderstood("no loop over the elements of a row")
    _require_apart(rows)
    return rows


@dataclass
class _Reader:
    functions: Mapping[str, str]
    block: str  # the number of threads, on the host
    items: list[Item] = dataclass_field(default_factory=list)
    threads: set[str] = dataclass_field(default_factory=lambda: {THREAD})
    varying: set[str] = dataclass_field(default_factory=set)  # differ between the threads
    types: dict[str, str] = dataclass_field(default_factory=dict)
    starts: dict[str, str] = dataclass_field(default_factory=dict)  # what a declaration gave a variable
    ways: dict[str, str] = dataclass_field(
        default_factory=dict
    )  # how walks combine a variable since it was set
    shared: set[str] = dataclass_field(default_factory=set)  # arrays
    told: set[str] = dataclass_field(
        default_factory=set
    )  # shared variables, by which one thread tells the others
    held: dict[str, str] = dataclass_field(
        default_factory=dict
    )  # what each thread has put into a shared array
    first: dict[str, str] = dataclass_field(default_factory=dict)  # what its first element is, reduced

    def read(self, statement: Node) -> None:
        if is_barrier(statement) or statement.type == "preproc_call":
            return
        if statement.type == "declaration" and self._declares_shared(statement):
            return
        if statement.type == "declaration" and self._names_thread(statement):
            return
        if statement.type == "expression_statement" and self._fills_shared(statement):
            return
        tree = tree_of(statement, frozenset(self.threads))
        if tree is not None:
            if tree.array not in self.held:
                raise NotUnderstood(f"what {tree.array} holds")
            self.first[tree.array] = self._whole(self.held.pop(tree.array), tree.how)
            return
        if statement.type == "for_statement" and self._mentions_thread(statement):
            self._walk(statement)
        elif statement.type == "if_statement" and self._is_single(statement):
            self._single(statement)
        else:
            self._plain(statement)

    def _declares_shared(self, statement: Node) -> bool:
        if not any(text(each) == "__shared__" for each in statement.children):
            return False
        for each in named(statement):
            if each.type == "array_declarator":
                self.shared.add(text(field(each, "declarator")))
            elif each.type == "identifier":
                kind, name = text(field(statement, "type")), text(each)
                self.told.add(name)
                self.types[name] = kind
                self.items.append(Written(f"{kind} {name};"))
            elif each.type in ("init_declarator", "pointer_declarator"):
                raise NotUnderstood("shared memory of another kind")
        return True

    def _names_thread(self, statement: Node) -> bool:
        declared = [each for each in named(statement) if each.type == "init_declarator"]
        if len(declared) != 1 or squeezed(stripped(field(declared[0], "value"))) not in self.threads:
            return False
        self.threads.add(text(field(declared[0], "declarator")))
        return True

    def _fills_shared(self, statement: Node) -> bool:
        """`scratch[thread] = value;`"""
        node = named(statement)[0] if named(statement) else statement
        if node.type != "assignment_expression" or operator(node) != "=":
            return False
        target, value = field(node, "left"), stripped(field(node, "right"))
        if target.type != "subscript_expression" or text(field(target, "argument")) not in self.shared:
            return False
        if squeezed(field(target, "indices"))[1:-1] not in self.threads or value.type != "identifier":
            raise NotUnderstood("a use of shared memory that is no reduction")
        array = text(field(target, "argument"))
        self.held[array] = text(value)
        self.first.pop(array, None)
        return True

    def _whole(self, value: str, how: str) -> str:
        if value not in self.varying or value not in self.types:
            raise NotUnderstood(f"a reduction of {value}")
        if how == "+" and self.starts.get(value) not in _ZEROS:
            raise NotUnderstood(f"{value} does not start with zero")
        if self.ways.get(value) != how:
            raise NotUnderstood(f"{value} is combined in several ways")
        name = f"whole_{sum(isinstance(item, Whole) for item in self.items) + 1}"
        self.items.append(Whole(name, self.types[value], how, value))
        return name

    def _mentions_thread(self, node: Node) -> bool:
        return any(
            squeezed(each) in self.threads
            for each in walk(node)
            if each.type in ("identifier", "field_expression")
        )

    def _is_single(self, statement: Node) -> bool:
        condition = stripped(named(field(statement, "condition"))[0])
        written = squeezed(condition)
        return statement.child_by_field_name("alternative") is None and (
            any(written in (f"{each}==0", f"0=={each}", f"!{each}") for each in self.threads)
        )

    def _single(self, statement: Node) -> None:
        inner = field(statement, "consequence")
        steps = named(inner) if inner.type == "compound_statement" else [inner]
        if any(self._tells(each) for each in steps):  # what one thread tells the others all can compute
            for each in steps:
                if self._tells(each):
                    self._plain(each)
                else:
                    self._alone(each)
        else:
            self._alone(inner)

    def _tells(self, statement: Node) -> bool:
        """`mean = sum / n;` for a shared variable."""
        change = (
            named(statement)[0] if statement.type == "expression_statement" and named(statement) else None
        )
        return (
            change is not None
            and change.type == "assignment_expression"
            and text(field(change, "left")) in self.told
        )

    def _alone(self, inner: Node) -> None:
        nodes = self._results(inner)
        self._require_uniform(inner, nodes)
        for node in walk(inner):
            target = target_of(node)
            if target is not None and target.type == "identifier":
                raise NotUnderstood("one thread changes a variable")
            if node.type == "return_statement" or is_barrier(node):
                raise NotUnderstood("one thread goes another way")
        self.items.append(Single(inner, nodes))

    def _plain(self, statement: Node) -> None:
        nodes = self._results(statement)
        self._require_uniform(statement, nodes)
        for node in walk(statement):
            target = target_of(node)
            if target is not None and target.type != "identifier":
                raise NotUnderstood("all threads store the same")
            if is_barrier(node):
                raise NotUnderstood("a barrier inside a statement")
            if target is not None:
                self.varying.discard(text(target))
                self.ways.pop(text(target), None)
                value = node.child_by_field_name("right")
                self.starts[text(target)] = squeezed(value) if value is not None else ""
            if node.type == "init_declarator":
                name = next(
                    text(each) for each in walk(field(node, "declarator")) if each.type == "identifier"
                )
                parent = node.parent
                if parent is not None:
                    self.types[name] = text(field(parent, "type"))
                self.starts[name] = squeezed(field(node, "value"))
        self.items.append(Plain(statement, nodes))

    def _results(self, statement: Node) -> dict[int, str]:
        """Calls of reductions and first elements of reduced arrays, by node, with the names of the results."""
        nodes: dict[int, str] = {}
        for node in walk(statement):
            if node.type == "call_expression" and text(field(node, "function")) in self.functions:
                arguments = named(field(node, "arguments"))
                if len(arguments) != 1 or stripped(arguments[0]).type != "identifier":
                    raise NotUnderstood("a reduction of an expression")
                parent = statement
                if parent.type not in ("declaration", "expression_statement"):
                    raise NotUnderstood("a reduction that not all threads come to")
                value = text(stripped(arguments[0]))
                nodes[node.id] = self._whole(value, self.functions[text(field(node, "function"))])
            elif node.type == "subscript_expression" and text(field(node, "argument")) in self.first:
                if squeezed(field(node, "indices")) != "[0]":
                    raise NotUnderstood("an element of a reduced array")
                nodes[node.id] = self.first[text(field(node, "argument"))]
        return nodes

    def _require_uniform(self, statement: Node, nodes: Mapping[int, str]) -> None:
        for node in _outside(statement, nodes):
            if node.type == "identifier":
                name = text(node)
                if name in self.shared or name in ("gridDim", "blockDim", "threadIdx"):
                    raise NotUnderstood(f"{name} in a statement of all threads")
                if (name in self.varying or name in self.threads) and not _is_assigned(node):
                    raise NotUnderstood(f"{name} differs between threads")
            if node.type == "field_expression" and text(node) in ("blockIdx.y", "blockIdx.z"):
                raise NotUnderstood("more than one axis")
            if node.type in ("goto_statement", "lambda_expression", "asm_statement", "while_statement"):
                raise NotUnderstood(node.type)
            if node.type == "call_expression" and ("atomic" in text(node) or "__shfl" in text(node)):
                raise NotUnderstood(f"a call of {text(field(node, 'function'))}")

    def _walk(self, statement: Node) -> None:
        strides: list[Stride] = []
        self._loops(statement, strides)
        inside = {each.name for each in strides} | _declared(statement)
        sums: dict[str, str] = {}
        headers = {node.id for each in walk(statement) if each.type == "for_statement"
                   for part in ("initializer", "condition", "update") for node in walk(field(each, part))}  # fmt: skip
        for node in walk(statement):
            foreign = node.type == "identifier" and text(node) in self.shared | {"gridDim", "blockDim"}
            if foreign and node.id not in headers:
                raise NotUnderstood(f"{text(node)} in a walk")
            if node.type == "call_expression" and _is_collective(node, self.functions):
                raise NotUnderstood("a walk in which threads meet")
            if node.type.endswith("_statement") and node.type in _FORBIDDEN:
                raise NotUnderstood(f"a {node.type.replace('_', ' ')} in a walk")
            if node.id in headers:
                continue
            if squeezed(node) in self.threads and node.type in ("identifier", "field_expression"):
                raise NotUnderstood("a walk that knows its thread")
            self._assignment(node, inside, sums)
        for node in walk(statement):
            if node.type == "identifier" and text(node) in sums and not _in_combination(node, sums):
                raise NotUnderstood(f"{text(node)} is used while it is added up")
            if node.type == "identifier" and text(node) in self.varying - set(sums) - inside:
                raise NotUnderstood(f"{text(node)} differs between threads")
        if not set(sums) <= set(self.types):
            raise NotUnderstood("a sum that is not declared in the kernel")
        for name, how in sums.items():
            if self.ways.setdefault(name, how) != how:
                raise NotUnderstood(f"{name} is combined in several ways")
        self.varying |= set(sums)
        self.items.append(Walk(statement, tuple(strides), sums))

    def _assignment(self, node: Node, inside: set[str], sums: dict[str, str]) -> None:
        target = target_of(node)
        if target is None or (target.type == "identifier" and text(target) in inside):
            return
        if target.type == "subscript_expression":
            if field(target, "argument").type != "identifier":
                raise NotUnderstood("a store through an expression")
            return
        found = combination(node)
        if found is None or target.type != "identifier" or text(target) in identifiers(found[2]):
            raise NotUnderstood(f"{text(node)} in a walk")
        if sums.setdefault(text(target), found[0]) != found[0]:
            raise NotUnderstood(f"{text(target)} is combined in several ways")

    def _loops(self, node: Node, strides: list[Stride]) -> None:
        """Find the strided loops; around them only loops of all threads."""
        if node.type != "for_statement":
            for child in node.children:
                self._loops(child, strides)
            return
        stride = self._stride(node)
        if stride is not None:
            if any(
                self._mentions_thread(each)
                for each in walk(field(node, "body"))
                if each.type == "for_statement"
            ):
                raise NotUnderstood("strided loops inside each other")
            strides.append(stride)
            return
        for part in ("initializer", "condition", "update"):
            if self._mentions_thread(field(node, part)) or identifiers(field(node, part)) & self.varying:
                raise NotUnderstood("a loop that differs between threads")
        before = len(strides)
        self._loops(field(node, "body"), strides)
        if len(strides) == before and not _inside_stride(node):
            raise NotUnderstood("a loop in which all threads do the same")

    def _stride(self, loop: Node) -> Stride | None:
        start, condition, update = (field(loop, part) for part in ("initializer", "condition", "update"))
        declared = [each for each in named(start) if each.type == "init_declarator"]
        if start.type != "declaration" or len(declared) != 1:
            return None
        if squeezed(stripped(field(declared[0], "value"))) not in self.threads:
            return None
        name = text(field(declared[0], "declarator"))
        condition = stripped(condition)
        steps = {f"{name}+={self.block}", f"{name}+=blockDim.x", f"{name}={name}+blockDim.x"}
        if (
            condition.type != "binary_expression"
            or operator(condition) != "<"
            or squeezed(field(condition, "left")) != name
            or squeezed(update) not in steps
        ):
            raise NotUnderstood(f"the loop over {name}")
        bound = field(condition, "right")
        if identifiers(bound) & (self.varying | {name}) or self._mentions_thread(bound):
            raise NotUnderstood(f"the bound of {name}")
        kind = text(field(start, "type"))
        if kind == "auto":
            raise NotUnderstood(f"the type of {name}")
        return Stride(loop, kind, name, bound)


_FORBIDDEN = {"return_statement", "break_statement", "goto_statement", "while_statement", "do_statement"}


def _inside_stride(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "for_statement"


def _is_collective(node: Node, functions: Mapping[str, str]) -> bool:
    name = text(field(node, "function"))
    return name in functions or any(word in name for word in ("__sync", "__shfl", "atomic", "__ballot"))


def _outside(node: Node, nodes: Mapping[int, str]) -> list[Node]:
    """The nodes below one that are not replaced."""
    if node.id in nodes:
        return []
    found = [node]
    for child in node.children:
        found += _outside(child, nodes)
    return found


def _is_assigned(node: Node) -> bool:
    parent = node.parent
    return (
        parent is not None
        and parent.type == "assignment_expression"
        and operator(parent) == "="
        and field(parent, "left") == node
    )


def _declared(node: Node) -> set[str]:
    return {
        text(next(inner for inner in walk(field(each, "declarator")) if inner.type == "identifier"))
        for each in walk(node)
        if each.type == "init_declarator"
    }


def _in_combination(node: Node, sums: Mapping[str, str]) -> bool:
    """Whether a name stands where it is combined, not where its value would matter."""
    parent: Node | None = node.parent
    while parent is not None and parent.type != "expression_statement":
        if parent.type == "assignment_expression":
            found = combination(parent)
            return found is not None and text(found[1]) == text(node) and text(node) in sums
        parent = parent.parent
    return False


def _require_apart(rows: Rows) -> None:
    """What is stored must not be read by all threads alike; a walk that reads what it stores must do so in place."""
    stored = rows.stored
    for item in rows.items:
        if isinstance(item, Plain) and identifiers(item.node) & stored:
            loads = [each for each in walk(item.node) if each.type == "subscript_expression"]
            if any(text(field(each, "argument")) in stored for each in loads):
                raise NotUnderstood("an output is read as well")
        if isinstance(item, Walk):
            places: dict[str, set[str]] = {}
            for each in walk(item.node):
                if each.type == "subscript_expression" and text(field(each, "argument")) in stored:
                    places.setdefault(text(field(each, "argument")), set()).add(squeezed(each))
            if any(len(each) > 1 for each in places.values()):
                raise NotUnderstood("an output is read at another place")
