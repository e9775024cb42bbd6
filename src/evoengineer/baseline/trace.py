"""What a reference does, as a graph of ATen calls that holds for every size.

PyTorch's symbolic tracing says how sizes follow from those of the arguments. A number that a model keeps for itself
(`num_features`, a shape for `view`) is not followed: it shows as a number. So the reference is traced in two cases,
and a number that differs between them is looked up among the sizes of tensors that were there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from evoengineer.errors import EvoEngineerError
from evoengineer.problem.live import Live
from evoengineer.problem.model import Case

Graph = torch.fx.Graph
Node = torch.fx.Node


class Untraceable(EvoEngineerError):
    """No graph can be had of a reference."""


@dataclass(frozen=True, slots=True)
class SizeOf:
    """A number in a call's arguments that is the size of a tensor."""

    node: Node
    dim: int


@dataclass(frozen=True, slots=True)
class Trace:
    """A reference's calls. Arguments that are plain numbers are traced as tensors of one element."""

    graph: Graph
    arguments: tuple[tuple[str, str], ...]  # name and kind: tensor, float, int or bool
    sizes: dict[tuple[Node, tuple[int, ...]], SizeOf]  # numbers that are sizes, by where they stand


def trace(live: Live, decompositions: dict[Any, Any]) -> Trace:
    """The calls of a problem's reference, compared in two of its check cases."""
    chosen = _two_cases(live)
    graphs = [_traced(live, case, decompositions) for case in chosen]
    arguments = _kinds(live, chosen[0])
    if len(graphs) == 1:
        return Trace(graphs[0], arguments, {})
    return Trace(graphs[0], arguments, _sizes_in(graphs[0], graphs[1]))


def _two_cases(live: Live) -> list[Case]:
    """The ones with the largest least size: a size of 1 would be taken for a rule."""
    awkward = sorted(live.problem.check_cases, key=lambda case: -min(case.sizes.values(), default=0))
    return awkward[:2]


def _kinds(live: Live, case: Case) -> tuple[tuple[str, str], ...]:
    inputs = live.inputs(case, live.problem.distributions[0], 0)
    return tuple((name, _kind(name, value)) for name, value in inputs.items())


def _kind(name: str, value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "tensor"
    if type(value) in (bool, int, float):
        return type(value).__name__
    raise Untraceable(f"argument {name!r} is a {type(value).__name__}; only tensors and numbers can be passed on")


def _traced(live: Live, case: Case, decompositions: dict[Any, Any]) -> Graph:
    inputs = live.inputs(case, live.problem.distributions[0], 0)
    followed = {name: value for name, value in inputs.items() if isinstance(value, (torch.Tensor, float))}

    def call(*values: Any) -> Any:
        given = {**inputs, **dict(zip(followed, values, strict=True))}
        return live.outputs(case, given, double=False)

    tensors = [
        value if isinstance(value, torch.Tensor) else torch.tensor(value) for value in followed.values()
    ]
    try:
        with torch.no_grad():
            module = make_fx(
                torch.func.functionalize(call),
                decomposition_table=decompositions,
                tracing_mode="symbolic",
            )(*tensors)
    except Exception as error:  # whatever a user's model does that cannot be traced
        raise Untraceable(f"the reference cannot be traced: {type(error).__name__}: {_first_line(error)}") from error
    constants = [node.target for node in module.graph.nodes if node.op == "get_attr"]
    if constants:
        raise Untraceable(
            f"the reference uses {len(constants)} tensors that are neither inputs nor parameters nor buffers; "
            "register them, so that a kernel can receive them"
        )
    _drop_updates(module.graph)
    module.graph.eliminate_dead_code()
    return module.graph


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
                    raise Untraceable(f"{node.target}: {number} (elsewhere {second}) follows from no tensor's size")
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
            for dim in range(min(value.dim(), other.dim())):
                if _hint(value.shape[dim]) == number and _hint(other.shape[dim]) == second:
                    return SizeOf(node, dim)
    return None


def _hint(size: Any) -> int:
    """A symbolic size as it was in the traced case."""
    return int(size.node.hint) if isinstance(size, torch.SymInt) else int(size)
