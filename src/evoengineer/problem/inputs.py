"""Drawing inputs: the `generator` that a problem's `make_inputs(case, generator)` receives.

Everything comes from one seed, so that a draw can be repeated in another process. `values` follows the
distribution that the judge asks for; the other methods draw what they say, whatever the distribution.
Imports torch: for processes that run a problem's file (`live.py`).
"""

from __future__ import annotations

import torch

from evoengineer.problem.model import Distribution

_INTEGER_RANGE = 4  # small enough that sums of products of tens of thousands of them are exact in float32

# Of mixed values: one row of so many is of another distribution, and one value of so many is far off, up to a number of
# them. Few and large, they carry a good part of every sum, so that none can be left out of a loss of millions unseen.
_ROWS_ALIKE, _VALUES_ALIKE, _MOST_OUTLIERS = 32, 4096, 256
_END = 16  # columns: there, and in the last of all rows, lies a quarter of them, as ends are missed most
_LEAST_OUTLIER, _LARGEST_OUTLIER = 256.0, 8192.0  # times a half to two; half precision holds it
_ROW = 1024  # of what has one dimension only
_SPIKE = 200.0  # more than any exponent of float32 spans: the exponential of the difference overflows


_MIXED = (Distribution.NEAR_CONSTANT, Distribution.SHIFTED, Distribution.LARGE)


class Generator:
    """With `shapes_only`, tensors have shapes and types but no contents (PyTorch's meta device), and cost nothing."""

    def __init__(
        self, seed: int, distribution: Distribution = Distribution.NORMAL, shapes_only: bool = False
    ) -> None:
        self.distribution = distribution
        self._random = torch.Generator().manual_seed(seed)
        self._shapes_only = shapes_only

    def values(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Floating-point values by the current distribution."""
        if self.distribution is Distribution.INTEGERS:
            return self.integers(*shape, low=-_INTEGER_RANGE, high=_INTEGER_RANGE + 1).to(dtype)
        if self.distribution is Distribution.MIXED:
            return self.mixed(self.normal(*shape)).to(dtype)
        drawn = reshape_distribution(self.normal(*shape), self.distribution)
        if self.distribution is Distribution.SPIKED and shape and not self._shapes_only:
            places = self.integers(*shape[:-1], 1, low=0, high=shape[-1])
            places.view(-1)[:2] = torch.tensor([shape[-1] - 1, 0])[
                : places.numel()
            ]  # the ends are missed most
            drawn.scatter_(-1, places, drawn.gather(-1, places) + _SPIKE)
        return drawn.to(dtype)

    def mixed(self, ordinary: torch.Tensor) -> torch.Tensor:
        """The given values, but for rows of other distributions and outliers at random places."""
        if self._shapes_only or not ordinary.numel():
            return ordinary
        flat = ordinary.reshape(-1).clone()
        width = ordinary.shape[-1] if ordinary.dim() > 1 else min(_ROW, flat.numel())
        self._mix_rows(flat[: flat.numel() // width * width].view(-1, width))
        if ordinary.dim() > 2:  # what is taken together may be more than a row: all of a channel, say
            self._mix_rows(flat.view(ordinary.shape[0] * ordinary.shape[1], -1))
        count = min(-(-flat.numel() // _VALUES_ALIKE), _MOST_OUTLIERS)
        size = min(max(flat.numel() / 1024, _LEAST_OUTLIER), _LARGEST_OUTLIER)
        signs = self.integers(count, low=0, high=2) * 2 - 1
        places = self.integers(count, low=0, high=flat.numel())
        width = ordinary.shape[-1] if ordinary.dim() else 1
        end = min(width, _END)
        places[::4] += width - 1 - places[::4] % width - self.integers(*places[::4].shape, low=0, high=end)
        places[1::4] = flat.numel() - 1 - places[1::4] % max(flat.numel() // 64, 1)
        flat[places] = (signs * size * 2 ** self.uniform(count, low=-1.0, high=1.0)).to(flat.dtype)
        return flat.view(ordinary.shape)

    def _mix_rows(self, rows: torch.Tensor) -> None:
        places = self.permutation(len(rows))[: len(rows) // _ROWS_ALIKE]
        for kind, some in zip(_MIXED, places.chunk(len(_MIXED)), strict=False):
            drawn = reshape_distribution(self.normal(len(some), rows.shape[1]), kind)
            rows[some] = drawn.to(rows.dtype)

    def normal(
        self, *shape: int, mean: float = 0.0, std: float = 1.0, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Normal values, whatever the distribution."""
        if self._shapes_only:
            return torch.empty(shape, dtype=dtype, device="meta")
        drawn = torch.randn(shape, generator=self._random)
        if (mean, std) != (0.0, 1.0):
            drawn = drawn * std + mean
        return drawn.to(dtype)

    def uniform(
        self, *shape: int, low: float = 0.0, high: float = 1.0, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Values spread evenly from `low` to `high`."""
        if self._shapes_only:
            return torch.empty(shape, dtype=dtype, device="meta")
        return (torch.rand(shape, generator=self._random) * (high - low) + low).to(dtype)

    def integers(self, *shape: int, low: int, high: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        """Whole numbers from `low` up to, not including, `high`."""
        if self._shapes_only:
            return torch.empty(shape, dtype=dtype, device="meta")
        return torch.randint(low, high, shape, generator=self._random, dtype=torch.int64).to(dtype)

    def mask(self, *shape: int, share: float = 0.5) -> torch.Tensor:
        """Booleans, true with probability `share`."""
        return self.uniform(*shape) < share

    def permutation(self, n: int) -> torch.Tensor:
        """The numbers from 0 to n - 1 in random order."""
        if self._shapes_only:
            return torch.empty((n,), dtype=torch.int64, device="meta")
        return torch.randperm(n, generator=self._random)

    def distinct(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Values of which no two are equal, evenly spread around 0: for operations that pick one of them."""
        count = 1
        for size in shape:
            count *= size
        return ((self.permutation(count).to(torch.float64) - count / 2) / 64).reshape(shape).to(dtype)


def reshape_distribution(normal: torch.Tensor, distribution: Distribution) -> torch.Tensor:
    """Standard normal values turned into another distribution."""
    match distribution:
        case Distribution.SHIFTED:
            return normal * 2 + 3
        case Distribution.LARGE:
            return normal * 30
        case Distribution.NEAR_CONSTANT:
            return normal * 1e-2 + 1
        case Distribution.SMALL:
            return normal * 1e-3
        case Distribution.SPIKED:
            return normal - 2 * _SPIKE
        case Distribution.INTEGERS:
            return (normal * 2).round().clamp(-_INTEGER_RANGE, _INTEGER_RANGE)
        case _:
            return normal
