"""ATen's operations as calls of the library's functions: one C++ expression for each.

`OPERATIONS` names a writer for each operation; what is in `formulas.py` needs none. `Writing` is what a writer sees:
it names values, writes numbers and remembers which parts of the library are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch

from evoengineer.baseline.formulas import BINARY, GELU, POWERS, UNARY

Given = Mapping[str, Any]  # an operation's arguments by their names in its schema


class Unsupported(Exception):
    """An operation, or a form of it, that the library has no kernel for."""


class Writing(Protocol):
    """The text in the making."""

    def use(self, fragment: str) -> None:
        """The text needs this part of the library."""
        ...

    def functor(self, name: str, formula: str, arguments: str, values: Mapping[str, Any]) -> str:
        """An object that computes a formula; numbers of `values` stand in for {name}."""
        ...

    def tensor(self, value: Any) -> str:
        """A tensor's name; an undefined tensor for None."""
        ...

    def whole(self, value: Any) -> str:
        """A whole number, which may follow from sizes."""
        ...

    def dims(self, values: Sequence[Any]) -> str:
        """A list of them."""
        ...

    def real(self, value: Any) -> str:
        """A floating-point number."""
        ...

    def anyone(self) -> str:
        """Some tensor on the device, for what is made from nothing."""
        ...


Writer = Callable[[Writing, Given], str]


def pointwise(name: str) -> Writer | None:
    """A writer from a formula; None if there is none."""
    if name in UNARY:
        return lambda w, given: _unary(w, name, UNARY[name], given)
    if name in BINARY:
        return lambda w, given: _binary(w, name, given)
    return None


def _unary(w: Writing, name: str, formula: str, given: Given) -> str:
    w.use("apply")
    return f"apply({w.functor(name, formula, 'x', given)}, {w.tensor(given['self'])})"


def _binary(w: Writing, name: str, given: Given) -> str:
    first = given["self"]
    others = [key for key in ("other", "exponent", "min", "max", "weight") if given.get(key) is not None]
    second = given[others[0]]
    if given.get("rounding_mode") is not None:
        raise Unsupported(f"{name} with rounding_mode")
    formula = BINARY[name]
    if given.get("alpha", 1) != 1:
        formula = formula.replace("y", "{alpha} * y") if name != "rsub" else "y - {alpha} * x"
    if name == "pow" and not is_tensor(second) and float(second) in POWERS:
        return _unary(w, "power", POWERS[float(second)], given)
    if is_tensor(first) and is_tensor(second):
        w.use("combine")
        functor = w.functor(name, formula, "x, y", given)
        return f"combine({functor}, {w.tensor(first)}, {w.tensor(second)})"
    number, tensor = (second, first) if is_tensor(first) else (first, second)
    letter = "y" if is_tensor(first) else "x"
    w.use("apply")
    functor = w.functor(name, _with_number(formula, letter), "x", {**given, "number": number})
    return f"apply({functor}, {w.tensor(tensor)})"


def _with_number(formula: str, letter: str) -> str:
    """A formula of x and y as one of x alone, the other being a number."""
    import re

    if letter == "x":
        formula = re.sub(r"\bx\b", "{number}", formula)
        return re.sub(r"\by\b", "x", formula)
    return re.sub(r"\by\b", "{number}", formula)


def is_tensor(value: Any) -> bool:
    """A node whose value is a tensor; others are sizes."""
    return isinstance(value, torch.fx.Node) and not isinstance(
        value.meta.get("val"), (torch.SymInt, torch.SymFloat, int, float)
    )


# -- one operation after the other ---------------------------------------------------------------------


def _gelu(w: Writing, given: Given) -> str:
    return _unary(w, "gelu", GELU[given["approximate"]], given)


def _clamp(w: Writing, given: Given) -> str:
    low, high = given.get("min"), given.get("max")
    text = w.tensor(given["self"])
    for bound, name, formula in ((low, "at_least", "fmaxf"), (high, "at_most", "fminf")):
        if bound is None:
            continue
        if is_tensor(bound):
            w.use("combine")
            text = f"combine({w.functor(name, formula + '(x, y)', 'x, y', {})}, {text}, {w.tensor(bound)})"
        else:
            w.use("apply")
            functor = w.functor(name, formula + "(x, {bound})", "x", {"bound": bound})
            text = f"apply({functor}, {text})"
    return text


def _where(w: Writing, given: Given) -> str:
    w.use("choose")
    parts = [_as_tensor(w, given[name]) for name in ("self", "other")]
    return f"chosen({w.tensor(given['condition'])}, {', '.join(parts)})"


def _masked_fill(w: Writing, given: Given) -> str:
    w.use("choose")
    return f"chosen({w.tensor(given['mask'])}, {_as_tensor(w, given['value'])}, {w.tensor(given['self'])})"


def _as_tensor(w: Writing, value: Any) -> str:
    if is_tensor(value):
        return w.tensor(value)
    w.use("write")
    return f"filled({{}}, {w.real(value)}, {w.anyone()})"


_REDUCTIONS = {  # term, join, start
    "sum": ("x", "Add", "0.0f"),
    "amax": ("x", "Larger", "-INFINITY"),
    "amin": ("x", "Smaller", "INFINITY"),
    "prod": ("x", "Times", "1.0f"),
    "any": ("x != 0.0f ? 1.0f : 0.0f", "Larger", "0.0f"),
    "all": ("x != 0.0f ? 1.0f : 0.0f", "Smaller", "1.0f"),
}


def _reduced(w: Writing, kind: str, value: str, dims: Any, keep: bool, term: str | None = None) -> str:
    own, join, start = _REDUCTIONS[kind]
    w.use("reduce")
    functor = "Same{}" if (term or own) == "x" else w.functor(f"term_of_{kind}", term or own, "x", {})
    return f"reduced({functor}, {join}{{}}, {start}, {value}, {w.dims(dims or [])}, {_flag(keep)})"


def _reduction(kind: str) -> Writer:
    def write(w: Writing, given: Given) -> str:
        return _reduced(w, kind, w.tensor(given["self"]), _dims(given), bool(given.get("keepdim")))

    return write


def _dims(given: Given) -> list[Any]:
    dims = given.get("dim")
    return [] if dims is None else list(dims) if isinstance(dims, (list, tuple)) else [dims]


def _flag(value: Any) -> str:
    return "true" if value else "false"


def _mean_of(w: Writing, text: str, count: str) -> str:
    w.use("apply")
    return f"apply({w.functor('over', 'x / {count}', 'x', {'count': _Text(count)})}, {text})"


class _Text(str):
    """A number that is already written in C++."""

    __slots__ = ()


def _count(w: Writing, value: Any, dims: list[Any]) -> str:
    name = w.tensor(value)
    if not dims:
        return f"{name}.numel()"
    return " * ".join(f"{name}.size({w.whole(dim)})" for dim in dims)


def _mean(w: Writing, given: Given) -> str:
    dims = _dims(given)
    total = _reduced(w, "sum", w.tensor(given["self"]), dims, bool(given.get("keepdim")))
    return _mean_of(w, total, _count(w, given["self"], dims))


def _variance(w: Writing, given: Given) -> str:
    w.use("moments")
    w.use("apply")
    dims, name = _dims(given), w.tensor(given["self"])
    correction = given.get("correction")
    correction = 1 if correction is None else correction
    text = f"moments_of({name}, {w.dims(dims)}).variance"
    if correction:
        n = _count(w, given["self"], dims)
        values = {"n": _Text(n)}
        less = w.functor("corrected", f"x * ({{n}} / ({{n}} - {float(correction)}f))", "x", values)
        text = f"apply({less}, {text})"
    if given.get("keepdim"):
        return text
    every = dims or range(-1, -1 - given["self"].meta["val"].dim(), -1)
    rank = given["self"].meta["val"].dim()
    for dim in sorted((int(d) % rank for d in every), reverse=True):
        text += f".squeeze({dim})"
    return text


def _deviation(w: Writing, given: Given) -> str:
    w.use("apply")
    return f"apply({w.functor('root', 'sqrtf(x)', 'x', {})}, {_variance(w, given)})"


def _norm(w: Writing, given: Given) -> str:
    order = float(given.get("ord", given.get("p", 2)) if given.get("ord", given.get("p")) is not None else 2)
    value, dims, keep = w.tensor(given["self"]), _dims(given), bool(given.get("keepdim"))
    if order == float("inf"):
        return _reduced(w, "amax", value, dims, keep, "fabsf(x)")
    if order == 1.0:
        return _reduced(w, "sum", value, dims, keep, "fabsf(x)")
    w.use("apply")
    if order == 2.0:
        total = _reduced(w, "sum", value, dims, keep, "x * x")
        return f"apply({w.functor('root', 'sqrtf(x)', 'x', {})}, {total})"
    total = _reduced(w, "sum", value, dims, keep, f"powf(fabsf(x), {order}f)")
    return f"apply({w.functor('root_of_power', f'powf(x, {1 / order}f)', 'x', {})}, {total})"


def _logsumexp(w: Writing, given: Given) -> str:
    """The maximum, then the logarithm of the sum of what exponentials are left."""
    value, dims, keep = w.tensor(given["self"]), _dims(given), bool(given.get("keepdim"))
    w.use("combine")
    w.use("apply")
    largest = _reduced(w, "amax", value, dims, True)
    minus = w.functor("exponential_of_difference", "expf(x - y)", "x, y", {})
    total = _reduced(w, "sum", f"combine({minus}, {value}, {largest})", dims, keep)
    plus = w.functor("logarithm_plus", "logf(x) + y", "x, y", {})
    return f"combine({plus}, {total}, {_reduced(w, 'amax', value, dims, keep)})"


def _softmax(logarithm: bool) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("softmax")
        return f"softmax_of({w.tensor(given['self'])}, {w.whole(given['dim'])}, {_flag(logarithm)})"

    return write


def _extreme(largest: bool, part: str) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("arg")
        found = (
            f"extreme_of({w.tensor(given['self'])}, {w.dims(_dims(given))}, "
            f"{_flag(given.get('keepdim'))}, {_flag(largest)})"
        )
        return found + (f".{part}" if part else "")

    return write


def _max_or_min(kind: str) -> Writer:
    """`max(x)`, `max(x, dim)` or `max(x, y)`."""

    def write(w: Writing, given: Given) -> str:
        if "other" in given:
            return _binary(w, {"amax": "maximum", "amin": "minimum"}[kind], given)
        if "dim" in given:
            return _extreme(kind == "amax", "")(w, given)
        return _reduced(w, kind, w.tensor(given["self"]), [], False)

    return write


def _scan(join: str, start: str) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("scan")
        return f"scanned({join}{{}}, {start}, {w.tensor(given['self'])}, {w.whole(given['dim'])})"

    return write


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
    lists = [w.dims(_each(given[name], rank)) for name in ("stride", "padding", "dilation")]
    extra, function = "", "convolved"
    if given["transposed"]:
        function, extra = "transposed_convolved", f"{w.dims(_each(given['output_padding'], rank))}, "
    w.use("transposed_convolution" if given["transposed"] else "convolution")
    parts = f"{x}, {w.tensor(given['weight'])}, {w.tensor(given['bias'])}, {', '.join(lists)}"
    return f"{function}({parts}, {extra}{w.whole(given['groups'])})" + (".squeeze(0)" if lone else "")


def _each(values: Any, rank: int) -> list[Any]:
    """One number for each dimension; one may stand for all."""
    several: list[Any] = list(values) if isinstance(values, (list, tuple)) else [values]
    return several * rank if len(several) == 1 else several


def _max_pool(rank: int) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("max_pool")
        window = _each(given["kernel_size"], rank)
        lists = [window, _each(given["stride"] or window, rank)]
        lists += [_each(given[name], rank) for name in ("padding", "dilation")]
        texts = ", ".join(w.dims(each) for each in lists)
        return f"max_pooled({w.tensor(given['self'])}, {texts}, {_flag(given['ceil_mode'])})"

    return write


def _average_pool(rank: int) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("average_pool")
        window = _each(given["kernel_size"], rank)
        lists = [window, _each(given["stride"] or window, rank), _each(given["padding"], rank)]
        texts = ", ".join(w.dims(each) for each in lists)
        return (
            f"average_pooled({w.tensor(given['self'])}, {texts}, {_flag(given['ceil_mode'])}, "
            f"{_flag(given['count_include_pad'])}, {given.get('divisor_override') or 0})"
        )

    return write


def _adaptive_pool(largest: bool, rank: int) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("adaptive_pool")
        sizes = w.dims(_each(given["output_size"], rank))
        return f"adaptive_pooled({w.tensor(given['self'])}, {sizes}, {_flag(largest)})"

    return write


def _batch_norm(w: Writing, given: Given) -> str:
    w.use("batch_norm")
    own = given.get("training", given.get("train", False))
    names = [w.tensor(given["input"]), w.tensor(given.get("weight")), w.tensor(given.get("bias"))]
    names += ["torch::Tensor()"] * 2 if own else [w.tensor(given[n]) for n in ("running_mean", "running_var")]
    return f"batch_normalised({', '.join(names)}, {_flag(own)}, {w.real(given['eps'])})"


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


_MEAN, _SUM = 1, 2  # ATen's numbers for how a loss is reduced


def _loss(name: str) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("combine")
        each = w.functor(name, BINARY[name], "x, y", given)
        text = f"combine({each}, {w.tensor(given['self'])}, {w.tensor(given['target'])})"
        if given["reduction"] in (_MEAN, _SUM):
            text = _reduced(w, "sum", text, [], False)
        return (
            _mean_of(w, text, f"{w.tensor(given['self'])}.numel()") if given["reduction"] == _MEAN else text
        )

    return write


def _nll(w: Writing, given: Given) -> str:
    if given.get("weight") is not None:
        raise Unsupported("nll_loss with weights")
    w.use("nll")
    text = f"picked({w.tensor(given['self'])}, {w.tensor(given['target'])}, {w.whole(given['ignore_index'])})"
    if given["reduction"] in (_MEAN, _SUM):
        text = _reduced(w, "sum", text, [], False)
    return _mean_of(w, text, f"{w.tensor(given['target'])}.numel()") if given["reduction"] == _MEAN else text


def _triangle(upper: bool) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("triangle")
        return f"triangle_of({w.tensor(given['self'])}, {w.whole(given['diagonal'])}, {_flag(upper)})"

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


def is_sized(value: Any) -> bool:
    """Does a number follow from sizes?"""
    return isinstance(value, torch.fx.Node)


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


# -- views ---------------------------------------------------------------------------------------------


def _method(text: str) -> Writer:
    """A view by the tensor's own method; {name} is an argument, {name*} a list of them."""

    def write(w: Writing, given: Given) -> str:
        filled = text
        for name, value in given.items():
            if f"{{{name}*}}" in filled:
                filled = filled.replace(f"{{{name}*}}", w.dims(value))
            elif f"{{{name}}}" in filled:
                filled = filled.replace(f"{{{name}}}", w.whole(value))
        return f"{w.tensor(given['self'])}{filled}"

    return write


def _squeeze(w: Writing, given: Given) -> str:
    if "dim" not in given:
        return f"{w.tensor(given['self'])}.squeeze()"
    rank = given["self"].meta["val"].dim()
    dims = sorted((int(dim) % rank for dim in _dims(given)), reverse=True)
    return w.tensor(given["self"]) + "".join(f".squeeze({dim})" for dim in dims)


def _slice(w: Writing, given: Given) -> str:
    start, end = given.get("start"), given.get("end")
    name, dim = w.tensor(given["self"]), w.whole(given["dim"])
    first = "0" if start is None else w.whole(start)
    last = f"{name}.size({dim})" if end is None or end == 2**63 - 1 else w.whole(end)
    return f"{name}.slice({dim}, {first}, {last}, {w.whole(given['step'])})"


def part_of(w: Writing, name: str, given: Given, number: int) -> str | None:
    """One result of an operation with several; None if it has only one that is used."""
    whole = w.tensor(given["self"]) if "self" in given else ""
    dim = given.get("dim")
    if name == "unbind":
        return f"{whole}.select({w.whole(dim)}, {number})"
    if name == "split":
        size, axis = w.whole(given["split_size"]), w.whole(dim)
        end = f"std::min<int64_t>({number + 1} * {size}, {whole}.size({axis}))"
        return f"{whole}.slice({axis}, {number} * {size}, {end})"
    if name == "split_with_sizes":
        sizes = [w.whole(each) for each in given["split_sizes"]]
        return f"{whole}.narrow({w.whole(dim)}, {' + '.join(sizes[:number]) or 0}, {sizes[number]})"
    return None


def _itself(w: Writing, given: Given) -> str:
    return w.tensor(given["self"])


OPERATIONS: Mapping[str, Writer] = {
    "gelu": _gelu,
    "clamp": _clamp,
    "where": _where,
    "masked_fill": _masked_fill,
    **{kind: _reduction(kind) for kind in _REDUCTIONS},
    "mean": _mean,
    "var": _variance,
    "std": _deviation,
    "linalg_vector_norm": _norm,
    "norm": _norm,
    "logsumexp": _logsumexp,
    "_softmax": _softmax(False),
    "_log_softmax": _softmax(True),
    "max": _max_or_min("amax"),
    "min": _max_or_min("amin"),
    "argmax": _extreme(True, "places"),
    "argmin": _extreme(False, "places"),
    "cumsum": _scan("Add", "0.0f"),
    "cumprod": _scan("Times", "1.0f"),
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
    "smooth_l1_loss": _loss("smooth_l1"),
    "huber_loss": _loss("huber"),
    "mse_loss": _loss("mse"),
    "nll_loss_forward": _nll,
    "nll_loss2d_forward": _nll,
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
    "view": _method(".reshape({size*})"),
    "_unsafe_view": _method(".reshape({size*})"),
    "reshape": _method(".reshape({size*})"),
    "_reshape_alias": _method(".reshape({size*})"),
    "expand": _method(".expand({size*})"),
    "permute": _method(".permute({dims*})"),
    "transpose": _method(".transpose({dim0}, {dim1})"),
    "t": _method(".t()"),
    "unsqueeze": _method(".unsqueeze({dim})"),
    "select": _method(".select({dim}, {index})"),
    "diagonal": _method(".diagonal({offset}, {dim1}, {dim2})"),
    "squeeze": _squeeze,
    "slice": _slice,
    "split": _itself,  # and what is taken of it, a view (`part_of`)
    "split_with_sizes": _itself,
    "unbind": _itself,
    "clone": _itself,  # nothing is written to
    "_to_copy": _itself,
    "alias": _itself,
    "detach": _itself,
    "lift_fresh": _itself,
    "lift_fresh_copy": _itself,
}
