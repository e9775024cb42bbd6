"""Floating-point instructions: f32, f64, f16, bf16 and the packed pairs.

Rounding to nearest is LLVM's own arithmetic. Half and bfloat arithmetic is done in f32 and rounded: that
is exact for one operation (24 ≥ 2·11 + 2), and fused multiply-add goes through rounding to odd. Other
rounding modes are left to the runtime. `.ftz` is done with the processor's own flush mode when the whole
program asks for it (see Program.flush_denormals), explicitly otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from evoengineer.sim.codegen.emitter import FLOAT_BITS, Emitter, Val, bits_of
from evoengineer.sim.codegen.moves import pack, unpack
from evoengineer.sim.ptx.model import Instr

# bf16 stays an integer: LLVM has no vector code for `bfloat` on most processors.
LLVM_FLOAT = {"f16": "half", "bf16": "i16", "f32": "float", "f64": "double"}
SMALL = ("half", "i16")
ROUNDINGS = {"rn": 0, "rz": 1, "rm": 2, "rp": 3}
_SMALLEST_NORMAL = {"float": "0x3810000000000000", "half": "0xH0400"}
_ARITH = {"add": 0, "mul": 1, "fma": 2, "mad": 2, "div": 3, "sqrt": 4, "rcp": 5, "sub": 6}

Fn = Callable[..., str]
_I16, _I32 = "i16", "i32"  # for use inside nested f-strings


def flushed(e: Emitter, n: int, ty: str, x: str) -> str:
    """x with denormals replaced by zero of the same sign."""
    if ty not in _SMALLEST_NORMAL:
        return x
    t = e.t(n, ty)
    size = e.intrinsic("fabs", n, ty, x)
    tiny = e.ins(f"fcmp olt {t} {size}, {e.k(n, ty, _SMALLEST_NORMAL[ty])}")
    zero = e.intrinsic("copysign", n, ty, e.k(n, ty, "0.0"), x)
    return e.ins(f"select {e.t(n, 'i1')} {tiny}, {t} {zero}, {t} {x}")


def extend(e: Emitter, n: int, ty: str, x: str) -> str:
    """half or bf16 → float, exactly."""
    if ty == "half":
        return e.ins(f"fpext {e.t(n, ty)} {x} to {e.t(n, 'float')}")
    i = e.t(n, "i32")
    wide = e.ins(f"shl {i} {e.ins(f'zext {e.t(n, _I16)} {x} to {i}')}, {e.k(n, 'i32', 16)}")
    return e.ins(f"bitcast {i} {wide} to {e.t(n, 'float')}")


def narrow(e: Emitter, n: int, ty: str, x: str) -> str:
    """float → half or bfloat, to nearest even; every NaN becomes the canonical 0x7fff, as on the GPU."""
    f, i, h = e.t(n, "float"), e.t(n, "i32"), e.t(n, "i16")
    nan = e.ins(f"fcmp uno {f} {x}, {x}")
    if ty == "half":
        bits = e.ins(f"bitcast {e.t(n, 'half')} {e.ins(f'fptrunc {f} {x} to {e.t(n, _HALF)}')} to {h}")
    else:  # LLVM has no vector code for this on most processors
        wide = e.ins(f"bitcast {f} {x} to {i}")
        last = e.ins(f"and {i} {e.ins(f'lshr {i} {wide}, {e.k(n, _I32, 16)}')}, {e.k(n, 'i32', 1)}")
        up = e.ins(f"add {i} {e.ins(f'add {i} {wide}, {last}')}, {e.k(n, 'i32', 0x7FFF)}")
        bits = e.ins(f"trunc {i} {e.ins(f'lshr {i} {up}, {e.k(n, _I32, 16)}')} to {h}")
    bits = e.ins(f"select {e.t(n, 'i1')} {nan}, {h} {e.k(n, 'i16', 0x7FFF)}, {h} {bits}")
    return bits if ty == "i16" else e.ins(f"bitcast {h} {bits} to {e.t(n, ty)}")


_HALF = "half"


def relu(e: Emitter, n: int, ty: str, x: str) -> str:
    """Negative values become 0; NaN stays."""
    kind = f"i{FLOAT_BITS[ty]}"
    bits = x if ty == kind else e.ins(f"bitcast {e.t(n, ty)} {x} to {e.t(n, kind)}")
    wide = extend(e, n, ty, x) if ty in SMALL else x
    base = "float" if ty in SMALL else ty
    below = e.ins(f"fcmp olt {e.t(n, base)} {wide}, {e.k(n, base, '0.0')}")
    kept = e.ins(f"select {e.t(n, 'i1')} {below}, {e.t(n, kind)} {e.k(n, kind, 0)}, {e.t(n, kind)} {bits}")
    return kept if ty == kind else e.ins(f"bitcast {e.t(n, kind)} {kept} to {e.t(n, ty)}")


def saturated(e: Emitter, n: int, ty: str, x: str) -> str:
    """Clamp to [0, 1]; NaN becomes 0."""
    if ty in SMALL:
        wide = extend(e, n, ty, x)
        return narrow(e, n, ty, saturated(e, n, "float", wide))
    low = e.intrinsic("maximumnum", n, ty, x, e.k(n, ty, "0.0"))
    return e.intrinsic("minimumnum", n, ty, low, e.k(n, ty, "1.0"))


def _apply(e: Emitter, instr: Instr, fn: Fn) -> None:
    """Run fn(n, type, *operands) on the instruction's type, with its .ftz, .sat and .relu."""
    kind = instr.mods[-1]
    explicit = "ftz" in instr.mods and not (e.unit.program.flush_denormals and kind == "f32")
    if kind in ("f16x2", "bf16x2"):
        columns = [unpack(e, e.read(a, 32), 2) for a in instr.args[1:]]
        halves = [_scalar(e, instr, fn, kind[:-2], [c[i] for c in columns], explicit) for i in range(2)]
        e.write(instr.args[0], pack(e, halves, 32))
        return
    operands = [e.read(a, bits_of(kind)) for a in instr.args[1:]]
    e.write(instr.args[0], _scalar(e, instr, fn, kind, operands, explicit))


def _scalar(e: Emitter, instr: Instr, fn: Fn, kind: str, operands: list[Val], explicit: bool) -> Val:
    ty = LLVM_FLOAT[kind]

    small = ty in SMALL and instr.op not in ("fma", "mad", "neg", "abs")

    def whole(n: int, *names: str) -> str:
        if explicit:
            names = tuple(flushed(e, n, ty, x) for x in names)
        if small:
            names = tuple(extend(e, n, ty, x) for x in names)
            result = narrow(e, n, ty, fn(n, "float", *names))
        else:
            result = fn(n, ty, *names)
        if explicit:
            result = flushed(e, n, ty, result)
        if "sat" in instr.mods:
            result = saturated(e, n, ty, result)
        if "relu" in instr.mods:
            result = relu(e, n, ty, result)
        return result

    return e.alu(bits_of(kind), ty, [(v, ty) for v in operands], whole)


def _directed(e: Emitter, instr: Instr) -> bool:
    """Handle the rounding modes other than to nearest; False if the instruction has none."""
    mode = next((ROUNDINGS[m] for m in instr.mods if m in ROUNDINGS), 0)
    kind = instr.mods[-1]
    if mode == 0 or kind not in ("f32", "f64"):
        return False
    bits, ty = bits_of(kind), LLVM_FLOAT[kind]
    vals = [e.read(a, bits) for a in instr.args[1:]]
    if "ftz" in instr.mods:
        vals = [e.alu(bits, ty, [(v, ty)], lambda n, x: flushed(e, n, ty, x)) for v in vals]
    if has_avx512():
        result = _embedded_rounding(e, instr.op, kind, mode, vals)
    else:
        pointers = [e.spill(v, ty) for v in vals]
        pointers += [pointers[0]] * (3 - len(pointers))
        out = e.alloca(bits * 4)
        head = [("i32", str(_ARITH[instr.op])), ("i32", str(mode)), ("ptr", out)]
        e.call("void", f"rt_arith_{kind}", [*head, *(("ptr", p) for p in pointers)])
        result = e.reload(out, bits)
    if "ftz" in instr.mods:
        result = e.alu(bits, ty, [(result, ty)], lambda n, x: flushed(e, n, ty, x))
    if "sat" in instr.mods:
        result = e.alu(bits, ty, [(result, ty)], lambda n, x: saturated(e, n, ty, x))
    e.write(instr.args[0], result)
    return True


@cache
def has_avx512() -> bool:
    """AVX-512 instructions can carry a rounding mode of their own."""
    import llvmlite.binding as llvm

    return bool(llvm.get_host_cpu_features().get("avx512f"))


_EMBEDDED = {0: 8, 1: 11, 2: 9, 3: 10}  # our rounding numbers → x86's, exceptions suppressed


def _embedded_rounding(e: Emitter, op: str, kind: str, mode: int, vals: list[Val]) -> Val:
    ty, bits = LLVM_FLOAT[kind], bits_of(kind)
    width, suffix = (16, "ps") if kind == "f32" else (8, "pd")
    if op == "rcp":
        op, vals = "div", [e.constant(0x3F800000 if kind == "f32" else 0x3FF0000000000000, bits), *vals]
    name = {"fma": "vfmadd", "mad": "vfmadd"}.get(op, op)
    t = f"<{width} x {ty}>"
    pieces = []
    for start in range(0, 32, width):
        index = ", ".join(f"i32 {i}" for i in range(start, start + width))
        parts = [
            e.ins(
                f"shufflevector <32 x {ty}> {e.vector(v, ty)}, <32 x {ty}> poison, <{width} x i32> <{index}>"
            )
            for v in vals
        ]
        args = [*((t, p) for p in parts), ("i32", str(_EMBEDDED[mode]))]
        pieces.append(e.call(t, f"llvm.x86.avx512.{name}.{suffix}.512", args))
    while len(pieces) > 1:
        index = ", ".join(f"i32 {i}" for i in range(2 * width))
        pieces = [e.ins(f"shufflevector <{width} x {ty}> {a}, <{width} x {ty}> {b}, <{2 * width} x i32> <{index}>")
                  for a, b in zip(pieces[::2], pieces[1::2], strict=True)]  # fmt: skip
        width *= 2
    return e.varying(pieces[0], bits, ty)


def add_sub_mul_div(e: Emitter, instr: Instr) -> None:
    """add, sub, mul, div of floats."""
    if _directed(e, instr):
        return
    _apply(e, instr, lambda n, ty, x, y: e.ins(f"f{instr.op} {e.t(n, ty)} {x}, {y}"))


def fma(e: Emitter, instr: Instr) -> None:
    if _directed(e, instr):
        return

    def fn(n: int, ty: str, x: str, y: str, z: str) -> str:
        if ty in SMALL:
            return _narrow_fma(e, n, ty, x, y, z)
        return e.intrinsic("fma", n, ty, x, y, z)

    _apply(e, instr, fn)


def _narrow_fma(e: Emitter, n: int, ty: str, x: str, y: str, z: str) -> str:
    """x·y is exact in f32; the sum is rounded to odd there, so that the second rounding is right."""
    f, i = e.t(n, "float"), e.t(n, "i32")
    x, y, z = (extend(e, n, ty, v) for v in (x, y, z))
    p = e.ins(f"fmul {f} {x}, {y}")
    s = e.ins(f"fadd {f} {p}, {z}")
    back = e.ins(f"fsub {f} {s}, {p}")
    rest = e.ins(f"fsub {f} {s}, {back}")
    error = e.ins(f"fadd {f} {e.ins(f'fsub {f} {p}, {rest}')}, {e.ins(f'fsub {f} {z}, {back}')}")
    inexact = e.ins(f"fcmp one {f} {error}, {e.k(n, 'float', '0.0')}")
    bits, error_bits = (e.ins(f"bitcast {f} {v} to {i}") for v in (s, error))
    even = e.ins(f"icmp eq {i} {e.ins(f'and {i} {bits}, {e.k(n, _I32, 1)}')}, {e.k(n, 'i32', 0)}")
    signs = e.ins(f"xor {i} {bits}, {error_bits}")
    # Same sign: one up in magnitude; else one down. Both give an odd last bit.
    step = e.ins(f"or {i} {e.ins(f'ashr {i} {signs}, {e.k(n, _I32, 31)}')}, {e.k(n, 'i32', 1)}")
    odd = e.ins(f"add {i} {bits}, {step}")
    use = e.ins(f"and {e.t(n, 'i1')} {inexact}, {even}")
    bits = e.ins(f"select {e.t(n, 'i1')} {use}, {i} {odd}, {i} {bits}")
    return narrow(e, n, ty, e.ins(f"bitcast {i} {bits} to {f}"))


def min_max(e: Emitter, instr: Instr) -> None:
    """min, max of floats, also of three, with NaN and xorsign.abs."""
    name = {"min": "minimum", "max": "maximum"}[instr.op] + ("" if "NaN" in instr.mods else "num")
    magnitude = "abs" in instr.mods

    def fn(n: int, ty: str, x: str, y: str, *rest: str) -> str:
        sign = ""
        if magnitude:  # .xorsign.abs
            kind = f"i{FLOAT_BITS[ty]}"
            xi, yi = (e.ins(f"bitcast {e.t(n, ty)} {v} to {e.t(n, kind)}") for v in (x, y))
            sign = e.ins(f"bitcast {e.t(n, kind)} {e.ins(f'xor {e.t(n, kind)} {xi}, {yi}')} to {e.t(n, ty)}")
            x, y = e.intrinsic("fabs", n, ty, x), e.intrinsic("fabs", n, ty, y)
        result = e.intrinsic(name, n, ty, x, y)
        for z in rest:
            result = e.intrinsic(name, n, ty, result, z)
        return e.intrinsic("copysign", n, ty, result, sign) if sign else result

    _apply(e, instr, fn)


def neg_abs(e: Emitter, instr: Instr) -> None:
    """The sign bit alone changes; LLVM would widen bfloat for it."""

    def fn(n: int, ty: str, x: str) -> str:
        if ty in SMALL:
            bits = x if ty == "i16" else e.ins(f"bitcast {e.t(n, ty)} {x} to {e.t(n, 'i16')}")
            word, mask = ("xor", -0x8000) if instr.op == "neg" else ("and", 0x7FFF)
            bits = e.ins(f"{word} {e.t(n, 'i16')} {bits}, {e.k(n, 'i16', mask)}")
            return bits if ty == "i16" else e.ins(f"bitcast {e.t(n, 'i16')} {bits} to {e.t(n, ty)}")
        return e.ins(f"fneg {e.t(n, ty)} {x}") if instr.op == "neg" else e.intrinsic("fabs", n, ty, x)

    _apply(e, instr, fn)


def copysign(e: Emitter, instr: Instr) -> None:
    """copysign d, a, b: magnitude of b, sign of a."""
    _apply(e, instr, lambda n, ty, x, y: e.intrinsic("copysign", n, ty, y, x))


def roots(e: Emitter, instr: Instr) -> None:
    """rcp, sqrt, rsqrt."""
    kind = instr.mods[-1]
    if kind == "f64" and "approx" in instr.mods and instr.op in ("rcp", "rsqrt"):
        out = e.alloca(256)
        a = e.spill(e.read(instr.args[1], 64), "double")
        e.call(
            "void", "rt_rcp_approx_f64" if instr.op == "rcp" else "rt_rsqrt_f64", [("ptr", out), ("ptr", a)]
        )
        e.write(instr.args[0], e.reload(out, 64))
        return
    if instr.op != "rsqrt" and _directed(e, instr):
        return

    def fn(n: int, ty: str, x: str) -> str:
        if instr.op == "rcp":
            return e.ins(f"fdiv {e.t(n, ty)} {e.k(n, ty, '1.0')}, {x}")
        root = e.intrinsic("sqrt", n, ty, x)
        return root if instr.op == "sqrt" else e.ins(f"fdiv {e.t(n, ty)} {e.k(n, ty, '1.0')}, {root}")

    _apply(e, instr, fn)


def transcendental(e: Emitter, instr: Instr) -> None:
    """ex2, lg2, sin, cos, tanh (all .approx)."""
    kind = instr.mods[-1]
    op = {"ex2": "ex2", "lg2": "lg2", "sin": "sin", "cos": "cos", "tanh": "tanh"}[instr.op]

    def one(val: Val, base: str) -> Val:
        ty, bits = LLVM_FLOAT[base], bits_of(base)
        if base == "f32" and "ftz" in instr.mods:
            val = e.alu(32, ty, [(val, ty)], lambda n, x: flushed(e, n, ty, x))
        if base == "f32" and op == "ex2":
            return e.varying(_exp2(e, e.vector(val, "float"), "ftz" in instr.mods), 32, "float")
        out = e.alloca(bits * 4)
        e.call("void", f"rt_{op}_{base}", [("ptr", out), ("ptr", e.spill(val))])
        result = e.reload(out, bits)
        if base == "f32" and "ftz" in instr.mods:
            result = e.alu(32, ty, [(result, ty)], lambda n, x: flushed(e, n, ty, x))
        return result

    if kind in ("f16x2", "bf16x2"):
        parts = [one(p, kind[:-2]) for p in unpack(e, e.read(instr.args[1], 32), 2)]
        e.write(instr.args[0], pack(e, parts, 32))
    else:
        e.write(instr.args[0], one(e.read(instr.args[1], bits_of(kind)), kind))


# 2^f on [-1/2, 1/2]: Taylor coefficients ln(2)^k / k!, good to about 2^-27 at degree 7.
_EXP2 = [0.6931471805599453**k for k in range(8)]
for _k in range(2, 8):
    for _j in range(2, _k + 1):
        _EXP2[_k] /= _j


def _exp2(e: Emitter, x: str, flush: bool) -> str:
    """2^x for 32 floats: round to the nearest integer, a polynomial on the rest, scale by the exponent."""
    f, i = "<32 x float>", "<32 x i32>"

    def k(value: float) -> str:
        import struct

        single = struct.unpack("<f", struct.pack("<f", value))[0]
        return f"splat (float 0x{struct.unpack('<Q', struct.pack('<d', single))[0]:016X})"

    low = e.intrinsic("maxnum", 32, "float", e.intrinsic("minnum", 32, "float", x, k(129.0)), k(-151.0))
    whole = e.intrinsic("rint", 32, "float", low)
    rest = e.ins(f"fsub {f} {low}, {whole}")
    total = k(_EXP2[7])
    for power in range(6, -1, -1):
        total = e.intrinsic("fma", 32, "float", total, rest, k(_EXP2[power]))
    exponent = e.ins(f"fptosi {f} {whole} to {i}")
    # Two steps, so that results in the denormal range come out right too.
    half = e.ins(f"ashr {i} {exponent}, splat (i32 1)")
    other = e.ins(f"sub {i} {exponent}, {half}")
    for part in (half, other):
        power_bits = e.ins(f"shl {i} {e.ins(f'add {i} {part}, splat (i32 127)')}, splat (i32 23)")
        total = e.ins(f"fmul {f} {total}, {e.ins(f'bitcast {i} {power_bits} to {f}')}")
    if flush:
        total = flushed(e, 32, "float", total)
    nan = e.ins(f"fcmp uno {f} {x}, {x}")
    return e.ins(f"select <32 x i1> {nan}, {f} {x}, {f} {total}")


def testp(e: Emitter, instr: Instr) -> None:
    """The class of a float: finite, infinite, normal …"""
    kind = instr.mods[-1]
    ty, bits = LLVM_FLOAT[kind], bits_of(kind)
    masks = {
        "finite": 0x1F8,
        "infinite": 0x204,
        "number": 0x3FC,
        "notanumber": 0x003,
        "normal": 0x108,
        "subnormal": 0x090,
    }
    a = e.read(instr.args[1], bits)
    suffix = kind

    def fn(n: int, x: str) -> str:
        name = f"llvm.is.fpclass.{suffix if n == 1 else f'v{n}{suffix}'}"
        return e.call(e.t(n, "i1"), name, [(e.t(n, ty), x), ("i32", str(masks[instr.mods[0]]))])

    e.write(instr.args[0], e.alu(1, "i1", [(a, ty)], fn))
