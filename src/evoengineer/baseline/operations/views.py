"""Views: the same elements under other indices, by the tensor's own methods."""

from __future__ import annotations

from collections.abc import Mapping

from evoengineer.baseline.operations.writing import Given, Writer, Writing, dims_of


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
    dims = sorted((int(dim) % rank for dim in dims_of(given)), reverse=True)
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
