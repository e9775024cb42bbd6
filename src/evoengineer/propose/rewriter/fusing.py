"""A rewrite for texts in which one kernel writes a tensor that only later ones read: these compute its elements.

    first<<<…>>>(t, x, b);          __device__ float t_of_first(const float* x, const float* b, int place) { … }
    second<<<…>>>(y, t);       →    second_fused<<<…>>>(y, x, b);         with t_of_first(x, b, i) in place of t[i]

What the first kernel stores is written and read again otherwise, and a launch is saved. Only a tensor that the host
makes for this and hands to nobody else; the first kernel stores one element per output, where its number says. A
kernel with a loop is computed again for every element that is asked for, so only where each is asked for once. A later
kernel that changes the tensor in place is the other case; see `following.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from random import Random

from tree_sitter import Node

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.rewriter.following import followed
from evoengineer.propose.rewriter.outputs import indices, total_of
from evoengineer.propose.rewriter.passing import name_of, require_number, stored_last
from evoengineer.propose.rewriter.row_printing import STEP
from evoengineer.propose.syntax.dependence import is_load, is_target, target_of
from evoengineer.propose.syntax.kernels import (
    Kernel,
    Launch,
    Parameter,
    fresh_name,
    kernels,
    launches,
    only_launch,
)
from evoengineer.propose.syntax.nest import nest_of
from evoengineer.propose.syntax.plain import plain
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    named,
    operator,
    replacing,
    text,
    walk,
)

_MADE = re.compile(r"(?:torch|at)::(?:empty|zeros)(?:_like)?\b")
FUSE = "fuse"
_MOST = 8  # tensors
_LOOPS = ("for_statement", "while_statement", "do_statement")


@dataclass(frozen=True, slots=True)
class Fusing:
    """The rewrite of this module."""

    name: str = FUSE
    thought: str = (
        "What one kernel writes and the next one reads goes through memory twice, and every launch costs its start. "
        "One kernel that does both saves that."
    )
    treats: tuple[str, ...] = ("dram_bound", "latency_bound", "l2_bound", "small_grid")
    weight: float = 12.0  # it comes first: what others do is then done to fewer kernels
    fresh: bool = True

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        if task.kernels is not None:
            return
        tensors: list[str] = []
        found: list[Change] = []
        for _ in range(_MOST):
            step = next(chain(_fused(source), followed(source)), None)
            if step is None:
                break
            tensor, source = step[0], plain(step[1])
            tensors.append(tensor)
            found.append(Change(f"{', '.join(tensors)} computed where needed", source))
        yield from reversed(found)


def _fused(source: str) -> Iterator[tuple[str, str]]:
    """Every tensor that need not be stored, with the text in which it is not."""
    for kernel in kernels(source):
        try:
            producer = _Producer(source, kernel)
            yield producer.tensor, producer.text()
        except NotUnderstood:
            continue


@dataclass(frozen=True, slots=True)
class _Use:
    """A launch that is passed the tensor, and the parameter that it is."""

    kernel: Kernel
    launch: Launch
    place: int

    @property
    def name(self) -> str:
        return self.kernel.parameters[self.place].name

    def passed(self, kind: str, argument: str) -> str:
        """The parameter of this type that is this argument already, and is not changed; empty where there is none."""
        changed = {text(target) for node in walk(self.kernel.body) if (target := target_of(node)) is not None}
        for parameter, other in zip(self.kernel.parameters, self.launch.arguments, strict=True):
            if text(other) == argument and parameter.type == kind and parameter.name not in changed:
                return parameter.name
        return ""

    @property
    def loads(self) -> list[Node]:
        """Where the kernel reads it; `NotUnderstood` for anything else that it does with it."""
        found = []
        for node in walk(self.kernel.body):
            if node.type != "identifier" or text(node) != self.name:
                continue
            load = node.parent
            if (
                load is None
                or load.type != "subscript_expression"
                or field(load, "argument") != node
                or _is_changed(load)
            ):
                raise NotUnderstood(f"{self.name} is not only read")
            if any(each.id != node.id and text(each) == self.name for each in walk(load)):
                raise NotUnderstood("an element whose place is told by another one")
            found.append(load)
        return found


class _Producer:
    """A kernel that stores one element of one tensor for each of its outputs."""

    def __init__(self, source: str, kernel: Kernel) -> None:
        self.source, self.kernel = source, kernel
        self.nest = nest_of(source, kernel)
        self.launch = self.nest.launch
        self.total = total_of(self.nest)
        self.store = stored_last(self.nest)
        if operator(self.store) != "=":
            raise NotUnderstood("what is stored is read as well")
        self.pointer = text(field(field(self.store, "left"), "argument"))
        parameter = kernel.parameter(self.pointer)
        if parameter is None or not parameter.is_pointer or parameter.element != "float":
            raise NotUnderstood("what is stored is no tensor of floats")
        if any(
            node.type == "identifier"
            and text(node) == self.pointer
            and node.parent != field(self.store, "left")
            for node in walk(kernel.body)
        ):
            raise NotUnderstood("what is stored is read as well")
        require_number(self.nest, named(field(field(self.store, "left"), "indices"))[0])
        self.tensor = _tensor(self.launch, kernel.parameters.index(parameter))
        self.has_loop = any(node.type in _LOOPS for each in self.nest.body for node in walk(each))
        self.uses = list(self._uses())
        self._require_apart()
        self.function = fresh_name(source, f"{self.tensor}_of_{kernel.name}")

    # -- reading ------------------------------------------------------------------------------------------

    def _uses(self) -> Iterator[_Use]:
        """The launches that read the tensor; `NotUnderstood` where anybody else has to do with it."""
        function = _function(self.launch.statement)
        mentions = [
            node for node in walk(function) if node.type == "identifier" and text(node) == self.tensor
        ]
        explained = {node.id for node in walk(self.launch.statement)}
        block = self.launch.statement.parent
        for kernel in kernels(self.source):
            passed = [each.arguments for each in launches(self.source, kernel.name)]
            places = [
                place
                for arguments in passed
                for place, argument in enumerate(arguments)
                if name_of(argument) == self.tensor
            ]
            if not places or kernel.name == self.kernel.name:
                continue
            launch = only_launch(self.source, kernel)
            if len(places) != 1 or launch.statement.parent != block:
                raise NotUnderstood(f"{self.tensor} is passed in several ways")
            if launch.statement.start_byte < self.launch.statement.end_byte:
                raise NotUnderstood(f"{self.tensor} is passed before it is made")
            explained |= {node.id for node in walk(launch.statement)}
            yield _Use(kernel, launch, places[0])
        declarations = [
            node
            for node in walk(function)
            if node.type == "init_declarator" and text(field(node, "declarator")) == self.tensor
        ]
        if len(declarations) != 1 or not _MADE.match(text(field(declarations[0], "value"))):
            raise NotUnderstood(f"{self.tensor} is not made for this")
        explained |= {field(declarations[0], "declarator").id}
        if any(node.id not in explained and not _asks_options(node) for node in mentions):
            raise NotUnderstood(f"{self.tensor} is used otherwise")

    def _require_apart(self) -> None:
        """What the kernel reads must be the same when the later ones run: nobody writes to it until then, and the host
        changes no number."""
        if not self.uses:
            raise NotUnderstood("nobody reads what is stored")
        last = max(each.launch.statement.start_byte for each in self.uses)
        block = self.launch.statement.parent
        assert block is not None
        read = {name_of(each) for each in self.launch.arguments if name_of(each)} - {self.tensor}
        for statement in named(block):
            if not self.launch.statement.start_byte < statement.start_byte <= last:
                continue
            if any(target_of(node) is not None for node in walk(statement)) or statement.type not in (
                "declaration",
                "expression_statement",
            ):
                raise NotUnderstood("the host does more between the launches")
            if statement.type != "expression_statement":
                continue
            written = _written(self.source, statement)
            if written & read or not all(_is_made(_function(block), each) for each in written):
                raise NotUnderstood("what is read is written in between")
        if self.has_loop or len(self.uses) > 2:
            (use, *others) = self.uses
            if others or len(use.loads) != 1:
                raise NotUnderstood("elements that are asked for more than once")
            nest = nest_of(self.source, use.kernel)
            around: Node | None = use.loads[0]
            while around is not None and around.id != use.kernel.body.id:
                if around.type in _LOOPS and around.id not in {each.id for each in _strides(use.kernel)}:
                    raise NotUnderstood("elements that are asked for more than once")
                around = around.parent
            require_number(nest, named(field(use.loads[0], "indices"))[0])

    # -- writing ------------------------------------------------------------------------------------------

    def text(self) -> str:
        own = [each for each in self.kernel.parameters if each.name != self.pointer]
        arguments = [
            text(argument)
            for parameter, argument in zip(self.kernel.parameters, self.launch.arguments, strict=True)
            if parameter.name != self.pointer
        ]
        own += [Parameter(each.partition(" ")[2], "int", each) for each in self.nest.told]
        arguments += self.nest.telling
        end = self.kernel.definition.end_byte
        edits = [
            Edit(end, end, "\n\n" + self._definition([each.declaration for each in own])),
            replacing(self.launch.statement, ""),
        ]
        taken: list[str] = []
        for use in self.uses:
            edits += self._consumer(use, list(zip(own, arguments, strict=True)), taken)
        return edited(self.source, edits)

    def _definition(self, declared: list[str]) -> str:
        kind = "int" if all(each.type == "int" for each in self.nest.dims) else "int64_t"
        parameters = ", ".join([*declared, f"{kind} place_of_element"])
        value = text(field(self.store, "right"))
        lines = [f"__device__ float {self.function}({parameters}) {{\n"]
        lines += indices(self.nest, "place_of_element")
        store = self.store.parent
        for each in self.nest.body:
            if each != store and each.type != "preproc_call":
                lines.append(f"{STEP}{text(each)}\n")
        return "".join(lines) + f"{STEP}return {value};\n}}"

    def _consumer(self, use: _Use, needed: list[tuple[Parameter, str]], taken: list[str]) -> Iterator[Edit]:
        """The later kernel with the first one's parameters in place of the tensor; what it is passed already is not
        passed again."""
        mine, given, more = [], [], []
        for parameter, argument in needed:
            known = use.passed(parameter.type, argument)
            mine.append(known or fresh_name(self.source, f"{parameter.name}_of_{self.tensor}", taken))
            if not known:
                taken.append(mine[-1])
                given.append(re.sub(rf"\b{parameter.name}\b", mine[-1], parameter.declaration))
                more.append(argument)
        parameters = named(field(field(use.kernel.definition, "declarator"), "parameters"))
        for nodes, new in ((parameters, given), (list(use.launch.arguments), more)):
            if new:
                yield replacing(nodes[use.place], ", ".join(new))
            else:  # with its comma
                other = nodes[use.place + 1 if use.place == 0 else use.place - 1]
                start = nodes[0].start_byte if use.place == 0 else other.end_byte
                end = other.start_byte if use.place == 0 else nodes[use.place].end_byte
                yield Edit(start, end, "")
        for load in use.loads:
            place = text(named(field(load, "indices"))[0])
            yield replacing(load, f"{self.function}({', '.join([*mine, place])})")


def _is_changed(node: Node) -> bool:
    parent = node.parent
    return is_target(node) or (
        parent is not None and parent.type in ("update_expression", "pointer_expression")
    )


def _strides(kernel: Kernel) -> Iterator[Node]:
    """Loops by which threads go from output to output."""
    for node in walk(kernel.body):
        if node.type == "for_statement" and re.search(r"blockDim|gridDim", text(field(node, "update"))):
            yield node


def _tensor(launch: Launch, place: int) -> str:
    name = name_of(launch.arguments[place])
    if not name:
        raise NotUnderstood("what is stored is no tensor of the host")
    return name


def _function(node: Node) -> Node:
    while node.parent is not None and node.type != "function_definition":
        node = node.parent
    return node


def _asks_options(node: Node) -> bool:
    """`t.options()`, `torch::empty_like(t)`: what is asked of the tensor but its elements."""
    parent = node.parent
    if parent is not None and parent.type == "field_expression":
        return text(field(parent, "field")) in ("options", "size", "numel", "dim")
    call = parent.parent if parent is not None and parent.type == "argument_list" else None
    return call is not None and text(call).startswith(("torch::empty_like(", "torch::zeros_like("))


def _is_made(function: Node, tensor: str) -> bool:
    """Whether the host makes a tensor here, so that it has memory of its own."""
    return any(
        node.type == "init_declarator"
        and text(field(node, "declarator")) == tensor
        and _MADE.match(text(field(node, "value"))) is not None
        for node in walk(function)
    )


def _written(source: str, statement: Node) -> set[str]:
    """The tensors that a statement of the host may change."""
    for kernel in kernels(source):
        for launch in launches(source, kernel.name):
            if launch.statement.start_byte != statement.start_byte:
                continue
            changed = {
                name
                for node in walk(kernel.body)
                if (is_load(node) and _is_changed(node)) or "atomic" in text(node)[:6]
                for name in identifiers(node)
            }
            found = set()
            for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
                if parameter.is_pointer and ("const" not in parameter.type or parameter.name in changed):
                    if not name_of(argument):
                        raise NotUnderstood(f"what {text(argument)} is")
                    if parameter.name in changed or not _only_loads(kernel, parameter.name):
                        found.add(name_of(argument))
            return found
    if re.search(
        r"\b(?:C10_CUDA|AT_CUDA|CUDA_CHECK|cudaGetLastError|cudaDeviceSynchronize)", text(statement)
    ):
        return set()
    raise NotUnderstood("the host does more between the launches")


def _only_loads(kernel: Kernel, name: str) -> bool:
    return all(
        node.parent is not None and is_load(node.parent) and not _is_changed(node.parent)
        for node in walk(kernel.body)
        if node.type == "identifier" and text(node) == name
    )
