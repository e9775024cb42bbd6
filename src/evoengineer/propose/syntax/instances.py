"""Instances: kernels that are templates, written out for the types and numbers that they are launched with.

The template stays; an instance of its own stands behind it, as a plain kernel, and the launch uses that. Launches for
every type of a tensor (`AT_DISPATCH_…`) get a branch of their own for float.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from evoengineer.propose.syntax.kernels import fresh_name
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    named,
    parse,
    replacing,
    text,
    walk,
)

_FLOAT = "float"
_DISPATCHED = "scalar_t"
_DATA = re.compile(r"data_ptr\s*<\s*(?P<type>\w+)\s*>\s*\(\s*\)")


def for_float(source: str) -> str:
    """Launches for every type with a branch for float."""
    edits = []
    for node in walk(parse(source).root_node):
        if node.type != "expression_statement" or not text(node).startswith("AT_DISPATCH_"):
            continue
        try:
            arguments = named(field(named(node)[0], "arguments"))
            kind, body = _dispatched(arguments)
        except NotUnderstood:
            continue
        if _is_branch(node, kind):
            continue
        inside = re.sub(rf"\b{_DISPATCHED}\b", _FLOAT, text(body))
        edits.append(replacing(node, f"if ({kind} == torch::kFloat32) {inside} else {{\n{text(node)}\n}}"))
    return edited(source, edits)


def _dispatched(arguments: Sequence[Node]) -> tuple[str, Node]:
    """The type that is asked for, and what is done for it."""
    place = next((place for place, each in enumerate(arguments) if each.type == "string_literal"), 0)
    action = arguments[-1] if arguments else None
    while action is not None and action.type == "parenthesized_expression":
        action = named(action)[0]
    if place < 1 or action is None or action.type != "lambda_expression":
        raise NotUnderstood("a dispatch of another form")
    body = field(action, "body")
    if any(each.type in ("return_statement", "lambda_expression") for each in walk(body)):
        raise NotUnderstood("a dispatch that returns something")
    return text(arguments[place - 1]), body


def _is_branch(node: Node, kind: str) -> bool:
    """Whether float has its branch already."""
    block = node.parent
    outer = block.parent if block is not None else None
    outer = outer.parent if outer is not None and outer.type == "else_clause" else outer
    return outer is not None and outer.type == "if_statement" and f"{kind} == torch::kFloat32" in text(outer)


def instantiated(source: str) -> str:
    """Templates with an instance for each way in which they are launched."""
    edits: list[Edit] = []
    made: dict[tuple[str, ...], str] = {}
    for template in walk(parse(source).root_node):
        if template.type != "template_declaration" or "__global__" not in text(template):
            continue
        definition = next((each for each in named(template) if each.type == "function_definition"), None)
        if definition is None:
            continue
        try:
            name = text(field(field(definition, "declarator"), "declarator"))
            parameters = list(_parameters(template))
        except NotUnderstood:
            continue
        for launch, callee in _launches(source, name):
            try:
                given_here = _values(parameters, callee, definition, launch)
                values = tuple(_known_everywhere(value, launch) for value in given_here)
            except NotUnderstood:
                continue
            key = (name, *values)
            if key not in made:
                words = "_".join(re.sub(r"\W+", "", value) for value in values)
                made[key] = fresh_name(source, f"{name}_{words}", [*made.values()])
                given = dict(zip((each[0] for each in parameters), values, strict=True))
                written = text(definition)
                for parameter, value in given.items():
                    written = re.sub(rf"\b{parameter}\b", value, written)
                written = re.sub(rf"\b{name}\b", made[key], written)
                edits.append(Edit(template.end_byte, template.end_byte, f"\n\n{written}"))
            edits.append(replacing(callee, made[key]))
            edits += [each for each in _settled(given_here, values, launch) if each not in edits]
    return edited(source, edits)


def _parameters(template: Node) -> Iterator[tuple[str, str]]:
    """Names of a template's parameters, and what they are if nothing is given."""
    for each in named(field(template, "parameters")):
        names = [part for part in named(each) if part.type in ("identifier", "type_identifier")]
        if each.type in ("type_parameter_declaration", "parameter_declaration") and names:
            yield text(names[-1]), ""
        elif each.type in ("optional_parameter_declaration", "optional_type_parameter_declaration") and names:
            yield text(names[0]), text(named(each)[-1])
        else:
            raise NotUnderstood(f"the template parameter {text(each)}")


def _launches(source: str, name: str) -> Iterator[tuple[Node, Node]]:
    for node in walk(parse(source).root_node):
        if node.type == "call_expression" and any(
            each.type == "kernel_call_syntax" for each in node.children
        ):
            callee = field(node, "function")
            called = field(callee, "name") if callee.type == "template_function" else callee
            if text(called) == name:
                yield node, callee


def _values(
    parameters: Sequence[tuple[str, str]], callee: Node, definition: Node, launch: Node
) -> tuple[str, ...]:
    given = []
    if callee.type == "template_function":
        given = [text(each) for each in named(field(callee, "arguments"))]
    if any(_DISPATCHED in value for value in given):
        raise NotUnderstood("a type that is not known")
    values = []
    for place, (name, otherwise) in enumerate(parameters):
        value = given[place] if place < len(given) else otherwise or _deduced(name, definition, launch)
        values.append(value)
    return tuple(values)


def _known_everywhere(value: str, launch: Node) -> str:
    """A template argument without the names that only the launching function knows."""
    function: Node | None = launch
    while function is not None and function.type != "function_definition":
        function = function.parent
    local: dict[str, str] = {}
    for node in walk(function) if function is not None else ():
        if node.type == "init_declarator" and field(node, "declarator").type == "identifier":
            local[text(field(node, "declarator"))] = text(field(node, "value"))
        elif node.type == "parameter_declaration":
            local |= {text(each): "" for each in walk(node) if each.type == "identifier"}
    for _ in local:
        name = next((each for each in re.findall(r"[A-Za-z_]\w*", value) if each in local), "")
        if not name or not local[name]:
            break
        value = local[name] if value == name else re.sub(rf"\b{name}\b", f"({local[name]})", value)
    if not any(each in local for each in re.findall(r"[A-Za-z_]\w*", value)):
        return value
    raise NotUnderstood(f"the template argument {value}")


def _settled(given: Sequence[str], values: Sequence[str], launch: Node) -> Iterator[Edit]:
    """Constants of the launching function that an instance has the value of, in parentheses: no knobs any more."""
    changed = [one for one, other in zip(given, values, strict=True) if one != other]
    names = {name for one in changed for name in re.findall(r"[A-Za-z_]\w*", one)}
    function: Node | None = launch
    while function is not None and function.type != "function_definition":
        function = function.parent
    for node in walk(function) if function is not None else ():
        if node.type != "init_declarator" or text(field(node, "declarator")) not in names:
            continue
        if field(node, "value").type == "number_literal":
            yield replacing(field(node, "value"), f"({text(field(node, 'value'))})")


def _deduced(name: str, definition: Node, launch: Node) -> str:
    """The type that follows from what is passed for `const T*`."""
    declared = named(field(field(definition, "declarator"), "parameters"))
    for parameter, argument in zip(declared, named(field(launch, "arguments")), strict=False):
        passed = _DATA.search(text(argument))
        if passed is not None and re.search(rf"\b{name}\b[^,]*\*", text(parameter)):
            if passed["type"] == _DISPATCHED:
                break
            return passed["type"]
    raise NotUnderstood(f"nothing tells what {name} is")
