"""Nest: a kernel as a loop nest over its outputs, one thread per output, with the body that computes it.

Along an axis of the grid (`blockIdx.y * blockDim.y + threadIdx.y`, or `blockIdx.z` alone) there is one dimension, or
several that the index is taken apart into by `/` and `%`. Guards give the extents, or loops in strides of the grid.
The body may be any code without barriers, shared memory or other traces of who shares a block; whether a
particular transformation understands it is for that transformation to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

from tree_sitter import Node

from evoengineer.propose.syntax.indices import AXES, Digit, Reading
from evoengineer.propose.syntax.kernels import Kernel, Launch, dimensions, only_launch
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    expression,
    field,
    identifiers,
    named,
    render,
    stripped,
    text,
    walk,
)

_POSITIONS = {"threadIdx", "blockIdx", "blockDim", "gridDim"}


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

    def index_of(self, linear: Linear, names: Mapping[str, str]) -> str:
        """An index in terms of the dimensions that it is taken apart into, whatever order these are in by now."""
        place = ""
        for dim in [each for name in reversed(linear.dims) for each in self.dims if each.name == name]:
            index = f"static_cast<{linear.type}>({names[dim.name]})"
            place = f"({place}) * ({dim.extent}) + {index}" if place else index
        return place

    def on_host(self, written: str) -> str:
        """An expression over the kernel's parameters and what the host knows of extents, in the terms of the launch."""
        names = {
            parameter.name: f"({text(argument)})" if argument.type != "identifier" else text(argument)
            for parameter, argument in zip(self.kernel.parameters, self.launch.arguments, strict=True)
        }
        names |= {dim.extent: f"({dim.grid})" for dim in self.dims if dim.grid}
        return render(expression(written), names)

    @property
    def told(self) -> tuple[str, ...]:
        """Parameters for extents that only the host knows."""
        return tuple(f"int {dim.extent}" for dim in self.dims if dim.grid)

    @property
    def telling(self) -> tuple[str, ...]:
        """What is passed for them."""
        return tuple(f"static_cast<int>({dim.grid})" for dim in self.dims if dim.grid)


def nest_of(source: str, kernel: Kernel) -> Nest:
    """The kernel as a nest, or the reason why it is none."""
    launch = only_launch(source, kernel)
    if launch.further and text(launch.further[0]) not in ("0", ""):
        raise NotUnderstood("dynamic shared memory")
    reading = Reading()
    reading.read(named(kernel.body))
    aliases = {name: part for name, part in reading.aliases.items() if name not in reading.direct}
    _require_position_free(reading.body, aliases)
    nest = _in_parameters(_assemble(kernel, launch, reading))
    _require_known_extents(nest)
    return nest


def _require_position_free(body: list[Node], aliases: Mapping[str, str]) -> None:
    for statement in body:
        for node in walk(statement):
            if node.type == "identifier" and text(node) in _POSITIONS | set(aliases):
                raise NotUnderstood(f"{aliases.get(text(node), text(node))} is used inside the computation")
            if text(node) == "__shared__":
                raise NotUnderstood("threads share memory")
            if node.type in ("return_statement", "goto_statement", "lambda_expression", "asm_statement"):
                raise NotUnderstood(f"{node.type} inside the computation")


def _assemble(kernel: Kernel, launch: Launch, read: Reading) -> Nest:
    if not read.direct:
        raise NotUnderstood("no thread index")
    nest = Nest(kernel, launch, (), ())
    dims: list[Dim] = []
    linears: list[Linear] = []
    same: dict[int, str] = {}
    again: dict[int, Node] = {}
    for axis in AXES:
        names = [name for name, index in read.direct.items() if index.axis == axis]
        names.sort(key=lambda name: not read.direct[name].within)  # the fastest first
        if len(names) - sum(read.direct[name].within for name in names) > 1:
            raise NotUnderstood(f"two indices along {axis}")
        for name in names:
            digits = [each for each in read.digits if each.root == name]
            if not digits:
                dims.append(_axis(name, read, launch))
                continue
            try:
                parts, linear, statements = _taken_apart(nest, name, digits, read)
            except NotUnderstood:
                if not name.isidentifier() or any(each.name in read.extents for each in digits):
                    raise
                dims.append(
                    _axis(name, read, launch)
                )  # `channel = i / plane % channels`, and nothing else of it
                again |= {each.statement.id: each.statement for each in digits}
                continue
            dims += parts
            linears.append(linear)
            again |= {each.id: each for each in statements}
            same |= _same(digits, parts[-1], statements)
    return Nest(kernel, launch, tuple(dims), (*again.values(), *read.body), tuple(linears), same)


def _axis(name: str, read: Reading, launch: Launch) -> Dim:
    index, grid = read.direct[name], dimensions(launch.grid)
    if name in read.extents:
        return Dim(name, index.type, read.extents[name])
    if index.alone and len(grid) > AXES.index(index.axis):
        return Dim(name, index.type, f"extent_of_{name}", grid[AXES.index(index.axis)])
    block = dimensions(launch.block)
    if not index.alone and len(grid) > AXES.index(index.axis) and len(block) > AXES.index(index.axis):
        blocks, threads = grid[AXES.index(index.axis)], block[AXES.index(index.axis)]
        if index.size in (f"blockDim.{index.axis}", threads):  # every thread computes an output
            return Dim(name, index.type, f"extent_of_{name}", f"({blocks}) * ({threads})")
    raise NotUnderstood(f"{name} has no bound")


def _taken_apart(
    nest: Nest, root: str, digits: list[Digit], read: Reading
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
    elif index.alone and len(grid) > AXES.index(index.axis):
        size = grid[AXES.index(index.axis)]
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


def _same(digits: list[Digit], outermost: Dim, statements: list[Node]) -> dict[int, str]:
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


def _digits_in_order(digits: list[Digit], size: str, used: set[str]) -> list[Dim]:
    """Digits as dimensions, each one's divisors the extents of those before it. A quotient that the body uses
    (`plane = i / width / height`) is the outermost; what is taken from it stays in the body."""
    dims: list[Dim] = []
    seen: Counter[str] = Counter()
    left = list(digits)
    while True:
        fitting = [each for each in left if Counter(each.divisors) == seen]
        fitting.sort(
            key=lambda each: (
                bool(each.modulus) or each.name not in used,
                not each.modulus,
                each.modulus.count("*"),  # `i % (height * width)` is taken apart further
            )
        )
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
    if not dims or any(each.modulus and each.name in used for each in left):
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
