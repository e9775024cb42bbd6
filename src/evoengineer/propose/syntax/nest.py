"""Nest: a kernel as a loop nest over its outputs, one thread per output, with the body that computes it.

Along an axis of the grid (`blockIdx.y * blockDim.y + threadIdx.y`, or `blockIdx.z` alone) there is one dimension, or
several that the index is taken apart into by `/` and `%`. Guards give the extents, or loops in strides of the grid.
The body may be any code without barriers, shared memory or other traces of who shares a block; whether a
particular transformation understands it is for that transformation to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

from tree_sitter import Node

from evoengineer.propose.syntax.kernels import Kernel, Launch, dimensions, only_launch
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    expression,
    field,
    identifiers,
    named,
    operator,
    render,
    stripped,
    text,
    walk,
)

_POSITIONS = {"threadIdx", "blockIdx", "blockDim", "gridDim"}
_AXES = "xyz"
_BLOCKS = {f"blockIdx.{axis}" for axis in _AXES}


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension of the outputs. `extent` is in terms of the kernel's parameters, unless it has a
    `grid` expression: then the kernel does not know it and the host has to say."""

    name: str
    type: str
    extent: str
    grid: str = ""


@dataclass(frozen=True, slots=True)
class Linear:
    """An index that dimensions were taken from. `size` is in terms of the kernel's parameters, or of the host's
    variables where only the `grid` tells it."""

    name: str
    type: str
    size: str
    inner: str  # the product of all extents but the outermost: must divide the size
    dims: tuple[str, ...]  # the fastest first
    grid: bool = False


@dataclass(frozen=True, slots=True)
class Nest:
    kernel: Kernel
    launch: Launch
    dims: tuple[Dim, ...]  # the fastest first
    body: tuple[Node, ...]
    linears: tuple[Linear, ...] = ()
    same: Mapping[int, str] = dataclass_field(
        default_factory=dict
    )  # expressions that are dimensions, by node

    def on_host(self, written: str) -> str:
        """An expression over the kernel's parameters, in the terms of the launch."""
        names = {
            parameter.name: f"({text(argument)})" if argument.type != "identifier" else text(argument)
            for parameter, argument in zip(self.kernel.parameters, self.launch.arguments, strict=True)
        }
        return render(expression(written), names)


@dataclass(frozen=True, slots=True)
class _Index:
    """A variable that numbers threads or blocks along an axis; `alone`: blocks only."""

    type: str
    axis: str
    alone: bool


@dataclass(frozen=True, slots=True)
class _Digit:
    """`name = index / divisors % modulus`."""

    name: str
    type: str
    root: str
    divisors: tuple[str, ...]
    modulus: str
    statement: Node


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read of a kernel: indices, parts of them, bounds, and the statements that compute."""

    direct: dict[str, _Index] = dataclass_field(default_factory=dict)
    digits: list[_Digit] = dataclass_field(default_factory=list)
    extents: dict[str, str] = dataclass_field(default_factory=dict)
    strides: dict[str, str] = dataclass_field(default_factory=dict)  # names of `blockDim.a * gridDim.a`
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
        for each in declared:
            name, value = text(field(each, "declarator")), field(each, "value")
            position, stride = axis_of(value), _stride_of(value)
            if position is not None:
                found[name] = _Index(_of_positions(kind), *position)
                continue
            if stride:
                strides[name] = stride
                continue
            form = _quotient(value, found, digits)
            if form is None:
                return False
            if form[0] not in found:  # `blockIdx.z / filters`, without a name of its own
                found[form[0]] = _Index("unsigned", form[0][-1], True)
            digits.append(_Digit(name, _of_positions(kind), *form, statement))
        if not declared:
            return False
        self.direct.update(found)
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
        position = axis_of(value)
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
        self.direct[name] = _Index(kind, *position)
        if self._bounds(test, leaves=False):
            self.direct.pop(text(stripped(value)), None)
            return True
        del self.direct[name]
        return False

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
        for term in _terms(condition, joint):
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


def nest_of(source: str, kernel: Kernel) -> Nest:
    """The kernel as a nest, or the reason why it is none."""
    launch = only_launch(source, kernel)
    if launch.further and text(launch.further[0]) not in ("0", ""):
        raise NotUnderstood("dynamic shared memory")
    reading = _Reading()
    reading.read(named(kernel.body))
    _require_position_free(reading.body)
    nest = _in_parameters(_assemble(kernel, launch, reading))
    _require_known_extents(nest)
    return nest


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
    written = "*".join(sorted(text(stripped(each)) for each in _terms(value, "*")))
    return written if written in {_stride(axis, alone) for axis in _AXES for alone in (True, False)} else ""


def axis_of(value: Node) -> tuple[str, bool] | None:
    """The axis of `blockIdx.a * blockDim.a + threadIdx.a` (and whether it is `blockIdx.a` alone)."""
    terms = _terms(stripped(value), "+")
    written = ["*".join(sorted(text(stripped(each)) for each in _terms(term, "*"))) for term in terms]
    for axis in _AXES:
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


def _terms(node: Node, sign: str) -> list[Node]:
    """Operands of a chain of one operator."""
    node = stripped(node)
    if node.type == "binary_expression" and operator(node) == sign:
        return _terms(field(node, "left"), sign) + _terms(field(node, "right"), sign)
    return [node]


def _factors(expression: Node) -> tuple[str, ...]:
    return tuple(" ".join(text(each).split()) for each in _terms(expression, "*"))


def _quotient(
    value: Node, direct: Mapping[str, _Index], digits: list[_Digit]
) -> tuple[str, tuple[str, ...], str] | None:
    """Root, divisors and modulus of a digit of a linear index."""
    node = stripped(value)
    if node.type == "identifier":
        known = next((each for each in digits if each.name == text(node)), None)
        if known is not None:
            return None if known.modulus else (known.root, known.divisors, "")
        return (text(node), (), "") if text(node) in direct else None
    if text(node) in _BLOCKS:
        return text(node), (), ""
    if node.type != "binary_expression" or operator(node) not in ("/", "%"):
        return None
    left = _quotient(field(node, "left"), direct, digits)
    if left is None or left[2]:
        return None
    right = field(node, "right")
    if identifiers(right) & (set(direct) | {each.name for each in digits}):
        return None
    if operator(node) == "/":
        return left[0], (*left[1], *_factors(right)), ""
    return left[0], left[1], "*".join(_factors(right))


def _is_exit(statement: Node) -> bool:
    if statement.type != "if_statement" or statement.child_by_field_name("alternative") is not None:
        return False
    inner = field(statement, "consequence")
    if inner.type == "compound_statement":
        children = named(inner)
        return len(children) == 1 and children[0].type == "return_statement"
    return inner.type == "return_statement"


def _require_position_free(body: list[Node]) -> None:
    for statement in body:
        for node in walk(statement):
            if node.type == "identifier" and text(node) in _POSITIONS:
                raise NotUnderstood(f"{text(node)} is used inside the computation")
            if text(node) == "__shared__":
                raise NotUnderstood("threads share memory")
            if node.type in ("return_statement", "goto_statement", "lambda_expression", "asm_statement"):
                raise NotUnderstood(f"{node.type} inside the computation")


def _assemble(kernel: Kernel, launch: Launch, read: _Reading) -> Nest:
    if not read.direct:
        raise NotUnderstood("no thread index")
    nest = Nest(kernel, launch, (), ())
    dims: list[Dim] = []
    linears: list[Linear] = []
    same: dict[int, str] = {}
    again: dict[int, Node] = {}
    for axis in _AXES:
        names = [name for name, index in read.direct.items() if index.axis == axis]
        if len(names) > 1:
            raise NotUnderstood(f"two indices along {axis}")
        if not names:
            continue
        digits = [each for each in read.digits if each.root == names[0]]
        if not digits:
            dims.append(_axis(names[0], read, launch))
            continue
        parts, linear, statements = _taken_apart(nest, names[0], digits, read)
        dims += parts
        linears.append(linear)
        again |= {each.id: each for each in statements}
        same |= _same(digits, parts[-1], statements)
    return Nest(kernel, launch, tuple(dims), (*again.values(), *read.body), tuple(linears), same)


def _axis(name: str, read: _Reading, launch: Launch) -> Dim:
    index, grid = read.direct[name], dimensions(launch.grid)
    if name in read.extents:
        return Dim(name, index.type, read.extents[name])
    if index.alone and len(grid) > _AXES.index(index.axis):
        return Dim(name, index.type, f"extent_of_{name}", grid[_AXES.index(index.axis)])
    raise NotUnderstood(f"{name} has no bound")


def _taken_apart(
    nest: Nest, root: str, digits: list[_Digit], read: _Reading
) -> tuple[list[Dim], Linear, list[Node]]:
    """The dimensions that an index is taken apart into, and declarations of other parts of it."""
    index, grid = read.direct[root], dimensions(nest.launch.grid)
    used = set().union(*(identifiers(each) for each in read.body))
    size = read.extents.get(root, "")
    for each in digits:
        bound = read.extents.get(each.name)
        if bound is None or (each.modulus and " ".join(bound.split()) == each.modulus):
            continue
        if each.modulus or size:
            raise NotUnderstood(f"{each.name} is tested, though it is a part of {root}")
        size = " * ".join(f"({part})" for part in (bound, *each.divisors))
    dims = _digits_in_order(digits, size, used)
    inner = " * ".join(f"({dim.extent})" for dim in dims[:-1]) or "1"
    names = tuple(dim.name for dim in dims)
    if size:
        linear = Linear(root, index.type, size, inner, names)
        dims[-1] = replace(dims[-1], extent=f"({size}) / ({inner})")
    elif index.alone and len(grid) > _AXES.index(index.axis):
        size = grid[_AXES.index(index.axis)]
        linear = Linear(root, index.type, size, inner, names, grid=True)
        outermost = f"({size}) / ({nest.on_host(inner)})"
        dims[-1] = replace(dims[-1], extent=f"extent_of_{names[-1]}", grid=outermost)
    else:
        raise NotUnderstood(f"{root} has no bound")
    rest = [each for each in digits if each.name not in names and each.name in used]
    again = list({each.statement.id: each.statement for each in rest}.values())
    if any({each.name for each in digits if each.statement == other} & set(names) for other in again):
        raise NotUnderstood("one declaration gives dimensions and other parts of the index")
    return dims, linear, again


def _same(digits: list[_Digit], outermost: Dim, statements: list[Node]) -> dict[int, str]:
    """`i / width / height` within `i / width / height % channels`, where that is a dimension itself."""
    divisors = next((each.divisors for each in digits if each.name == outermost.name), None)
    found: dict[int, str] = {}
    for digit in digits:
        if divisors is None or not digit.modulus or Counter(digit.divisors) != Counter(divisors):
            continue
        for statement in statements:
            for each in named(statement):
                if each.type == "init_declarator" and text(field(each, "declarator")) == digit.name:
                    found[field(stripped(field(each, "value")), "left").id] = outermost.name
    return found


def _digits_in_order(digits: list[_Digit], size: str, used: set[str]) -> list[Dim]:
    """Digits as dimensions, each one's divisors the extents of those before it. A quotient that the body uses
    (`plane = i / width / height`) is the outermost; what is taken from it stays in the body."""
    dims: list[Dim] = []
    seen: Counter[str] = Counter()
    left = list(digits)
    while True:
        fitting = [each for each in left if Counter(each.divisors) == seen]
        fitting.sort(key=lambda each: (bool(each.modulus) or each.name not in used, not each.modulus))
        chosen = next(iter(fitting), None)
        if chosen is None:
            break
        left.remove(chosen)
        if not chosen.modulus:
            if chosen.name not in used and any(len(each.divisors) > sum(seen.values()) for each in left):
                continue  # an intermediate: `t = i / width`, taken apart further
            dims.append(Dim(chosen.name, chosen.type, size))
            return dims
        dims.append(Dim(chosen.name, chosen.type, chosen.modulus))
        seen.update(chosen.modulus.split("*"))
    if not dims or any(each.modulus for each in left):
        raise NotUnderstood("the index is not taken apart digit by digit")
    dims.append(Dim(f"outer_of_{dims[-1].name}", "int64_t", size))
    return dims


def _in_parameters(nest: Nest) -> Nest:
    """Extents in terms of parameters where they are written with the kernel's own constants, such as
    `int pixels = height * width;`."""
    known: dict[str, str] = {}
    parameters = {each.name for each in nest.kernel.parameters if not each.is_pointer}
    for statement in nest.body:
        if statement.type != "declaration":
            continue
        for each in named(statement):
            if each.type != "init_declarator":
                continue
            name, value = text(field(each, "declarator")), field(each, "value")
            if name.isidentifier() and identifiers(value) <= parameters | set(known):
                known[name] = f"({render(value, known)})"

    def written(extent: str) -> str:
        return render(expression(extent), known)

    def of(linear: Linear) -> Linear:
        size = linear.size if linear.grid else written(linear.size)
        return replace(linear, size=size, inner=written(linear.inner))

    dims = tuple(each if each.grid else replace(each, extent=written(each.extent)) for each in nest.dims)
    return replace(nest, dims=dims, linears=tuple(map(of, nest.linears)))


def _require_known_extents(nest: Nest) -> None:
    """Extents must be known before the first statement: parameters and constants that nobody changes."""
    local = {dim.name for dim in nest.dims}
    for statement in nest.body:
        for node in walk(statement):
            if node.type == "init_declarator":
                local.add(
                    text(next(each for each in walk(field(node, "declarator")) if each.type == "identifier"))
                )
            elif node.type == "assignment_expression" and field(node, "left").type == "identifier":
                local.add(text(field(node, "left")))
    mentioned = set().union(*(identifiers(expression(dim.extent)) for dim in nest.dims))
    changed = mentioned & local
    pointers = {each.name for each in nest.kernel.parameters if each.is_pointer}
    if changed or mentioned & pointers:
        raise NotUnderstood(
            f"the extent {sorted(changed | mentioned & pointers)[0]} is not known before the kernel runs"
        )
