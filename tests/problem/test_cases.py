"""The cases of every problem that ships: a vectorised path must be checked, and so must its remainder."""

import math

import pytest

torch = pytest.importorskip("torch")

from evoengineer.problem.catalog import shipped
from evoengineer.problem.live import Live, open_live
from evoengineer.problem.model import Case

VECTOR_BYTES = 16  # the widest load there is
TILE = 512  # elements; "several tiles" is more than twice that


def largest(tensors: list["torch.Tensor"]) -> "torch.Tensor":
    return max(tensors, key=lambda tensor: tensor.numel())


def main_tensors(live: Live, case: Case) -> list["torch.Tensor"]:
    """The largest input, and the largest output unless it is a single number."""
    inputs = live.inputs(case, live.problem.distributions[0], 1)
    outputs = live.outputs(case, inputs, double=False)
    chosen = [largest([value for value in inputs.values() if isinstance(value, torch.Tensor)])]
    return chosen + [each for each in [largest(list(outputs))] if each.dim() > 0]


def several_tiles(tensors: list["torch.Tensor"]) -> bool:
    return math.prod(max(tensors, key=lambda each: each.numel()).shape) > 2 * TILE


def aligned(tensors: list["torch.Tensor"]) -> bool:
    """Every row starts where a vector load may, and is a whole number of vectors."""
    return several_tiles(tensors) and all(
        tensor.is_contiguous()
        and tensor.shape[-1] % 4 == 0
        and tensor.shape[-1] * tensor.element_size() % VECTOR_BYTES == 0
        for tensor in tensors
    )


def awkward(tensors: list["torch.Tensor"]) -> bool:
    return several_tiles(tensors) and any(
        tensor.shape[-1] * tensor.element_size() % VECTOR_BYTES for tensor in tensors
    )


@pytest.mark.parametrize("name", shipped())
def test_an_aligned_and_an_awkward_case_of_several_tiles(name: str) -> None:
    live = open_live(shipped()[name], name)
    tensors = [main_tensors(live, case) for case in live.problem.check_cases]
    assert any(aligned(each) for each in tensors), "no check case has rows that vector loads fit"
    assert any(awkward(each) for each in tensors), "no check case has rows that vector loads do not fit"
