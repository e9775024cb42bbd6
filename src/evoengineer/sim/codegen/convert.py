"""cvt: between integers of all widths, floats of all kinds, with rounding, saturation and flushing."""

from __future__ import annotations

from evoengineer.sim.codegen.emitter import Emitter, Val, bits_of
from evoengineer.sim.codegen.floating import (
    LLVM_FLOAT,
    ROUNDINGS,
    SMALL,
    extend,
    flushed,
    narrow,
    relu,
    saturated,
)
from evoengineer.sim.codegen.integer import widen
from evoengineer.sim.codegen.moves import pack, unpack
from evoengineer.sim.ptx.model import Instr

_INTEGER_ROUNDING = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_FP8 = ("e4m3x2", "e5m2x2")


def cvt(e: Emitter, instr: Instr) -> None:
    """All forms of cvt; the pairs and 8-bit floats have functions of their own."""
    to, source = instr.mods[-2], instr.mods[-1]
    if "pack" in instr.mods:
        _cvt_pack(e, instr)
    elif to in _FP8 or source in _FP8:
        _cvt_fp8(e, instr, to, source)
    elif to in ("f16x2", "bf16x2"):
        _cvt_pair(e, instr, to)
    elif to == "tf32":
        mode = {"rna": 0, "rn": 1, "rz": 2}[next(m for m in instr.mods if m in ("rna", "rn", "rz"))]
        out = e.alloca(128)
        e.call(
            "void",
            "rt_cvt_f32_tf32",
            [("ptr", out), ("ptr", e.spill(e.read(instr.args[1], 32), "float")), ("i32", str(mode))],
        )
        e.write(instr.args[0], e.reload(out, 32))
    else:
        val = e.read(instr.args[1], bits_of(source))
        result = convert(e, instr, val, to, source)
        register = e.register_bits(instr.args[0].name)  # type: ignore[union-attr]
        if result.bits < register and to[0] == "s":  # a small signed result fills its register with the sign
            result = widen(
                e, e.varying(e.vector(result), result.bits) if not result.flat else result, register, "sext"
            )
        e.write(instr.args[0], result)


def convert(e: Emitter, instr: Instr, val: Val, to: str, source: str) -> Val:
    """One value to another type, by the kinds of the two."""
    if to in LLVM_FLOAT and source in LLVM_FLOAT:
        return _float_float(e, instr, val, to, source)
    if to in LLVM_FLOAT:
        return _int_float(e, instr, val, to, source)
    if source in LLVM_FLOAT:
        return _float_int(e, instr, val, to, source)
    return _int_int(e, instr, val, to, source)


def _int_int(e: Emitter, instr: Instr, val: Val, to: str, source: str) -> Val:
    bits = bits_of(to)
    if "sat" in instr.mods:
        return _saturate(e, val, to, source)
    if bits > val.bits:
        return widen(e, val, bits, "sext" if source[0] == "s" else "zext")
    return e.resize(val, bits)


def _saturate(e: Emitter, val: Val, to: str, source: str) -> Val:
    """Clamp to the destination's range, computed in 128 bits' worth of care: widen first, then clamp."""
    wide_bits = max(bits_of(to), bits_of(source)) * 2
    wide_bits = 64 if wide_bits <= 64 else 128
    ty, bits = f"i{val.bits}", bits_of(to)
    low = -(1 << (bits - 1)) if to[0] == "s" else 0
    high = (1 << (bits - 1)) - 1 if to[0] == "s" else (1 << bits) - 1
    wide = f"i{wide_bits}"

    def fn(n: int, x: str) -> str:
        x = e.ins(f"{'sext' if source[0] == 's' else 'zext'} {e.t(n, ty)} {x} to {e.t(n, wide)}")
        x = e.intrinsic("smax", n, wide, x, e.k(n, wide, low))
        x = e.intrinsic("smin", n, wide, x, e.k(n, wide, high))
        return e.ins(f"trunc {e.t(n, wide)} {x} to {e.t(n, f'i{bits}')}")

    return e.alu(bits, f"i{bits}", [(val, ty)], fn)


def _explicit_ftz(e: Emitter, instr: Instr) -> bool:
    return "ftz" in instr.mods


def _float_float(e: Emitter, instr: Instr, val: Val, to: str, source: str) -> Val:
    a, b = LLVM_FLOAT[source], LLVM_FLOAT[to]
    directed = next((m for m in instr.mods if m in ROUNDINGS and m != "rn"), None)
    if to == source:
        whole = next((_INTEGER_ROUNDING[m] for m in instr.mods if m in _INTEGER_ROUNDING), None)

        def same(n: int, x: str) -> str:
            if _explicit_ftz(e, instr):
                x = flushed(e, n, a, x)
            if whole:
                x = e.intrinsic(whole, n, a, x)
            return _finish(e, instr, n, b, x)

        return e.alu(val.bits, b, [(val, a)], same)
    if to == "f32" and source == "f64" and directed:
        out = e.alloca(128)
        e.call(
            "void",
            "rt_round_f64_f32",
            [("i32", str(ROUNDINGS[directed])), ("ptr", out), ("ptr", e.spill(val, "double"))],
        )
        result = e.reload(out, 32)
        return (
            e.alu(32, b, [(result, b)], lambda n, x: _finish(e, instr, n, b, x))
            if "ftz" in instr.mods or "sat" in instr.mods
            else result
        )
    if directed and to in ("f16", "bf16"):
        return _narrow_directed(e, instr, val, to, source, directed)

    def fn(n: int, x: str) -> str:
        if _explicit_ftz(e, instr) and a == "float":
            x = flushed(e, n, a, x)
        if a == "double" and b in SMALL:
            return _finish(e, instr, n, b, narrow(e, n, b, _odd_float(e, n, x)))
        if a in SMALL:
            x = extend(e, n, a, x)
            if b == "float":
                return _finish(e, instr, n, b, x)
            if b == "double":
                return _finish(e, instr, n, b, e.ins(f"fpext {e.t(n, 'float')} {x} to {e.t(n, b)}"))
        if b in SMALL:
            return _finish(e, instr, n, b, narrow(e, n, b, x))
        word = "fpext" if bits_of(to) > bits_of(source) else "fptrunc"
        return _finish(e, instr, n, b, e.ins(f"{word} {e.t(n, a)} {x} to {e.t(n, b)}"))

    return e.alu(bits_of(to), b, [(val, a)], fn)


def _finish(e: Emitter, instr: Instr, n: int, ty: str, x: str) -> str:
    if "relu" in instr.mods:
        x = relu(e, n, ty, x)
    if "sat" in instr.mods:
        x = saturated(e, n, ty, x)
    if "ftz" in instr.mods and ty == "float":
        x = flushed(e, n, ty, x)
    return x


def _odd_float(e: Emitter, n: int, x: str) -> str:
    """double → float rounded to odd, so that a second rounding to half is right."""
    d, f, i = e.t(n, "double"), e.t(n, "float"), e.t(n, "i32")
    near = e.ins(f"fptrunc {d} {x} to {f}")
    back = e.ins(f"fpext {f} {near} to {d}")
    inexact = e.ins(f"fcmp one {d} {back}, {x}")
    bits = e.ins(f"bitcast {f} {near} to {i}")
    even = e.ins(f"icmp eq {i} {e.ins(f'and {i} {bits}, {e.k(n, _I32, 1)}')}, {e.k(n, 'i32', 0)}")
    bigger = e.ins(
        f"fcmp olt {d} {e.intrinsic('fabs', n, 'double', back)}, {e.intrinsic('fabs', n, 'double', x)}"
    )
    step = e.ins(f"select {e.t(n, 'i1')} {bigger}, {i} {e.k(n, 'i32', 1)}, {i} {e.k(n, 'i32', -1)}")
    odd = e.ins(f"add {i} {bits}, {step}")
    use = e.ins(f"and {e.t(n, 'i1')} {inexact}, {even}")
    bits = e.ins(f"select {e.t(n, 'i1')} {use}, {i} {odd}, {i} {bits}")
    return e.ins(f"bitcast {i} {bits} to {f}")


_I32 = "i32"


def _narrow_directed(e: Emitter, instr: Instr, val: Val, to: str, source: str, mode: str) -> Val:
    """f32 → f16/bf16 with rz, rm, rp: round to nearest, then step back where that went too far."""
    b = LLVM_FLOAT[to]
    if source == "f64":
        val = e.alu(32, "float", [(val, "double")], lambda n, x: _odd_float(e, n, x))

    def fn(n: int, x: str) -> str:
        f, h, i16, i1 = e.t(n, "float"), e.t(n, b), e.t(n, "i16"), e.t(n, "i1")
        near = narrow(e, n, b, x)
        back = extend(e, n, b, near)
        if mode == "rz":
            over = e.ins(
                f"fcmp ogt {f} {e.intrinsic('fabs', n, 'float', back)}, {e.intrinsic('fabs', n, 'float', x)}"
            )
            step_up = None
        else:
            over = e.ins(f"fcmp {'ogt' if mode == 'rm' else 'olt'} {f} {back}, {x}")
            step_up = mode == "rp"
        bits = near if b == "i16" else e.ins(f"bitcast {h} {near} to {i16}")
        negative = e.ins(f"icmp slt {i16} {bits}, {e.k(n, 'i16', 0)}")
        down = e.k(n, "i16", -1)
        if step_up is not None:  # toward +inf or -inf: magnitude grows or shrinks with the sign
            grow = e.ins(f"xor {i1} {negative}, {e.k(n, 'i1', 'true' if step_up else 'false')}")
            down = e.ins(f"select {i1} {grow}, {i16} {e.k(n, 'i16', 1)}, {i16} {e.k(n, 'i16', -1)}")
        moved = e.ins(f"add {i16} {bits}, {down}")
        result = e.ins(f"select {i1} {over}, {i16} {moved}, {i16} {bits}")
        return _finish(e, instr, n, b, result if b == "i16" else e.ins(f"bitcast {i16} {result} to {h}"))

    return e.alu(16, b, [(val, "float")], fn)


def _int_float(e: Emitter, instr: Instr, val: Val, to: str, source: str) -> Val:
    ty, signed = LLVM_FLOAT[to], source[0] == "s"
    directed = next((m for m in instr.mods if m in ROUNDINGS and m != "rn"), None)
    exact = {"f32": 24, "f64": 53}.get(to, 0) >= val.bits
    if directed and not exact and to in ("f32", "f64"):
        wide = (
            widen(e, e.varying(e.vector(val), val.bits), 64, "sext" if signed else "zext")
            if val.bits < 64
            else val
        )
        out = e.alloca(bits_of(to) * 4)
        unsigned = int(not signed and val.bits == 64)
        e.call(
            "void",
            f"rt_i64_{to}",
            [("i32", str(ROUNDINGS[directed])), ("i32", str(unsigned)), ("ptr", out), ("ptr", e.spill(wide))],
        )
        return e.reload(out, bits_of(to))
    word = "sitofp" if signed else "uitofp"
    kind = f"i{val.bits}"

    def fn(n: int, x: str) -> str:
        if ty in SMALL:
            wide = e.ins(f"{word} {e.t(n, kind)} {x} to {e.t(n, 'double')}")
            x = narrow(e, n, ty, _odd_float(e, n, wide))
        else:
            x = e.ins(f"{word} {e.t(n, kind)} {x} to {e.t(n, ty)}")
        return _finish(e, instr, n, ty, x)

    return e.alu(bits_of(to), ty, [(val, kind)], fn)


def _float_int(e: Emitter, instr: Instr, val: Val, to: str, source: str) -> Val:
    """Out-of-range values clamp. NaN gives 0, or 0x8000… where source or result has 64 bits."""
    ty, bits = LLVM_FLOAT[source], bits_of(to)
    whole = next((_INTEGER_ROUNDING[m] for m in instr.mods if m in _INTEGER_ROUNDING), "trunc")
    word = "fptosi.sat" if to[0] == "s" else "fptoui.sat"
    suffix = source
    kind = f"i{bits}"

    def fn(n: int, x: str) -> str:
        src, sfx = ty, suffix
        if ty in SMALL:
            x = extend(e, n, ty, x)
            src, sfx = "float", "f32"
        if "ftz" in instr.mods and src == "float":
            x = flushed(e, n, src, x)
        x = e.intrinsic(whole, n, src, x)
        name = f"llvm.{word}.{kind}.{sfx}" if n == 1 else f"llvm.{word}.v{n}{kind}.v{n}{sfx}"
        result = e.call(e.t(n, kind), name, [(e.t(n, src), x)])
        if bits == 64 or source == "f64":
            nan = e.ins(f"fcmp uno {e.t(n, src)} {x}, {x}")
            lowest = e.k(n, kind, -(1 << (bits - 1)))
            result = e.ins(f"select {e.t(n, 'i1')} {nan}, {e.t(n, kind)} {lowest}, {e.t(n, kind)} {result}")
        return result

    return e.alu(bits, kind, [(val, ty)], fn)


def _cvt_pair(e: Emitter, instr: Instr, to: str) -> None:
    """cvt.f16x2.f32 d, a, b: a goes into the upper half."""
    if instr.mods[-1] != "f32":
        raise e.unsupported(instr.name)
    high, low = (e.read(a, 32) for a in instr.args[1:3])
    parts = [_float_float(e, instr, v, to[:-2], "f32") for v in (low, high)]
    e.write(instr.args[0], pack(e, parts, 32))


def _cvt_fp8(e: Emitter, instr: Instr, to: str, source: str) -> None:
    relu = ("i32", str(int("relu" in instr.mods)))
    if source == "f32":
        out = e.alloca(64)
        high, low = (e.spill(e.read(a, 32), "float") for a in instr.args[1:3])
        e.call("void", f"rt_cvt_f32_{to}", [("ptr", out), ("ptr", high), ("ptr", low), relu])
        e.write(instr.args[0], e.reload(out, 16))
    elif source in _FP8:
        out = e.alloca(128)
        e.call(
            "void", f"rt_cvt_{source}_{to}", [("ptr", out), ("ptr", e.spill(e.read(instr.args[1], 16))), relu]
        )
        e.write(instr.args[0], e.reload(out, 32))
    else:
        out = e.alloca(64)
        e.call(
            "void", f"rt_cvt_{source}_{to}", [("ptr", out), ("ptr", e.spill(e.read(instr.args[1], 32))), relu]
        )
        e.write(instr.args[0], e.reload(out, 16))


def _cvt_pack(e: Emitter, instr: Instr) -> None:
    """cvt.pack.sat.u8.s32.b32 d, a, b, c: saturate a and b, put them above the low bits of c."""
    to = instr.mods[2]
    bits = bits_of(to)
    a, b = (e.read(x, 32) for x in instr.args[1:3])
    parts = [_saturate(e, v, to, instr.mods[3]) for v in (b, a)]
    if len(instr.args) > 3:
        c = unpack(e, e.read(instr.args[3], 32), 32 // bits)
        parts += c[: 32 // bits - 2]
    e.write(instr.args[0], pack(e, parts, 32))
