"""How far another order of summation may take a product: further than any order does, less than 16 bits would."""

import pytest

torch = pytest.importorskip("torch")

from evoengineer.judge.correctness import Expected, Mismatch, compare
from evoengineer.judge.reference.sums import Sums
from evoengineer.problem.model import Tolerance


def normal(*shape: int, seed: int) -> "torch.Tensor":
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def judged(a: "torch.Tensor", b: "torch.Tensor", actual: "torch.Tensor") -> Mismatch | None:
    with Sums() as sums:
        pytorch = a @ b
    expected = Expected.make(a.double() @ b.double(), pytorch, False, order_epsilons=sums.order_epsilons)
    return compare(0, expected, actual, Tolerance())


def parts(x: "torch.Tensor", dtype: "torch.dtype", bits: int = 32) -> "tuple[torch.Tensor, torch.Tensor]":
    """High and low part; of float32 those with so many of its bits."""

    def high(x: "torch.Tensor") -> "torch.Tensor":
        if dtype is torch.float32:
            return (x.view(torch.int32) & -(1 << (32 - bits))).view(torch.float32)
        return x.to(dtype).float()

    first = high(x)
    return first.double(), high(x - first).double()


def three_products(
    a: "torch.Tensor", b: "torch.Tensor", dtype: "torch.dtype", bits: int = 32
) -> "torch.Tensor":
    (a_high, a_low), (b_high, b_low) = parts(a, dtype, bits), parts(b, dtype, bits)
    return (a_high @ b_high + a_high @ b_low + a_low @ b_high).float()


@pytest.mark.parametrize("terms", [33, 128, 1024, 4096])
def test_adding_up_one_after_the_other_passes_with_a_margin(terms: int) -> None:
    a, b = normal(64, terms, seed=1), normal(terms, 64, seed=2)
    total = torch.zeros(64, 64)
    for k in range(terms):
        total = total + a[:, k : k + 1] * b[k : k + 1]
    exact = a.double() @ b.double()
    assert judged(a, b, total) is None
    assert judged(a, b, (exact + 2 * (total - exact)).float()) is None


@pytest.mark.parametrize("terms", [33, 128, 1024])
def test_products_of_bfloat16_parts_do_not_pass(terms: int) -> None:
    a, b = normal(64, terms, seed=1), normal(terms, 64, seed=2)
    assert judged(a, b, three_products(a, b, torch.bfloat16)) is not None
    four = sum(parts(a, torch.bfloat16)) @ sum(parts(b, torch.bfloat16))
    assert judged(a, b, four.float()) is not None


@pytest.mark.parametrize("terms", [33, 128, 1024])
def test_products_of_tf32_and_half_parts_pass(terms: int) -> None:
    a, b = normal(64, terms, seed=1), normal(terms, 64, seed=2)
    assert judged(a, b, three_products(a, b, torch.float32, bits=19)) is None
    assert judged(a, b, three_products(a, b, torch.float16)) is None


def test_only_products_leave_less_than_usual() -> None:
    a, b = normal(8, 64, seed=1), normal(64, 8, seed=2)
    image, window = normal(1, 3, 9, 9, seed=3), normal(4, 3, 3, 3, seed=4)
    for reference, known in (
        (lambda: a @ b, 64.0),
        (lambda: 2 * (a @ b).t() + 1, 64.0),
        (lambda: a @ b @ a, 128.0),  # each adds its own
        (lambda: torch.relu(a @ b), None),
        (lambda: a + 1, None),
        (lambda: torch.conv2d(image, window), None),  # Winograd's way errs more
        (lambda: torch.conv2d(image, window[:, :, :1, :1]), 64.0),
    ):
        with Sums() as sums:
            reference()
        assert sums.order_epsilons == known
