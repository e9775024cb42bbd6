"""Nest: a kernel as a loop nest over its outputs, one thread per output, with the body that computes it.

Two ways to number outputs are understood: a dimension per axis of the grid (`blockIdx.y * blockDim.y +
threadIdx.y`, or `blockIdx.z` alone), and one linear index taken apart by `/` and `%`. Guards give the extents.
The body may be any code without barriers, shared memory or other traces of who shares a block; whether a
particular transformation understands it is for that transformation to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

from tree_sitter import Node

from evoengineer.propose.syntax.kernels import Kernel, Launch, dimensions, only_launch
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    field,
    identifiers,
    named,
    operator,
    parse,
    render,
    stripped,
    text,
    walk,
)

_POSITIONS = {"threadIdx", "blockIdx", "blockDim", "gridDim"}
_AXES = "xyz"


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
    """The index that the dimensions were taken from."""

    name: str
    type: str
    size: str
    inner: str  # the product of all extents but the outermost: must divide the size


@dataclass(frozen=True, slots=True)
class Nest:
    kernel: Kernel
    launch: Launch
    dims: tuple[Dim, ...]  # the fastest first
    body: tuple[Node, ...]
    linear: Linear | None
    same: Mapping[int, str] = dataclass_field(
        default_factory=dict
    )  # expressions that are dimensions, by node

    def on_host(self, expression: str) -> str:
        """An expression over the kernel's parameters, in the terms of the launch."""
        names = {
            parameter.name: f"({text(argument)})" if argument.type != "identifier" else text(argument)
            for parameter, argument in zip(self.kernel.parameters, self.launch.arguments, strict=True)
        }
        statement = parse(f"auto v = {expression};").root_node
        value = next(each for each in walk(statement) if each.type == "init_declarator")
        return render(field(value, "value"), names)


@dataclass(frozen=True, slots=True)
class _Digit:
    """`name = index / divisors % modulus`."""

    name: str
    type: str
    root: str
    divisors: tuple[str, ...]
    modulus: str
    statement: Node


def nest_of(source: str, kernel: Kernel) -> Nest:
    """The kernel as a nest, or the reason why it is none."""
    launch = only_launch(source, kernel)
    if launch.further and text(launch.further[0]) not in ("0", ""):
        raise NotUnderstood("dynamic shared memory")
    direct: dict[str, tuple[str, str, bool]] = {}  # name: type, axis, alone
    digits: list[_Digit] = []
    extents: dict[str, str] = {}
    body: list[Node] = []
    statements = named(kernel.body)
    for place, statement in enumerate(statements):
        if statement.type == "declaration":
            if not _read_declaration(statement, direct, digits):
                body.append(statement)
        elif _is_exit(statement) and _bounds(field(statement, "condition"), "||", ">=", direct, extents):
            continue
        elif (
            statement.type == "if_statement"
            and place == len(statements) - 1
            and statement.child_by_field_name("alternative") is None
            and _bounds(field(statement, "condition"), "&&", "<", direct, extents)
        ):
            inner = field(statement, "consequence")
            body += named(inner) if inner.type == "compound_statement" else [inner]
        else:
            body.append(statement)
    _require_position_free(body)
    nest = _in_parameters(_assemble(kernel, launch, direct, digits, extents, body))
    _require_known_extents(nest)
    return nest


def _read_declaration(
    statement: Node, direct: dict[str, tuple[str, str, bool]], digits: list[_Digit]
) -> bool:
    """Whether every name that the declaration gives is an index."""
    declared = [each for each in named(statement) if each.type == "init_declarator"]
    kind = text(field(statement, "type"))
    found_direct: dict[str, tuple[str, str, bool]] = {}
    found_digits: list[_Digit] = []
    for each in declared:
        name, value = text(field(each, "declarator")), field(each, "value")
        position = axis_of(value)
        if position is not None:
            found_direct[name] = (kind, *position)
            continue
        form = _quotient(value, direct, digits + found_digits)
        if form is None:
            return False
        found_digits.append(_Digit(name, kind, *form, statement))
    if not declared:
        return False
    direct.update(found_direct)
    digits.extend(found_digits)
    return True


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
    value: Node, direct: dict[str, tuple[str, str, bool]], digits: list[_Digit]
) -> tuple[str, tuple[str, ...], str] | None:
    """Root, divisors and modulus of a digit of a linear index."""
    node = stripped(value)
    if node.type == "identifier":
        known = next((each for each in digits if each.name == text(node)), None)
        if known is not None:
            return None if known.modulus else (known.root, known.divisors, "")
        return (text(node), (), "") if text(node) in direct else None
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


def _bounds(
    condition: Node, joint: str, sign: str, direct: dict[str, tuple[str, str, bool]], extents: dict[str, str]
) -> bool:
    """Read `v >= extent || …`; whether the whole condition was of that form."""
    if condition.type == "condition_clause":
        condition = named(condition)[0]
    found: dict[str, str] = {}
    turned = {">=": "<=", "<": ">"}[sign]
    for term in _terms(condition, joint):
        if term.type != "binary_expression":
            return False
        left, right = stripped(field(term, "left")), stripped(field(term, "right"))
        if operator(term) == turned:
            left, right = right, left
        elif operator(term) != sign:
            return False
        if text(left) not in direct or text(left) in extents or text(left) in found:
            return False
        found[text(left)] = text(right)
    extents.update(found)
    return True


def _require_position_free(body: list[Node]) -> None:
    for statement in body:
        for node in walk(statement):
            if node.type == "identifier" and text(node) in _POSITIONS:
                raise NotUnderstood(f"{text(node)} is used inside the computation")
            if text(node) == "__shared__":
                raise NotUnderstood("threads share memory")
            if node.type in ("return_statement", "goto_statement", "lambda_expression", "asm_statement"):
                raise NotUnderstood(f"{node.type} inside the computation")


def _assemble(
    kernel: Kernel,
    launch: Launch,
    direct: dict[str, tuple[str, str, bool]],
    digits: list[_Digit],
    extents: dict[str, str],
    body: list[Node],
) -> Nest:
    if not direct:
        raise NotUnderstood("no thread index")
    if digits:
        roots = {each.root for each in digits}
        if len(roots) != 1 or len(direct) != 1:
            raise NotUnderstood("more than one linear index")
        (root,) = roots
        if root not in extents:
            raise NotUnderstood(f"{root} has no bound")
        used = set().union(*(identifiers(each) for each in body))
        dims = _digits_in_order(digits, extents[root], used)
        inner = " * ".join(f"({dim.extent})" for dim in dims[:-1]) or "1"
        kind = direct[root][0]
        linear = Linear(root, kind, extents[root], inner)
        dims[-1] = replace(dims[-1], extent=f"({extents[root]}) / ({inner})")
        rest = [each for each in digits if each.name not in {dim.name for dim in dims} and each.name in used]
        again = list({each.statement.id: each.statement for each in rest}.values())
        if any(
            {d.name for d in digits if d.statement == each} & {dim.name for dim in dims} for each in again
        ):
            raise NotUnderstood("one declaration gives dimensions and other parts of the index")
        body = again + body
        return Nest(kernel, launch, tuple(dims), tuple(body), linear, _same(digits, dims[-1], again))
    axes: dict[str, Dim] = {}
    grid = dimensions(launch.grid)
    for name, (kind, axis, alone) in direct.items():
        if axis in axes:
            raise NotUnderstood(f"two indices along {axis}")
        if name in extents:
            axes[axis] = Dim(name, kind, extents[name])
        elif alone and len(grid) > _AXES.index(axis):
            axes[axis] = Dim(name, kind, f"extent_of_{name}", grid[_AXES.index(axis)])
        else:
            raise NotUnderstood(f"{name} has no bound")
    return Nest(kernel, launch, tuple(axes[axis] for axis in _AXES if axis in axes), tuple(body), None)


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
        declared = [each for each in named(statement) if each.type == "init_declarator"]
        if statement.type != "declaration" or len(declared) != 1:
            continue
        name, value = text(field(declared[0], "declarator")), field(declared[0], "value")
        if name.isidentifier() and identifiers(value) <= parameters | set(known):
            known[name] = f"({render(value, known)})"

    def written(expression: str) -> str:
        tree = parse(f"auto v = {expression};").root_node
        value = next(each for each in walk(tree) if each.type == "init_declarator")
        return render(field(value, "value"), known)

    linear = nest.linear
    if linear is not None:
        linear = replace(linear, size=written(linear.size), inner=written(linear.inner))
    dims = tuple(each if each.grid else replace(each, extent=written(each.extent)) for each in nest.dims)
    return replace(nest, dims=dims, linear=linear)


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
    mentioned = set().union(*(identifiers(parse(f"auto v = {dim.extent};").root_node) for dim in nest.dims))
    changed = mentioned & local
    pointers = {each.name for each in nest.kernel.parameters if each.is_pointer}
    if changed or mentioned & pointers:
        raise NotUnderstood(
            f"the extent {sorted(changed | mentioned & pointers)[0]} is not known before the kernel runs"
        )
