"""Sum and sum of squared differences in one pass over a row.

    for (…) sum += x[i];                             for (…) { d = x[i] - c; sum += d; squares += d * d; }
    mean = block_sum(sum) / n;                →      mean = (block_sum(sum) + n * c) / n;
    for (…) squares += (x[i] - mean)²;               squares = Σd² - (mean - c) * (2 * Σd - n * (mean - c))

The second line is an identity, whatever the mean is. `c` is the mean of a few elements of the row: with a number among
the values hardly any digits are lost that the two passes would have kept, which plain squares would lose. A single
element may be far from all others, and then it would lose them, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tree_sitter import Node

from evoengineer.propose.syntax.dependence import statements_of, target_of
from evoengineer.propose.syntax.reductions import combination, squeezed
from evoengineer.propose.syntax.rows import Item, Plain, Rows, Stride, Walk, Whole, Written
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    field,
    named,
    operator,
    render,
    stripped,
    text,
    walk,
)

_SAMPLES = 8


def in_one_pass(rows: Rows) -> Rows:
    """The rows with their first two passes fused; `NotUnderstood` where they are not of this form."""
    walks = [item for item in rows.items if isinstance(item, Walk)]
    if len(walks) < 2:
        raise NotUnderstood("one pass is all there is")
    first, second = _Pass(walks[0]), _Pass(walks[1])
    centre, value = _squared_difference(second.term)
    if first.header != second.header or _plain_text(first.term) != _plain_text(value):
        raise NotUnderstood("the passes are over different values")
    if text(centre) in second.local or centre.type != "identifier":
        raise NotUnderstood("the centre is not known to all threads")
    wholes = {item.value: item for item in rows.items if isinstance(item, Whole)}
    if first.name not in wholes or second.name not in wholes or first.name == second.name:
        raise NotUnderstood("a sum that is not reduced")
    _require_kept(rows, walks[1], wholes[second.name], text(centre))
    return replace(rows, items=tuple(_items(rows, first, second, wholes, text(centre))))


def _items(rows: Rows, first: _Pass, second: _Pass, wholes: Mapping[str, Whole], mean: str) -> list[Item]:
    summed, squared = wholes[first.name], wholes[second.name]
    kind = summed.type
    found: list[Item] = []
    for item in rows.items:
        if item is first.walk:
            inside = (
                f"{{ const {kind} apart_of_row = ({_plain_text(first.term)}) - centre_of_row; "
                f"{first.name} += apart_of_row; squares_of_row += apart_of_row * apart_of_row; }}"
            )
            found.append(
                Written(
                    f"{kind} centre_of_row = 0;\n"
                    f"    for (int sample = 0; sample < {_SAMPLES} && {first.bound} > 0; ++sample) "
                    f"centre_of_row += static_cast<{kind}>({first.at_sample}) * ({kind}(1) / {_SAMPLES});\n"
                    f"    {kind} squares_of_row = 0;"
                )
            )
            sums = {**first.walk.sums, "squares_of_row": "+"}
            found.append(replace(first.walk, sums=sums, nodes={first.statement.id: inside}))
        elif item is summed:
            found += [
                replace(summed, name="apart_of_all"),
                Whole("squares_of_all", kind, "+", "squares_of_row"),
                Written(f"const {kind} {summed.name} = apart_of_all + ({first.count}) * centre_of_row;"),
            ]
        elif item is squared:
            away = f"({mean} - centre_of_row)"
            found.append(
                Written(
                    f"const {kind} {squared.name} = fmaxf(squares_of_all - {away} * "
                    f"(2 * apart_of_all - ({first.count}) * {away}), 0.0f);"
                )
            )
        elif item is not second.walk:
            found.append(item)
    return found


class _Pass:
    """A walk that does nothing but add up one term."""

    def __init__(self, item: Walk) -> None:
        if len(item.strides) != 1 or len(item.sums) != 1 or set(item.sums.values()) != {"+"}:
            raise NotUnderstood("a pass that does more than add up")
        self.walk = item
        ((self.name, _),) = item.sums.items()
        self.local: dict[str, Node] = {}
        self.headers: list[str] = []
        self.starts: dict[str, str] = {}
        self.counts: list[str] = []
        self._descend(item.node, item.strides[0])

    def _descend(self, loop: Node, stride: Stride) -> None:
        if loop == stride.loop:
            self.bound = f"({text(stride.bound)})"
            self.starts[stride.name] = (
                f"static_cast<{stride.type}>(static_cast<int64_t>{self.bound} * sample / {_SAMPLES})"
            )
            self.headers.append(f"{stride.type} {stride.name} {squeezed(stride.bound)}")
            self.counts.append(f"static_cast<float>({text(stride.bound)})")
        else:
            self._outer(loop)
        *before, last = [each for each in statements_of(field(loop, "body")) if each.type != "comment"]
        for each in before:
            self._declare(each)
        if loop != stride.loop:
            if last.type != "for_statement":
                raise NotUnderstood("a loop that does more than walk")
            self._descend(last, stride)
            return
        found = combination(named(last)[0]) if last.type == "expression_statement" else None
        if found is None or found[0] != "+" or text(found[1]) != self.name:
            raise NotUnderstood("a pass that does more than add up")
        self.statement = last
        self.term = _inlined(found[2], self.local)
        self.header = " ".join(self.headers)
        self.count = " * ".join(self.counts)
        self.at_sample = _replaced(self.term, self.starts)

    def _outer(self, loop: Node) -> None:
        declared = [each for each in named(field(loop, "initializer")) if each.type == "init_declarator"]
        condition, update = stripped(field(loop, "condition")), squeezed(field(loop, "update"))
        name = text(field(declared[0], "declarator")) if len(declared) == 1 else ""
        if (
            not name
            or squeezed(field(declared[0], "value")) != "0"
            or condition.type != "binary_expression"
            or operator(condition) != "<"
            or squeezed(field(condition, "left")) != name
            or update not in (f"++{name}", f"{name}++", f"{name}+=1")
        ):
            raise NotUnderstood("an outer loop that does not count")
        bound = field(condition, "right")
        self.starts[name] = "0"
        self.headers.append(f"{name} {squeezed(bound)}")
        self.counts.append(f"static_cast<float>({text(bound)})")

    def _declare(self, node: Node) -> None:
        if node.type != "declaration":
            raise NotUnderstood("a pass that does more than add up")
        for each in named(node):
            if each.type == "init_declarator":
                name = next(text(n) for n in walk(field(each, "declarator")) if n.type == "identifier")
                self.local[name] = field(each, "value")


Term = tuple[Node, Mapping[str, Node]]


def _inlined(node: Node, local: Mapping[str, Node]) -> Term:
    return node, dict(local)


def _plain_text(term: Term) -> str:
    return _replaced(term, {})


def _replaced(term: Term, names: Mapping[str, str]) -> str:
    """An expression with local names written out and others replaced."""
    node, local = term
    if text(node) in local and node.type == "identifier":
        node = local[text(node)]
    inner: dict[str, str] = dict(names)
    for name, value in local.items():
        inner[name] = f"({render(value, inner)})"
    return "".join(render(node, inner).split("\n")).strip()


def _squared_difference(term: Term) -> tuple[Node, Term]:
    """Centre and value of `(value - centre) * (value - centre)`."""
    node, local = stripped(term[0]), term[1]
    if node.type != "binary_expression" or operator(node) != "*":
        raise NotUnderstood("no square")
    left, right = stripped(field(node, "left")), stripped(field(node, "right"))
    if squeezed(left) != squeezed(right):
        raise NotUnderstood("no square")
    if left.type == "identifier" and text(left) in local:
        left = stripped(local[text(left)])
    if left.type != "binary_expression" or operator(left) != "-":
        raise NotUnderstood("no difference")
    return stripped(field(left, "right")), (field(left, "left"), local)


def _require_kept(rows: Rows, after: Walk, until: Whole, name: str) -> None:
    """The centre must not change between the second pass and its result."""
    items = list(rows.items)
    for item in items[items.index(after) : items.index(until)]:
        if isinstance(item, Plain) and any(
            (target := target_of(node)) is not None and text(target) == name for node in walk(item.node)
        ):
            raise NotUnderstood("the centre changes")
