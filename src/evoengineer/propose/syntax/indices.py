"""Indices: how the statements of a kernel number its outputs, and what is left of them as the computation.

int i = blockIdx.x * blockDim.x + threadIdx.x;             an index along an axis
int row = i / columns, column = i % columns;               digits of it
if (i >= n) return;    for (…; i < n; i += threads)        its bound
for (int c = threadIdx.x; c < columns; c += blockDim.x)    an index within each block
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from tree_sitter import Node

from evoengineer.propose.syntax.tree import field, identifiers, named, operator, stripped, terms, text, walk

AXES = "xyz"
_BLOCKS = {f"blockIdx.{axis}" for axis in AXES}
_PARTS = {f"{part}.{axis}" for part in ("threadIdx", "blockIdx", "blockDim") for axis in AXES}


@dataclass(frozen=True, slots=True)
class Index:
    """A variable that numbers threads or blocks along an axis; `alone`: blocks only."""

    type: str
    axis: str
    alone: bool
    size: str = ""  # what a block's number is multiplied by
    within: bool = False  # what the threads of each block go over, in strides of the block


@dataclass(frozen=True, slots=True)
class Digit:
    """`name = index / divisors % modulus`."""

    name: str
    type: str
    root: str
    divisors: tuple[str, ...]
    modulus: str
    statement: Node


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a kernel: indices, parts of them, bounds, and the statements that compute."""

    direct: dict[str, Index] = dataclass_field(default_factory=dict)
    digits: list[Digit] = dataclass_field(default_factory=list)
    extents: dict[str, str] = dataclass_field(default_factory=dict)
    strides: dict[str, str] = dataclass_field(default_factory=dict)  # names of `blockDim.a * gridDim.a`
    aliases: dict[str, str] = dataclass_field(default_factory=dict)  # names of `threadIdx.a` and the like
    body: list[Node] = dataclass_field(default_factory=list)

    def read(self, statements: list[Node]) -> None:
        for place, statement in enumerate(statements):
            last = place == len(statements) - 1
            if statement.type == "declaration":
                if not self._declaration(statement):
                    self.body.append(statement)
            elif _is_exit(statement) and self._bounds(field(statement, "condition"), leaves=True):
                continue
            elif (
                last
                and statement.type == "if_statement"
                and statement.child_by_field_name("alternative") is None
                and self._bounds(field(statement, "condition"), leaves=False)
            ):
                self.read(_inside(field(statement, "consequence")))
            elif last and statement.type == "for_statement" and self._strides_along(statement):
                self.read(_inside(field(statement, "body")))
            else:
                self.body.append(statement)

    def _declaration(self, statement: Node) -> bool:
        """Whether every name that the declaration gives is an index."""
        declared = [each for each in named(statement) if each.type == "init_declarator"]
        kind = text(field(statement, "type"))
        found, digits, strides = dict(self.direct), list(self.digits), dict(self.strides)
        aliases = dict(self.aliases)
        for each in declared:
            name, value = text(field(each, "declarator")), field(each, "value")
            position, stride = axis_of(value, aliases), _stride_of(value)
            if text(stripped(value)) in _PARTS:
                aliases[name] = text(stripped(value))
                if position is None:
                    continue
            elif position is not None:  # blocks that had a name of their own are a part of this index
                for other in identifiers(value) & set(aliases):
                    found.pop(other, None)
            if position is not None:
                found[name] = Index(_of_positions(kind), *position, _block_size(value, aliases))
                continue
            if stride:
                strides[name] = stride
                continue
            form = _quotient(value, found, digits)
            if form is None:
                return False
            if form[0] not in found:  # `blockIdx.z / filters`, without a name of its own
                found[form[0]] = Index("unsigned", form[0][-1], True)
            digits.append(Digit(name, _of_positions(kind), *form, statement))
        if not declared:
            return False
        self.direct.clear()
        self.direct.update(found)
        self.aliases.update(aliases)
        self.digits[:] = digits
        self.strides.update(strides)
        return True

    def _strides_along(self, loop: Node) -> bool:
        """`for (int i = the thread's index; i < extent; i += all threads)`."""
        start, update = loop.child_by_field_name("initializer"), loop.child_by_field_name("update")
        test = loop.child_by_field_name("condition")
        if start is None or update is None or test is None or start.type != "declaration":
            return False
        declared = [each for each in named(start) if each.type == "init_declarator"]
        if len(declared) != 1 or update.type != "assignment_expression" or operator(update) != "+=":
            return False
        name, value = text(field(declared[0], "declarator")), field(declared[0], "value")
        position, within = axis_of(value), self._axis_within(value)
        if within and text(field(update, "left")) == name:
            return self._strides_within(loop, name, within)
        if (
            position is None and text(stripped(value)) in self.direct
        ):  # `i = thread`, with an index of that name
            known = self.direct[text(stripped(value))]
            position = known.axis, known.alone
            if any(text(each) == text(stripped(value)) for each in walk(field(loop, "body"))):
                return False
        right = field(update, "right")
        stride = self.strides.get(text(right)) or _stride_of(right)
        if position is None or text(field(update, "left")) != name or stride != _stride(*position):
            return False
        if any(
            each.type in ("continue_statement", "break_statement") for each in _of_loop(field(loop, "body"))
        ):
            return False
        kind = _of_positions(text(field(start, "type")))
        self.direct[name] = Index(kind, *position)
        if self._bounds(test, leaves=False):
            self.direct.pop(text(stripped(value)), None)
            return True
        del self.direct[name]
        return False

    def _axis_within(self, value: Node) -> str:
        """The axis of `threadIdx.a`, also by another name; empty for anything else."""
        written = text(stripped(value))
        part, _, axis = self.aliases.get(written, written).partition(".")
        return axis if part == "threadIdx" else ""

    def _strides_within(self, loop: Node, name: str, axis: str) -> bool:
        """`for (int c = threadIdx.x; c < columns; c += blockDim.x)`, at the end of what the block does."""
        stride, body = text(stripped(field(field(loop, "update"), "right"))), field(loop, "body")
        if self.aliases.get(stride, stride) != f"blockDim.{axis}" or any(
            not each.alone for each in self.direct.values() if each.axis == axis
        ):
            return False
        if any(each.type in ("continue_statement", "break_statement") for each in _of_loop(body)):
            return False
        kind = _of_positions(text(field(field(loop, "initializer"), "type")))
        self.direct[name] = Index(kind, axis, False, within=True)
        if self._bounds(field(loop, "condition"), leaves=False):
            return True
        del self.direct[name]
        return False

    def _is_first_thread(self, term: Node, *, leaves: bool) -> bool:
        """`threadIdx.a == 0` where blocks along that axis are numbered alone: one thread is what an output gets."""
        if term.type != "binary_expression" or operator(term) != ("!=" if leaves else "=="):
            return False
        sides = [text(stripped(field(term, side))) for side in ("left", "right")]
        axes = [
            axis for axis in AXES if f"threadIdx.{axis}" in [self.aliases.get(side, side) for side in sides]
        ]
        if "0" not in sides or len(axes) != 1:
            return False
        return any(each.alone for each in self.direct.values()) and not any(
            each.axis == axes[0] and not each.alone for each in self.direct.values()
        )

    def _bounds(self, condition: Node, *, leaves: bool) -> bool:
        """Read `v >= extent || …` where it `leaves`, `v < extent && …` where not; whether all of it is of that form."""
        if condition.type == "condition_clause":
            condition = named(condition)[0]
        condition = stripped(condition)
        if condition.type == "unary_expression" and operator(condition) == "!":
            return self._bounds(field(condition, "argument"), leaves=not leaves)
        joint, sign, turned = ("||", ">=", "<=") if leaves else ("&&", "<", ">")
        known = {*self.direct, *(each.name for each in self.digits)}
        found: dict[str, str] = {}
        for term in terms(condition, joint):
            if self._is_first_thread(term, leaves=leaves):
                continue
            if term.type != "binary_expression":
                return False
            left, right = stripped(field(term, "left")), stripped(field(term, "right"))
            if operator(term) == turned:
                left, right = right, left
            elif operator(term) != sign:
                return False
            if text(left) not in known or text(left) in self.extents or text(left) in found:
                return False
            found[text(left)] = text(right)
        self.extents.update(found)
        return True


def _inside(node: Node) -> list[Node]:
    return named(node) if node.type == "compound_statement" else [node]


def _of_loop(node: Node) -> Iterator[Node]:
    """The node and all below it but inner loops."""
    yield node
    for child in node.children:
        if child.type not in ("for_statement", "while_statement", "do_statement", "lambda_expression"):
            yield from _of_loop(child)


def _of_positions(kind: str) -> str:
    return "unsigned" if kind == "auto" else kind


def _stride(axis: str, alone: bool) -> str:
    return f"gridDim.{axis}" if alone else f"blockDim.{axis}*gridDim.{axis}"


def _stride_of(value: Node) -> str:
    """`blockDim.a * gridDim.a` or `gridDim.a`, written that way; empty for anything else."""
    written = "*".join(sorted(text(stripped(each)) for each in terms(value, "*")))
    return written if written in {_stride(axis, alone) for axis in AXES for alone in (True, False)} else ""


def axis_of(value: Node, aliases: Mapping[str, str] | None = None) -> tuple[str, bool] | None:
    """The axis of `blockIdx.a * blockDim.a + threadIdx.a` (and whether it is `blockIdx.a` alone); `aliases` are names
    of such parts."""
    parts = terms(stripped(value), "+")
    names = aliases or {}
    factors = [[text(stripped(each)) for each in terms(term, "*")] for term in parts]
    written = ["*".join(sorted(names.get(each, each) for each in factor)) for factor in factors]
    for axis in AXES:
        block, thread = f"blockIdx.{axis}", f"threadIdx.{axis}"
        if written == [block]:
            return axis, True
        if len(written) == 2 and thread in written:
            other = next(each for each in written if each != thread).split("*")
            if len(other) == 2 and block in other:
                other.remove(block)
                if other[0] == f"blockDim.{axis}" or other[0].isidentifier() or other[0].isdigit():
                    return axis, False
    return None


def _block_size(value: Node, aliases: Mapping[str, str]) -> str:
    """The factor of `blockIdx.a` in such an index."""
    for term in terms(stripped(value), "+"):
        factors = [text(stripped(each)) for each in terms(term, "*")]
        others = [each for each in factors if aliases.get(each, each) not in _BLOCKS]
        if len(others) == 1 and len(factors) == 2:
            return others[0]
    return ""


def _factors(expression: Node) -> tuple[str, ...]:
    return tuple(" ".join(text(each).split()) for each in terms(expression, "*"))


def _quotient(
    value: Node, direct: Mapping[str, Index], digits: list[Digit]
) -> tuple[str, tuple[str, ...], str] | None:
    """Root, divisors and modulus of a digit of a linear index."""
    node = stripped(value)
    if node.type == "identifier":
        known = next((each for each in digits if each.name == text(node)), None)
        if known is not None:
            return known.root, known.divisors, known.modulus
        return (text(node), (), "") if text(node) in direct else None
    if text(node) in _BLOCKS:
        return text(node), (), ""
    if node.type != "binary_expression" or operator(node) not in ("/", "%"):
        return None
    left = _quotient(field(node, "left"), direct, digits)
    if left is None:
        return None
    right = field(node, "right")
    if identifiers(right) & (set(direct) | {each.name for each in digits}):
        return None
    root, divisors, modulus = left
    factors = _factors(right)
    if modulus:  # `rest = i % (height * width); y = rest / width; x = rest % width;`
        whole = Counter(modulus.split("*"))
        if not Counter(factors) < whole:
            return None
        if operator(node) == "/":
            return root, (*divisors, *factors), "*".join((whole - Counter(factors)).elements())
        return root, divisors, "*".join(factors)
    if operator(node) == "/":
        return root, (*divisors, *factors), ""
    return root, divisors, "*".join(factors)


def _is_exit(statement: Node) -> bool:
    if statement.type != "if_statement" or statement.child_by_field_name("alternative") is not None:
        return False
    inner = field(statement, "consequence")
    if inner.type == "compound_statement":
        children = named(inner)
        return len(children) == 1 and children[0].type == "return_statement"
    return inner.type == "return_statement"
