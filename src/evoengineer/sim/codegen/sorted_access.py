"""Accesses of lanes that lie at known distances from each other, without gathers and scatters.

Every element is read once and then sorted, or sorted and then written lane by lane. One function of the module for all
sites of a kind: written out at each of them, the sorting would take long to compile. Whole rows need none.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from evoengineer.sim.codegen.emitter import Emitter, Val
from evoengineer.sim.codegen.forms import Form
from evoengineer.sim.codegen.steps import Steps

_MOST_REACH = 1 << 30  # offsets are constants of 32 bits


def can_sort(e: Emitter, where: Val, bits: int) -> bool:
    """Have these addresses a form that is worth a function?"""
    form = where.form
    if form is None or e.mask is not None or e.unit.force_vectors:
        return False
    return bits in (32, 64) and max(map(abs, form.steps)) < _MOST_REACH


def lanes_in_rows(where: Val, bytes_: int) -> int:
    """How many lanes next to each other read consecutive elements, everywhere in the warp, if that fills a vector; so
    do the threads of a 16-wide block that read a row of a tile. 0 if none."""
    assert where.form is not None
    for lanes in (16, 8):
        rows = [where.form.steps[first : first + lanes] for first in range(0, 32, lanes)]
        if lanes <= where.form.lanes and all(
            step - row[0] == i * bytes_ for row in rows for i, step in enumerate(row)
        ):
            return lanes
    return 0


def load_rows(e: Emitter, where: Val, bits: int, lanes: int) -> list[Val]:
    """An element per lane, rows of lanes at once, and each row once where several are the same."""
    assert where.form is not None
    loaded: dict[tuple[str, int], str] = {}
    pieces = []
    for first in range(0, 32, lanes):
        base, step = where.names[first // where.form.lanes], where.form.steps[first]
        if (base, step) not in loaded:
            pointer = e.ins(f"inttoptr i64 {e.cast(base, where.type, 'i64', 1)} to ptr")
            at = e.ins(f"getelementptr i8, ptr {pointer}, i64 {step}") if step else pointer
            loaded[base, step] = e.ins(f"load <{lanes} x i{bits}>, ptr {at}, align {bits // 8}")
        pieces.append(loaded[base, step])
    return [e.varying(concat(e, pieces, lanes, bits), bits)]


def concat(e: Emitter, pieces: list[str], width: int, bits: int) -> str:
    while len(pieces) > 1:
        index = ", ".join(f"i32 {i}" for i in range(2 * width))
        pieces = [
            e.ins(
                f"shufflevector <{width} x i{bits}> {a}, <{width} x i{bits}> {b}, <{2 * width} x i32> <{index}>"
            )
            for a, b in zip(pieces[::2], pieces[1::2], strict=True)
        ]
        width *= 2
    return pieces[0]


def load_sorted(e: Emitter, where: Val, bits: int, count: int) -> list[Val]:
    """`count` consecutive elements per lane."""
    out = e.scratch(4 * bits * count)
    load_sorted_to(e, where, bits, count, out)
    return [e.reload(out, bits, i) for i in range(count)]


def load_sorted_to(e: Emitter, where: Val, bits: int, count: int, out: str) -> None:
    """The same into memory, a vector for each element."""
    assert where.form is not None
    name = f"load{count}x{bits}_{_key(where.form)}"
    if name not in e.defined_functions:
        e.define(name, _load_text(name, where.form, bits, count))
    args = ", ".join(f"i64 {e.cast(base, where.type, 'i64', 1)}" for base in where.names)
    e.do(f"call void @{name}(ptr {out}, {args})")


def store_sorted(e: Emitter, where: Val, values: list[Val], bits: int) -> None:
    """The same for writing, lanes in ascending order: where addresses coincide the highest lane wins."""
    assert where.form is not None
    count = len(values)
    name = f"store{count}x{bits}_{_key(where.form)}"
    if name not in e.defined_functions:
        e.define(name, _store_text(name, where.form, bits, count))
    data = e.scratch(4 * bits * count)
    for i, value in enumerate(values):
        at = e.ins(f"getelementptr inbounds i8, ptr {data}, i64 {i * 4 * bits}") if i else data
        e.do(f"store <32 x i{bits}> {e.vector(value)}, ptr {at}, align 64")
    args = ", ".join(f"i64 {e.cast(base, where.type, 'i64', 1)}" for base in where.names)
    e.do(f"call void @{name}(ptr {data}, {args})")


def _key(form: Form) -> str:
    return f"{form.segments}_{hashlib.sha256(str(form.steps).encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A vector of what was read: of which rows and steps, in order."""

    name: str
    width: int
    places: list[tuple[int, int]]


class _Text:
    """The lines of a function."""

    def __init__(self, name: str, segments: int) -> None:
        bases = ", ".join(f"i64 %b{i}" for i in range(segments))
        self.lines = [f"define internal void @{name}(ptr noalias %data, {bases}) noinline #0 {{", "start:"]
        self.count = 0

    def ins(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def place(self, part: int, bits: int) -> str:
        """Where all lanes' elements number `part` lie in the caller's memory."""
        return self.ins(f"getelementptr inbounds i8, ptr %data, i64 {part * 4 * bits}")

    def lane_pointer(self, base: str, offset: int) -> str:
        return self.ins(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base

    def shuffle(self, width: int, kind: str, a: str, b: str, picks: list[int]) -> str:
        index = ", ".join(f"i32 {pick}" for pick in picks)
        return self.ins(
            f"shufflevector <{width} x {kind}> {a}, <{width} x {kind}> {b}, <{len(picks)} x i32> <{index}>"
        )

    def together(self, a: _Piece, b: _Piece, kind: str) -> _Piece:
        """One vector of both."""
        longest = max(a.width, b.width)
        names = [
            each.name
            if each.width == longest
            else self.shuffle(each.width, kind, each.name, "poison", _padded(each.width, longest))
            for each in (a, b)
        ]
        picks = [*range(a.width), *range(longest, longest + b.width)]
        whole = self.shuffle(longest, kind, names[0], names[1], picks)
        return _Piece(whole, a.width + b.width, [*a.places, *b.places])

    def end(self) -> str:
        return "\n".join([*self.lines, "}"])


def _padded(size: int, width: int) -> list[int]:
    """Picks that make a vector longer; what they add is not looked at."""
    return [min(i, size - 1) for i in range(width)]


def _load_text(name: str, form: Form, bits: int, count: int) -> str:
    text = _Text(name, form.segments)
    if form.segments > 1 and not form.flat:  # rows of threads often read the same row of a tile
        same = ""
        for i in range(1, form.segments):
            one = text.ins(f"icmp eq i64 %b0, %b{i}")
            same = text.ins(f"and i1 {same}, {one}") if same else one
        text.do(f"br i1 {same}, label %equal, label %unlike")
        text.label("equal")
        _load_all(text, [0] * 32, form.steps, bits, count)
        text.label("unlike")
    _load_all(text, [lane // form.lanes for lane in range(32)], form.steps, bits, count)
    return text.end()


def _load_all(text: _Text, rows: list[int], steps: Steps, bits: int, count: int) -> None:
    """Each lane's elements, from the base of its row on."""
    kind, unit = f"i{bits}", count * bits // 8
    pieces: list[_Piece] = []
    for row in sorted(set(rows)):
        base = text.ins(f"inttoptr i64 %b{row} to ptr")
        wanted = sorted({step for own, step in zip(rows, steps, strict=True) if own == row})
        for first, last in _stretches(wanted, unit):
            places = [(row, step) for step in range(first, last + 1, unit)]
            pointer = text.lane_pointer(base, first)
            width = len(places) * count
            name = text.ins(f"load <{width} x {kind}>, ptr {pointer}, align {bits // 8}")
            pieces.append(_Piece(name, width, places))
    while len(pieces) > 1:
        pairs = zip(pieces[::2], pieces[1::2], strict=False)
        odd = pieces[-1:] if len(pieces) % 2 else []
        pieces = [*(text.together(a, b, kind) for a, b in pairs), *odd]
    (whole,) = pieces
    at = {place: number * count for number, place in enumerate(whole.places)}
    for part in range(count):
        picks = [at[place] + part for place in zip(rows, steps, strict=True)]
        vector = text.shuffle(whole.width, kind, whole.name, "poison", picks)
        text.do(f"store <32 x {kind}> {vector}, ptr {text.place(part, bits)}, align 64")
    text.do("ret void")


def _stretches(wanted: list[int], unit: int) -> list[tuple[int, int]]:
    """First and last of those that follow one another without a gap."""
    found: list[tuple[int, int]] = []
    for each in wanted:
        if found and each == found[-1][1] + unit:
            found[-1] = found[-1][0], each
        else:
            found.append((each, each))
    return found


def _store_text(name: str, form: Form, bits: int, count: int) -> str:
    text = _Text(name, form.segments)
    kind, width = f"i{bits}", 32
    piece = [text.ins(f"load <32 x {kind}>, ptr {text.place(part, bits)}, align 64") for part in range(count)]
    while len(piece) > 1:
        picks = list(range(2 * width))
        piece = [text.shuffle(width, kind, a, b, picks) for a, b in zip(piece[::2], piece[1::2], strict=True)]
        width *= 2
    bases = [text.ins(f"inttoptr i64 %b{row} to ptr") for row in range(form.segments)]
    for lane, step in enumerate(form.steps):
        value = text.shuffle(width, kind, piece[0], "poison", [part * 32 + lane for part in range(count)])
        pointer = text.lane_pointer(bases[lane // form.lanes], step)
        text.do(f"store <{count} x {kind}> {value}, ptr {pointer}, align {bits // 8}")
    text.do("ret void")
    return text.end()
