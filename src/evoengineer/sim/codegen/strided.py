"""Accesses of lanes that lie at a constant distance from each other, without gathers and scatters.

Every lane's elements are read or written at once, and then sorted. One function of the module for all sites of a kind:
written out at each of them, the sorting would take long to compile.
"""

from __future__ import annotations

from evoengineer.sim.codegen.emitter import Emitter, Val

_MOST_REACH = 1 << 30  # offsets are constants of 32 bits


def can_stride(e: Emitter, where: Val, bits: int) -> bool:
    """Have these addresses a form that is worth a function?"""
    form = where.form
    if form is None or not form.stride or e.mask is not None or e.unit.force_vectors:
        return False
    return bits in (32, 64) and abs(form.stride) * form.lanes < _MOST_REACH


def load_strided(e: Emitter, where: Val, bits: int, count: int) -> list[Val]:
    """`count` consecutive elements per lane."""
    out = e.scratch(4 * bits * count)
    load_strided_to(e, where, bits, count, out)
    return [e.reload(out, bits, i) for i in range(count)]


def load_strided_to(e: Emitter, where: Val, bits: int, count: int, out: str) -> None:
    """The same into memory, a vector for each element. A flat value will do, too."""
    assert where.form is not None
    segments, stride = where.form.segments, where.form.stride
    name = f"load{count}x{bits}_{segments}_{stride % (1 << 32)}"
    if name not in e.defined_functions:
        e.define(name, _load_text(name, segments, stride, bits, count))
    args = ", ".join(f"i64 {e.cast(base, where.type, 'i64', 1)}" for base in where.names)
    e.do(f"call void @{name}(ptr {out}, {args})")


def store_strided(e: Emitter, where: Val, values: list[Val], bits: int) -> None:
    """The same for writing, lanes in ascending order: where addresses coincide the highest lane wins."""
    assert where.form is not None
    segments, stride, count = where.form.segments, where.form.stride, len(values)
    name = f"store{count}x{bits}_{segments}_{stride % (1 << 32)}"
    if name not in e.defined_functions:
        e.define(name, _store_text(name, segments, stride, bits, count))
    data = e.scratch(4 * bits * count)
    for i, value in enumerate(values):
        at = e.ins(f"getelementptr inbounds i8, ptr {data}, i64 {i * 4 * bits}") if i else data
        e.do(f"store <32 x i{bits}> {e.vector(value)}, ptr {at}, align 64")
    args = ", ".join(f"i64 {e.cast(base, where.type, 'i64', 1)}" for base in where.names)
    e.do(f"call void @{name}(ptr {data}, {args})")


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

    def end(self) -> str:
        return "\n".join([*self.lines, "}"])


def _load_text(name: str, segments: int, stride: int, bits: int, count: int) -> str:
    text = _Text(name, segments)
    if segments > 1 and stride:  # rows of threads often read the same row of a tile
        same = ""
        for i in range(1, segments):
            one = text.ins(f"icmp eq i64 %b0, %b{i}")
            same = text.ins(f"and i1 {same}, {one}") if same else one
        text.do(f"br i1 {same}, label %equal, label %unlike")
        text.label("equal")
        _load_rows(text, 1, segments, stride, bits, count)
        text.label("unlike")
    _load_rows(text, segments, segments, stride, bits, count)
    return text.end()


def _load_rows(text: _Text, rows: int, segments: int, stride: int, bits: int, count: int) -> None:
    """The lanes of the first `rows` segments; the others have the same."""
    lanes = 32 // segments if stride else 1  # that read something of their own
    kind, piece = f"i{bits}", []
    for row in range(rows):
        base = text.ins(f"inttoptr i64 %b{row} to ptr")
        for lane in range(lanes):
            pointer = text.lane_pointer(base, lane * stride)
            piece.append(text.ins(f"load <{count} x {kind}>, ptr {pointer}, align {bits // 8}"))
    width = count
    while len(piece) > 1:
        picks = list(range(2 * width))
        piece = [text.shuffle(width, kind, a, b, picks) for a, b in zip(piece[::2], piece[1::2], strict=True)]
        width *= 2
    total = rows * lanes
    for part in range(count):
        owner = [lane % total if stride else lane * segments // 32 for lane in range(32)]
        picks = [each * count + part for each in owner]
        vector = text.shuffle(width, kind, piece[0], "poison", picks)
        text.do(f"store <32 x {kind}> {vector}, ptr {text.place(part, bits)}, align 64")
    text.do("ret void")


def _store_text(name: str, segments: int, stride: int, bits: int, count: int) -> str:
    text = _Text(name, segments)
    lanes, kind, width = 32 // segments, f"i{bits}", 32
    piece = [text.ins(f"load <32 x {kind}>, ptr {text.place(part, bits)}, align 64") for part in range(count)]
    while len(piece) > 1:
        picks = list(range(2 * width))
        piece = [text.shuffle(width, kind, a, b, picks) for a, b in zip(piece[::2], piece[1::2], strict=True)]
        width *= 2
    for row in range(segments):
        base = text.ins(f"inttoptr i64 %b{row} to ptr")
        for lane in range(lanes):
            picks = [part * 32 + row * lanes + lane for part in range(count)]
            value = text.shuffle(width, kind, piece[0], "poison", picks)
            pointer = text.lane_pointer(base, lane * stride)
            text.do(f"store <{count} x {kind}> {value}, ptr {pointer}, align {bits // 8}")
    text.do("ret void")
    return text.end()
