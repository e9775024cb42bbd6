"""Another number of blocks for kernels that walk through their data in strides of the whole grid.

    for (i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) …

Any number of blocks does the same work; how many fill a card without doing a block's own work too often is a question
of the card. Left alone where a block uses its number for anything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tree_sitter import Node

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.syntax.dependence import target_of
from evoengineer.propose.syntax.kernels import Kernel, Launch, dimensions, fresh_name, only_launch
from evoengineer.propose.syntax.knobs import knobs
from evoengineer.propose.syntax.liveness import live_kernels
from evoengineer.propose.syntax.reductions import squeezed
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    named,
    operator,
    replacing,
    stripped,
    terms,
    text,
    walk,
)

_EACH = (4, 8, 2, 16)  # blocks for every multiprocessor
_USUAL_MULTIPROCESSORS = 128


@dataclass(frozen=True, slots=True)
class GridSize:
    """The rewrite of this module."""

    name: str = "grid size"
    thought: str = (
        "A grid that fills the card keeps more loads under way; one that is no larger does each block's own work "
        "less often."
    )
    treats: tuple[str, ...] = ("small_grid", "latency_bound")
    weight: float = 3.0
    fresh: bool = False

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        multiprocessors = task.multiprocessors or _USUAL_MULTIPROCESSORS
        turned = {knob.name for knob in knobs(source)}
        for kernel in live_kernels(source):
            try:
                launch = only_launch(source, kernel)
                if identifiers(launch.grid) & turned:
                    continue  # a setting like any other
                _require_any_grid(kernel, launch)
            except NotUnderstood:
                continue
            for each in _EACH:
                blocks = each * multiprocessors
                yield Change(
                    f"{kernel.name} in {blocks} blocks", _with_blocks(source, kernel, launch, blocks)
                )


def _with_blocks(source: str, kernel: Kernel, launch: Launch, blocks: int) -> str:
    name = fresh_name(source, f"{kernel.name.upper()}_BLOCKS")
    start = kernel.definition.start_byte
    return edited(
        source,
        [Edit(start, start, f"constexpr int {name} = {blocks};\n"), replacing(launch.grid, name)],
    )


def _require_any_grid(kernel: Kernel, launch: Launch) -> None:
    """A block's number, and how many there are, only decide which elements a thread takes."""
    grid, block = dimensions(launch.grid), dimensions(launch.block)
    if any(each.strip() != "1" for each in (*grid[1:], *block[1:])) or not grid[0]:
        raise NotUnderstood("more than one axis")
    constants = _constants(kernel.body)
    settled: set[int] = set()
    starts: set[str] = set()
    for loop in walk(kernel.body):
        if loop.type != "for_statement":
            continue
        found = _strides(loop, constants)
        if found is not None:
            settled |= {each.id for part in found for each in walk(part)}
            starts |= {text(each) for part in found for each in walk(part) if each.type == "identifier"}
    if not settled:
        raise NotUnderstood("no loop in strides of the grid")
    for node in walk(kernel.body):
        name = _declared(node)
        if name in starts and squeezed(field(node, "value")) == squeezed(constants.get(name, node)):
            settled |= {each.id for each in walk(field(node, "value"))}
    of_grid = {name for name, value in constants.items() if _knows_grid(value)}
    for node in walk(kernel.body):
        used = node.type == "identifier" and text(node) in of_grid and not _declared(node.parent)
        if (used or _is_of_grid(node)) and node.id not in settled:
            raise NotUnderstood("a block that uses its number otherwise")


def _strides(loop: Node, constants: dict[str, Node]) -> tuple[Node, Node] | None:
    """The start and the stride of `for (i = blockIdx.x * size + threadIdx.x; …; i += size * gridDim.x)`."""
    start, update = loop.child_by_field_name("initializer"), loop.child_by_field_name("update")
    if start is None or update is None or start.type != "declaration":
        return None
    declared = [each for each in named(start) if each.type == "init_declarator"]
    if len(declared) != 1 or update.type != "assignment_expression" or operator(update) != "+=":
        return None
    name = text(field(declared[0], "declarator"))
    if text(field(update, "left")) != name:
        return None
    if any(
        (target := target_of(each)) is not None and text(target) == name for each in walk(field(loop, "body"))
    ):
        return None
    first, step = field(declared[0], "value"), field(update, "right")
    size = _size_of(_meant(first, constants), constants)
    factors = [squeezed(_meant(each, constants)) for each in terms(_meant(step, constants), "*")]
    return (first, step) if size and sorted(factors) == sorted(("gridDim.x", size)) else None


def _size_of(start: Node, constants: dict[str, Node]) -> str:
    """The size in `blockIdx.x * size + threadIdx.x`."""
    parts = [[squeezed(_meant(each, constants)) for each in terms(part, "*")] for part in terms(start, "+")]
    others = [each for each in parts if each != ["threadIdx.x"]]
    if len(parts) != 2 or len(others) != 1 or len(others[0]) != 2 or "blockIdx.x" not in others[0]:
        return ""
    return others[0][1 - others[0].index("blockIdx.x")]


def _meant(node: Node, constants: dict[str, Node]) -> Node:
    """What a name stands for; anything else as it is."""
    node = stripped(node)
    for _ in constants:
        if node.type != "identifier" or text(node) not in constants:
            break
        node = stripped(constants[text(node)])
    return node


def _constants(body: Node) -> dict[str, Node]:
    """Variables that keep the value of their declaration."""
    changed = {text(target) for node in walk(body) if (target := target_of(node)) is not None}
    return {
        name: field(node, "value") for node in walk(body) if (name := _declared(node)) and name not in changed
    }


def _declared(node: Node | None) -> str:
    if node is None or node.type != "init_declarator":
        return ""
    declarator = field(node, "declarator")
    return text(declarator) if declarator.type == "identifier" else ""


def _is_of_grid(node: Node) -> bool:
    return node.type == "field_expression" and text(field(node, "argument")) in ("blockIdx", "gridDim")


def _knows_grid(node: Node) -> bool:
    return any(_is_of_grid(each) for each in walk(node))
