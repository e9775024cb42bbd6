"""What order of summation a reference leaves open: how far from its results a kernel may land by taking another one.

In general a fixed number of units of rounding, which also has room for functions that GPUs approximate and for
Winograd's convolutions. A reference that does nothing but multiply matrices leaves less: sums of so many products, in
float32 and in whatever order, err by a fraction of what products of operands that were rounded to 16 bits do.
Imports torch: reference process only.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from evoengineer.problem.work import CONVOLUTIONS, MOVES, PRODUCTS

# Units of rounding. Adding up one product after the other, the worst of all orders, takes 0.5 for the square root of
# their number at the worst of a hundred thousand results; three products of bfloat16 parts take 90 at the least.
_LEAST, _PER_ROOT = 64.0, 2.0
# Rounded once for each result, or not at all.
_SIMPLE = frozenset({"add", "add_", "sub", "mul", "mul_", "neg", "div", "_unsafe_view", "_reshape_alias"})


class Sums(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Looks at what a reference does while this is open."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._terms: list[int] = []  # of each product's sums
        self._other = False  # does it do anything else?

    @property
    def order_epsilons(self) -> float | None:
        """Units of float32's rounding that another order may take; None: as usual."""
        if self._other or not self._terms:
            return None
        return sum(max(_LEAST, _PER_ROOT * math.sqrt(terms)) for terms in self._terms)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::")
        tensors = [each for each in tree_leaves(args) if isinstance(each, torch.Tensor)]
        if name in PRODUCTS:
            left = [each for each in tensors if each.dim() > 0][-2]
            self._terms.append(int(left.shape[-1]))
        elif name in CONVOLUTIONS and math.prod(args[1].shape[2:]) == 1:  # a product at each place
            self._terms.append(int(max(args[1].shape[:2])))
        elif not func.is_view and name not in MOVES | _SIMPLE:
            self._other = True
        return result
