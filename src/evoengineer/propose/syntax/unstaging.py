"""Unstaging: a sum whose operands pass through tiles in shared memory, as if every thread loaded them itself.

    for (t = 0; t < (n + 15) / 16; ++t) {                       for (p = 0; p < n; ++p)
        As[ty][tx] = … ? a[row * n + t * 16 + tx] : 0;     →        sum += a[row * n + p] * b[p * n + col];
        Bs[ty][tx] = … ? b[(t * 16 + ty) * n + col] : 0;
        __syncthreads();
        for (k = 0; k < 16; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }

Many published products are written like that, with one size of tile. Without it they are nests like any other, to be
tiled for the sizes that count. An element of a tile is what the thread at its place has put there, so a read stands for
that thread's load; then the two loops are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from evoengineer.propose.syntax.advancing import counted_places
from evoengineer.propose.syntax.dependence import statements_of, target_of
from evoengineer.propose.syntax.kernels import Kernel, fresh_name, kernels
from evoengineer.propose.syntax.reductions import is_barrier, squeezed
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    edited,
    expression,
    field,
    identifiers,
    named,
    operator,
    parse,
    render,
    replacing,
    stripped,
    terms,
    text,
    walk,
)

_ZEROS = {"0", "0.", "0.0", "0.f", "0.0f", "0.F", "0.0F"}
_THREADS = {"threadIdx.x", "threadIdx.y"}


def unstaged(source: str) -> str:
    """The text with every kernel that stages the operands of one sum in the other form; others stay as they are."""
    for name in [each.name for each in kernels(source) if "__shared__" in text(each.body)]:
        for prepared in (_as_it_is, counted_places):
            try:
                changed = prepared(source, _named(source, name))
                kernel = _named(changed, name)
                source = edited(changed, [replacing(kernel.body, _Unstaging(changed, kernel).body())])
                break
            except NotUnderstood:
                continue
    return source


def _as_it_is(source: str, kernel: Kernel) -> str:
    return source


def _named(source: str, name: str) -> Kernel:
    return next(each for each in kernels(source) if each.name == name)


@dataclass(frozen=True, slots=True)
class _Fill:
    """What the thread at `places` puts into a tile: the load, where all conditions hold, and zero elsewhere."""

    places: tuple[str, ...]  # the thread's coordinate along each dimension of the tile
    conditions: tuple[Node, ...]
    load: Node


@dataclass(frozen=True, slots=True)
class _Loop:
    """`for (name = 0; name < bound; name += step)`."""

    node: Node
    name: str
    type: str
    bound: Node
    step: str


class _Unstaging:
    def __init__(self, source: str, kernel: Kernel) -> None:
        self.kernel = kernel
        self.counter = fresh_name(source, "place_in_sum")
        self.statements = named(kernel.body)
        self.values = dict(_constants(kernel.body))
        self.tiles = {name for each in self.statements for name in _tiles(each)}
        self.outer = self._outer()
        self.guards = self._guards()
        self.fills: dict[str, _Fill] = {}
        self.inner: Node | None = None
        inner = next((each for each in self._steps() if each.type == "for_statement"), None)
        self.side = "" if inner is None else squeezed(_loop(inner).bound)
        self._read_steps()

    def body(self) -> str:
        """The kernel's body without tiles."""
        inner = self.inner
        if inner is None or set(self.fills) != self.tiles:
            raise NotUnderstood("tiles that are not filled and read in turn")
        outer, count = self.outer, _loop(inner)
        whole = self._length(outer, squeezed(count.bound))
        forms = _Forms(
            {
                _product(outer.name, squeezed(count.bound), step=outer.step): (count.name, self.counter),
                **{
                    f"blockIdx.{axis}*{size}": (f"threadIdx.{axis}", name)
                    for name, axis, size in self._indices()
                },
            },
            self.resolved,
        )
        added, ended = self._added(field(inner, "body"), forms, whole)
        length = _rounded(whole)
        if _is_rounded_up(whole) and not ended:
            if any(each.conditions for each in self.fills.values()):
                raise NotUnderstood("the last tile of the sum is not filled up with zeros")
            length = (
                f"({whole[0]} + {whole[1]} - 1) / {whole[1]} * {whole[1]}"  # whatever lies there counts, too
            )
        lines = ["{\n"]
        for statement in self.statements:
            if statement == self.outer.node:
                if self.guards:
                    lines.append(f"if (!({' && '.join(self.guards)})) return;\n")
                lines += [f"{text(each)}\n" for each in self._sums()]
                head = f"{outer.type} {self.counter} = 0; {self.counter} < {length}; ++{self.counter}"
                lines.append(f"for ({head}) {added}\n")
            elif self.guards and statement == self.last:
                lines += [f"{text(each)}\n" for each in statements_of(field(statement, "consequence"))]
            elif not any(_tiles(statement)) and statement not in self._sums():
                lines.append(f"{text(statement)}\n")
        written = "".join(lines) + "}"
        local = {outer.name, count.name, *dict(_constants(field(outer.node, "body")))}
        if (local | self.tiles) & identifiers(parse(f"void body() {written}").root_node):
            raise NotUnderstood("a loop over tiles that knows its tile")
        return written

    # -- reading ------------------------------------------------------------------------------------------

    def _outer(self) -> _Loop:
        loops = [each for each in self.statements if each.type == "for_statement"]
        if len(loops) != 1 or not self.tiles:
            raise NotUnderstood("not one loop over tiles")
        return _loop(loops[0])

    def _guards(self) -> list[str]:
        """What holds for the outputs that are stored; nothing where all threads store one."""
        self.last = self.statements[-1]
        if self.last.type == "expression_statement":
            return []
        if self.last.type != "if_statement" or self.last.child_by_field_name("alternative") is not None:
            raise NotUnderstood("outputs without a bound")
        return [text(each) for each in terms(stripped(named(field(self.last, "condition"))[0]), "&&")]

    def _sums(self) -> list[Node]:
        """Declarations of what the loop changes."""
        changed = {text(target) for node in walk(self.outer.node) if (target := target_of(node)) is not None}
        return [
            each
            for each in self.statements
            if each.type == "declaration"
            and any(
                text(field(one, "declarator")) in changed
                for one in named(each)
                if one.type == "init_declarator"
            )
        ]

    def _steps(self) -> list[Node]:
        return statements_of(field(self.outer.node, "body"))

    def _read_steps(self) -> None:
        for statement in self._steps():
            if is_barrier(statement) or statement.type in ("preproc_call", "declaration"):
                continue
            if statement.type == "for_statement" and self.inner is None:
                self.inner = statement
            elif statement.type in ("if_statement", "expression_statement") and self.inner is None:
                self._fill(statement, ())
            else:
                raise NotUnderstood("a step over tiles that does more")

    def _fill(self, statement: Node, conditions: tuple[Node, ...]) -> None:
        if statement.type == "if_statement":
            condition = stripped(named(field(statement, "condition"))[0])
            chosen = [*conditions, *terms(condition, "&&")]
            for each in statements_of(field(statement, "consequence")):
                self._fill(each, tuple(chosen))
            other = statement.child_by_field_name("alternative")
            if other is None:
                raise NotUnderstood("tiles that are not filled everywhere")
            for each in statements_of(named(other)[0]):
                self._fill_with_zero(each)
            return
        change = named(statement)[0] if named(statement) else statement
        tile, places = self._element(change)
        value = stripped(field(change, "right"))
        if value.type == "conditional_expression":
            if squeezed(stripped(field(value, "alternative"))) not in _ZEROS:
                raise NotUnderstood("tiles that are filled up with something else than zero")
            conditions = (*conditions, *terms(stripped(field(value, "condition")), "&&"))
            value = stripped(field(value, "consequence"))
        if tile in self.fills or value.type != "subscript_expression":
            raise NotUnderstood("a tile that is filled otherwise than by one load")
        self.fills[tile] = _Fill(places, conditions, value)

    def _fill_with_zero(self, statement: Node) -> None:
        change = named(statement)[0] if named(statement) else statement
        tile, places = self._element(change)
        filled = self.fills.get(tile)
        if (
            filled is None
            or filled.places != places
            or squeezed(stripped(field(change, "right"))) not in _ZEROS
        ):
            raise NotUnderstood("tiles that are filled up with something else than zero")

    def _element(self, change: Node) -> tuple[str, tuple[str, ...]]:
        """The tile that an assignment goes to, and the thread's coordinates as its indices."""
        if change.type != "assignment_expression" or operator(change) != "=":
            raise NotUnderstood("a step over tiles that does more")
        tile, indices = self._subscripts(field(change, "left"))
        places = tuple(self.resolved(each) for each in indices)
        if tile not in self.tiles or len(set(places)) != len(places) or not set(places) <= _THREADS:
            raise NotUnderstood("a tile that threads do not fill each at its place")
        return tile, places

    def _subscripts(self, node: Node) -> tuple[str, list[Node]]:
        """The tile and two indices, also where `tile[y * 16 + x]` is written for `tile[y][x]`."""
        tile, indices = _subscripts(node)
        parts = terms(indices[0], "+") if len(indices) == 1 else []
        for one, other in (parts, parts[::-1]) if len(parts) == 2 else ():
            factors = terms(one, "*")
            for line, side in (factors, factors[::-1]) if len(factors) == 2 else ():
                if squeezed(side) == self.side:
                    return tile, [line, other]
        return tile, indices

    def _indices(self) -> Iterator[tuple[str, str, str]]:
        """Names of `blockIdx.a * size + threadIdx.a`, with a and the size."""
        for name, value in self.values.items():
            parts = [self.resolved(each) for each in terms(value, "+")]
            for axis in "xy":
                blocks = [each for each in parts if each.startswith(f"blockIdx.{axis}*")]
                if len(parts) == 2 and f"threadIdx.{axis}" in parts and blocks:
                    yield name, axis, blocks[0].partition("*")[2]

    def resolved(self, node: Node) -> str:
        """A term by its factors in order, with other names of threads and blocks written out."""
        factors = []
        for each in terms(node, "*"):
            value = each
            while value.type == "identifier" and text(value) in self.values:
                other = stripped(self.values[text(value)])
                if other.type not in ("identifier", "field_expression"):
                    break
                value = other
            factors.append(squeezed(value))
        return "*".join(sorted(factors, key=lambda each: (not each.startswith("blockIdx"), each)))

    # -- writing ------------------------------------------------------------------------------------------

    def _length(self, outer: _Loop, size: str) -> tuple[str, str]:
        """The sum's length and the tiles' size, where the length is to be rounded (`n/16` down, else up)."""
        if outer.step == size:
            return text(outer.bound), size
        bound = stripped(self.values.get(text(outer.bound), outer.bound))
        if outer.step != "1" or bound.type != "binary_expression" or operator(bound) != "/":
            raise NotUnderstood("a loop over an unknown number of tiles")
        if squeezed(stripped(field(bound, "right"))) != size:
            raise NotUnderstood("tiles of two sizes")
        above = stripped(field(bound, "left"))
        written = squeezed(above)
        for added in (f"+{size}-1", f"+({size}-1)", f"+({size})-1"):
            if written.endswith(added):
                return written[: -len(added)], size
        if size.isdigit() and written.endswith(f"+{int(size) - 1}"):
            return written[: -len(f"+{int(size) - 1}")], size
        return written, f"-{size}"

    def _added(self, body: Node, forms: _Forms, whole: tuple[str, str]) -> tuple[str, bool]:
        """The inner loop's body with loads in place of tiles, and whether the sum's end makes some factor zero."""
        nodes: dict[int, str] = {}
        ended: set[str] = set()
        for node in walk(body):
            if node.type != "subscript_expression" or (
                node.parent is not None and node.parent.type == "subscript_expression"
            ):
                continue
            tile, indices = self._subscripts(node)
            if tile not in self.tiles:
                continue
            fill = self.fills[tile]
            if len(indices) != len(fill.places):
                raise NotUnderstood("a part of a tile")
            at = dict(zip(fill.places, indices, strict=True))
            load = forms.written(expression(self._moved(fill.load, at)))
            conditions = []
            for condition in fill.conditions:
                test = forms.written(expression(self._moved(condition, at)))
                if "".join(test.split()) == f"{self.counter}<{''.join(whole[0].split())}":
                    ended.add(tile)
                elif "".join(test.split()) not in {"".join(each.split()) for each in self.guards}:
                    conditions.append(test)
            nodes[node.id] = f"({' && '.join(conditions)} ? {load} : 0.0f)" if conditions else load
        if not nodes:
            raise NotUnderstood("tiles that nobody reads")
        return render(body, {}, nodes), bool(ended) and _adds_product_of(body, ended)

    def _moved(self, node: Node, at: Mapping[str, Node]) -> str:
        """An expression of the thread that fills, for the element at these places."""
        names: dict[str, str] = {}
        for name in identifiers(node):
            depends = self._coordinates(name)
            if any(self.resolved(at[each]) != each for each in depends):
                names[name] = f"({self._moved(self.values[name], at)})" if name in self.values else name
        fields = {
            each.id: f"({text(at[text(each)])})"
            for each in walk(node)
            if each.type == "field_expression" and text(each) in at
        }
        return render(node, names, fields)

    def _coordinates(self, name: str) -> set[str]:
        """Coordinates of the thread that a constant depends on."""
        value = self.values.get(name)
        if value is None:
            return set()
        found = {text(each) for each in walk(value) if text(each) in _THREADS}
        return found.union(*(self._coordinates(each) for each in identifiers(value) - {name}))


@dataclass(frozen=True)
class _Forms:
    """Writes pairs of terms of a sum as one name: `t * 16 + k` as the place in the sum."""

    pairs: Mapping[str, tuple[str, str]]  # one term, with the other one and the name
    resolved: Callable[[Node], str]

    def written(self, node: Node) -> str:
        if node.type == "parenthesized_expression":
            inner = self.written(named(node)[0])
            return inner if inner.isidentifier() else f"({inner})"
        if node.type == "binary_expression" and operator(node) == "+":
            parts = terms(node, "+")
            keys = [self.resolved(each) for each in parts]
            for one, (other, name) in self.pairs.items():
                if one in keys and other in keys:
                    for key in (one, other):
                        place = keys.index(key)
                        del keys[place], parts[place]
                    keys.append("")
                    parts.append(expression(name))
            return " + ".join(self.written(each) for each in parts)
        if not node.children:
            return text(node)
        return render(node, {}, {each.id: self.written(each) for each in named(node)})


def _adds_product_of(body: Node, ended: set[str]) -> bool:
    """Whether all that the body does is to add products with a factor from one of these tiles."""
    statements = statements_of(body)
    if len(statements) != 1 or statements[0].type != "expression_statement":
        return False
    change = named(statements[0])[0]
    if change.type != "assignment_expression":
        return False
    right = stripped(field(change, "right"))
    factors: list[Node] = []
    if operator(change) == "+=":
        factors = terms(right, "*")
    elif right.type == "call_expression" and text(field(right, "function")) in ("fmaf", "__fmaf_rn", "fma"):
        arguments = named(field(right, "arguments"))
        factors = arguments[:2] if squeezed(arguments[2]) == squeezed(field(change, "left")) else []
    return any(each.type == "subscript_expression" and _subscripts(each)[0] in ended for each in factors)


def _constants(body: Node) -> Iterator[tuple[str, Node]]:
    """Variables that keep the value of their declaration."""
    changed = {text(target) for node in walk(body) if (target := target_of(node)) is not None}
    for node in walk(body):
        if node.type == "init_declarator" and field(node, "declarator").type == "identifier":
            name = text(field(node, "declarator"))
            if name not in changed:
                yield name, stripped(field(node, "value"))


def _tiles(statement: Node) -> Iterator[str]:
    """Arrays in shared memory that a declaration makes."""
    if statement.type == "declaration" and any(text(each) == "__shared__" for each in statement.children):
        for each in walk(statement):
            if each.type == "array_declarator" and field(each, "declarator").type == "identifier":
                yield text(field(each, "declarator"))


def _subscripts(node: Node) -> tuple[str, list[Node]]:
    """The array of `a[i][j]` and its indices."""
    indices: list[Node] = []
    while node.type == "subscript_expression":
        indices[:0] = [stripped(each) for each in named(field(node, "indices"))]
        node = field(node, "argument")
    return text(node), indices


def _loop(node: Node) -> _Loop:
    start, test, update = (field(node, name) for name in ("initializer", "condition", "update"))
    declared = [each for each in named(start) if each.type == "init_declarator"]
    if len(declared) != 1 or test.type != "binary_expression" or operator(test) != "<":
        raise NotUnderstood("a loop that does not count")
    name, value = text(field(declared[0], "declarator")), squeezed(field(declared[0], "value"))
    step = "1" if squeezed(update) in (f"++{name}", f"{name}++") else ""
    if update.type == "assignment_expression" and operator(update) == "+=":
        step = squeezed(stripped(field(update, "right")))
    if value != "0" or not step or text(field(test, "left")) != name:
        raise NotUnderstood("a loop that does not count from zero")
    return _Loop(node, name, text(field(start, "type")), stripped(field(test, "right")), step)


def _product(counter: str, size: str, *, step: str) -> str:
    """How the tile's first place in the sum is written."""
    return counter if step == size else "*".join(sorted((counter, size)))


def _is_rounded_up(whole: tuple[str, str]) -> bool:
    return not whole[1].startswith("-")


def _rounded(whole: tuple[str, str]) -> str:
    """The length of the sum; what is missing in the last tile was not computed, or counted as zero."""
    length, size = whole
    return f"({length})" if _is_rounded_up(whole) else f"({length}) / {size[1:]} * {size[1:]}"
