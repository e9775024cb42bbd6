"""What the wrong elements have in common: the hint that tells a missing guard from a missing barrier.

`pattern_of` tries explanations from the most to the least telling; one that is given holds for all wrong
elements. Imports torch: reference process only.
"""

from __future__ import annotations

import torch

_FEW = 8


def pattern_of(wrong: torch.Tensor, expected: torch.Tensor, actual: torch.Tensor) -> str:
    """A phrase, or nothing when the wrong elements show no pattern."""
    bad_values, bad_expected = actual[wrong], expected[wrong]
    what = _unwritten(bad_values) or _special_values(bad_values) or _transposed(wrong, expected, actual)
    where = _where(wrong)
    if what or where:
        return "; ".join(part for part in (what, where) if part)
    return _ratio(bad_values.double(), bad_expected.double()) or _shifted(wrong, expected, actual)


def _unwritten(values: torch.Tensor) -> str:
    return f"all {values.numel()} of them were never written" if bool(is_unwritten(values).all()) else ""


def is_unwritten(values: torch.Tensor) -> torch.Tensor:
    """Which elements still are what the judge fills outputs with before the call: all-ones bytes."""
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return values.view(integers[values.element_size()]) == -1


def _special_values(values: torch.Tensor) -> str:
    if values.is_floating_point():
        if bool(torch.isnan(values).all()):
            return "all of them are NaN"
        if bool(torch.isinf(values).all()):
            return "all of them are infinite"
    if values.numel() > 1 and bool((values == values[0]).all()):
        return f"all of them are {values[0].item():.7g}"
    return ""


def _transposed(wrong: torch.Tensor, expected: torch.Tensor, actual: torch.Tensor) -> str:
    if expected.dim() < 2 or expected.shape[-1] != expected.shape[-2] or expected.shape[-1] < 2:
        return ""
    turned = expected.transpose(-1, -2).double()
    return "the last two dimensions are exchanged" if _close(actual.double(), turned) else ""


def _where(wrong: torch.Tensor) -> str:
    """Positions: the last rows, one tile, every k-th element of a dimension."""
    if bool(wrong.all()):
        return ""
    positions = wrong.nonzero()
    found = []
    for dimension in range(wrong.dim()):
        size = wrong.shape[dimension]
        touched = torch.unique(positions[:, dimension])
        if touched.numel() == size:
            continue
        name = f"dimension {dimension}"
        low, high = int(touched[0]), int(touched[-1])
        if touched.numel() == high - low + 1:
            if low == high:
                found.append(f"index {low} of {name} (size {size})")
            elif high == size - 1:
                found.append(f"the last {touched.numel()} of {size} indices of {name}")
            elif low == 0:
                found.append(f"the first {touched.numel()} of {size} indices of {name}")
            else:
                found.append(f"indices {low} to {high} of {name} (size {size})")
            continue
        steps = torch.unique(touched[1:] - touched[:-1])
        if steps.numel() == 1:
            found.append(f"every {int(steps[0])}th index of {name}, from {low} on")
    return "only " + " and ".join(found) if found else ""


def _ratio(values: torch.Tensor, expected: torch.Tensor) -> str:
    finite = torch.isfinite(values) & (expected.abs() > 0)
    if int(finite.sum()) < _FEW or not bool(torch.isfinite(values).all()):
        return ""
    middle = float((values[finite] / expected[finite]).median())
    size = expected.abs() + expected.square().mean().sqrt()  # what is nearly zero has no ratio to speak of
    scaled = (values - middle * expected).abs() < 1e-3 * abs(middle) * size
    if abs(middle) > 1e-3 and abs(middle - 1) > 1e-3 and bool(scaled.all()):
        return f"each is {middle:.6g} times the expected value"
    offsets = values - expected
    middle = float(offsets.median())
    spread = float((offsets - middle).abs().max())
    if abs(middle) > 0 and spread < 1e-3 * abs(middle):
        return f"each is off by {middle:+.6g}"
    return ""


def _shifted(wrong: torch.Tensor, expected: torch.Tensor, actual: torch.Tensor) -> str:
    if expected.shape[-1:] == torch.Size([]) or expected.shape[-1] < _FEW:
        return ""
    for shift in (1, -1):
        moved = torch.roll(expected.double(), shift, dims=-1)
        inside = slice(1, None) if shift == 1 else slice(None, -1)
        if _close(actual.double()[..., inside], moved[..., inside]):
            return f"results lie {shift:+d} from where they belong in the last dimension"
    return ""


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(torch.isfinite(a).all()) and bool(torch.allclose(a, b, rtol=1e-3, atol=1e-4))
