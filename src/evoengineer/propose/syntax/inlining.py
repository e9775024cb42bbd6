"""Inlining: what a kernel does by functions of its own text, written where it is done.

Only functions that are given pointers, or structures that hold some: others are pure, and the model can do with their
names. A function is written out where its body is a sequence of statements with at most one `return`, at the end, and
where it is called in a declaration or an expression statement. Its variables get names that the text does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from evoengineer.propose.syntax.dependence import target_of
from evoengineer.propose.syntax.kernels import Parameter, fresh_name, kernels, parameters_of
from evoengineer.propose.syntax.structures import structures
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    named,
    parse,
    render,
    text,
    walk,
)

_MOST = 24  # calls
_SIMPLE = re.compile(r"[\w.]+")
_SHARING = re.compile(r"__shared__|__sync|__shfl|atomic|asm\b|\bstatic\b|goto|threadIdx|blockIdx")


@dataclass(frozen=True, slots=True)
class _Function:
    name: str
    parameters: tuple[Parameter, ...]
    type: str
    statements: tuple[Node, ...]  # without the return
    result: Node | None


def inlined(source: str) -> str:
    """The text with kernels that call no function with pointers, as far as such functions are understood."""
    for _ in range(_MOST):
        functions = _without_cycles({each.name: each for each in _functions(source)})
        change = next(_calls(source, functions), None) if functions else None
        if change is None:
            break
        source = edited(source, change)
    return source


def _functions(source: str) -> Iterator[_Function]:
    holders = {name for name, each in structures(source).items() if each.has_pointer}
    for node in walk(parse(source).root_node):
        if node.type != "function_definition" or not any(
            text(each) == "__device__" for each in node.children
        ):
            continue
        try:
            declarator, body = field(node, "declarator"), field(node, "body")
            parameters, kind = parameters_of(declarator), text(field(node, "type"))  # a constructor has none
            statements = named(body)
        except NotUnderstood:
            continue
        returns = [each for each in walk(body) if each.type == "return_statement"]
        last = statements[-1] if statements else None
        if (
            len(returns) > 1
            or (returns and returns[0] != last)
            or not any(each.is_pointer or _plain(each.type) in holders for each in parameters)
            or any("&" in each.type or "[" in each.declaration for each in parameters)
            or _SHARING.search(text(body))
        ):
            continue
        result = named(returns[0])[0] if returns and named(returns[0]) else None
        yield _Function(
            text(field(declarator, "declarator")),
            parameters,
            kind,
            tuple(each for each in statements if each.type != "return_statement"),
            result,
        )


def _plain(kind: str) -> str:
    return kind.replace("const", "").replace("struct", "").strip()


def _without_cycles(functions: dict[str, _Function]) -> dict[str, _Function]:
    """Those that do not come back to themselves."""
    calls = {
        name: {
            text(field(node, "function"))
            for statement in (*each.statements, *([each.result] if each.result is not None else []))
            for node in walk(statement)
            if node.type == "call_expression"
        }
        for name, each in functions.items()
    }
    for _ in functions:  # what is called by what is called, as far as there are functions
        calls = {
            name: found.union(*(calls.get(each, set()) for each in found)) for name, found in calls.items()
        }
    return {name: each for name, each in functions.items() if name not in calls[name]}


def _calls(source: str, functions: dict[str, _Function]) -> Iterator[list[Edit]]:
    """How one call is written out."""
    for kernel in kernels(source):
        for call in walk(kernel.body):
            if call.type != "call_expression" or text(field(call, "function")) not in functions:
                continue
            function = functions[text(field(call, "function"))]
            arguments = named(field(call, "arguments"))
            statement = _statement_of(call)
            if statement is None or len(arguments) != len(function.parameters):
                continue
            before, value = _written(source, function, arguments)
            if before and _is_conditional(call, statement):
                continue
            inside = statement.parent is not None and statement.parent.type == "compound_statement"
            if not value:
                if named(statement)[0] != call:
                    continue
                yield [
                    Edit(statement.start_byte, statement.end_byte, before if inside else f"{{ {before} }}")
                ]
            elif not before:
                yield [Edit(call.start_byte, call.end_byte, value)]
            elif inside or statement.type == "expression_statement":
                edits = [Edit(call.start_byte, call.end_byte, value)]
                start, end = (before, "") if inside else (f"{{ {before}", " }")
                edits.append(Edit(statement.start_byte, statement.start_byte, start))
                yield [*edits, Edit(statement.end_byte, statement.end_byte, end)] if end else edits


def _statement_of(call: Node) -> Node | None:
    node: Node | None = call
    while node is not None and not node.type.endswith("statement") and node.type != "declaration":
        node = node.parent
    if node is None or node.type not in ("expression_statement", "declaration"):
        return node if node is not None and node.type == "return_statement" else None
    if node.parent is not None and node.parent.type == "for_statement" and node.type == "declaration":
        return None
    return node


def _is_conditional(call: Node, statement: Node) -> bool:
    """Whether the call may not be made although the statement is reached."""
    node: Node | None = call.parent
    while node is not None and node != statement:
        if node.type == "conditional_expression" or "&&" in [text(each) for each in node.children]:
            return True
        if "||" in [text(each) for each in node.children]:
            return True
        node = node.parent
    return False


def _written(source: str, function: _Function, arguments: list[Node]) -> tuple[str, str]:
    """Statements that do what a call does, and the value that it has (empty for none)."""
    holders = structures(source)
    changed = {
        text(target)
        for statement in function.statements
        for node in walk(statement)
        if (target := target_of(node)) is not None
    }
    names: dict[str, str] = {}
    before = ""
    taken: list[str] = []

    def fresh(name: str) -> str:
        taken.append(fresh_name(source, f"{name}_of_{function.name}", taken))
        return taken[-1]

    counts = {each.name: 0 for each in function.parameters}
    for part in (*function.statements, *([function.result] if function.result is not None else [])):
        for node in walk(part):
            if node.type == "identifier" and text(node) in counts:
                counts[text(node)] += 1
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        written, kind = text(argument), parameter.type.replace("const ", "").replace(" const", "")
        plain = parameter.is_pointer or kind in ("int", "unsigned", "unsigned int", "float", *holders)
        if parameter.name not in changed and (_SIMPLE.fullmatch(written) or not function.statements):
            value = written if _SIMPLE.fullmatch(written) else f"({written})"
            names[parameter.name] = value if plain else f"static_cast<{kind}>({written})"
            continue
        names[parameter.name] = fresh(parameter.name)
        kind = parameter.type if parameter.is_pointer else kind
        before += f"{kind} {names[parameter.name]} = {written};\n    "
    for statement in function.statements:
        for node in walk(statement):
            if node.type in ("init_declarator", "declaration"):
                for name in _declared(node):
                    names.setdefault(name, fresh(name))
    before += "".join(f"{render(statement, names)}\n    " for statement in function.statements)
    if function.result is None:
        return before, ""
    return before, f"({render(function.result, names)})"


def _declared(node: Node) -> Iterator[str]:
    """Names that a declaration gives, once for each."""
    holders = [field(node, "declarator")] if node.type == "init_declarator" else named(node)
    for each in holders:
        if each.type in ("identifier", "pointer_declarator"):
            yield from sorted(identifiers(each))
