"""Advancing: products whose blocks move their pointers from tile to tile, as if they counted places instead.

    A += blockIdx.x * 32 * K;
    for (t = 0; t < K; t += 32) {              for (t = 0; t < K; t += 32) {
        s[r * 32 + c] = A[r * K + c];     →        s[threadIdx.y * 32 + threadIdx.x] = A[row * K + (t + threadIdx.x)];
        …                                          …
        A += 32;                               }
    }

Threads that are numbered along one axis and taken apart by `/` and `%` get two axes. Addresses are sums of products:
what a block's and a thread's number are multiplied by tells which belong together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from tree_sitter import Node

from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.dependence import target_of
from evoengineer.propose.syntax.host import constants
from evoengineer.propose.syntax.kernels import Kernel, dimensions, fresh_name, only_launch
from evoengineer.propose.syntax.reductions import squeezed
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    edited,
    field,
    identifiers,
    named,
    operator,
    render,
    replacing,
    stripped,
    text,
    walk,
)

Monomial = tuple[str, ...]  # factors, in order
_X, _Y = "threadIdx.x", "threadIdx.y"
_AXES = "xy"


def counted_places(source: str, kernel: Kernel) -> str:
    """The text with places that are counted from the pointers as they were given."""
    return _Advancing(source, kernel).text()


@dataclass(frozen=True, slots=True)
class _Pair:
    """`blockIdx.axis * size + thread`: one dimension of the outputs."""

    name: str
    axis: str
    size: str
    thread: str


@dataclass
class _Advancing:
    source: str
    kernel: Kernel
    values: dict[str, Node] = dataclass_field(default_factory=dict)
    side: str = ""  # by which threads along one axis are taken apart
    moves: dict[str, str] = dataclass_field(
        default_factory=dict
    )  # what is added to a pointer before the loop
    steps: dict[str, str] = dataclass_field(default_factory=dict)  # what has been added within it

    def __post_init__(self) -> None:
        self.statements = named(self.kernel.body)
        self.values = dict(_declared(self.kernel.body))
        loops = [each for each in self.statements if each.type == "for_statement"]
        if len(loops) != 1:
            raise NotUnderstood("not one loop over tiles")
        (self.loop,) = loops
        self.counter, self.stride = _course(self.loop)
        self._read_side()
        self._read_moves()

    def text(self) -> str:
        """The whole text with the kernel and its launch in the other form."""
        addresses = {node.id: self._address(node) for node in self._places()}
        stored = [
            addresses[node.id]
            for node in self._places()
            if node.parent is not None and target_of(node.parent) == node
        ]
        if not stored:
            raise NotUnderstood("no output is stored")
        pairs = [self._pair(stored[0], thread) for thread in (_X, _Y)]
        if {each.axis for each in pairs} != set(_AXES):
            raise NotUnderstood("two dimensions along one axis")
        nodes = {
            node.id: f"{text(field(node, 'argument'))}[{self._written(addresses[node.id], pairs)}]"
            for node in self._places()
        }
        return self._printed(pairs, nodes)

    # -- reading ------------------------------------------------------------------------------------------

    def _read_side(self) -> None:
        """The number by which `threadIdx.x` is taken apart into two."""
        found = set()
        for node in walk(self.kernel.body):
            if text(node) == _X and node.type == "field_expression":
                outer = node.parent
                whole = (
                    outer is not None and outer.type == "binary_expression" and operator(outer) in ("/", "%")
                )
                found.add(squeezed(field(outer, "right")) if whole and outer is not None else "")
        if found != {""}:
            if len(found) != 1 or _Y in text(self.kernel.body):
                raise NotUnderstood("threads that are numbered in several ways")
            (self.side,) = found

    def _read_moves(self) -> None:
        pointers = {each.name for each in self.kernel.parameters if each.is_pointer}
        inside = named(field(self.loop, "body"))
        for node in walk(self.kernel.body):
            target = target_of(node)
            if target is None or text(target) not in pointers:
                continue
            name, statement = text(target), node.parent
            if operator(node) != "+=" or statement is None:
                raise NotUnderstood(f"{name} moves in another way")
            known = self.moves if statement in self.statements else self.steps
            if name in known or (known is self.steps and statement not in inside):
                raise NotUnderstood(f"{name} moves in several ways")
            if known is self.moves and statement.start_byte > self.loop.start_byte:
                raise NotUnderstood(f"{name} moves after the loop")
            known[name] = text(field(node, "right"))
            if known is self.steps:
                self._require_before(name, statement)
        if not self.moves and not self.steps:
            raise NotUnderstood("no pointer moves")

    def _require_before(self, name: str, step: Node) -> None:
        """Within the loop a pointer is used before it moves, and nowhere behind the loop."""
        for node in walk(self.kernel.body):
            if node.type == "identifier" and text(node) == name and node.start_byte > step.end_byte:
                raise NotUnderstood(f"{name} is used after it has moved")

    def _places(self) -> list[Node]:
        """Loads and stores by the pointers that are given."""
        pointers = {each.name for each in self.kernel.parameters if each.is_pointer}
        return [
            node
            for node in walk(self.kernel.body)
            if node.type == "subscript_expression" and text(field(node, "argument")) in pointers
        ]

    def _address(self, node: Node) -> Counter[Monomial]:
        name = text(field(node, "argument"))
        total = self._sum(named(field(node, "indices"))[0])
        if name in self.moves:
            total += self._of_text(self.moves[name])
        if name in self.steps:
            step = self._of_text(self.steps[name])
            for factors, count in step.items():
                total[tuple(sorted((*self._without_stride(factors, count)[0], self.counter)))] += (
                    self._without_stride(factors, count)[1]
                )
        return Counter({factors: count for factors, count in total.items() if count})

    def _without_stride(self, factors: Monomial, count: int) -> tuple[Monomial, int]:
        """A step divided by what the counter moves in the meantime."""
        if self.stride in factors:
            place = factors.index(self.stride)
            return (*factors[:place], *factors[place + 1 :]), count
        if self.stride.isdigit() and count % int(self.stride) == 0:
            return factors, count // int(self.stride)
        raise NotUnderstood("a pointer that moves by something else than a tile")

    def _of_text(self, written: str) -> Counter[Monomial]:
        for node in walk(self.kernel.body):
            if text(node) == written and node.type != "expression_statement":
                return self._sum(node)
        raise NotUnderstood(f"the expression {written}")

    def _sum(self, node: Node) -> Counter[Monomial]:
        """An expression as a sum of products."""
        if node.type == "parenthesized_expression":
            return self._sum(named(node)[0])
        written = squeezed(node)
        if node.type == "number_literal" and written.rstrip("uU").isdigit():
            return Counter({(): int(written.rstrip("uU"))})
        if self.side and written in (f"{_X}/{self.side}", f"{_X}%{self.side}"):
            return Counter({(_Y if "/" in written else _X,): 1})
        if node.type == "identifier" and text(node) in self.values and text(node) != self.counter:
            return self._sum(self.values[text(node)])
        if node.type in ("identifier", "field_expression"):
            return Counter({(written,): 1})
        if node.type == "binary_expression" and operator(node) in ("+", "*"):
            left, right = self._sum(field(node, "left")), self._sum(field(node, "right"))
            if operator(node) == "+":
                return left + right
            product: Counter[Monomial] = Counter()
            for one, first in left.items():
                for other, second in right.items():
                    product[tuple(sorted((*one, *other)))] += first * second
            return product
        raise NotUnderstood(f"the address {text(node)}")

    def _pair(self, address: Mapping[Monomial, int], thread: str) -> _Pair:
        """The dimension of the outputs that a thread's number belongs to."""
        places = [each for each in address if thread in each]
        if len(places) != 1:
            raise NotUnderstood("outputs that are numbered in another way")
        along = places[0]
        rest = Counter(along) - Counter([thread])
        for factors, count in address.items():
            for axis in _AXES:
                more = Counter(factors) - rest - Counter([f"blockIdx.{axis}"])
                if f"blockIdx.{axis}" not in factors or rest - Counter(factors):
                    continue
                sizes = [*more.elements()]
                if len(sizes) + (count != address[along]) == 1 and count % address[along] == 0:
                    size = sizes[0] if sizes else str(count // address[along])
                    return _Pair(fresh_name(self.source, f"place_{thread[-1]}"), axis, size, thread)
        raise NotUnderstood("outputs that are numbered in another way")

    # -- writing ------------------------------------------------------------------------------------------

    def _written(self, address: Counter[Monomial], pairs: list[_Pair]) -> str:
        """An address by places in the outputs and in the sum."""
        left = dict(address)
        found: list[str] = []
        wanted = [(f"blockIdx.{each.axis}", each.size, each.thread, each.name) for each in pairs]
        size = "1" if self.stride != "1" else (self.side or pairs[0].size)
        counter = self.counter if size == "1" else f"{self.counter} * {size}"
        wanted += [(self.counter, size, each, f"({counter} + {each})") for each in (_X, _Y)]
        for moving, size, thread, name in wanted:
            for factors, count in list(left.items()):
                if thread not in factors or factors not in left:
                    continue
                rest = Counter(factors) - Counter([thread])
                scale = int(size) if size.isdigit() else 1
                more = [moving] if size.isdigit() else [moving, size]
                other = tuple(sorted([*rest.elements(), *more]))
                if left.get(other) == count * scale:
                    del left[factors], left[other]
                    found.append(_product(rest, count, name))
        loose = {_X, _Y, self.counter, "blockIdx.x", "blockIdx.y"}
        for factors, count in left.items():
            if loose & set(factors):
                raise NotUnderstood("an address that is put together in another way")
            found.append(_product(Counter(factors), count, ""))
        return " + ".join(found)

    def _printed(self, pairs: list[_Pair], nodes: dict[int, str]) -> str:
        threads = self._names()
        lines = ["{\n"]
        lines += [
            f"const int {each.name} = blockIdx.{axis} * {each.size} + {each.thread};\n"
            for axis, each in zip(_AXES, pairs, strict=True)
        ]
        for statement in self.statements:
            if self._moves_pointer(statement) or self._declares(statement, threads):
                continue
            if statement == self.loop:
                nodes |= {
                    each.id: "" for each in named(field(statement, "body")) if self._moves_pointer(each)
                }
            lines.append(render(statement, threads, nodes) + "\n")
        launch = only_launch(self.source, self.kernel)
        grid, block = dimensions(launch.grid), dimensions(launch.block)
        if len(grid) < 2 or any(each.strip() != "1" for each in grid[2:]):
            raise NotUnderstood("a grid with other axes")
        swapped = ", ".join(grid[_AXES.index(each.axis)] for each in pairs)
        threads_of_block = ", ".join(block)
        if self.side:
            known = constants(_root(launch.statement))
            count = value_of(block[0], {**known, **_numbers(launch.statement)})
            if any(each.strip() != "1" for each in block[1:]) or value_of(self.side, known) ** 2 != count:
                raise NotUnderstood("blocks of another size")
            threads_of_block = f"{self.side}, {self.side}"
        return edited(
            self.source,
            [
                replacing(self.kernel.body, "".join(lines) + "}"),
                replacing(launch.grid, f"dim3({swapped})"),
                replacing(launch.block, f"dim3({threads_of_block})"),
            ],
        )

    def _names(self) -> dict[str, str]:
        """Variables that stand for a thread's or a block's number."""
        found = {}
        for name, value in self.values.items():
            try:
                total = self._sum(value)
            except NotUnderstood:
                continue
            if len(total) == 1:
                ((factors, count),) = total.items()
                if count == 1 and len(factors) == 1 and factors[0].startswith(("threadIdx.", "blockIdx.")):
                    found[name] = factors[0]
        return found

    def _moves_pointer(self, statement: Node) -> bool:
        inner = named(statement)[0] if statement.type == "expression_statement" and named(statement) else None
        target = target_of(inner) if inner is not None else None
        return target is not None and text(target) in {*self.moves, *self.steps}

    def _declares(self, statement: Node, names: Mapping[str, str]) -> bool:
        """Whether it declares nothing but such variables, or what only addresses need."""
        if statement.type != "declaration":
            return False
        declared = [each for each in named(statement) if each.type == "init_declarator"]
        return bool(declared) and all(text(field(each, "declarator")) in names for each in declared)


def _product(factors: Counter[str], count: int, name: str) -> str:
    parts = [name] if name else []
    parts += sorted(factors.elements())
    if count != 1 or not parts:
        parts.append(str(count))
    return " * ".join(parts)


def _course(loop: Node) -> tuple[str, str]:
    """The counter of a loop from zero, and by how much it grows."""
    start, update = field(loop, "initializer"), field(loop, "update")
    declared = [each for each in named(start) if each.type == "init_declarator"]
    if len(declared) != 1 or squeezed(field(declared[0], "value")) != "0":
        raise NotUnderstood("a loop that does not count from zero")
    name = text(field(declared[0], "declarator"))
    if squeezed(update) in (f"++{name}", f"{name}++"):
        return name, "1"
    if (
        update.type == "assignment_expression"
        and operator(update) == "+="
        and text(field(update, "left")) == name
    ):
        return name, squeezed(stripped(field(update, "right")))
    raise NotUnderstood("a loop that does not count")


def _declared(body: Node) -> dict[str, Node]:
    """Variables that keep the value of their declaration."""
    changed = {text(target) for node in walk(body) if (target := target_of(node)) is not None}
    return {
        text(field(node, "declarator")): stripped(field(node, "value"))
        for node in walk(body)
        if node.type == "init_declarator"
        and field(node, "declarator").type == "identifier"
        and text(field(node, "declarator")) not in changed
    }


def _root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


def _numbers(statement: Node) -> dict[str, int]:
    """Plain numbers that the launching function has names for."""
    function = statement
    while function.parent is not None and function.type != "function_definition":
        function = function.parent
    found: dict[str, int] = {}
    for node in walk(function):
        if node.type == "init_declarator" and not identifiers(field(node, "value")):
            try:
                found[text(field(node, "declarator"))] = value_of(text(field(node, "value")), {})
            except NotUnderstood:
                continue
    return found
