"""Loads and stores, and addresses of the state spaces.

Addresses are real addresses of the device process in every state space, so an access is a plain load or
store once bounds.py has checked it. Atomics and fences are in sync.py.

The address's form decides the access: one scalar per segment, one contiguous vector per segment, or a
gather or scatter over lanes.
"""

from __future__ import annotations

from evoengineer.sim.codegen import abi
from evoengineer.sim.codegen.bounds import check
from evoengineer.sim.codegen.emitter import Emitter, Val
from evoengineer.sim.codegen.forms import MOST_LOADED, flat_segments, linear_form
from evoengineer.sim.codegen.gather import define_gather, gather, gather_to
from evoengineer.sim.codegen.integer import plus
from evoengineer.sim.codegen.limits import inside
from evoengineer.sim.codegen.reported import is_reported, load_reported
from evoengineer.sim.codegen.sorted_access import (
    can_sort,
    concat,
    lanes_in_rows,
    load_rows,
    load_sorted,
    load_sorted_to,
    store_sorted,
)
from evoengineer.sim.ptx.model import TYPE_BYTES, Addr, Instr, Operand, Reg, Sym, Vec

_COUNTS = {"v2": 2, "v4": 4, "v8": 8}


_SPACES = ("global", "shared", "local", "const", "param")


def space_of(instr: Instr) -> str:
    """The state space that an instruction names; generic if none."""
    for mod in instr.mods:
        head = mod.partition("::")[0]
        if head in _SPACES:
            return head
    return "generic"


def address(e: Emitter, operand: Operand, space: str) -> Val:
    """The real address of a memory operand."""
    if not isinstance(operand, Addr):
        raise e.unsupported(f"operand {operand!r}")
    if operand.base is None:
        base = e.constant(operand.offset, 64)
    elif isinstance(operand.base, Sym):
        base = e.read(Sym(operand.base.name, operand.base.offset + operand.offset), 64)
    elif space == "shared" and e.register_bits(operand.base.name) == 32:
        # Valid offsets are small: extending the sign is right for them, and wrong ones stay wrong.
        base = plus(e, _sign_extend(e, e.read(operand.base, 32)), e.constant(operand.offset, 64))
    else:
        base = e.read(operand.base, 64)
        if operand.offset:
            base = plus(e, base, e.constant(operand.offset, 64))
    if space == "shared":
        base = plus(e, e.uniform("%shared", 64), base)
    return base


def _sign_extend(e: Emitter, val: Val) -> Val:
    if val.const is not None:
        return e.constant(val.const, 64)
    if val.form is not None and not e.unit.force_vectors:
        names = [e.extended(e.cast(x, val.type, "i32", 1)) for x in val.names]
        return Val(64, val.form, names, "i64")
    return e.alu(
        64, "i64", [(val, "i32")], lambda n, x: e.ins(f"sext {e.t(n, 'i32')} {x} to {e.t(n, 'i64')}")
    )


# -- loads -------------------------------------------------------------------------------------------


def ld(e: Emitter, instr: Instr) -> None:
    """ld, ldu: from memory, a parameter, or the result of a call."""
    kind = instr.mods[-1]
    bytes_ = TYPE_BYTES[kind]
    if bytes_ == 16:
        raise e.unsupported(instr.name)
    count = next((_COUNTS[m] for m in instr.mods if m in _COUNTS), 1)
    space = space_of(instr)
    source = instr.args[1]
    targets = instr.args[0].items if isinstance(instr.args[0], Vec) else (instr.args[0],)
    if (
        space == "param"
        and isinstance(source, Addr)
        and isinstance(source.base, Sym)
        and source.base.name in e.unit.body.call_params
    ):
        parts = call_result(e, instr, source, bytes_, count)
    elif is_reported(e, instr, source, space, bytes_):
        words = load_reported(e, instr, source, space, targets)  # type: ignore[arg-type]
        if words is None:
            return
        parts = words
    else:
        where = address(e, source, space)
        direct = (
            space == "param"
            and isinstance(source, Addr)
            and isinstance(source.base, Sym)
            and source.base.name in e.unit.param_offsets
        )
        if direct:
            sym = source.base  # type: ignore[union-attr]
            param = next(p for p in e.unit.function.params if p.name == sym.name)  # type: ignore[union-attr]
            offset = sym.offset + source.offset  # type: ignore[union-attr]
            inside(instr, offset, bytes_ * count, param.bytes, bytes_)
        else:
            check(e, instr, where, bytes_ * count)
            if bytes_ == 4 and "volatile" not in instr.mods and not _in_a_row(where, bytes_ * count):
                out = e.receive(targets, kind)
                if out is not None:
                    _load_to(e, where, count, out)
                    return
        parts = load(e, where, bytes_, count, "volatile" in instr.mods)
    for target, part in zip(targets, parts, strict=True):
        if target != Reg("_"):
            e.write(target, _extend(e, part, kind, target))


def _extend(e: Emitter, part: Val, kind: str, target: Operand) -> Val:
    """A loaded value fills its register: with its sign if the type is signed."""
    bits = e.register_bits(target.name)  # type: ignore[union-attr]
    if bits <= part.bits or kind[0] != "s":
        return part
    small, ty = f"i{part.bits}", f"i{bits}"
    return e.alu(bits, ty, [(part, small)], lambda n, x: e.ins(f"sext {e.t(n, small)} {x} to {e.t(n, ty)}"))


def load(e: Emitter, where: Val, bytes_: int, count: int, volatile: bool = False) -> list[Val]:
    """`count` consecutive elements of `bytes_` bytes per lane."""
    bits = bytes_ * 8
    word = "load volatile" if volatile else "load"
    sortable = can_sort(e, where, bits) and not volatile
    few = flat_segments([where.form], MOST_LOADED) if where.form is not None else None
    if not e.unit.force_vectors and (few is not None or (where.flat and not sortable)):
        where = e.refine(where, few or len(where.names))
        columns: list[list[str]] = [[] for _ in range(count)]
        for name in where.names:
            pointer = e.ins(f"inttoptr i64 {e.cast(name, where.type, 'i64', 1)} to ptr")
            for i in range(count):
                at = e.ins(f"getelementptr i8, ptr {pointer}, i64 {i * bytes_}") if i else pointer
                columns[i].append(e.ins(f"{word} i{bits}, ptr {at}, align {bytes_}"))
        assert where.form is not None
        return [Val(bits, where.form, names, f"i{bits}") for names in columns]
    if where.form is not None and where.form.stride == bytes_ * count and (e.mask is None or count == 1):
        return _load_contiguous(e, where, bits, count)
    if sortable:
        lanes = lanes_in_rows(where, bytes_) if count == 1 else 0
        return load_rows(e, where, bits, lanes) if lanes else load_sorted(e, where, bits, count)
    addresses = e.vector(where)
    parts = []
    for i in range(count):
        at = e.ins(f"add <32 x i64> {addresses}, splat (i64 {i * bytes_})") if i else addresses
        parts.append(gather(e, at, bits))
    return parts


def _in_a_row(where: Val, bytes_: int) -> bool:
    return where.form is not None and where.form.stride == bytes_


def _load_to(e: Emitter, where: Val, count: int, out: str) -> None:
    """`count` words per lane, into memory: a vector for each."""
    if can_sort(e, where, 32):
        load_sorted_to(e, where, 32, count, out)
        return
    define_gather(e, 32)
    name = f"gather{count}to"
    e.define(name, gather_to(name, count))
    e.do(f"call void @{name}(ptr {out}, <32 x i64> {e.vector(where)}, i32 {e.mask_bits})")


def _load_contiguous(e: Emitter, where: Val, bits: int, count: int) -> list[Val]:
    assert where.form is not None
    segments = where.form.segments
    lanes = 32 // segments
    width = lanes * count
    pieces = []
    for i, name in enumerate(where.names):
        pointer = e.ins(f"inttoptr i64 {name} to ptr")
        ty = f"<{width} x i{bits}>"
        if e.mask is None:
            pieces.append(e.ins(f"load {ty}, ptr {pointer}, align {bits // 8}"))
        else:
            pick = ", ".join(f"i32 {i * lanes + j}" for j in range(lanes))
            mask = e.mask
            if segments > 1:
                mask = e.ins(f"shufflevector <32 x i1> {e.mask}, <32 x i1> poison, <{lanes} x i32> <{pick}>")
            name_ = f"llvm.masked.load.v{width}i{bits}.p0"
            pieces.append(
                e.call(
                    ty,
                    name_,
                    [
                        ("ptr", f"align {bits // 8} {pointer}"),
                        (f"<{width} x i1>", mask),
                        (ty, "zeroinitializer"),
                    ],
                )
            )
    whole = concat(e, pieces, width, bits)
    if count == 1:
        return [e.varying(whole, bits)]
    parts = []
    for part in range(count):
        index = ", ".join(f"i32 {lane * count + part}" for lane in range(32))
        total = width * segments
        wide = f"<{total} x i{bits}>"
        picked = e.ins(f"shufflevector {wide} {whole}, {wide} poison, <32 x i32> <{index}>")
        parts.append(e.varying(picked, bits))
    return parts


# -- stores ------------------------------------------------------------------------------------------


def st(e: Emitter, instr: Instr) -> None:
    """st: to memory, an argument of a call, or the function's own result."""
    kind = instr.mods[-1]
    bytes_ = TYPE_BYTES[kind]
    if bytes_ == 16:
        raise e.unsupported(instr.name)
    count = next((_COUNTS[m] for m in instr.mods if m in _COUNTS), 1)
    space = space_of(instr)
    source = instr.args[1]
    items = source.items if isinstance(source, Vec) else (source,)
    values = [e.read(x, bytes_ * 8) for x in items]
    to = instr.args[0]
    if space == "param" and isinstance(to, Addr) and isinstance(to.base, Sym):
        if to.base.name in e.unit.body.call_params:
            call_argument(e, instr, to, values, bytes_)
        else:  # the function's own result
            result = next(p for p in e.unit.function.results if p.name == to.base.name)
            inside(instr, to.offset + to.base.offset, bytes_ * count, result.bytes, bytes_)
            offset = e.unit.result_offsets[to.base.name] + to.offset + to.base.offset
            base = e.ins(f"add i64 {e.warp_field(abi.RESULTS, 'i64')}, {offset}")
            store(e, Val(64, linear_form(1, e.unit.result_bytes), [base], "i64"), values, bytes_)
        return
    where = address(e, to, space)
    check(e, instr, where, bytes_ * count, values)
    store(e, where, values, bytes_)


def store(e: Emitter, where: Val, values: list[Val], bytes_: int) -> None:
    """Write values to an address that has been checked, in the way that its form allows."""
    bits, count = bytes_ * 8, len(values)
    if where.form is not None and where.form.stride == bytes_ * count and e.mask is None:
        _store_contiguous(e, where, values, bits)
        return
    one = where.form is not None and where.flat and where.form.segments == 1
    if one and e.mask is None and all(v.flat and v.form and v.form.segments == 1 for v in values):
        pointer = e.ins(f"inttoptr i64 {e.cast(where.names[0], where.type, 'i64', 1)} to ptr")
        for i, val in enumerate(values):
            at = e.ins(f"getelementptr i8, ptr {pointer}, i64 {i * bytes_}") if i else pointer
            e.do(f"store i{bits} {e.cast(val.names[0], val.type, f'i{bits}', 1)}, ptr {at}, align {bytes_}")
        return
    if can_sort(e, where, bits):
        store_sorted(e, where, values, bits)
        return
    addresses = e.vector(where)
    for i, val in enumerate(values):
        at = e.ins(f"add <32 x i64> {addresses}, splat (i64 {i * bytes_})") if i else addresses
        _scatter(e, at, e.vector(val), bits)


def _store_contiguous(e: Emitter, where: Val, values: list[Val], bits: int) -> None:
    assert where.form is not None
    count, segments = len(values), where.form.segments
    vectors = [e.vector(v) for v in values]
    whole, total = vectors[0], 32
    if count > 1:  # interleave: first concatenate, then pick
        pieces = vectors
        whole, total = concat(e, pieces, 32, bits), 32 * count
        index = ", ".join(f"i32 {part * 32 + lane}" for lane in range(32) for part in range(count))
        whole = e.ins(
            f"shufflevector <{total} x i{bits}> {whole}, <{total} x i{bits}> poison, <{total} x i32> <{index}>"
        )
    width = total // segments
    for i, name in enumerate(where.names):
        piece = whole
        if segments > 1:
            index = ", ".join(f"i32 {i * width + j}" for j in range(width))
            piece = e.ins(
                f"shufflevector <{total} x i{bits}> {whole}, <{total} x i{bits}> poison, <{width} x i32> <{index}>"
            )
        pointer = e.ins(f"inttoptr i64 {name} to ptr")
        e.do(f"store <{width} x i{bits}> {piece}, ptr {pointer}, align {bits // 8}")


def _scatter(e: Emitter, addresses: str, value: str, bits: int) -> None:
    """Lanes in ascending order: where addresses coincide the highest lane wins."""
    if bits < 32:
        pointer, data = e.spill(e.varying(addresses, 64)), e.spill(e.varying(value, bits))
        e.call("void", f"rt_scatter{bits}", [("i32", e.active_bits()), ("ptr", data), ("ptr", pointer)])
        return
    pointers = e.ins(f"inttoptr <32 x i64> {addresses} to <32 x ptr>")
    mask = e.mask or "splat (i1 true)"
    e.call(
        "void",
        f"llvm.masked.scatter.v32i{bits}.v32p0",
        [(f"<32 x i{bits}>", value), ("<32 x ptr>", f"align {bits // 8} {pointers}"), ("<32 x i1>", mask)],
    )


# -- calls' parameters ---------------------------------------------------------------------------------


def call_argument(e: Emitter, instr: Instr, to: Addr, values: list[Val], bytes_: int) -> None:
    """st.param to an argument of the call that follows: into its buffer, lane-major."""
    assert isinstance(to.base, Sym)
    room = e.unit.body.call_params[to.base.name].bytes
    inside(instr, to.offset + to.base.offset, bytes_ * len(values), room, bytes_)
    buffer, stride = e.unit_call_buffer(to.base.name)  # type: ignore[attr-defined]
    base = e.ins(f"ptrtoint ptr {buffer} to i64")
    base = e.ins(f"add i64 {base}, {to.offset + to.base.offset}")
    store(e, Val(64, linear_form(1, stride), [base], "i64"), values, bytes_)


def call_result(e: Emitter, instr: Instr, source: Addr, bytes_: int, count: int) -> list[Val]:
    """ld.param from a result of the call before: out of its buffer, lane-major."""
    assert isinstance(source.base, Sym)
    room = e.unit.body.call_params[source.base.name].bytes
    inside(instr, source.offset + source.base.offset, bytes_ * count, room, bytes_)
    buffer, stride = e.unit_call_buffer(source.base.name)  # type: ignore[attr-defined]
    base = e.ins(f"ptrtoint ptr {buffer} to i64")
    base = e.ins(f"add i64 {base}, {source.offset + source.base.offset}")
    return load(e, Val(64, linear_form(1, stride), [base], "i64"), bytes_, count)


# -- address arithmetic and the rest --------------------------------------------------------------------


def cvta(e: Emitter, instr: Instr) -> None:
    """Generic addresses are real addresses; only shared memory has offsets of its own."""
    val = e.read(instr.args[1], 64)
    if space_of(instr) == "shared":
        base = e.uniform("%shared", 64)
        val = plus(e, val, base, "sub") if "to" in instr.mods else plus(e, val, base)
    e.write(instr.args[0], val)


def isspacep(e: Emitter, instr: Instr) -> None:
    """Does an address lie in a state space?"""
    space = space_of(instr)
    where = e.read(instr.args[1], 64)
    if space in ("shared", "local"):
        start = e.warp_field(abi.SHARED_BASE if space == "shared" else abi.LOCAL_BASE, "i64")
        size = (
            e.ins(f"zext i32 {e.warp_field(abi.SHARED_BYTES, 'i32')} to i64")
            if space == "shared"
            else str(32 * max(e.unit.local_bytes, 1))
        )
        operands = [
            (where, "i64"),
            (e.uniform(start, 64), "i64"),
            (e.uniform(size, 64) if space == "shared" else e.constant(int(size), 64), "i64"),
        ]

        def inside(n: int, x: str, s: str, length: str) -> str:
            return e.ins(f"icmp ult {e.t(n, 'i64')} {e.ins(f'sub {e.t(n, _I64)} {x}, {s}')}, {length}")

        e.write(instr.args[0], e.alu(1, "i1", operands, inside))
        return
    if space == "const":
        found = e.alloca(4)
        e.call("void", "rt_is_constant", [("i32", e.active_bits()), ("ptr", found), ("ptr", e.spill(where))])
        e.write(
            instr.args[0], e.varying(e.ins(f"bitcast i32 {e.ins(f'load i32, ptr {found}')} to <32 x i1>"), 1)
        )
        return
    if space == "global":

        def in_an_arena(n: int, x: str) -> str:
            arenas = e.k(n, "i64", 0x200000000000)  # where they start, and about how far they reach
            return e.ins(f"icmp ult {e.t(n, 'i64')} {e.ins(f'sub {e.t(n, _I64)} {x}, {arenas}')}, {arenas}")

        e.write(instr.args[0], e.alu(1, "i1", [(where, "i64")], in_an_arena))
        return
    e.write(instr.args[0], e.constant(0, 1))


_I64 = "i64"
