"""Mixed values: ordinary at nearly every place, and telling at the others."""

import pytest
import torch

from evoengineer.problem.inputs import Generator
from evoengineer.problem.model import Distribution
from evoengineer.problem.widening import Mode, Widened

SEEDS = range(5)


def drawn(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return Generator(seed, Distribution.MIXED).values(*shape, dtype=dtype)


@pytest.mark.parametrize("shape", [(1,), (5000,), (1, 1), (300, 70), (2, 3, 40, 50)])
def test_shapes_and_seeds(shape: tuple[int, ...]) -> None:
    assert drawn(1, *shape).shape == shape
    assert torch.equal(drawn(1, *shape), drawn(1, *shape))
    assert not torch.equal(drawn(1, *shape), drawn(2, *shape))


@pytest.mark.parametrize("seed", SEEDS)
def test_most_rows_are_ordinary_and_some_are_not(seed: int) -> None:
    x = drawn(seed, 1024, 256)
    assert (x.abs() < 6).double().mean() > 0.95
    assert 8 <= (x.std(dim=1) < 0.05).sum() <= 16, "nearly constant: a variance cancels"
    assert (x.abs() > 100).any(dim=1).sum() >= 32, "an exponential overflows"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_ends_of_rows_and_of_all_are_not_spared(seed: int) -> None:
    far = drawn(seed, 4096, 1024).abs() > 1000
    assert far[:, -16:].any()
    assert far[-64:].any()
    assert far[:-64, :-16].any()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_part_of_a_mean_can_be_left_out(seed: int) -> None:
    """Whoever adds up 99 of a hundred elements and makes up for the rest is further off than rounding."""
    terms = drawn(seed, 1024, 4096).double().abs().reshape(-1)
    most = terms[: len(terms) * 99 // 100]
    assert abs(most.mean() / terms.mean() - 1) > 1e-4


def test_half_precision_holds_them() -> None:
    assert all(torch.isfinite(drawn(seed, 4096, 4096, dtype=torch.float16)).all() for seed in (1, 2))


def test_a_files_own_values_stay_what_they_are_at_nearly_every_place() -> None:
    torch.manual_seed(3)
    own = torch.rand(512, 512)
    torch.manual_seed(3)
    with Widened(Distribution.MIXED, (Mode.FREE,), 7):
        mixed = torch.rand(512, 512)
    assert (mixed == own).double().mean() > 0.95
    assert mixed.min() < -100
