"""Spreading: a loop whose iterations store outputs of their own as a dimension of the outputs.

    for (int c = 0; c < channels; ++c) y[(c * height + i) * width + j] = x[c] * …;      one thread for all channels
 →  y[(c * height + i) * width + j] = x[c] * …;                                       a further dimension c

Threads then share the channels out as they do the rest. What comes before the loop is computed for every output, so it
must have no loop of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tree_sitter import Node

from evoengineer.propose.syntax.dependence import is_load, is_target, statements_of, target_of
from evoengineer.propose.syntax.nest import Dim, Nest
from evoengineer.propose.syntax.reductions import squeezed
from evoengineer.propose.syntax.tree import field, identifiers, named, operator, stripped, text, walk

_LOOPS = ("for_statement", "while_statement", "do_statement")
_LEAVING = ("continue_statement", "break_statement", "return_statement")


def spread(nest: Nest) -> Nest:
    """The nest with a dimension for each such loop, the innermost first; as it is where there is none."""
    while True:
        further = _spread(nest)
        if further is None:
            return nest
        nest = further


def _spread(nest: Nest) -> Nest | None:
    statements = [each for each in nest.body if each.type not in ("preproc_call", "comment")]
    if not statements or statements[-1].type != "for_statement":
        return None
    *before, loop = statements
    if any(node.type in _LOOPS or is_target(node) for each in before for node in walk(each)):
        return None
    start, test, update = (loop.child_by_field_name(part) for part in ("initializer", "condition", "update"))
    if start is None or test is None or update is None or start.type != "declaration":
        return None
    declared = [each for each in named(start) if each.type == "init_declarator"]
    if len(declared) != 1 or squeezed(field(declared[0], "value")) != "0":
        return None
    name, kind = text(field(declared[0], "declarator")), text(field(start, "type"))
    counts = update.type == "update_expression" and operator(update) == "++"
    if not counts or test.type != "binary_expression" or operator(test) != "<":
        return None
    bound, body = field(test, "right"), field(loop, "body")
    taken = {dim.name for dim in nest.dims} | {each.name for each in nest.linears}
    if text(stripped(field(test, "left"))) != name or name in taken or kind == "auto":
        return None
    parameters = {each.name for each in nest.kernel.parameters if not each.is_pointer}
    if not _is_known(bound, parameters) or not _stores_apart(body, name, before):
        return None
    dim = Dim(name, kind, text(bound))
    return replace(nest, dims=(*nest.dims, dim), body=(*before, *statements_of(body)))


def _is_known(bound: Node, parameters: set[str]) -> bool:
    """Whether the number of iterations is known before the kernel runs: by parameters and constants."""
    return all(name in parameters or name.isupper() for name in identifiers(bound)) and not any(
        is_load(node) or node.type == "call_expression" for node in walk(bound)
    )


def _stores_apart(body: Node, counter: str, before: list[Node]) -> bool:
    """Whether iterations share nothing: each stores where its counter says, and changes no variable of another one."""
    own = {counter} | set(_declared(body))
    outside = {name for each in before for name in _declared(each)}
    stores = 0
    for node in walk(body):
        if node.type in _LEAVING and not _is_in_loop(node, body):
            return False
        if node.type == "call_expression" and "atomic" in text(node)[:7]:
            return False
        target = target_of(node)
        if target is None:
            continue
        if target.type == "identifier":
            if text(target) not in own or text(target) in outside:
                return False
        elif target.type != "subscript_expression" or not _is_own_place(target, counter, body):
            return False
        else:
            stores += 1
    return stores > 0


def _declared(node: Node) -> Iterator[str]:
    for each in walk(node):
        if each.type in ("init_declarator", "declaration"):
            inner = each.child_by_field_name("declarator")
            if inner is not None:
                yield next((text(part) for part in walk(inner) if part.type == "identifier"), "")


def _is_own_place(target: Node, counter: str, body: Node) -> bool:
    """Whether a place moves with the counter: by sums and products of it, also through variables of the loop."""
    values: dict[str, list[Node]] = {}
    for node in walk(body):
        if node.type == "init_declarator":
            name = next(
                (text(part) for part in walk(field(node, "declarator")) if part.type == "identifier"), ""
            )
            values.setdefault(name, []).append(field(node, "value"))
    sources, found, new = [field(target, "indices")], set[str](), {text(field(target, "argument"))}
    new |= identifiers(sources[0])
    while new:
        found |= new
        further = [value for name in new for value in values.get(name, [])]
        sources += further
        new = set().union(*(identifiers(each) for each in further)) - found
    plain = not any(
        is_load(node)
        or node.type in ("call_expression", "conditional_expression")
        or (node.type == "binary_expression" and operator(node) not in ("+", "-", "*"))
        for each in sources
        for node in walk(each)
    )
    return plain and counter in found


def _is_in_loop(node: Node, body: Node) -> bool:
    around = node.parent
    while around is not None and around.id != body.id:
        if around.type in _LOOPS and node.type != "return_statement":
            return True
        around = around.parent
    return False
