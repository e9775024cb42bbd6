"""Operations that place elements: what is made from nothing, put beside each other, turned round or picked by index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from evoengineer.baseline.operations.writing import Given, Unsupported, Writer, Writing, flag, is_sized


def _triangle(upper: bool) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("triangle")
        return f"triangle_of({w.tensor(given['self'])}, {w.whole(given['diagonal'])}, {flag(upper)})"

    return write


def _flip(w: Writing, given: Given) -> str:
    w.use("flip")
    return f"flipped({w.tensor(given['self'])}, {w.dims(given['dims'])})"


def _cat(w: Writing, given: Given) -> str:
    w.use("join")
    parts = ", ".join(w.tensor(each) for each in given["tensors"])
    return f"strung({{{parts}}}, {w.whole(given['dim'])})"


def _repeat(w: Writing, given: Given) -> str:
    w.use("join")
    return f"repeated({w.tensor(given['self'])}, {w.dims(given['repeats'])})"


def _pad(w: Writing, given: Given) -> str:
    w.use("pad")
    return f"padded({w.tensor(given['self'])}, {w.dims(given['pad'])}, {w.real(given['value'])})"


def _full(value_of: Callable[[Given], Any]) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("write")
        sizes = given.get("size")
        shape = w.dims(sizes) if sizes is not None else f"{w.tensor(given['self'])}.sizes().vec()"
        return f"filled({shape}, {w.real(value_of(given))}, {w.anyone()})"

    return write


def _scalar_tensor(w: Writing, given: Given) -> str:
    w.use("write")
    return f"filled({{}}, {w.real(given['s'])}, {w.anyone()})"


def _arange(w: Writing, given: Given) -> str:
    w.use("count")
    start, step = given.get("start", 0), given.get("step", 1)
    if is_sized(step) or step != int(step) or step <= 0:
        raise Unsupported("arange with such a step")
    count = f"({w.whole(given['end'])} - {w.whole(start)} + {int(step) - 1}) / {int(step)}"
    return f"counted({w.whole(start)}, {int(step)}, {count}, {w.anyone()})"


def _taken(w: Writing, given: Given) -> str:
    w.use("gather")
    if "weight" in given:  # an embedding
        return f"taken({w.tensor(given['weight'])}, 0, {w.tensor(given['indices'])})"
    return f"taken({w.tensor(given['self'])}, {w.whole(given['dim'])}, {w.tensor(given['index'])})"


def _index(w: Writing, given: Given) -> str:
    chosen = [(dim, each) for dim, each in enumerate(given["indices"]) if each is not None]
    if len(chosen) != 1 or chosen[0][1].meta["val"].dtype is torch.bool:
        raise Unsupported("indexing by a mask or by several tensors")
    w.use("gather")
    return f"taken({w.tensor(given['self'])}, {chosen[0][0]}, {w.tensor(chosen[0][1])})"


def _gathered(w: Writing, given: Given) -> str:
    w.use("gather")
    parts = f"{w.tensor(given['self'])}, {w.whole(given['dim'])}, {w.tensor(given['index'])}"
    return f"gathered({parts})"


def _diagonal_matrix(w: Writing, given: Given) -> str:
    """Zeros, then the diagonal written into a view of them."""
    if (given["offset"], given["dim1"], given["dim2"]) != (0, -2, -1) or given["self"].meta["val"].dim() != 1:
        raise Unsupported("diag_embed of several diagonals")
    w.use("diagonal")
    return f"diagonal_matrix({w.tensor(given['self'])})"


OPERATIONS: Mapping[str, Writer] = {
    "triu": _triangle(True),
    "tril": _triangle(False),
    "flip": _flip,
    "cat": _cat,
    "repeat": _repeat,
    "constant_pad_nd": _pad,
    "full": _full(lambda given: given["fill_value"]),
    "full_like": _full(lambda given: given["fill_value"]),
    "zeros": _full(lambda given: 0),
    "zeros_like": _full(lambda given: 0),
    "ones": _full(lambda given: 1),
    "ones_like": _full(lambda given: 1),
    "new_zeros": _full(lambda given: 0),
    "empty_permuted": _full(lambda given: 0),  # of shapes and types only, or nothing could be compared
    "new_ones": _full(lambda given: 1),
    "scalar_tensor": _scalar_tensor,
    "arange": _arange,
    "embedding": _taken,
    "index_select": _taken,
    "index": _index,
    "gather": _gathered,
    "diag_embed": _diagonal_matrix,
}
