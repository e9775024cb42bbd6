"""What a reference does, as a graph of ATen calls that holds for every size.

The reference is traced in several cases. A number in a call's arguments that is the same in all of them is a number;
one that differs is looked up among the sizes of tensors that were there before. Where none fits, PyTorch's symbolic
tracing may know how it follows from sizes; it takes equal sizes for the same one, so it is asked last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel

from evoengineer.errors import EvoEngineerError
from evoengineer.problem.live import Live
from evoengineer.problem.model import Case

_TRACED_CASES = 3
_NUMBERS = (int, float, torch.SymInt, torch.SymFloat)

Graph = torch.fx.Graph
Node = torch.fx.Node


class Untraceable(EvoEngineerError):
    """No graph can be had of a reference."""


@dataclass(frozen=True, slots=True)
class SizeOf:
    """A number in a call's arguments that is a size of a tensor, or the product of two."""

    node: Node
    dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """A reference's calls. Arguments that are plain numbers are traced as tensors of one element."""

    graph: Graph
    arguments: tuple[tuple[str, str], ...]  # name and kind: tensor, float, int or bool
    sizes: dict[tuple[Node, tuple[int, ...]], SizeOf]  # numbers that are sizes, by where they stand


def trace(live: Live, decompositions: dict[Any, Any]) -> Trace:
    """The calls of a problem's reference, compared in several of its check cases."""
    cases = _telling_cases(live)
    graphs = [_traced(live, case, decompositions) for case in cases]
    alike = max(([g for g in graphs if _calls(g) == _calls(each)] for each in graphs), key=len)
    if len(alike) < min(2, len(graphs)):  # one alone may be special: a window that covers everything
        raise Untraceable("the reference does other things for other sizes")
    return Trace(alike[0], _kinds(live, cases[0]), _sizes_in(alike))


def _calls(graph: Graph) -> list[str]:
    return [str(node.target) for node in _operations(graph) if node.op == "call_function"]


def _operations(graph: Graph) -> list[Node]:
    """Everything but arithmetic of sizes."""
    return [node for node in graph.nodes if not isinstance(node.meta.get("val"), _NUMBERS)]


def _telling_cases(live: Live) -> list[Case]:
    """A few in which as many sizes as possible differ. A size of 1 would be taken for a rule."""
    cases = live.problem.check_cases
    varied = [name for name in cases[0].sizes if len({case.sizes[name] for case in cases}) > 1]
    rest = [case for case in cases if all(case.sizes[name] > 1 for name in varied)]
    rest = rest if len(rest) > 1 else list(cases)
    chosen: list[Case] = []

    def news(case: Case) -> int:
        return sum(all(case.sizes[name] != other.sizes[name] for other in chosen) for name in varied)

    while rest and len(chosen) < _TRACED_CASES:
        chosen.append(max(rest, key=news))
        rest.remove(chosen[-1])
    return chosen


def _kinds(live: Live, case: Case) -> tuple[tuple[str, str], ...]:
    inputs = live.inputs(case, live.problem.distributions[0], 0)
    return tuple((name, _kind(name, value)) for name, value in inputs.items())


def _kind(name: str, value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "tensor"
    if type(value) in (bool, int, float):
        return type(value).__name__
    raise Untraceable(
        f"argument {name!r} is a {type(value).__name__}; only tensors and numbers can be passed on"
    )


def _traced(live: Live, case: Case, decompositions: dict[Any, Any]) -> Graph:
    inputs = live.inputs(case, live.problem.distributions[0], 0)
    followed = {name: value for name, value in inputs.items() if isinstance(value, (torch.Tensor, float))}

    reference = live.call(case)

    def call(*values: Any) -> Any:
        return reference({**inputs, **dict(zip(followed, values, strict=True))})

    tensors = [
        value if isinstance(value, torch.Tensor) else torch.tensor(value) for value in followed.values()
    ]
    try:
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):  # attention as products and a softmax
            module = make_fx(
                torch.func.functionalize(call),
                decomposition_table=decompositions,
                tracing_mode="symbolic",
                _allow_non_fake_inputs=True,  # constants, which are looked at below
            )(*tensors)
    except Exception as error:  # whatever a user's model does that cannot be traced
        raise Untraceable(
            f"the reference cannot be traced: {type(error).__name__}: {_first_line(error)}"
        ) from error
    _drop_updates(module.graph)
    module.graph.eliminate_dead_code()
    _note_constants(module)
    return module.graph


def _note_constants(module: torch.fx.GraphModule) -> None:
    """Numbers that the reference makes tensors of are known; tensors that it keeps to itself cannot be."""
    for node in module.graph.nodes:
        if node.op == "get_attr":
            constant = getattr(module, node.target)
            if constant.numel() != 1:
                raise Untraceable(
                    "the reference uses a tensor that is neither an input nor a parameter nor a buffer: "
                    "register it, so that a kernel can receive it"
                )
            node.meta["constant"] = float(constant)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0]


def _drop_updates(graph: Graph) -> None:
    """What a reference writes into its arguments (running statistics) is no result."""
    for node in reversed(list(graph.nodes)):
        written = node.op == "call_function" and getattr(node.target, "_schema", None) is not None
        if written and node.target._schema.is_mutable and not node.users:
            graph.erase_node(node)


def _sizes_in(graphs: Sequence[Graph]) -> dict[tuple[Node, tuple[int, ...]], SizeOf]:
    """Numbers of the first graph's calls that follow from sizes, each with the size that it is."""
    found: dict[tuple[Node, tuple[int, ...]], SizeOf] = {}
    rows = list(zip(*(_operations(graph) for graph in graphs), strict=True))  # the same call in all graphs
    for place, nodes in enumerate(rows):
        for where, numbers, known in _numbers([node.args for node in nodes]):
            fixed = len(set(numbers)) == 1 and not known
            if fixed or _is_shape_of_norm(nodes[0], where):
                continue
            size = _size(numbers, rows[:place])
            if size is not None:
                found[nodes[0], where] = size
            elif not known:
                several = " or ".join(str(number) for number in dict.fromkeys(numbers))
                raise Untraceable(f"{nodes[0].target}: the number {several} follows from no tensor's size")
    return found


def _is_shape_of_norm(node: Node, where: tuple[int, ...]) -> bool:
    """A layer norm's shape: only how many dimensions it has is used."""
    return "native_layer_norm" in str(node.target) and where[0] == 1


def _numbers(
    given: Sequence[Any], where: tuple[int, ...] = ()
) -> list[tuple[tuple[int, ...], tuple[int, ...], bool]]:
    """Whole numbers at the same places of several lists of arguments; and does the first have it as an expression?"""
    found: list[tuple[tuple[int, ...], tuple[int, ...], bool]] = []
    for place, values in enumerate(zip(*given, strict=True)):
        here = (*where, place)
        numbers = [_number(value) for value in values]
        if None not in numbers:
            found.append((here, tuple(n for n in numbers if n is not None), isinstance(values[0], Node)))
        elif all(isinstance(value, (list, tuple)) for value in values) and len({len(v) for v in values}) == 1:
            found += _numbers(values, here)
    return found


def _number(value: Any) -> int | None:
    """What a number or an expression was in the traced case."""
    if isinstance(value, Node):
        known = value.meta.get("val")
        return _hint(known) if isinstance(known, (int, torch.SymInt)) else None
    return value if type(value) is int else None


def _size(numbers: tuple[int, ...], rows: Sequence[tuple[Node, ...]]) -> SizeOf | None:
    """The first tensor of which a size, or the product of two, is this number in every graph."""
    for nodes in rows:
        shapes = [_shape(node) for node in nodes]
        rank = min(len(shape) for shape in shapes)
        for dims in (*((dim,) for dim in range(rank)), *combinations(range(rank), 2)):
            if list(numbers) == [_product(shape, dims) for shape in shapes]:
                return SizeOf(nodes[0], dims)
    return None


def _shape(node: Node) -> list[int]:
    """In the traced case; nothing for what is no tensor."""
    value: Any = node.meta.get("val")
    return [_hint(size) for size in value.shape] if isinstance(value, torch.Tensor) else []


def _product(shape: list[int], dims: tuple[int, ...]) -> int:
    product = 1
    for dim in dims:
        product *= shape[dim]
    return product


def _hint(size: Any) -> int:
    """A symbolic size as it was in the traced case."""
    return int(size.node.hint) if isinstance(size, torch.SymInt) else int(size)
