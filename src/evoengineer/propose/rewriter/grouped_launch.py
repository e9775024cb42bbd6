"""A kernel that reads what an earlier one has read starts with the end, which L2 still holds, group by group.

    first<<<…>>>(x, …);                     first<<<…>>>(x, …);
    second<<<blocks, 256>>>(x, y);    →     second_grouped<<<blocks / 2, 256>>>(x, y, blocks / 2);
                                            second_grouped<<<blocks / 2, 256>>>(x, y, 0);

Blocks come in no order that a kernel may rely on, so that any order is as good as another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tree_sitter import Node

from evoengineer.propose.rewriter.change import Change, Task, shuffled
from evoengineer.propose.syntax.dependence import target_of
from evoengineer.propose.syntax.kernels import (
    Kernel,
    Launch,
    dimensions,
    fresh_name,
    kernels,
    only_launch,
)
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    render,
    text,
    walk,
)

_GROUPS = (2, 4, 8)
_TENSOR = re.compile(r"\b(\w+)\s*\.\s*(?:mutable_|const_)?data_ptr\b")


@dataclass(frozen=True, slots=True)
class GroupedLaunch:
    """The rewrite of this module."""

    name: str = "grouped launch"
    thought: str = (
        "What an earlier kernel read last is still in L2. A kernel that begins there, in groups of blocks that "
        "fit with what they write, reads part of its input from L2."
    )
    treats: tuple[str, ...] = ("dram_bound",)
    weight: float = 1.0
    fresh: bool = False

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        return shuffled(list(self._all(source)), random)

    def _all(self, source: str) -> Iterator[Change]:
        launched: list[tuple[Kernel, Launch]] = []
        for kernel in kernels(source):
            try:
                launched.append((kernel, only_launch(source, kernel)))
            except NotUnderstood:
                continue
        for kernel, launch in launched:
            earlier = [
                (another, other)
                for another, other in launched
                if other.statement.parent == launch.statement.parent
                and other.statement.start_byte < launch.statement.start_byte
            ]
            if not any(_tensors(kernel, launch) & _tensors(*each) for each in earlier):
                continue
            for groups in _GROUPS:
                try:
                    yield Change(
                        f"{kernel.name} in {groups} groups, the last first",
                        grouped(source, kernel, launch, groups),
                    )
                except NotUnderstood:
                    break


def _tensors(kernel: Kernel, launch: Launch) -> set[str]:
    """Tensors that a kernel reads and does not store to."""
    stored: set[str] = set()
    for node in walk(kernel.body):
        target = target_of(node)
        if target is not None and target.type == "subscript_expression":
            stored |= identifiers(field(target, "argument"))
    used = identifiers(kernel.body) - stored
    return {
        match[1]
        for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True)
        for match in _TENSOR.finditer(text(argument))
        if parameter.name in used
    }


def grouped(source: str, kernel: Kernel, launch: Launch, groups: int) -> str:
    """The text with a kernel that takes the number of its first block, launched for one group after the other."""
    grid = dimensions(launch.grid)
    if len(grid) != 1 or len(dimensions(launch.block)) != 1:
        raise NotUnderstood("more than one axis")
    if grid[0].strip() == "1":
        raise NotUnderstood("a single block")
    if re.search(r"\bgridDim\b|blockIdx\.[yz]|\batomic|cooperative_groups", text(kernel.body)):
        raise NotUnderstood("blocks that know of each other")
    name = fresh_name(source, f"{kernel.name}_grouped")
    count = f"{name.upper()}_TILE_GROUPS"
    parameters = ", ".join([*(each.declaration for each in kernel.parameters), "unsigned first_block"])
    body = render(kernel.body, {}, _numbered(kernel.body))
    arguments = ", ".join([*(text(each) for each in launch.arguments), "first_block"])
    further = "".join(f", {text(each)}" for each in launch.further)
    call = (
        f"for (int64_t group = {count} - 1, all_blocks = {grid[0]}; group >= 0; --group) {{\n"
        f"        const unsigned first_block = all_blocks * group / {count};\n"
        f"        const unsigned blocks_of_group = all_blocks * (group + 1) / {count} - first_block;\n"
        f"        if (blocks_of_group > 0) "
        f"{name}<<<blocks_of_group, {text(launch.block)}{further}>>>({arguments});\n"
        f"    }}"
    )
    written = f"\n\nconstexpr int {count} = {groups};\n__global__ void {name}({parameters}) {body}"
    definition, statement = kernel.definition, launch.statement
    return edited(
        source,
        [
            Edit(definition.end_byte, definition.end_byte, written),
            Edit(statement.start_byte, statement.end_byte, call),
        ],
    )


def _numbered(body: Node) -> dict[int, str]:
    """Every block's number, counted from the group's first."""
    return {
        each.id: "(blockIdx.x + first_block)"
        for each in walk(body)
        if each.type == "field_expression" and text(each) == "blockIdx.x"
    }
