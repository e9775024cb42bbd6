"""Structures: kernels that are given pointers and sizes in structures by value get them one by one.

    __global__ void product(Matrix a) { … a.data[row * a.stride + i] … }     product<<<…>>>(left);
 →  __global__ void product(float* a_data, int a_stride) { … a_data[row * a_stride + i] … }
                                                                product<<<…>>>(left.data, left.stride);

Only structures of plain fields of which one is a pointer, and only where a kernel reads fields and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tree_sitter import Node

from evoengineer.propose.syntax.kernels import Kernel, fresh_name, kernels, launches
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


@dataclass(frozen=True, slots=True)
class Structure:
    """The types of a structure's fields, as they stand before the name: `float*`."""

    fields: Mapping[str, str]

    @property
    def has_pointer(self) -> bool:
        return any(each.endswith("*") for each in self.fields.values())


def structures(source: str) -> dict[str, Structure]:
    """The structures of plain fields that a text defines."""
    found: dict[str, Structure] = {}
    for node in walk(parse(source).root_node):
        if node.type != "struct_specifier" or node.child_by_field_name("body") is None:
            continue
        names = [field(node, "name")] if node.child_by_field_name("name") is not None else []
        if node.parent is not None and node.parent.type == "type_definition":
            names += node.parent.children_by_field_name("declarator")
        try:
            fields = _fields(field(node, "body"))
        except NotUnderstood:
            continue
        found |= {text(name): Structure(fields) for name in names}
    return found


def _fields(body: Node) -> dict[str, str]:
    found = {}
    for each in named(body):
        if each.type != "field_declaration":
            raise NotUnderstood(f"a {each.type.replace('_', ' ')} in a structure")
        kind = " ".join(
            text(part)
            for part in each.children
            if part.type in ("type_qualifier",) or part == field(each, "type")
        )
        for declarator in each.children_by_field_name("declarator"):
            stars = ""
            while declarator.type == "pointer_declarator":
                declarator, stars = field(declarator, "declarator"), stars + "*"
            if declarator.type != "field_identifier":
                raise NotUnderstood(f"the field {text(declarator)}")
            found[text(declarator)] = kind + stars
    return found


def flattened(source: str) -> str:
    """The text with kernels that are given fields instead of structures that hold pointers."""
    known = {name: each for name, each in structures(source).items() if each.has_pointer}
    for name in [each.name for each in kernels(source)] if known else []:
        kernel = next(each for each in kernels(source) if each.name == name)
        try:
            source = edited(source, _edits(source, kernel, known))
        except NotUnderstood:
            continue
    return source


def _edits(source: str, kernel: Kernel, known: Mapping[str, Structure]) -> list[Edit]:
    """What is written otherwise in the kernel and where it is launched."""
    edits: list[Edit] = []
    parameters = named(field(field(kernel.definition, "declarator"), "parameters"))
    calls = launches(source, kernel.name)
    taken: list[str] = []
    for place, parameter in enumerate(kernel.parameters):
        structure = known.get(parameter.type.replace("const", "").replace("struct", "").strip())
        if structure is None:
            continue
        names: dict[str, str] = {}
        for node in walk(kernel.body):
            if node.type != "identifier" or text(node) != parameter.name:
                continue
            whole = node.parent
            if whole is None or whole.type != "field_expression" or field(whole, "argument") != node:
                raise NotUnderstood(f"{parameter.name} is used as a whole")
            member = text(field(whole, "field"))
            if member not in structure.fields:
                raise NotUnderstood(f"{parameter.name} has no field {member}")
            if member not in names:
                names[member] = fresh_name(source, f"{parameter.name}_{member}", taken)
                taken.append(names[member])
            edits.append(replacing(whole, names[member]))
        used = [member for member in structure.fields if member in names]
        if not used:
            raise NotUnderstood(f"{parameter.name} is not used")
        declared = ", ".join(f"{structure.fields[member]} {names[member]}" for member in used)
        edits.append(replacing(parameters[place], declared))
        for call in calls:
            if place >= len(call.arguments) or call.arguments[place].type != "identifier":
                raise NotUnderstood(f"what is passed for {parameter.name}")
            passed = text(call.arguments[place])
            edits.append(replacing(call.arguments[place], ", ".join(f"{passed}.{member}" for member in used)))
    return edits
