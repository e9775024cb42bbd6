"""Operations along dimensions: sums, extremes, moments, norms, softmax, scans, and the losses that end in a sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evoengineer.baseline.formulas import BINARY
from evoengineer.baseline.operations.pointwise import binary
from evoengineer.baseline.operations.writing import Given, Unsupported, Writer, Writing, dims_of, flag

_REDUCTIONS = {  # term, join, start
    "sum": ("x", "Add", "0.0f"),
    "amax": ("x", "Larger", "-INFINITY"),
    "amin": ("x", "Smaller", "INFINITY"),
    "prod": ("x", "Times", "1.0f"),
    "any": ("x != 0.0f ? 1.0f : 0.0f", "Larger", "0.0f"),
    "all": ("x != 0.0f ? 1.0f : 0.0f", "Smaller", "1.0f"),
}


def reduced(w: Writing, kind: str, value: str, dims: Any, keep: bool, term: str | None = None) -> str:
    own, join, start = _REDUCTIONS[kind]
    w.use("reduce")
    functor = "Same{}" if (term or own) == "x" else w.functor(f"term_of_{kind}", term or own, "x", {})
    return f"reduced({functor}, {join}{{}}, {start}, {value}, {w.dims(dims or [])}, {flag(keep)})"


def _reduction(kind: str) -> Writer:
    def write(w: Writing, given: Given) -> str:
        return reduced(w, kind, w.tensor(given["self"]), dims_of(given), bool(given.get("keepdim")))

    return write


def mean_of(w: Writing, text: str, count: str) -> str:
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
    dims = dims_of(given)
    total = reduced(w, "sum", w.tensor(given["self"]), dims, bool(given.get("keepdim")))
    return mean_of(w, total, _count(w, given["self"], dims))


def _variance(w: Writing, given: Given) -> str:
    w.use("moments")
    w.use("apply")
    dims, name = dims_of(given), w.tensor(given["self"])
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
    value, dims, keep = w.tensor(given["self"]), dims_of(given), bool(given.get("keepdim"))
    if order == float("inf"):
        return reduced(w, "amax", value, dims, keep, "fabsf(x)")
    if order == 1.0:
        return reduced(w, "sum", value, dims, keep, "fabsf(x)")
    w.use("apply")
    if order == 2.0:
        total = reduced(w, "sum", value, dims, keep, "x * x")
        return f"apply({w.functor('root', 'sqrtf(x)', 'x', {})}, {total})"
    total = reduced(w, "sum", value, dims, keep, f"powf(fabsf(x), {order}f)")
    return f"apply({w.functor('root_of_power', f'powf(x, {1 / order}f)', 'x', {})}, {total})"


def _logsumexp(w: Writing, given: Given) -> str:
    """The maximum, then the logarithm of the sum of what exponentials are left."""
    value, dims, keep = w.tensor(given["self"]), dims_of(given), bool(given.get("keepdim"))
    w.use("combine")
    w.use("apply")
    largest = reduced(w, "amax", value, dims, True)
    minus = w.functor("exponential_of_difference", "expf(x - y)", "x, y", {})
    total = reduced(w, "sum", f"combine({minus}, {value}, {largest})", dims, keep)
    plus = w.functor("logarithm_plus", "logf(x) + y", "x, y", {})
    return f"combine({plus}, {total}, {reduced(w, 'amax', value, dims, keep)})"


def _softmax(logarithm: bool) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("softmax")
        return f"softmax_of({w.tensor(given['self'])}, {w.whole(given['dim'])}, {flag(logarithm)})"

    return write


def _extreme(largest: bool, part: str) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("arg")
        found = (
            f"extreme_of({w.tensor(given['self'])}, {w.dims(dims_of(given))}, "
            f"{flag(given.get('keepdim'))}, {flag(largest)})"
        )
        return found + (f".{part}" if part else "")

    return write


def _max_or_min(kind: str) -> Writer:
    """`max(x)`, `max(x, dim)` or `max(x, y)`."""

    def write(w: Writing, given: Given) -> str:
        if "other" in given:
            return binary(w, {"amax": "maximum", "amin": "minimum"}[kind], given)
        if "dim" in given:
            return _extreme(kind == "amax", "")(w, given)
        return reduced(w, kind, w.tensor(given["self"]), [], False)

    return write


def _scan(join: str, start: str) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("scan")
        return f"scanned({join}{{}}, {start}, {w.tensor(given['self'])}, {w.whole(given['dim'])})"

    return write


_MEAN, _SUM = 1, 2  # ATen's numbers for how a loss is reduced


def _loss(name: str) -> Writer:
    def write(w: Writing, given: Given) -> str:
        w.use("combine")
        each = w.functor(name, BINARY[name], "x, y", given)
        text = f"combine({each}, {w.tensor(given['self'])}, {w.tensor(given['target'])})"
        if given["reduction"] in (_MEAN, _SUM):
            text = reduced(w, "sum", text, [], False)
        return mean_of(w, text, f"{w.tensor(given['self'])}.numel()") if given["reduction"] == _MEAN else text

    return write


def _nll(w: Writing, given: Given) -> str:
    if given.get("weight") is not None:
        raise Unsupported("nll_loss with weights")
    w.use("nll")
    text = f"picked({w.tensor(given['self'])}, {w.tensor(given['target'])}, {w.whole(given['ignore_index'])})"
    if given["reduction"] in (_MEAN, _SUM):
        text = reduced(w, "sum", text, [], False)
    return mean_of(w, text, f"{w.tensor(given['target'])}.numel()") if given["reduction"] == _MEAN else text


OPERATIONS: Mapping[str, Writer] = {
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
    "smooth_l1_loss": _loss("smooth_l1"),
    "huber_loss": _loss("huber"),
    "mse_loss": _loss("mse"),
    "nll_loss_forward": _nll,
    "nll_loss2d_forward": _nll,
}
