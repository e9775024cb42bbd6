"""Reductions over the threads of a block: trees in shared memory, and device functions that hold one."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from evoengineer.propose.syntax.tree import NotUnderstood, field, named, operator, parse, stripped, text, walk

EXTREMES = frozenset({"fmaxf", "fminf", "fmax", "fmin", "max", "min"})
_SHUFFLES = frozenset({"__shfl_xor_sync", "__shfl_down_sync", "__shfl_sync"})
_BARRIERS = frozenset({"__syncthreads", "__syncwarp"})


@dataclass(frozen=True, slots=True)
class Tree:
    """Of all elements of a shared array, whose result is the first one; `how` is "+" or the name of a function."""

    array: str
    how: str


def squeezed(node: Node) -> str:
    """The text without spaces, to compare expressions."""
    return "".join(text(node).split())


def combination(node: Node) -> tuple[str, Node, Node] | None:
    """(target, how, operand) of `a += e`, `a = a + e`, `a = e + a`, `a = f(a, e)` and `a = f(e, a)`."""
    if node.type != "assignment_expression":
        return None
    target, value = field(node, "left"), stripped(field(node, "right"))
    if operator(node) == "+=":
        return "+", target, field(node, "right")
    if operator(node) != "=":
        return None
    if value.type == "binary_expression" and operator(value) == "+":
        how, sides = "+", [field(value, "left"), field(value, "right")]
    elif value.type == "call_expression" and text(field(value, "function")) in EXTREMES:
        how, sides = text(field(value, "function")), named(field(value, "arguments"))
    else:
        return None
    if len(sides) != 2:
        return None
    for mine, other in (sides, sides[::-1]):
        if squeezed(mine) == squeezed(target):
            return how, target, other
    return None


def is_barrier(node: Node) -> bool:
    if node.type != "expression_statement" or not named(node):
        return False
    call = named(node)[0]
    return call.type == "call_expression" and text(field(call, "function")) in _BARRIERS


def tree_of(node: Node, threads: frozenset[str]) -> Tree | None:
    """The reduction that a loop does, as `for (h = …; h > 0; h /= 2) { if (t < h) s[t] += s[t + h]; barrier }`;
    `threads` are the ways to write the number of a thread."""
    if node.type != "for_statement" or not _halves(node):
        return None
    body = field(node, "body")
    inside = named(body) if body.type == "compound_statement" else [body]
    inside = [each for each in inside if not is_barrier(each)]
    if len(inside) != 1 or inside[0].type != "if_statement":
        return None
    counter = _counter(node)
    test = stripped(named(field(inside[0], "condition"))[0])
    if (
        test.type != "binary_expression"
        or operator(test) != "<"
        or squeezed(field(test, "left")) not in threads
        or squeezed(field(test, "right")) != counter
    ):
        return None
    chosen = field(inside[0], "consequence")
    steps = named(chosen) if chosen.type == "compound_statement" else [chosen]
    if len(steps) != 1 or steps[0].type != "expression_statement":
        return None
    found = combination(named(steps[0])[0])
    if found is None or found[1].type != "subscript_expression":
        return None
    how, target, operand = found
    array, thread = text(field(target, "argument")), squeezed(field(target, "indices"))[1:-1]
    expected = {f"{array}[{thread}+{counter}]", f"{array}[{counter}+{thread}]"}
    return Tree(array, how) if thread in threads and squeezed(operand) in expected else None


def _counter(loop: Node) -> str:
    start = field(loop, "initializer")
    declared = [each for each in named(start) if each.type == "init_declarator"]
    return text(field(declared[0], "declarator")) if len(declared) == 1 else ""


def _halves(loop: Node) -> bool:
    """Whether a loop's counter is halved until it is zero."""
    try:
        counter = _counter(loop)
        condition, update = squeezed(field(loop, "condition")), squeezed(field(loop, "update"))
    except NotUnderstood:
        return False
    return (
        bool(counter)
        and condition in (f"{counter}>0", f"{counter}>=1", f"{counter}!=0", counter)
        and update in (f"{counter}/=2", f"{counter}>>=1", f"{counter}={counter}/2", f"{counter}={counter}>>1")
    )


def block_reductions(source: str) -> dict[str, str]:
    """Device functions that reduce their argument over the block, with how they do it."""
    found = {}
    for node in walk(parse(source).root_node):
        if node.type != "function_definition" or not any(
            text(each) == "__device__" for each in node.children
        ):
            continue
        if node.parent is not None and node.parent.type == "template_declaration":
            continue
        try:
            declarator = field(node, "declarator")
            how = _reduces(node, declarator)
        except NotUnderstood:
            continue
        if how is not None:
            found[text(field(declarator, "declarator"))] = how
    return found


def _reduces(node: Node, declarator: Node) -> str | None:
    """How a function reduces its one argument over the block; None if it does anything else."""
    parameters = named(field(declarator, "parameters"))
    kind = text(field(node, "type"))
    if len(parameters) != 1 or text(field(parameters[0], "type")) != kind or kind not in ("float", "double"):
        return None
    if field(parameters[0], "declarator").type != "identifier":
        return None
    value = text(field(parameters[0], "declarator"))
    shared = _shared(field(node, "body"))
    ways: set[str] = set()
    if not shared:
        return None  # a warp's reduction at most
    for each in walk(field(node, "body")):
        if each.type == "call_expression":
            name = text(field(each, "function"))
            if name in EXTREMES:
                ways.add(name)
            elif name not in _SHUFFLES | _BARRIERS:
                return None
        elif each.type == "assignment_expression" and not _in_header(each):
            if not _moves(field(each, "left"), value, shared):
                return None
            combined = combination(each)
            if combined is not None:
                ways.add(combined[0])
            elif operator(each) != "=" or not _selects(field(each, "right"), value, shared):
                return None
        elif each.type == "return_statement":
            if not named(each) or not _selects(named(each)[0], value, shared):
                return None
        elif each.type in ("pointer_expression", "while_statement", "do_statement", "goto_statement"):
            return None
    return ways.pop() if len(ways) == 1 else None


def _shared(body: Node) -> frozenset[str]:
    names = set()
    for each in walk(body):
        if each.type == "array_declarator" and each.parent is not None and "__shared__" in text(each.parent):
            names.add(text(field(each, "declarator")))
    return frozenset(names)


def _in_header(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "for_statement" and field(parent, "body") != node


def _moves(target: Node, value: str, shared: frozenset[str]) -> bool:
    if target.type == "subscript_expression":
        return text(field(target, "argument")) in shared
    return text(target) == value


def _selects(node: Node, value: str, shared: frozenset[str]) -> bool:
    """Whether an expression is the value, an element of the array, or one of them or a constant."""
    node = stripped(node)
    if node.type == "conditional_expression":
        return all(
            _selects(each, value, shared) or stripped(each).type in ("number_literal", "unary_expression")
            for each in (field(node, "consequence"), field(node, "alternative"))
        )
    if node.type == "subscript_expression":
        return text(field(node, "argument")) in shared
    return text(node) == value
