"""Comparing a candidate's results with the reference, and saying what is wrong in a way that helps to mend it.

Two bounds on the error of each element, which is taken relative to the element plus the output's scale (its
RMS): the problem's tolerance for the dtype, and a multiple of the error that PyTorch itself makes in that
dtype. Whole-number inputs whose results are exact must come out exact. One small draw says little about any of
the three: a GELU of one element may be nearly zero, PyTorch's error nothing by luck, and a mean of three whole
numbers whole. So a `Yardstick` takes them from many draws of the case. Imports torch: reference process only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from evoengineer.judge.patterns import pattern_of
from evoengineer.problem.model import ORDER_EPSILONS, Tolerance, sizes_text

_ORDER_EPSILONS = {getattr(torch, dtype): epsilons for dtype, epsilons in ORDER_EPSILONS.items()}
_EXACT_BITS = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}
# Elements: what PyTorch does in one thread. Waiting for a second one costs more, and far more on a busy machine.
_PIECE = 1 << 15
_MOVED_EPSILONS = 8.0  # of rounding at most, where nothing is computed
_EXACT_FRACTION = 1024.0  # results that are whole multiples of 1/1024 involve no rounding on the way


@dataclass(frozen=True, slots=True)
class Mismatch:
    """How an output differs. `kind` is shape, dtype, strides, device, count or values."""

    kind: str
    text: str
    output: int = 0
    index: tuple[int, ...] = ()
    expected: float | int | bool | None = None
    actual: float | int | bool | None = None
    wrong_share: float = 0.0
    worst_error: float = 0.0
    bound: float = 0.0
    pattern: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What an output of a case is like under a distribution, whatever the draw."""

    scale: float = 0.0  # RMS
    own_error: float = 0.0  # the worst that PyTorch itself makes
    whole: bool = True  # no draw needs rounding

    @classmethod
    def of(cls, draws: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> Yardstick:
        """From (float64, PyTorch's own) results of several draws."""
        exact = torch.cat([each.reshape(-1) for each, _ in draws])
        pytorch = torch.cat([each.reshape(-1) for _, each in draws])
        made = Expected.make(exact, pytorch, whole_inputs=False)
        return cls(made.scale, made.own_error, _is_whole(made.exact, pytorch))


@dataclass(frozen=True, slots=True)
class Expected:
    """One output of the reference: in float64, and as PyTorch computes it in the problem's dtype.

    What does not depend on the candidate is computed once: for a large case, comparing costs as much as running.
    """

    exact: torch.Tensor
    pytorch: torch.Tensor
    whole: bool  # compare without tolerance
    scale: float = 0.0  # RMS of the output
    own_error: float = 0.0  # the worst that PyTorch itself makes
    overflows: bool = False  # some elements are too large for the dtype
    moved: bool = False  # PyTorch makes no error at all: values are chosen or moved, not computed
    order_epsilons: float | None = (
        None  # what another order of summation may take; None: as usual for the dtype
    )

    @classmethod
    def make(
        cls,
        exact: torch.Tensor,
        pytorch: torch.Tensor,
        whole_inputs: bool,
        yardstick: Yardstick | None = None,
        order_epsilons: float | None = None,
    ) -> Expected:
        """Without a `yardstick`, the draw is its own: right for those with many elements. `order_epsilons` hold for
        float32."""
        if not pytorch.is_floating_point():
            return cls(exact, pytorch, whole=True)
        exact = exact.double()
        usual = yardstick or Yardstick()
        if whole_inputs and usual.whole and _is_whole(exact, pytorch):
            return cls(exact, pytorch, whole=True)
        most = torch.finfo(pytorch.dtype).max
        overflows = not _largest(exact) <= most  # also where there is a NaN
        fits = exact.abs() <= most if overflows else None
        scale = max(_scale(exact if fits is None else exact[fits]), usual.scale)
        own = _worst_error(pytorch, exact, scale, fits)
        moved = own == usual.own_error == 0.0
        own = max(own, usual.own_error) if math.isfinite(own) else usual.own_error
        order = order_epsilons if pytorch.dtype is torch.float32 else None
        return cls(exact, pytorch, False, scale, own, overflows, moved, order)


def _is_whole(exact: torch.Tensor, pytorch: torch.Tensor) -> bool:
    """Did no rounding happen on the way to this result of whole-number inputs?"""
    scaled = exact * _EXACT_FRACTION
    return (
        pytorch.dtype in _EXACT_BITS
        and bool(torch.isfinite(scaled).all())
        and bool((scaled == scaled.round()).all())
        and bool((exact.abs() < 2.0 ** _EXACT_BITS[pytorch.dtype]).all())
        and bool((pytorch.double() == exact).all())
    )


def compare(number: int, expected: Expected, actual: torch.Tensor, tolerance: Tolerance) -> Mismatch | None:
    """None when `actual` is right."""
    reference = expected.pytorch
    if actual.dtype != reference.dtype:
        return Mismatch("dtype", f"output {number} is {_dtype(actual)}, expected {_dtype(reference)}", number)
    if actual.shape != reference.shape:
        return Mismatch(
            "shape",
            f"output {number} has shape {sizes_text(actual.shape)}, expected {sizes_text(reference.shape)}",
            number,
        )
    if not _same_layout(actual, reference):
        return Mismatch(
            "strides",
            f"output {number} has strides {sizes_text(actual.stride())}, expected {sizes_text(reference.stride())}",
            number,
        )
    if actual.numel() == 0:
        return None
    if not reference.is_floating_point():
        return _report(number, actual != reference, expected, actual, 0.0, 0.0)
    if expected.whole:
        return _report(number, ~(actual.double() == expected.exact), expected, actual, 0.0, 0.0)
    return _compare_floats(number, expected, actual, tolerance)


def _same_layout(actual: torch.Tensor, reference: torch.Tensor) -> bool:
    def strides(tensor: torch.Tensor) -> list[int]:  # of dimensions in which there is somewhere to go
        return [s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1]

    return actual.is_contiguous() or strides(actual) == strides(reference)


def _compare_floats(
    number: int, expected: Expected, actual: torch.Tensor, tolerance: Tolerance
) -> Mismatch | None:
    epsilon = torch.finfo(actual.dtype).eps
    order = min(_ORDER_EPSILONS[actual.dtype], expected.order_epsilons or math.inf)
    floor = min(order, _MOVED_EPSILONS) if expected.moved else order
    precise = max(tolerance.times_pytorch * expected.own_error, floor * epsilon)
    bound = min(tolerance.bound(_dtype(actual)), precise)
    if not expected.overflows and _worst_error(actual, expected.exact, expected.scale) <= bound:
        return None
    exact = expected.exact
    fits = exact.abs() <= torch.finfo(actual.dtype).max  # where not, infinite is right
    error = (actual.double() - exact).abs() / (exact.abs() + expected.scale)
    error = torch.where(torch.isfinite(actual), error, torch.inf)
    wrong = torch.where(fits, error > bound, torch.isfinite(actual))
    worst = float(torch.where(fits, error, 0.0).max())
    return _report(number, wrong, expected, actual, worst, bound)


def _worst_error(
    values: torch.Tensor, exact: torch.Tensor, scale: float, counted: torch.Tensor | None = None
) -> float:
    """The largest error, relative to the element plus the scale; NaN if a value is. In pieces that fit the cache."""
    worst = torch.zeros((), dtype=torch.float64)
    tensors = (values, exact, *(() if counted is None else (counted,)))
    for pieces in zip(*(_pieces(tensor) for tensor in tensors), strict=True):
        error = (pieces[0].double() - pieces[1]).abs_().div_(pieces[1].abs().add_(scale))
        if counted is not None:
            error = torch.where(pieces[2], error, 0.0)
        worst = torch.maximum(worst, error.max())
    return float(worst)


def _scale(values: torch.Tensor) -> float:
    """RMS, computed so that squares do not overflow; the smallest normal number for an output of zeros."""
    largest = _largest(values)
    if largest == 0.0:
        return 1e-30
    squares = sum(float((piece / largest).square_().sum()) for piece in _pieces(values))
    return largest * math.sqrt(squares / values.numel())


def _largest(values: torch.Tensor) -> float:
    """The largest magnitude; NaN if there is one. In pieces, as all that looks at every element of a large case."""
    worst = torch.zeros((), dtype=values.dtype)
    for piece in _pieces(values):
        worst = torch.maximum(worst, piece.abs().max()) if piece.numel() else worst
    return float(worst)


def _pieces(values: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Views of all elements that fit the cache."""
    return torch.split(values.reshape(-1), _PIECE)


def _report(
    number: int, wrong: torch.Tensor, expected: Expected, actual: torch.Tensor, worst: float, bound: float
) -> Mismatch | None:
    count = int(wrong.sum())
    if count == 0:
        return None
    first = tuple(int(i) for i in wrong.nonzero()[0])
    wanted, got = expected.exact[first].item(), actual[first].item()
    share = count / wrong.numel()
    pattern = pattern_of(wrong, expected.exact, actual)
    close = "" if not (0 < worst < 0.05) else (
        f" The results are close: the worst error is {worst:.2g} of the output's scale where {bound:.2g} is allowed, "
        "as from arithmetic in a lower precision than asked."
    )  # fmt: skip
    text = (
        f"output {number}: {count} of {wrong.numel()} elements are wrong ({share:.1%}). "
        f"First at {sizes_text(first)}: expected {_show(wanted)}, got {_show(got)}.{close}"
        + (f" Pattern: {pattern}." if pattern else "")
    )
    return Mismatch("values", text, number, first, wanted, got, share, worst, bound, pattern)


def _show(value: float | int | bool) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
