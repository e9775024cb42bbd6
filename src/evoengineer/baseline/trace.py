"""What a reference does, as a graph of ATen calls that holds for every size.

PyTorch's symbolic tracing says how sizes follow from those of the arguments. A number that a model keeps for itself
(`num_features`, a shape for `view`) is not followed: it shows as a number. So the reference is traced in two cases,
and a number that differs between them is looked up among the sizes of tensors that were there before.
"""

from __future__ import annotations

import math
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
    """The calls of a problem's reference, compared in two of its check cases."""
    cases = _by_least_size(live)
    arguments = _kinds(live, cases[0])
    first = _traced(live, cases[0], decompositions)
    failure = None
    for case in cases[1:]:  # some may be special: a window that covers everything
        other = _traced(live, case, decompositions)
        try:
            return Trace(first, arguments, _sizes_in(first, other))
        except Untraceable as error:
            failure = failure or error
            first = other
    if failure is not None:
        raise failure
    return Trace(first, arguments, {})


def _by_least_size(live: Live) -> list[Case]:
    """The one with the largest least size first: a size of 1 would be taken for a rule."""
    return sorted(live.problem.check_cases, key=lambda case: -min(_varied(live, case), default=0))


def _varied(live: Live, case: Case) -> list[int]:
    """The sizes that are not the same in all cases."""
    return [
        size
        for name, size in case.sizes.items()
        if len({c.sizes[name] for c in live.problem.check_cases}) > 1
    ]


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


def _sizes_in(graph: Graph, other: Graph) -> dict[tuple[Node, tuple[int, ...]], SizeOf]:
    nodes, others = list(graph.nodes), list(other.nodes)
    if [str(node.target) for node in nodes if node.op == "call_function"] != [
        str(node.target) for node in others if node.op == "call_function"
    ]:
        raise Untraceable("the reference does other things for other sizes")
    found: dict[tuple[Node, tuple[int, ...]], SizeOf] = {}
    for place, (node, twin) in enumerate(zip(nodes, others, strict=True)):
        for where, number, second in _numbers(node.args, twin.args):
            if number != second and not _is_shape_of_norm(node, where):
                size = _size(number, second, nodes[:place], others[:place])
                if size is None:
                    raise Untraceable(
                        f"{node.target}: {number} (elsewhere {second}) follows from no tensor's size"
                    )
                found[node, where] = size
    return found


def _is_shape_of_norm(node: Node, where: tuple[int, ...]) -> bool:
    """A layer norm's shape: only how many dimensions it has is used."""
    return "native_layer_norm" in str(node.target) and where[0] == 1


def _numbers(
    given: Sequence[Any], twin: Sequence[Any], where: tuple[int, ...] = ()
) -> list[tuple[tuple[int, ...], int, int]]:
    """Whole numbers that stand at the same places."""
    found = []
    for place, (one, two) in enumerate(zip(given, twin, strict=True)):
        here = (*where, place)
        if type(one) is int and type(two) is int:
            found.append((here, one, two))
        elif isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)) and len(one) == len(two):
            found += _numbers(one, two, here)
    return found


def _size(number: int, second: int, nodes: list[Node], others: list[Node]) -> SizeOf | None:
    for node, twin in zip(nodes, others, strict=True):
        value, other = node.meta.get("val"), twin.meta.get("val")
        if isinstance(value, torch.Tensor) and isinstance(other, torch.Tensor):
            rank = min(value.dim(), other.dim())
            for dims in (*((dim,) for dim in range(rank)), *combinations(range(rank), 2)):
                here, there = (math.prod(_hint(each.shape[dim]) for dim in dims) for each in (value, other))
                if (here, there) == (number, second):
                    return SizeOf(node, dims)
    return None


def _hint(size: Any) -> int:
    """A symbolic size as it was in the traced case."""
    return int(size.node.hint) if isinstance(size, torch.SymInt) else int(size)
