"""Another shape of the block for kernels whose threads know nothing but their index, in one to three dimensions.

    run<<<grid, block>>>(…);    →    run<<<as many blocks as cover the same indices, dim3(32, 8)>>>(…);

Applied only where positions appear as `blockIdx.a * blockDim.a + threadIdx.a` in a declaration, the index is tested
against a bound, and threads share nothing; then it does not matter which block an index falls into.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from evoengineer.propose.rewriter.change import Change, Task, shuffled
from evoengineer.propose.syntax.indices import axis_of
from evoengineer.propose.syntax.kernels import Kernel, dimensions, fresh_name, only_launch
from evoengineer.propose.syntax.liveness import live_kernels
from evoengineer.propose.syntax.tree import Edit, NotUnderstood, edited, field, named, text, walk

_LINES = ((64, 1), (128, 1), (256, 1), (512, 1), (1024, 1))
_PLANES = (
    (32, 8),
    (32, 4),
    (64, 4),
    (32, 16),
    (128, 2),
    (64, 2),
    (32, 2),
    (256, 1),
    (128, 1),
    (16, 8),
    (32, 32),
)
_MOST_WITH_ARRAYS = 256  # threads: larger blocks do not start where each takes many registers
_SHARING = re.compile(
    r"__shared__|__sync|__shfl|__ballot|atomic|__activemask|cooperative_groups|gridDim|asm\b"
)


@dataclass(frozen=True, slots=True)
class BlockShape:
    """The rewrite of this module."""

    name: str = "block shape"
    thought: str = (
        "Where threads share nothing, the shape of a block decides only which addresses a warp touches together, "
        "how much of them neighbours share in L1, and how many blocks there are to start."
    )
    treats: tuple[str, ...] = ("uncoalesced", "l1_bound", "latency_bound", "small_grid", "dram_bound")
    weight: float = 1.0
    fresh: bool = False

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        return shuffled(list(self._all(source)), random)

    def _all(self, source: str) -> Iterator[Change]:
        for kernel in live_kernels(source):
            try:
                axes = _axes(kernel)
                launch = only_launch(source, kernel)
            except NotUnderstood:
                continue
            present = dimensions(launch.block)
            name = fresh_name(source, f"{kernel.name}_shape")
            shapes: Sequence[tuple[int, int]] = _PLANES if "y" in axes else _LINES
            if any(node.type == "array_declarator" for node in walk(kernel.body)):
                shapes = [(x, y) for x, y in shapes if x * y <= _MOST_WITH_ARRAYS]
            further = "".join(f", {text(each)}" for each in launch.further)
            arguments = ", ".join(text(each) for each in launch.arguments)
            across, along = f"{name.upper()}_BLOCK_X", f"{name.upper()}_BLOCK_Y"
            for x, y in shapes:
                if present[:2] == (str(x), str(y)):
                    continue
                call = (
                    f"{{\n"
                    f"        constexpr int {across} = {x};\n"
                    f"        constexpr int {along} = {y};\n"
                    f'        static_assert({across} * {along} <= 1024, "threads of a block");\n'
                    f"        const dim3 {name}_before({text(launch.grid)}), {name}_block({text(launch.block)});\n"
                    f"        const size_t {name}_x = static_cast<size_t>({name}_before.x) * {name}_block.x;\n"
                    f"        const size_t {name}_y = static_cast<size_t>({name}_before.y) * {name}_block.y;\n"
                    f"        const dim3 {name}_grid(({name}_x + {across} - 1) / {across}, "
                    f"({name}_y + {along} - 1) / {along}, {name}_before.z * {name}_block.z);\n"
                    f"        if ({name}_grid.y <= 65535 && {name}_grid.z <= 65535) {{\n"
                    f"            {kernel.name}<<<{name}_grid, dim3({across}, {along}){further}>>>({arguments});\n"
                    f"        }} else {{\n            {text(launch.statement)}\n        }}\n"
                    f"    }}"
                )
                statement = launch.statement
                yield Change(
                    f"{kernel.name} in blocks of {x} × {y}",
                    edited(source, [Edit(statement.start_byte, statement.end_byte, call)]),
                )


def _axes(kernel: Kernel) -> frozenset[str]:
    """The axes along which threads have an index that is tested; `NotUnderstood` for any other use of positions."""
    body = text(kernel.body)
    if _SHARING.search(body):
        raise NotUnderstood("threads that share something")
    found: dict[str, str] = {}
    whole: set[str] = (
        set()
    )  # axes along which an index is the number of a block: these are not shared out otherwise
    for node in walk(kernel.body):
        if node.type == "init_declarator":
            position = axis_of(field(node, "value"))
            if position is not None:
                axis, alone = position
                if not alone and f"blockDim.{axis}" not in text(field(node, "value")):
                    raise NotUnderstood("a size of the block that is written out")
                if alone:
                    whole.add(axis)
                else:
                    found[text(field(node, "declarator"))] = axis
    positions = sum(
        node.type == "field_expression" and text(node).split(".")[0] in ("threadIdx", "blockIdx", "blockDim")
        for node in walk(kernel.body)
    )
    written = [
        each
        for node in walk(kernel.body)
        if node.type == "init_declarator" and axis_of(field(node, "value")) is not None
        for each in walk(node)
        if each.type == "field_expression"
    ]
    if not found or positions != len(written):
        raise NotUnderstood("positions that are no indices")
    tested = {
        text(each)
        for node in walk(kernel.body)
        if node.type == "if_statement"
        for test in walk(field(node, "condition"))
        if test.type == "binary_expression"
        for each in named(test)
        if each.type == "identifier"
    }
    axes = {axis for name, axis in found.items() if name in tested}
    indexed = {axis for name, axis in found.items() if axis != "z"}
    if indexed - axes or "x" not in axes:
        raise NotUnderstood("an index that is not tested")
    if axes & whole:
        raise NotUnderstood("blocks that are counted in two ways")
    return frozenset(axes)
