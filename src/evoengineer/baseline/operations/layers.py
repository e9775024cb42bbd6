"""Layers: products of matrices, convolutions, poolings, normalisations."""

from __future__ import annotations

from collections.abc import Mapping

from evoengineer.baseline.operations.writing import Given, Writer, Writing, flag, per_dimension


def _product(first: str, second: str, *, batched: bool, before: str = "", after: str = "") -> Writer:
    """`before` and `after` turn vectors into matrices and back."""

    def write(w: Writing, given: Given) -> str:
        w.use("matmul")
        a, b = w.tensor(given[first]), w.tensor(given[second])
        if batched:
            return f"multiplied({a}, {b})"
        a = f"{a}.unsqueeze(0)" + (".unsqueeze(0)" if before == "row" else "")
        b = f"{b}.unsqueeze(0)" + (".unsqueeze(2)" if after else "")
        text = f"multiplied({a}, {b}).squeeze(0)"
        return text + (".squeeze(1)" if after else "") + (".squeeze(0)" if before else "")

    return write


def _product_plus(first: str, second: str, *, batched: bool, after: str = "") -> Writer:
    plain = _product(first, second, batched=batched, after=after)

    def write(w: Writing, given: Given) -> str:
        w.use("combine")
        formula = ("x" if given["alpha"] == 1 else "{alpha} * x") + (
            " + y" if given["beta"] == 1 else " + {beta} * y"
        )
        plus = w.functor("plus_scaled", formula, "x, y", given)
        return f"combine({plus}, {plain(w, given)}, {w.tensor(given['self'])})"

    return write


def _convolution(w: Writing, given: Given) -> str:
    rank = given["weight"].meta["val"].dim() - 2
    x = w.tensor(given["input"])
    lone = given["input"].meta["val"].dim() == rank + 1
    x += ".unsqueeze(0)" if lone else ""
    lists = [w.dims(per_dimension(given[name], rank)) for name in ("stride", "padding", "dilation")]
    extra, function = "", "convolved"
    if given["transposed"]:
        function, extra = "transposed_convolved", f"{w.dims(per_dimension(given['output_padding'], rank))}, "
    w.use("transposed_convolution" if given["transposed"] else "convolution")
    parts = f"{x}, {w.tensor(given['weight'])}, {w.tensor(given['bias'])}, {', '.join(lists)}"
    return f"{function}({parts}, {extra}{w.whole(given['groups'])})" + (".squeeze(0)" if lone else "")


def _max_pool(rank: int) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("max_pool")
        window = per_dimension(given["kernel_size"], rank)
        lists = [window, per_dimension(given["stride"] or window, rank)]
        lists += [per_dimension(given[name], rank) for name in ("padding", "dilation")]
        texts = ", ".join(w.dims(each) for each in lists)
        return f"max_pooled({w.tensor(given['self'])}, {texts}, {flag(given['ceil_mode'])})"

    return write


def _average_pool(rank: int) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("average_pool")
        window = per_dimension(given["kernel_size"], rank)
        lists = [
            window,
            per_dimension(given["stride"] or window, rank),
            per_dimension(given["padding"], rank),
        ]
        texts = ", ".join(w.dims(each) for each in lists)
        return (
            f"average_pooled({w.tensor(given['self'])}, {texts}, {flag(given['ceil_mode'])}, "
            f"{flag(given['count_include_pad'])}, {given.get('divisor_override') or 0})"
        )

    return write


def _adaptive_pool(largest: bool, rank: int) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("adaptive_pool")
        sizes = w.dims(per_dimension(given["output_size"], rank))
        return f"adaptive_pooled({w.tensor(given['self'])}, {sizes}, {flag(largest)})"

    return write


def _batch_norm(w: Writing, given: Given) -> str:
    w.use("batch_norm")
    own = given.get("training", given.get("train", False))
    names = [w.tensor(given["input"]), w.tensor(given.get("weight")), w.tensor(given.get("bias"))]
    names += ["torch::Tensor()"] * 2 if own else [w.tensor(given[n]) for n in ("running_mean", "running_var")]
    return f"batch_normalised({', '.join(names)}, {flag(own)}, {w.real(given['eps'])})"


def _group_norm(w: Writing, given: Given) -> str:
    w.use("group_norm")
    names = [w.tensor(given[name]) for name in ("input", "weight", "bias")]
    return f"group_normalised({', '.join(names)}, {w.whole(given['group'])}, {w.real(given['eps'])})"


def _layer_norm(w: Writing, given: Given) -> str:
    w.use("layer_norm")
    names = [w.tensor(given[name]) for name in ("weight", "bias")]
    count = len(given["normalized_shape"])
    return (
        f"layer_normalised({w.tensor(given['input'])}, {count}, {', '.join(names)}, {w.real(given['eps'])})"
    )


OPERATIONS: Mapping[str, Writer] = {
    "mm": _product("self", "mat2", batched=False),
    "bmm": _product("self", "mat2", batched=True),
    "mv": _product("self", "vec", batched=False, after="column"),
    "dot": _product("self", "tensor", batched=False, before="row", after="column"),
    "addmm": _product_plus("mat1", "mat2", batched=False),
    "baddbmm": _product_plus("batch1", "batch2", batched=True),
    "addmv": _product_plus("mat", "vec", batched=False, after="column"),
    "convolution": _convolution,
    "max_pool2d_with_indices": _max_pool(2),
    "max_pool3d_with_indices": _max_pool(3),
    "avg_pool1d": _average_pool(1),
    "avg_pool2d": _average_pool(2),
    "avg_pool3d": _average_pool(3),
    "adaptive_avg_pool1d": _adaptive_pool(False, 1),
    "_adaptive_avg_pool2d": _adaptive_pool(False, 2),
    "_adaptive_avg_pool3d": _adaptive_pool(False, 3),
    "adaptive_max_pool2d": _adaptive_pool(True, 2),
    "adaptive_max_pool3d": _adaptive_pool(True, 3),
    "_native_batch_norm_legit": _batch_norm,
    "_native_batch_norm_legit_no_training": _batch_norm,
    "_native_batch_norm_legit_functional": _batch_norm,
    "native_batch_norm": _batch_norm,
    "native_group_norm": _group_norm,
    "native_layer_norm": _layer_norm,
}
