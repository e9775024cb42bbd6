"""Unreducing: blocks that add up what their threads have in shared memory and add that to one place, as if every thread
added its own.

    s[t] = i < n ? x[i] : 0;  __syncthreads();
    for (h = blockDim.x / 2; h > 0; h /= 2) { … }            →     atomicAdd(out, i < n ? x[i] : 0);
    if (t == 0) atomicAdd(out, s[0]);

How the threads' parts come together is then for a rewrite to say, and how many elements a thread has.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from evoengineer.propose.syntax.dependence import statements_of
from evoengineer.propose.syntax.kernels import Kernel, kernels, only_launch
from evoengineer.propose.syntax.reductions import combination, is_barrier, squeezed, tree_of
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    is_call_of,
    named,
    operator,
    render,
    replacing,
    stripped,
    terms,
    text,
    walk,
)


def unreduced(source: str) -> str:
    """The text with every kernel of this form in the other one; others stay as they are."""
    for name in [each.name for each in kernels(source) if "__shared__" in text(each.body)]:
        kernel = next(each for each in kernels(source) if each.name == name)
        try:
            source = edited(source, _edits(source, kernel))
        except NotUnderstood:
            continue
    return source


@dataclass(frozen=True, slots=True)
class _Parts:
    """The statements of such a kernel."""

    array: str
    fill: Node  # `s[t] = value;`
    value: Node
    dropped: tuple[Node, ...]
    last: Node  # `atomicAdd(…);` of one thread


def _edits(source: str, kernel: Kernel) -> list[Edit]:
    launch = only_launch(source, kernel)
    if len(launch.further) > 1:
        raise NotUnderstood("a stream of its own")
    parts = _parts(kernel)
    call = next(node for node in walk(parts.last) if is_call_of(node, "atomicAdd"))
    place, sum_ = named(field(call, "arguments"))
    first = next((node for node in walk(sum_) if squeezed(node) == f"{parts.array}[0]"), None)
    if first is None or not _is_linear(sum_, first) or parts.array in identifiers(place):
        raise NotUnderstood("what is added to memory")
    added = render(sum_, {}, {first.id: f"({text(parts.value)})"})
    edits = [replacing(parts.fill, f"atomicAdd({text(place)}, {added});")]
    edits += [replacing(each, "") for each in (*parts.dropped, parts.last)]
    for each in launch.further:
        edits.append(Edit(launch.block.end_byte, each.end_byte, ""))
    return edits


def _is_linear(node: Node, inside: Node) -> bool:
    """Whether an expression is a sum's multiple: what holds for the parts holds for the whole."""
    node = stripped(node)
    if node.id == inside.id:
        return True
    if node.type != "binary_expression" or operator(node) not in ("*", "/"):
        return False
    left, right = field(node, "left"), field(node, "right")
    holds = [any(each.id == inside.id for each in walk(side)) for side in (left, right)]
    if holds == [True, False]:
        return _is_linear(left, inside)
    return holds == [False, True] and operator(node) == "*" and _is_linear(right, inside)


def _parts(kernel: Kernel) -> _Parts:
    threads, array = {"threadIdx.x"}, ""
    fill: Node | None = None
    value: Node | None = None
    dropped: list[Node] = []
    last: Node | None = None
    has_tree = False
    for statement in named(kernel.body):
        if last is not None:
            raise NotUnderstood("a kernel that goes on after its sum")
        if statement.type == "declaration" and any(text(each) == "__shared__" for each in statement.children):
            names = [
                text(field(each, "declarator")) for each in walk(statement) if each.type == "array_declarator"
            ]
            if array or len(names) != 1 or text(field(statement, "type")) != "float":
                raise NotUnderstood("shared memory of another kind")
            array = names[0]
            dropped.append(statement)
            continue
        if statement.type == "declaration":
            threads |= _named_threads(statement, threads)
        found = _filled(statement, array, threads) if fill is None else None
        if found is not None:
            fill, value = statement, found
        elif is_barrier(statement):
            dropped.append(statement)
        elif fill is not None and not has_tree and _adds_all(statement, array, threads):
            has_tree = True
            dropped.append(statement)
        elif has_tree and _is_of_one(statement, threads):
            last = statement
        elif fill is not None or array in identifiers(statement) or "return_statement" in _types(statement):
            raise NotUnderstood("a kernel that does more than add up")
    if fill is None or value is None or last is None:
        raise NotUnderstood("no sum of a block")
    return _Parts(array, fill, value, tuple(dropped), last)


def _types(node: Node) -> set[str]:
    return {each.type for each in walk(node)}


def _named_threads(statement: Node, threads: set[str]) -> set[str]:
    return {
        text(field(each, "declarator"))
        for each in named(statement)
        if each.type == "init_declarator" and squeezed(stripped(field(each, "value"))) in threads
    }


def _filled(statement: Node, array: str, threads: set[str]) -> Node | None:
    """The value of `array[thread] = value;`."""
    node = named(statement)[0] if statement.type == "expression_statement" and named(statement) else statement
    if node.type != "assignment_expression" or operator(node) != "=" or not array:
        return None
    if squeezed(field(node, "left")) not in {f"{array}[{thread}]" for thread in threads}:
        return None
    return field(node, "right")


def _is_of_one(statement: Node, threads: set[str]) -> bool:
    """`if (thread == 0) atomicAdd(…);`"""
    if statement.type != "if_statement" or statement.child_by_field_name("alternative") is not None:
        return False
    test = squeezed(stripped(named(field(statement, "condition"))[0]))
    inside = statements_of(field(statement, "consequence"))
    return (
        any(test in (f"{thread}==0", f"0=={thread}", f"!{thread}") for thread in threads)
        and len(inside) == 1
        and inside[0].type == "expression_statement"
        and is_call_of(named(inside[0])[0], "atomicAdd")
    )


def _adds_all(node: Node, array: str, threads: set[str]) -> bool:
    """A tree that leaves the sum of all elements in the first, by halves or by doubled distances."""
    tree = tree_of(node, frozenset(threads))
    if tree is not None:
        return tree.array == array and tree.how == "+"
    if node.type != "for_statement":
        return False
    start, test, update = (node.child_by_field_name(part) for part in ("initializer", "condition", "update"))
    if start is None or test is None or update is None or start.type != "declaration":
        return False
    declared = [each for each in named(start) if each.type == "init_declarator"]
    if len(declared) != 1 or squeezed(field(declared[0], "value")) != "1":
        return False
    step = text(field(declared[0], "declarator"))
    if squeezed(test) != f"{step}<blockDim.x" or squeezed(update) not in (
        f"{step}*=2", f"{step}<<=1", f"{step}={step}*2", f"{step}+={step}",
    ):  # fmt: skip
        return False
    inside = [each for each in statements_of(field(node, "body")) if not is_barrier(each)]
    at = threads
    if len(inside) == 2 and inside[0].type == "declaration":  # `int index = 2 * step * thread;`
        (first, *more) = [each for each in named(inside[0]) if each.type == "init_declarator"] or [inside[0]]
        factors = sorted(squeezed(each) for each in terms(field(first, "value"), "*")) if not more else []
        if not any(factors == sorted(["2", step, thread]) for thread in threads):
            return False
        index = text(field(first, "declarator"))
        tests = {f"{index}<blockDim.x"}
        at, inside = {index}, inside[1:]
    else:
        tests = {f"{thread}%({written})==0" for thread in threads for written in (f"2*{step}", f"{step}*2")}
    if len(inside) != 1 or inside[0].type != "if_statement":
        return False
    conditions = {squeezed(each) for each in terms(named(field(inside[0], "condition"))[0], "&&")}
    reach = {f"{place}+{step}<blockDim.x" for place in at}
    steps = statements_of(field(inside[0], "consequence"))
    found = combination(named(steps[0])[0]) if len(steps) == 1 and named(steps[0]) else None
    if found is None or found[0] != "+" or not conditions & tests or conditions - tests - reach:
        return False
    return any(
        squeezed(found[1]) == f"{array}[{place}]" and squeezed(found[2]) == f"{array}[{place}+{step}]"
        for place in at
    )
