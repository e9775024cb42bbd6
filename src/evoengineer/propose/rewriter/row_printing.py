"""Pieces of text that rewrites of rows share: statements without threads, loops with other headers, reductions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tree_sitter import Node

from evoengineer.propose.syntax.kernels import Launch
from evoengineer.propose.syntax.rows import Plain, Single, Stride, Walk, Written
from evoengineer.propose.syntax.tree import field, render, text, walk

STEP = "    "
_TENSOR = re.compile(r"\b(\w+)\s*\.\s*(?:mutable_|const_)?data_ptr\b")


def constants(stem: str, settings: Mapping[str, int]) -> str:
    """Named sizes, with what they may be; the first one is the number of threads."""
    threads = f"{stem}_{next(iter(settings))}"
    lines = [f"constexpr int {stem}_{name} = {value};\n" for name, value in settings.items()]
    # The tuner reads assertions, but not those with bits.
    lines += [
        f'static_assert({threads} >= 32 && {threads} <= 1024, "threads of a block");\n',
        f'static_assert(({threads} & ({threads} - 1)) == 0, "warps are added up in pairs");\n\n',
    ]
    return "".join(lines)


def rows_in(node: Node) -> dict[int, str]:
    """Every `blockIdx.x` below a node, replaced by the row."""
    return {
        each.id: "row_of_block"
        for each in walk(node)
        if each.type == "field_expression" and text(each) == "blockIdx.x"
    }


def statement(item: Plain | Single | Written, names: Mapping[str, str]) -> str:
    if isinstance(item, Written):
        return item.text
    return render(item.node, names, {**rows_in(item.node), **item.nodes})


def without_thread(item: Walk, header: Callable[[Stride], str]) -> str:
    """A walk whose strided loops have other headers."""
    nodes = {**rows_in(item.node), **item.nodes}
    for stride in item.strides:
        nodes[stride.loop.id] = f"{header(stride)} {render(field(stride.loop, 'body'), {}, nodes)}"
    return render(item.node, {}, nodes)


def reduction_function(name: str, how: str, threads: str) -> str:
    """A function that reduces a float over the block, with shuffles; all threads know the result."""
    other = "__shfl_xor_sync(0xffffffffu, value, step)"
    combined = f"value += {other}" if how == "+" else f"value = {how}(value, {other})"
    return (
        f"__device__ float {name}(float value) {{\n"
        f"{STEP}__shared__ float of_warps[{threads} / 32];\n"
        f"{STEP}for (int step = 16; step > 0; step /= 2) {combined};\n"
        f"{STEP}__syncthreads();  // an earlier result may still be read\n"
        f"{STEP}if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;\n"
        f"{STEP}__syncthreads();\n"
        f"{STEP}value = of_warps[threadIdx.x % ({threads} / 32)];\n"
        f"{STEP}for (int step = {threads} / 64; step > 0; step /= 2) {combined};\n"
        f"{STEP}return value;\n"
        f"}}\n\n"
    )


def options_of(launch: Launch) -> str:
    """The options of a tensor that the launch uses, device and all; in a function that knows no tensor, of the present
    device."""
    function: Node | None = launch.statement
    while function is not None and function.type != "function_definition":
        function = function.parent
    found = _TENSOR.search(" ".join(text(each) for each in launch.arguments))
    if found is None and function is not None:
        found = _TENSOR.search(text(function))
    if found is None:
        return "torch::TensorOptions().device(torch::kCUDA)"
    return f"{found[1]}.options()"
