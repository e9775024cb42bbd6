"""How much work a problem is at least: what a reference's own calls compute and read, by the rules of docs/judging.md.

`count_work` runs a reference under PyTorch's dispatcher and looks at every ATen call.

flops        what the reference computes: products and convolutions exactly, by the direct algorithm; everything
             else but the moving of data is one operation for each element of its largest tensor
least_flops  what no kernel can do without, for the speed of light. Products only, by the direct algorithm;
             convolutions by Winograd's F(2, r) in every dimension of their window, which libraries use. Terms with
             a zero that is there in every draw (a diagonal or triangular operand) are left out, and a product that
             algebra may fold away counts nothing: one of whose results a part is dropped or masked, or that goes
             through linear operations alone into a sum or another product
bytes        what the calls read of each input, each 32-byte sector once, and all outputs once

Imports torch: only processes that load problems use this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

_SECTOR = 32  # bytes: the least that a GPU reads of its memory
_MANY_ZEROS = 0.1  # share that does not come about by chance

PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "vdot"}
CONVOLUTIONS = {"convolution", "_convolution", "convolution_overrideable", "mkldnn_convolution"}
_POOLS = {
    "avg_pool2d", "avg_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices", "mkldnn_max_pool2d",
    "mkldnn_max_pool3d", "max_pool2d", "max_pool3d",
}  # fmt: skip
_GATHERS = {"index", "index_select", "gather", "embedding", "take", "embedding_bag", "grid_sampler_2d"}
MOVES = {
    "clone", "copy_", "_to_copy", "cat", "stack", "flip", "roll", "constant_pad_nd", "fill_", "fill", "zero_", "tril",
    "triu", "repeat", "empty", "empty_like", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "arange",
    "new_empty", "new_zeros", "diag_embed", "diagonal_copy", "slice_scatter", "contiguous", "masked_fill", "where",
    "empty_strided", "new_empty_strided", "scalar_tensor", "reflection_pad1d", "reflection_pad2d",
    *_GATHERS,
}  # fmt: skip
_DROPS = {"slice", "select", "diagonal", "narrow", "as_strided", *_GATHERS}  # where the result is smaller
_MASKS = {"tril", "triu", "masked_fill", "where", "masked_select", "tril_", "triu_", "masked_fill_"}
_LINEAR_SUMS = {
    "sum", "mean", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d",
    "mkldnn_adaptive_avg_pool2d", "trace", "einsum",
}  # fmt: skip
_BENT = {
    "relu", "relu_", "gelu", "tanh", "sigmoid", "exp", "log", "_softmax", "_log_softmax", "silu", "mish", "leaky_relu",
    "elu", "hardtanh", "hardswish", "hardsigmoid", "softplus", "pow", "sqrt", "rsqrt", "abs", "clamp", "clamp_min",
    "clamp_max", "amax", "amin", "max", "min", "square", "erf", "log_sigmoid_forward", "logsumexp", "argmax", "argmin",
    "max_pool2d_with_indices", "max_pool3d_with_indices", "maximum", "minimum", "sin", "cos", "softshrink",
    "_prelu_kernel", "clamp_", "clamp_min_", "hardtanh_", "leaky_relu_", "silu_", "hardswish_", "mish_",
    "mkldnn_max_pool2d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Work:
    flops: int
    least_flops: int
    bytes: int


def count_work(
    inputs: Iterable[Any], call: Callable[[], tuple[torch.Tensor, ...]]
) -> tuple[Work, tuple[torch.Tensor, ...]]:
    """The work of `call`, and its results. Works on tensors without contents, too, where zeros cannot be seen."""
    counter = _Counter([value for value in tree_leaves(list(inputs)) if isinstance(value, torch.Tensor)])
    with torch.no_grad(), counter:
        outputs = call()
    written = sum(output.numel() * output.element_size() for output in outputs)
    return Work(round(counter.flops), round(sum(counter.products)), counter.read_bytes() + written), outputs


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, inputs: list[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.flops = 0.0
        self.products: list[float] = []  # least operations of each; 0 once it may be folded away
        self._inputs = {_storage(tensor): _Reads(tensor) for tensor in inputs}

    def read_bytes(self) -> int:
        return sum(reads.bytes() for reads in self._inputs.values())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::")
        given = [each for each in tree_leaves((args, kwargs or {})) if isinstance(each, torch.Tensor)]
        made = [each for each in tree_leaves(result) if isinstance(each, torch.Tensor)]
        moved = func.is_view or name in MOVES
        if not func.is_view:
            self._note_reads(name, args, given, made)
        if name in PRODUCTS or name in CONVOLUTIONS or func._overloadpacket in flop_registry:
            self._product(func, name, args, kwargs or {}, given, made)
            return result
        if not moved:
            self.flops += max((each.numel() for each in (*given, *made)), default=0)
        self._follow(name, given, made)
        return result

    # -- products -----------------------------------------------------------------------------------

    def _product(
        self,
        func: Any,
        name: str,
        args: Any,
        kwargs: Any,
        given: list[torch.Tensor],
        made: list[torch.Tensor],
    ) -> None:
        if name in CONVOLUTIONS:
            direct, least = convolution_flops(args, made[0])
        elif name in PRODUCTS:
            a, b = [each for each in given if each.dim() > 0][-2:]
            direct, least = 2.0 * made[0].numel() * a.shape[-1], _product_terms(a, b)
        else:
            direct = least = float(flop_registry[func._overloadpacket](*args, **kwargs, out_val=made[0]))
        self.flops += direct
        earlier = {number for each in given for number in _marks(each, "_linear_in")}
        for number in earlier:
            self.products[number] = 0.0
        self.products.append(0.0 if earlier else least)  # a chain of products may be reordered
        reach = {number for each in given for number in _marks(each, "_reached_by")}
        for each in made:
            _mark(each, reach | {len(self.products) - 1}, {len(self.products) - 1})

    def _follow(self, name: str, given: list[torch.Tensor], made: list[torch.Tensor]) -> None:
        """What became of earlier products' results."""
        reach = {number for each in given for number in _marks(each, "_reached_by")}
        if not reach:
            return
        linear = {number for each in given for number in _marks(each, "_linear_in")}
        kept = sum(each.numel() for each in made)
        largest = max(each.numel() for each in given if _marks(each, "_reached_by"))
        if name in _MASKS or (name in _DROPS and kept < largest) or _masked(name, given):
            folded = reach
        elif name in _LINEAR_SUMS and kept < largest:
            folded = linear
        else:
            folded = set()
        for number in folded:
            self.products[number] = 0.0
        for each in made:
            _mark(each, reach, set() if name in _BENT else linear)

    # -- bytes --------------------------------------------------------------------------------------

    def _note_reads(self, name: str, args: Any, given: list[torch.Tensor], made: list[torch.Tensor]) -> None:
        for position, tensor in enumerate(given):
            reads = self._inputs.get(_storage(tensor))
            if reads is None:
                continue
            if name in _GATHERS and position == 0:
                reads.some(sum(each.numel() for each in made))
            elif position == 0 and name in (*_POOLS, *CONVOLUTIONS):
                reads.window(tensor, _window_positions(name, args, tensor, made[0]))
            else:
                reads.all_of(tensor)


class _Reads:
    """Which elements of an input's memory were read."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._item = tensor.element_size()
        count = tensor.untyped_storage().nbytes() // self._item
        self._mask = torch.zeros(count, dtype=torch.bool, device="cpu")
        self._gathered = 0

    def all_of(self, tensor: torch.Tensor) -> None:
        if tensor.element_size() == self._item:
            torch.as_strided(self._mask, tensor.shape, tensor.stride(), tensor.storage_offset()).fill_(True)
        else:  # the same memory as another type
            self._mask.fill_(True)

    def window(self, tensor: torch.Tensor, positions: list[torch.Tensor] | None) -> None:
        """Only some positions of the last dimensions."""
        if positions is None:
            self.all_of(tensor)
            return
        used = torch.ones((), dtype=torch.bool, device="cpu")
        for each in positions:
            used = used.unsqueeze(-1) & each
        view = torch.as_strided(self._mask, tensor.shape, tensor.stride(), tensor.storage_offset())
        view.logical_or_(used)

    def some(self, elements: int) -> None:
        self._gathered += elements

    def bytes(self) -> int:
        per_sector = max(1, _SECTOR // self._item)
        short = -self._mask.numel() % per_sector
        sectors = torch.nn.functional.pad(self._mask, (0, short)).reshape(-1, per_sector).any(dim=1)
        total = self._mask.numel() * self._item
        return min(int(sectors.sum()) * _SECTOR + self._gathered * self._item, total)


def convolution_flops(args: Any, output: torch.Tensor) -> tuple[float, float]:
    """(by the direct algorithm, by Winograd's).

    F(2, r) computes two neighbouring results of a window of r taps with r + 1 multiplications instead of 2 r. With
    a stride s, a window falls into parts of at most r / s taps, rounded up, for which that holds.
    """
    x, weight, strides, transposed = args[0], args[1], args[3], bool(args[6])
    # The weight is [filters][channels of a group][window], or [channels][filters of a group][window].
    pairs_at_a_position = weight.shape[0] * weight.shape[1]
    taps = math.prod(weight.shape[2:])
    window = weight.dim() - 2
    inside, outside = (math.prod(each.shape[-window:]) for each in (x, output))
    batch = x.shape[0] if x.dim() == weight.dim() else 1
    direct = 2.0 * batch * pairs_at_a_position * taps * (inside if transposed else outside)
    parts = [-(-size // _at(strides, i)) for i, size in enumerate(weight.shape[2:])]
    return direct, direct * math.prod((part + 1) / (2 * part) for part in parts)


def _product_terms(a: torch.Tensor, b: torch.Tensor) -> float:
    """Twice the number of terms without a structural zero."""
    if b.dim() < a.dim():  # a vector
        b = b.unsqueeze(-1)
    full = 2.0 * a.numel() * b.shape[-1] if a.dim() > 1 else 2.0 * a.numel()
    if a.device.type == "meta" or a.dim() < 2 or not (_many_zeros(a) or _many_zeros(b)):
        return full
    left = (a != 0).sum(dim=-2, dtype=torch.float64)
    right = (b != 0).sum(dim=-1, dtype=torch.float64)
    return 2.0 * float((left * right).sum())


def _many_zeros(tensor: torch.Tensor) -> bool:
    return tensor.device.type != "meta" and float((tensor == 0).float().mean()) > _MANY_ZEROS


def _masked(name: str, given: list[torch.Tensor]) -> bool:
    """Is a product's result multiplied by something that is largely zero?"""
    return name in ("mul", "mul_") and any(
        not _marks(each, "_reached_by") and (each.dtype is torch.bool or _many_zeros(each)) for each in given
    )


def _window_positions(
    name: str, args: Any, x: torch.Tensor, output: torch.Tensor
) -> list[torch.Tensor] | None:
    """For each dimension of the window, the input's positions that some window covers; None: all."""
    if name in CONVOLUTIONS:
        if args[6]:  # transposed: every element goes somewhere
            return None
        sizes, strides, paddings, dilations = list(args[1].shape[2:]), args[3], args[4], args[5]
    else:
        sizes, strides, paddings = args[1], (args[2] if len(args) > 2 else None) or args[1], 0
        paddings = args[3] if len(args) > 3 else 0
        dilations = args[4] if name.startswith("max") and len(args) > 4 else 1
    count = output.dim() - 2 if name in CONVOLUTIONS else (3 if "3d" in name else 2)
    found = []
    for i in range(count):
        size, stride, padding, dilation = (_at(each, i) for each in (sizes, strides, paddings, dilations))
        length = x.shape[x.dim() - count + i]
        starts = torch.arange(output.shape[output.dim() - count + i], device="cpu") * stride - padding
        touched = (starts[:, None] + torch.arange(size, device="cpu") * dilation).flatten()
        used = torch.zeros(length, dtype=torch.bool, device="cpu")
        used[touched[(touched >= 0) & (touched < length)]] = True
        found.append(used)
    return found


def _at(values: Any, place: int) -> int:
    if isinstance(values, int):
        return values
    return int(values[place] if place < len(values) else values[0])


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _marks(tensor: torch.Tensor, kind: str) -> frozenset[int]:
    found: frozenset[int] = getattr(tensor, kind, frozenset())
    return found


def _mark(tensor: torch.Tensor, reach: set[int], linear: set[int]) -> None:
    tensor._reached_by = _marks(tensor, "_reached_by") | reach  # type: ignore[attr-defined]
    tensor._linear_in = frozenset(linear)  # type: ignore[attr-defined]
