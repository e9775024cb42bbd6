"""Instructions in which the lanes of a warp take part together: shuffles, votes, matrix operations.

In SLOW the dispatcher has already brought the members together. In FAST all lanes are there; a member mask
other than the full one sends the warp to SLOW (see `needs_slow`).
"""

from __future__ import annotations

from evoengineer.sim.codegen import abi
from evoengineer.sim.codegen.emitter import Emitter, Val, bits_of
from evoengineer.sim.codegen.limits import check_count, fragment_registers, matrix_shape
from evoengineer.sim.codegen.memory import address, space_of
from evoengineer.sim.ptx.model import Imm, Instr, Operand, Pair, Reg, Vec

_SHUFFLE_MODES = {"up": 0, "down": 1, "bfly": 2, "idx": 3}


def member_operand(instr: Instr) -> Operand | None:
    """The operand that holds the member mask; None for instructions of the whole warp."""
    if instr.op in ("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix"):
        return None
    return instr.args[-1]


def _members(e: Emitter, instr: Instr) -> tuple[str, str]:
    operand = member_operand(instr)
    assert operand is not None
    return "ptr", e.spill(e.read(operand, 32))


def _head(e: Emitter) -> list[tuple[str, str]]:
    return [("ptr", "%w"), ("i32", e.active_bits())]


def shfl(e: Emitter, instr: Instr) -> None:
    """shfl: in FAST with constant operands a shuffle of the vector, else by the runtime."""
    mode = next(m for m in instr.mods if m in _SHUFFLE_MODES)
    to = instr.args[0]
    value_to, test_to = (to.first, to.second) if isinstance(to, Pair) else (to, None)
    a, b, c = (e.read(x, 32) for x in instr.args[1:4])
    if e.mask is None and test_to is None and b.const is not None and c.const is not None:
        index = ", ".join(f"i32 {_source_lane(mode, lane, b.const, c.const)}" for lane in range(32))
        vec = e.vector(a)
        e.write(
            value_to,
            e.varying(e.ins(f"shufflevector <32 x i32> {vec}, <32 x i32> poison, <32 x i32> <{index}>"), 32),
        )
        return
    out, test = e.alloca(128), e.alloca(4) if test_to is not None else "null"
    pointers = [("ptr", e.spill(v)) for v in (a, b, c)]
    e.call(
        "void",
        "rt_shfl",
        [*_head(e), ("i32", str(_SHUFFLE_MODES[mode])), ("ptr", out), ("ptr", test), *pointers],
    )
    e.write(value_to, e.reload(out, 32))
    if test_to is not None and test_to != Reg("_"):
        bits = e.ins(f"load i32, ptr {test}")
        e.write(test_to, e.varying(e.ins(f"bitcast i32 {bits} to <32 x i1>"), 1))


def _source_lane(mode: str, lane: int, b: int, c: int) -> int:
    """The PTX ISA's rule for which lane is read."""
    clamp, segment = c & 31, c >> 8 & 31
    highest = (lane & segment) | (clamp & ~segment)
    lowest = lane & segment
    by = b & 31
    if mode == "up":
        source = lane - by
        good = source >= highest
    elif mode == "down":
        source = lane + by
        good = source <= highest
    elif mode == "bfly":
        source = lane ^ by
        good = source <= highest
    else:
        source = lowest | (by & ~segment)
        good = source <= highest
    return source if good else lane


def vote(e: Emitter, instr: Instr) -> None:
    """vote.all, any, uni, ballot."""
    mods = instr.mods
    mode = next(m for m in ("all", "any", "uni", "ballot") if m in mods)
    p = e.read(instr.args[1], 1)
    bits = e.ins(f"bitcast <32 x i1> {e.vector(p)} to i32")
    if e.mask is None:
        match mode:
            case "ballot":
                e.write(instr.args[0], e.uniform(bits, 32))
            case "all":
                e.write(instr.args[0], e.uniform(e.ins(f"icmp eq i32 {bits}, -1"), 1))
            case "any":
                e.write(instr.args[0], e.uniform(e.ins(f"icmp ne i32 {bits}, 0"), 1))
            case "uni":
                plus = e.ins(f"add i32 {bits}, 1")
                e.write(instr.args[0], e.uniform(e.ins(f"icmp ult i32 {plus}, 2"), 1))
        return
    members = _members(e, instr) if "sync" in mods else ("ptr", e.spill(e.uniform(e.active_bits(), 32)))
    out = e.alloca(128)
    code = {"all": 0, "any": 1, "uni": 2, "ballot": 3}[mode]
    e.call("void", "rt_vote", [*_head(e), ("i32", str(code)), members, ("i32", bits), ("ptr", out)])
    if mode == "ballot":
        e.write(instr.args[0], e.reload(out, 32))
    else:
        result = e.ins(f"load i32, ptr {out}")
        e.write(instr.args[0], e.varying(e.ins(f"bitcast i32 {result} to <32 x i1>"), 1))


def match_(e: Emitter, instr: Instr) -> None:
    """match.any, match.all."""
    kind = next(m for m in instr.mods if m in ("b32", "b64"))
    a = ("ptr", e.spill(e.read(instr.args[1], bits_of(kind))))
    to, out = instr.args[0], e.alloca(128)
    if "any" in instr.mods:
        e.call("void", f"rt_match_any_{kind}", [*_head(e), _members(e, instr), ("ptr", out), a])
        e.write(to, e.reload(out, 32))
        return
    test = e.alloca(4)
    e.call("void", f"rt_match_all_{kind}", [*_head(e), _members(e, instr), ("ptr", out), ("ptr", test), a])
    e.write(to.first if isinstance(to, Pair) else to, e.reload(out, 32))
    if isinstance(to, Pair) and to.second != Reg("_"):
        bits = e.ins(f"load i32, ptr {test}")
        e.write(to.second, e.varying(e.ins(f"bitcast i32 {bits} to <32 x i1>"), 1))


def redux(e: Emitter, instr: Instr) -> None:
    """redux: a sum, minimum … over the members."""
    op = next(m for m in ("add", "min", "max", "and", "or", "xor") if m in instr.mods)
    kind = instr.mods[-1]
    if kind == "f32":
        raise e.unsupported(instr.name)
    code = {
        "add": 0,
        "min": 1 if kind == "s32" else 3,
        "max": 2 if kind == "s32" else 4,
        "and": 5,
        "or": 6,
        "xor": 7,
    }[op]
    out = e.alloca(128)
    e.call(
        "void",
        "rt_redux",
        [
            *_head(e),
            ("i32", str(code)),
            _members(e, instr),
            ("ptr", out),
            ("ptr", e.spill(e.read(instr.args[1], 32))),
        ],
    )
    result = e.reload(out, 32)
    if e.mask is None:
        result = e.uniform(e.ins(f"extractelement <32 x i32> {result.names[0]}, i64 0"), 32)
    e.write(instr.args[0], result)


def elect(e: Emitter, instr: Instr) -> None:
    """elect.sync d|p: the lowest member is the leader."""
    to = instr.args[0]
    assert isinstance(to, Pair)
    members = e.read(instr.args[1], 32)
    active = e.ins(f"and i32 {e.active_bits()}, {e.scalars(members, 'i32', 1)[0] if members.flat else '-1'}")
    leader = e.call("i32", "llvm.cttz.i32", [("i32", active), ("i1", "true")])
    e.write(to.first, e.uniform(leader, 32))
    if to.second != Reg("_"):
        bit = e.ins(f"shl i32 1, {leader}")
        e.write(to.second, e.varying(e.ins(f"bitcast i32 {bit} to <32 x i1>"), 1))


def activemask(e: Emitter, instr: Instr) -> None:
    """The lanes that run together now: in FAST all."""
    bits = e.active_bits()
    e.write(instr.args[0], e.constant(abi.FULL_MASK, 32) if e.mask is None else e.uniform(bits, 32))


def warp_barrier(e: Emitter, instr: Instr) -> None:
    """bar.warp.sync: the waiting is the dispatcher's."""


def nanosleep(e: Emitter, instr: Instr) -> None:
    """Lets other warps run first."""
    e.call("void", "rt_yield", [("ptr", "%w")])


# -- matrix operations -----------------------------------------------------------------------------------

_MATRIX_TYPES = {"f16": 0, "bf16": 1, "tf32": 2, "f32": 3, "f64": 4, "s8": 5, "u8": 6, "s4": 7, "u4": 8,
                 "b1": 9, "s32": 10, "e4m3": 11, "e5m2": 12}  # fmt: skip


def _descriptor(shape: tuple[int, int, int], types: list[str], flags: int) -> tuple[str, str]:
    m, n, k = shape
    a, b, c, d = (_MATRIX_TYPES[t] for t in types)
    value = m | n << 8 | (k & 255) << 16 | a << 24 | b << 32 | c << 40 | d << 48 | flags << 56
    return "i64", str(value - (1 << 64) if value >> 63 else value)


def _registers(operand: Operand) -> list[Operand]:
    return list(operand.items) if isinstance(operand, Vec) else [operand]


def _fragment(e: Emitter, operand: Operand, kind: str) -> tuple[str, str]:
    bits = 64 if kind == "f64" else 32
    return "ptr", e.spill_all([e.read(x, bits) for x in _registers(operand)])


def _take(e: Emitter, operand: Operand, pointer: str, kind: str) -> None:
    bits = 64 if kind == "f64" else 32
    for i, register in enumerate(_registers(operand)):
        e.write(register, e.reload(pointer, bits, i))


def mma(e: Emitter, instr: Instr) -> None:
    """mma.sync: by the runtime, on fragments in memory."""
    if instr.op == "mma" and ("sp" in instr.mods or any(m.startswith("sp::") for m in instr.mods)):
        raise e.unsupported(instr.name)
    kinds = [m for m in instr.mods if m in _MATRIX_TYPES]
    if instr.op == "wmma" and len(kinds) == 2:  # wmma with f16 inputs names only d and c
        kinds = [kinds[0], "f16", "f16", kinds[1]]
    d, a, b, c = kinds
    layouts = [m for m in instr.mods if m in ("row", "col")]
    flags = (1 if layouts[0] == "col" else 0) | (2 if layouts[1] == "row" else 0)
    flags |= (4 if "satfinite" in instr.mods else 0) | (8 if "and" in instr.mods else 0)
    shape = matrix_shape(instr, a)
    matrix_shape(instr, b)
    for operand, which, kind in zip(instr.args, "cabc", (d, a, b, c), strict=True):
        check_count(instr, operand, fragment_registers(instr, which, kind, shape))
    out = e.alloca((256 if d == "f64" else 128) * len(_registers(instr.args[0])))
    descriptor = _descriptor(shape, [a, b, c, d], flags)
    operands = [_fragment(e, x, t) for x, t in zip(instr.args[1:4], (a, b, c), strict=True)]
    name = "rt_mma" if instr.op == "mma" else "rt_wmma_mma"
    e.call("void", name, [*_head(e), descriptor, ("ptr", out), *operands])
    _take(e, instr.args[0], out, d)


def wmma(e: Emitter, instr: Instr) -> None:
    """wmma.load, store and mma."""
    if "mma" in instr.mods:
        mma(e, instr)
        return
    kind = next(m for m in reversed(instr.mods) if m in _MATRIX_TYPES)
    layout = ("i32", str(int("col" in instr.mods)))
    saving = "store" in instr.mods
    place = 0 if saving else 1
    where = ("ptr", e.spill(address(e, instr.args[place], space_of(instr))))
    stride = "null"
    if len(instr.args) > 2:
        stride = e.spill(e.read(instr.args[2], 32))
    site = ("i32", str(e.unit.sites[id(instr)]))
    matrix = "c" if saving else next(m for m in instr.mods if m in ("a", "b", "c"))
    shape = matrix_shape(instr, kind, matrix == "c")
    check_count(instr, instr.args[1 - place], fragment_registers(instr, matrix, kind, shape))
    descriptor = _descriptor(shape, [kind] * 4, 0)
    head = [("ptr", "%w"), site, ("i32", e.active_bits()), descriptor]
    if saving:
        data = _fragment(e, instr.args[1], kind)
        e.call("void", "rt_wmma_store", [*head, layout, data, where, ("ptr", stride)])
        return
    which = ("i32", str("abc".index(matrix)))
    out = e.alloca((256 if kind == "f64" else 128) * len(_registers(instr.args[0])))
    e.call("void", "rt_wmma_load", [*head, which, layout, ("ptr", out), where, ("ptr", stride)])
    _take(e, instr.args[0], out, kind)


def ldmatrix(e: Emitter, instr: Instr) -> None:
    """ldmatrix and stmatrix."""
    if "b16" not in instr.mods or "m8n8" not in instr.mods:
        raise e.unsupported(instr.name)
    count = next((int(m[1:]) for m in instr.mods if m in ("x1", "x2", "x4")), 1)
    trans = ("i32", str(int("trans" in instr.mods)))
    site = ("i32", str(e.unit.sites[id(instr)]))
    head = [("ptr", "%w"), site, ("i32", e.active_bits()), ("i32", str(count)), trans]
    check_count(instr, instr.args[1 if instr.op == "stmatrix" else 0], count)
    if instr.op == "stmatrix":
        where = ("ptr", e.spill(address(e, instr.args[0], "shared")))
        e.call("void", "rt_stmatrix", [*head, _fragment(e, instr.args[1], "b32"), where])
        return
    where = ("ptr", e.spill(address(e, instr.args[1], "shared")))
    out = e.alloca(128 * count)
    e.call("void", "rt_ldmatrix", [*head, ("ptr", out), where])
    _take(e, instr.args[0], out, "b32")


def movmatrix(e: Emitter, instr: Instr) -> None:
    out = e.alloca(128)
    e.call("void", "rt_movmatrix", [*_head(e), ("ptr", out), ("ptr", e.spill(e.read(instr.args[1], 32)))])
    e.write(instr.args[0], e.reload(out, 32))


def constant_members(instr: Instr) -> int | None:
    """The member mask where it is written in the text; the full mask for whole-warp instructions."""
    operand = member_operand(instr)
    if operand is None:
        return abi.FULL_MASK
    return operand.value & abi.FULL_MASK if isinstance(operand, Imm) else None


def all_lanes(e: Emitter, val: Val) -> str:
    """An i1: is this member mask the full one?"""
    return e.ins(f"icmp eq i32 {e.scalars(val, 'i32', 1)[0]}, -1")
