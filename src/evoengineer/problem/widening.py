"""Inputs of a KernelBench file, widened: `torch.rand` alone is never negative, and the identity would pass for ReLU.

What `get_inputs` draws at random is replaced by values of the wanted distribution, before the file's own code makes
triangles, probabilities or labels of them: what it promises of its inputs still holds. For each distribution it is
found out which random calls can follow it without the reference failing: freely, with positive values only (a
logarithm), or not at all. Parameters and buffers that are all ones or all zeros are drawn, too, or a kernel could do
without them. Imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from evoengineer.problem.inputs import Generator
from evoengineer.problem.model import ALL_DISTRIBUTIONS, Distribution

_SALT = 0x5EED  # the file's own draws come from the plain seed
_RANDOM = {"rand", "randn", "rand_like", "randn_like", "normal", "normal_", "uniform_", "exponential_"}


class Mode(StrEnum):
    """How a random call follows a distribution."""

    FREE = "free"
    POSITIVE = "positive"
    DISTINCT = "distinct"  # no two values equal: where the answer is a place, ties would leave it open
    OWN = "own"


Modes = tuple[Mode, ...]  # one for each random call, in order


class Widened(TorchFunctionMode):
    """Random calls give other values; `calls` counts them."""

    def __init__(self, distribution: Distribution, modes: Modes, seed: int) -> None:
        super().__init__()
        self._generator = Generator(seed ^ _SALT, distribution)
        self._modes = modes
        self.calls = 0

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name not in _RANDOM or not isinstance(result, torch.Tensor) or not result.is_floating_point():
            return result
        mode = self._modes[self.calls] if self.calls < len(self._modes) else Mode.OWN
        self.calls += 1
        if mode is Mode.OWN or result.device.type == "meta":
            return result
        drawn = self._drawn(result, mode)
        return result.copy_(drawn.abs() + 2.0**-10 if mode is Mode.POSITIVE else drawn)

    def _drawn(self, own: torch.Tensor, mode: Mode) -> torch.Tensor:
        if mode is Mode.DISTINCT:
            return self._generator.distinct(*own.shape, dtype=own.dtype)
        if self._generator.distribution is Distribution.MIXED:
            return self._generator.mixed(own)
        return self._generator.values(*own.shape, dtype=own.dtype)


def accepted_modes(
    calls: int, index_outputs: bool, accepts: Callable[[Distribution, Modes], bool]
) -> dict[Distribution, Modes]:
    """The distributions that the reference takes, with the mode of each random call; always the file's own."""
    own = (Mode.OWN,) * calls
    if index_outputs:
        distinct = (Mode.DISTINCT,) * calls
        if calls and accepts(Distribution.NORMAL, distinct):
            return {Distribution.NORMAL: distinct}  # the file's own draws may have ties
        return {Distribution.OWN: own}
    found = {Distribution.OWN: own}
    for distribution in ALL_DISTRIBUTIONS if calls else ():
        modes = next((each for each in _candidates(calls) if accepts(distribution, each)), None)
        if modes is not None:
            found[distribution] = modes
    return found


def _candidates(calls: int) -> Iterator[Modes]:
    """All calls at once, freely or positive; then one by one."""
    modes = (Mode.FREE, Mode.POSITIVE)
    for mode in modes:
        yield (mode,) * calls
    for mode in modes:
        for place in range(calls if calls > 1 else 0):
            yield tuple(mode if other == place else Mode.OWN for other in range(calls))


def lively(state: dict[str, torch.Tensor], seed: int) -> dict[str, torch.Tensor]:
    """Parameters and buffers of which no floating-point one is constant: scales around what they were, zeros spread."""
    generator = Generator(seed ^ _SALT ^ 1)
    return {name: _lively(value, generator) for name, value in state.items()}


def _lively(value: torch.Tensor, generator: Generator) -> torch.Tensor:
    value = value.detach().clone()
    if not value.is_floating_point() or value.numel() == 0 or value.device.type == "meta":
        return value
    constant = float(value.reshape(-1)[0])
    if not bool((value == constant).all()):
        return value
    if constant == 0.0:
        return generator.normal(*value.shape, std=0.5, dtype=value.dtype)
    return generator.uniform(*value.shape, low=0.5, high=1.5, dtype=value.dtype) * constant
