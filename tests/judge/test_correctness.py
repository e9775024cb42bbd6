"""Comparing with the reference: what passes, what does not, and what is said of it."""

import pytest

torch = pytest.importorskip("torch")

from evoengineer.judge.correctness import Expected, Yardstick, compare
from evoengineer.problem.model import Tolerance

TOLERANCE = Tolerance()


def expected(x: "torch.Tensor", dtype: "torch.dtype" = torch.float32, whole: bool = False) -> Expected:
    return Expected.make(x.double(), x.to(dtype), whole)


def normal(*shape: int, seed: int = 1) -> "torch.Tensor":
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_rounding_passes() -> None:
    x = normal(64, 64)
    assert compare(0, expected(x), (x * (1 + 1e-6)).float(), TOLERANCE) is None


def test_zeros_for_a_softmax_do_not_pass() -> None:
    x = torch.softmax(normal(8, 4096), dim=-1)
    found = compare(0, expected(x), torch.zeros(8, 4096), TOLERANCE)
    assert found is not None
    assert found.wrong_share == 1
    assert found.pattern == "all of them are 0"


@pytest.mark.parametrize("bits", [10, 7])  # TF32, bfloat16
def test_a_lower_precision_is_caught(bits: int) -> None:
    a, b = normal(64, 512), normal(512, 64, seed=2)

    def rounded(x: "torch.Tensor") -> "torch.Tensor":
        scale = 2.0 ** (torch.floor(torch.log2(x.abs())) - bits)
        return (x / scale).round() * scale

    reference = Expected.make(a.float().double() @ b.float().double(), a.float() @ b.float(), False)
    found = compare(0, reference, (rounded(a) @ rounded(b)).float(), TOLERANCE)
    assert found is not None
    assert "lower precision" in found.text
    assert found.worst_error > found.bound


def test_another_order_of_summation_passes() -> None:
    a, b = normal(32, 4096).float(), normal(4096, 32, seed=2).float()
    total = torch.zeros(32, 32)
    for k in range(4096):
        total = total + a[:, k : k + 1] * b[k : k + 1]
    assert compare(0, Expected.make(a.double() @ b.double(), a @ b, False), total, TOLERANCE) is None


def test_whole_numbers_must_be_exact() -> None:
    x = normal(100).mul(4).round()
    reference = expected(x, whole=True)
    assert reference.whole
    off = x.float()
    off[7] += 1e-5
    found = compare(0, reference, off, TOLERANCE)
    assert found is not None
    assert found.index == (7,)


def gelu_draws(seeds: range) -> list[tuple["torch.Tensor", "torch.Tensor"]]:
    drawn = [(normal(1, 1, seed=seed) * 3).float() for seed in seeds]
    gelu = torch.nn.functional.gelu
    return [(gelu(x.double()), gelu(x)) for x in drawn]


def test_a_textbook_gelu_of_one_element_passes_whatever_the_draw() -> None:
    """Where it is nearly zero, 1 + erf cancels: against that element alone, the rounding looks like an error."""
    yardstick = Yardstick.of(gelu_draws(range(64)))
    alone = []
    for seed in range(1000, 1400):
        x = (normal(1, 1, seed=seed) * 3).float()
        textbook = 0.5 * x * (1 + torch.erf(x * 0.70710678))
        exact, own = torch.nn.functional.gelu(x.double()), torch.nn.functional.gelu(x)
        assert compare(0, Expected.make(exact, own, False, yardstick), textbook, TOLERANCE) is None, seed
        alone.append(compare(0, Expected.make(exact, own, False), textbook, TOLERANCE))
    assert any(alone)


def test_the_yardstick_still_catches_half_precision() -> None:
    yardstick = Yardstick.of(gelu_draws(range(64)))
    found = []
    for seed in range(100, 120):
        x = (normal(1, 1, seed=seed) * 3).float()
        exact, own = torch.nn.functional.gelu(x.double()), torch.nn.functional.gelu(x)
        rounded = torch.nn.functional.gelu(x.half().float())
        found.append(compare(0, Expected.make(exact, own, False, yardstick), rounded, TOLERANCE))
    assert sum(each is not None for each in found) >= 5  # of 20 draws of one element


def test_a_mean_that_is_whole_by_luck_need_not_be_exact() -> None:
    draws = [normal(3, seed=seed).mul(4).round() for seed in range(64)]
    yardstick = Yardstick.of([(x.mean()[None], x.mean()[None].float()) for x in draws])
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64).mean()[None]
    by_reciprocal = (torch.tensor([6.0]) * torch.tensor(1 / 3)).nextafter(torch.tensor([3.0]))
    assert compare(0, Expected.make(x, x.float(), True, yardstick), by_reciprocal, TOLERANCE) is None
    assert compare(0, Expected.make(x, x.float(), True), by_reciprocal, TOLERANCE) is not None


def test_quotients_are_not_taken_for_whole() -> None:
    assert not expected(normal(100).mul(4).round() / 3, whole=True).whole


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_non_finite_is_wrong_where_the_reference_is_finite(bad: float) -> None:
    x = normal(5, 5)
    y = x.float().clone()
    y[2, 3] = bad
    found = compare(0, expected(x), y, TOLERANCE)
    assert found is not None
    assert found.index == (2, 3)


def test_overflow_of_the_dtype_may_be_infinite() -> None:
    x = torch.tensor([1.0, 1e60], dtype=torch.float64)
    assert compare(0, expected(x), torch.tensor([1.0, float("inf")]), TOLERANCE) is None
    assert compare(0, expected(x), torch.tensor([1.0, 5.0]), TOLERANCE) is not None


@pytest.mark.parametrize(
    "actual, kind",
    [
        (torch.zeros(3, 4, dtype=torch.float64), "dtype"),
        (torch.zeros(4, 3), "shape"),
        (torch.zeros(12), "shape"),
        (torch.zeros(4, 3).t(), "strides"),
    ],
)
def test_form_is_strict(actual: "torch.Tensor", kind: str) -> None:
    found = compare(0, expected(torch.zeros(3, 4)), actual, TOLERANCE)
    assert found is not None
    assert found.kind == kind


def test_integers_are_compared_exactly() -> None:
    x = torch.arange(20)
    assert compare(0, Expected.make(x, x, False), x.clone(), TOLERANCE) is None
    y = x.clone()
    y[3] = 0
    found = compare(0, Expected.make(x, x, False), y, TOLERANCE)
    assert found is not None
    assert (found.expected, found.actual) == (3, 0)


@pytest.mark.parametrize(
    "spoil, phrase",
    [
        (lambda y: y[-1].fill_(0.5), "index 6 of dimension 0"),
        (lambda y: y[5:].mul_(-1), "the last 2 of 7 indices of dimension 0"),
        (lambda y: y[:, ::2].mul_(-1), "every 2th index of dimension 1"),
        (lambda y: y.mul_(3), "3 times"),
        (lambda y: y.add_(10), "off by +10"),
        (lambda y: y.fill_(float("nan")), "NaN"),
        (lambda y: y.view(torch.int32).fill_(-1), "never written"),
    ],
)
def test_patterns(spoil: object, phrase: str) -> None:
    x = normal(7, 16)
    y = x.float().clone()
    spoil(y)  # type: ignore[operator]
    found = compare(0, expected(x), y, TOLERANCE)
    assert found is not None
    assert phrase in found.pattern


def test_exchanged_dimensions_are_recognised() -> None:
    x = normal(9, 9)
    found = compare(0, expected(x), x.t().contiguous().float(), TOLERANCE)
    assert found is not None
    assert "exchanged" in found.pattern


def test_what_is_only_chosen_or_moved_comes_out_exact() -> None:
    """PyTorch makes no error in a ReLU: neither does an honest kernel, and 16 bits of mantissa are too few."""
    values = torch.randn(64, 64)
    right = values.relu()
    expected = Expected.make(right.double(), right, whole_inputs=False)
    short = (right.view(torch.int32) & ~0xFF).view(torch.float32)
    assert compare(0, expected, right, Tolerance()) is None
    assert compare(0, expected, short, Tolerance()) is not None
    computed = Expected.make(values.double().tanh(), values.tanh(), whole_inputs=False)
    assert compare(0, computed, values.tanh() * (1 + 2**-17), Tolerance()) is None
