"""A kernel that goes over a tensor in place, right after the one that has written it, becomes a part of that one.

    product<<<…>>>(a, b, y);              product_then_relu<<<…>>>(a, b, y, bias);
    relu<<<…>>>(y, bias, n);         →    with y[…] = y_of_relu(sum, bias, n, …); where it stores

Both must have an output for each element, numbered in the same way; the host compares how many they have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from evoengineer.propose.rewriter.outputs import indices
from evoengineer.propose.rewriter.passing import name_of, require_number, stored_last
from evoengineer.propose.rewriter.row_printing import STEP
from evoengineer.propose.syntax.dependence import target_of
from evoengineer.propose.syntax.kernels import Kernel, Launch, Parameter, fresh_name, kernels, only_launch
from evoengineer.propose.syntax.nest import Nest, nest_of
from evoengineer.propose.syntax.reductions import squeezed
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    named,
    operator,
    render,
    replacing,
    text,
    walk,
)


def followed(source: str) -> Iterator[tuple[str, str]]:
    """Every tensor that a later kernel changes in place, with the text in which the first one does that."""
    for first in kernels(source):
        for second in kernels(source):
            if first.name == second.name:
                continue
            try:
                pair = _Pair(source, first, second)
                yield pair.tensor, pair.text()
            except NotUnderstood:
                continue


class _Pair:
    def __init__(self, source: str, first: Kernel, second: Kernel) -> None:
        self.source, self.first, self.second = source, first, second
        launches = only_launch(source, first), only_launch(source, second)
        if not _follows(*launches):
            raise NotUnderstood("launches that do not follow each other")
        self.nests: tuple[Nest, Nest] = nest_of(source, first), nest_of(source, second)
        self.stores = tuple(stored_last(each) for each in self.nests)
        pointers = [text(field(field(each, "left"), "argument")) for each in self.stores]
        tensors = []
        for kernel, launch, pointer, store, nest in zip(
            (first, second), launches, pointers, self.stores, self.nests, strict=True
        ):
            parameter = kernel.parameter(pointer)
            if parameter is None or parameter.element != "float":
                raise NotUnderstood("what is stored is no tensor of floats")
            tensors.append(name_of(launch.arguments[kernel.parameters.index(parameter)]))
            require_number(nest, named(field(field(store, "left"), "indices"))[0])
        if tensors[0] != tensors[1] or not tensors[0]:
            raise NotUnderstood("another tensor")
        self.tensor = tensors[0]
        self.pointer = pointers[1]
        if operator(self.stores[0]) != "=" or _mentions(first, pointers[0]) != 1:
            raise NotUnderstood("what is stored is read as well")
        if any(sum(name_of(each) == self.tensor for each in launch.arguments) != 1 for launch in launches):
            raise NotUnderstood("a tensor that is passed twice")
        self.loads = self._loads()

    def _loads(self) -> list[Node]:
        """Where the second kernel reads what it stores, all at the same place."""
        target = field(self.stores[1], "left")
        found = [
            node
            for node in walk(self.second.body)
            if node.type == "subscript_expression"
            and squeezed(node) == squeezed(target)
            and node.id != target.id
        ]
        if _mentions(self.second, self.pointer) != len(found) + 1:
            raise NotUnderstood("elements of other outputs")
        if not found and operator(self.stores[1]) == "=":
            raise NotUnderstood("what was stored is not read")
        return found

    def text(self) -> str:
        launches = self.nests[0].launch, self.nests[1].launch
        function = fresh_name(self.source, f"{self.tensor}_of_{self.second.name}")
        name = fresh_name(self.source, f"{self.first.name}_then_{self.second.name}")
        passed = [
            (parameter, text(argument))
            for parameter, argument in zip(self.second.parameters, launches[1].arguments, strict=True)
            if parameter.name != self.pointer
        ]
        passed += [
            (Parameter(each.partition(" ")[2], "int", each), telling)
            for each, telling in zip(self.nests[1].told, self.nests[1].telling, strict=True)
        ]
        taken: list[str] = []
        for parameter, _ in passed:
            taken.append(fresh_name(self.source, f"{parameter.name}_of_{self.second.name}", taken))
        head = [
            re.sub(rf"\b{parameter.name}\b", other, parameter.declaration)
            for (parameter, _), other in zip(passed, taken, strict=True)
        ]
        declared = ", ".join([*(each.declaration for each in self.first.parameters), *head])
        store = self.stores[0]
        place = text(named(field(field(store, "left"), "indices"))[0])
        value = f"{function}({', '.join([text(field(store, 'right')), *taken, place])})"
        body = render(self.first.body, {}, {field(store, "right").id: value})
        definitions = (
            f"\n\n{self._function(function, [each.declaration for each, _ in passed])}\n\n"
            f"__global__ void {name}({declared}) {body}"
        )
        end = max(each.definition.end_byte for each in (self.first, self.second))
        first, second = launches
        further = "".join(f", {text(each)}" for each in first.further)
        arguments = ", ".join(
            [*(text(each) for each in first.arguments), *(argument for _, argument in passed)]
        )
        totals = [_total(nest) for nest in self.nests]
        call = (
            f"if ({totals[0]} == {totals[1]}) {{\n"
            f"        {name}<<<{text(first.grid)}, {text(first.block)}{further}>>>({arguments});\n"
            f"    }} else {{\n        {text(first.statement)}\n        {text(second.statement)}\n    }}"
        )
        return edited(
            self.source,
            [Edit(end, end, definitions), replacing(first.statement, ""), replacing(second.statement, call)],
        )

    def _function(self, name: str, declared: list[str]) -> str:
        """What the second kernel makes of an element."""
        nest, store = self.nests[1], self.stores[1]
        kind = "int" if all(each.type == "int" for each in nest.dims) else "int64_t"
        nodes = {each.id: "value_of_element" for each in self.loads}
        value = render(field(store, "right"), {}, nodes)
        if operator(store) != "=":
            value = f"value_of_element {operator(store)[:-1]} ({value})"
        parameters = ", ".join(["float value_of_element", *declared, f"{kind} place_of_element"])
        lines = [f"__device__ float {name}({parameters}) {{\n", *indices(nest, "place_of_element")]
        for each in nest.body:
            if each != store.parent and each.type != "preproc_call":
                lines.append(f"{STEP}{render(each, {}, nodes)}\n")
        return "".join(lines) + f"{STEP}return {value};\n}}"


def _total(nest: Nest) -> str:
    """The number of outputs, on the host."""
    return " * ".join(f"static_cast<int64_t>({dim.grid or nest.on_host(dim.extent)})" for dim in nest.dims)


def _mentions(kernel: Kernel, name: str) -> int:
    return sum(node.type == "identifier" and text(node) == name for node in walk(kernel.body))


def _follows(first: Launch, second: Launch) -> bool:
    """Whether nothing but declarations stands between two launches of a function, none of them a fallback, and no
    number that the first one is passed is made anew there."""
    block = first.statement.parent
    if block is None or block != second.statement.parent or block.parent is None:
        return False
    if block.parent.type not in ("function_definition", "if_statement"):
        return False
    between = [
        each
        for each in named(block)
        if first.statement.end_byte <= each.start_byte < second.statement.start_byte
    ]
    names = set().union(*(identifiers(each) for each in first.arguments), identifiers(first.grid), set())
    return first.statement.start_byte < second.statement.start_byte and all(
        each.type == "declaration"
        and not any(target_of(node) is not None for node in walk(each))
        and not _declared(each) & names
        for each in between
    )


def _declared(declaration: Node) -> set[str]:
    return {text(field(each, "declarator")) for each in named(declaration) if each.type == "init_declarator"}
