"""Covering: whether a grid follows the size of its blocks.

    row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;        run<<<(rows + 3) / 4, 128>>>(…);

Blocks of such a kernel have a share of the outputs that depends on their size, and this grid was made for 128 threads:
with another number outputs would be left out. A grid that mentions the number's name, by itself or through other names,
follows it; so does a kernel whose blocks have a row each, or that goes on in strides of the grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tree_sitter import Node

from evoengineer.propose.syntax.kernels import Kernel, Launch, dimensions, kernels, launches
from evoengineer.propose.syntax.tree import expression, operator, parse, text, walk


@lru_cache(maxsize=64)
def fixed(source: str) -> frozenset[str]:
    """Names and numbers that sizes of blocks are written with, and that a grid would have to follow and does not."""
    values = _values(parse(source).root_node)
    found: set[str] = set()
    for kernel in kernels(source):
        shares = list(_shares(kernel, values))
        for launch in launches(source, kernel.name) if shares else ():
            grid, block = (_mentioned(launch, shape, values) for shape in (launch.grid, launch.block))
            if any("blockDim" in share or share & block or not any(map(_is_name, share)) for share in shares):
                found |= block - grid
    return frozenset(found)


def _is_name(written: str) -> bool:
    return written.isidentifier()


def _mentioned(launch: Launch, shape: Node, values: Mapping[str, set[str]]) -> set[str]:
    """Names and numbers that a grid or a block comes from."""
    found: set[str] = set()
    for each in (*dimensions(shape), text(shape)):
        found |= _parts(expression(each))
    return _through(found, values)


def _parts(node: Node) -> set[str]:
    return {text(each) for each in walk(node) if each.type in ("identifier", "number_literal")}


def _through(names: set[str], values: Mapping[str, set[str]]) -> set[str]:
    """Names with all that their values mention."""
    found, new = set(names), set(names)
    while new:
        new = set().union(*(values.get(name, set()) for name in new)) - found
        found |= new
    return found


def _values(root: Node) -> dict[str, set[str]]:
    """What the values of a text's variables and constants mention."""
    found: dict[str, set[str]] = {}
    for node in walk(root):
        value = node.child_by_field_name("value")
        name = node.child_by_field_name("declarator") or node.child_by_field_name("name")
        if value is None or name is None or node.type not in ("init_declarator", "preproc_def"):
            continue
        held = _parts(value) if node.type == "init_declarator" else set(text(value).split())
        found.setdefault(text(name), set()).update(held)
    return found


def _shares(kernel: Kernel, values: Mapping[str, set[str]]) -> Iterator[set[str]]:
    """What the outputs of a block are counted by: all that the block's number is multiplied with, but for parameters
    and numbers of threads; nothing for a kernel that goes on in strides of the grid."""
    if "gridDim" in text(kernel.body):
        return
    parameters = {each.name for each in kernel.parameters}
    for node in walk(kernel.body):
        if node.type != "binary_expression" or operator(node) != "*":
            continue
        left, right = (node.child_by_field_name(side) for side in ("left", "right"))
        if left is None or right is None:
            continue
        for number, size in ((left, right), (right, left)):
            share = _through(_parts(size), values)
            if "blockIdx" in _through(_parts(number), values) and not (
                share & (parameters | {"blockIdx", "threadIdx"})
            ):
                yield share
