"""Undefined bits from and to memory. These rules need the addresses that the instruction's own code has found."""

from __future__ import annotations

from evoengineer.sim.codegen.emitter import bits_of
from evoengineer.sim.codegen.origins import reads_memory
from evoengineer.sim.codegen.undefined import Definedness, Results, Rule, Rules, Undefined
from evoengineer.sim.codegen.undefined_rules import RULES, default, registers
from evoengineer.sim.codegen.warp import wmma_description
from evoengineer.sim.ptx.flow import destinations
from evoengineer.sim.ptx.model import Instr, Reg


def _head(d: Definedness, instr: Instr) -> list[tuple[str, str]]:
    return [("ptr", "%w"), ("i32", str(d.e.unit.sites[id(instr)])), ("i32", d.e.active_bits())]


def _ld(d: Definedness, instr: Instr) -> Results:
    e = d.e
    if not d.address or not reads_memory(instr):
        return {}
    kind = instr.mods[-1]
    bytes_ = bits_of(kind) // 8
    targets = registers(instr.args[0])
    received = e.receive(targets, kind, undefined=True)
    out = received or e.alloca(32 * bytes_ * len(targets))
    e.call("void", "rt_undefined_load", [
        *_head(d, instr), ("ptr", d.address), ("ptr", out),
        ("i32", str(bytes_)), ("i32", str(len(targets)))])  # fmt: skip
    results: Results = {}
    if received:
        d.in_file.update(each.name for each in targets if isinstance(each, Reg))
        return results
    for i, target in enumerate(targets):
        if isinstance(target, Reg) and target.name != "_":
            u, bits = d.reload(out, bytes_ * 8, i), e.register_bits(target.name)
            if bits != u.bits:
                word = "trunc" if bits < u.bits else "sext" if kind[0] == "s" else "zext"
                u = Undefined(e.ins(f"{word} <32 x i{u.bits}> {u.name} to <32 x i{bits}>"), bits)
            results[target.name] = u
    return results


def _st(d: Definedness, instr: Instr) -> Results:
    if not d.address:  # a parameter or a result of a call: not followed
        return {}
    bits = bits_of(instr.mods[-1])
    parts = [d.of(x, bits) for x in registers(instr.args[1])]
    _define(d, instr, d.spill(parts, bits), bits // 8, len(parts))
    return {}


def _define(d: Definedness, instr: Instr, undefined: str, bytes_: int, count: int) -> None:
    shape = [("i32", str(bytes_)), ("i32", str(count))]
    d.e.call("void", "rt_undefined_store", [*_head(d, instr), ("ptr", d.address), ("ptr", undefined), *shape])


def _atom(d: Definedness, instr: Instr) -> Results:
    e, bits = d.e, bits_of(instr.mods[-1])
    returns = instr.op == "atom"
    operands = [d.of(a, bits) for a in instr.args[2 if returns else 1 :]]
    kind = 1 if "exch" in instr.mods else 2 if {"and", "or", "xor"} & set(instr.mods) else 0
    out = e.alloca(bits * 4) if returns else "null"
    given = d.spill([d.either(*operands)], bits)
    e.call("void", "rt_undefined_atomic", [
        *_head(d, instr), ("ptr", d.address), ("ptr", given), ("ptr", out),
        ("i32", str(bits // 8)), ("i32", str(kind))])  # fmt: skip
    return {name: d.reload(out, bits) for name in destinations(instr)} if returns else {}


def _mbarrier(d: Definedness, instr: Instr) -> Results:
    if "init" in instr.mods and d.address:
        _define(d, instr, "null", 8, 1)
    return {}


def _ldmatrix(d: Definedness, instr: Instr) -> Results:
    e = d.e
    count = next((int(m[1:]) for m in instr.mods if m in ("x1", "x2", "x4")), 1)
    shape = [("i32", str(count)), ("i32", str(int("trans" in instr.mods)))]
    if instr.op == "stmatrix":
        given = d.spill([d.of(x, 32) for x in registers(instr.args[1])], 32)
        e.call(
            "void", "rt_undefined_stmatrix", [*_head(d, instr), *shape, ("ptr", given), ("ptr", d.address)]
        )
        return {}
    out = e.alloca(128 * count)
    e.call("void", "rt_undefined_ldmatrix", [
        *_head(d, instr), *shape, ("ptr", out), ("ptr", d.address)])  # fmt: skip
    return {
        t.name: d.reload(out, 32, i) for i, t in enumerate(registers(instr.args[0])) if isinstance(t, Reg)
    }


def _wmma(d: Definedness, instr: Instr) -> Results:
    e = d.e
    descriptor, layout, which, bits = wmma_description(instr)
    stride = ("ptr", d.stride)
    if "store" in instr.mods:
        given = d.spill([d.of(x, bits) for x in registers(instr.args[1])], bits)
        e.call("void", "rt_undefined_wmma_store", [
            *_head(d, instr), descriptor, layout, ("ptr", given), ("ptr", d.address), stride])  # fmt: skip
        return {}
    targets = registers(instr.args[0])
    out = e.alloca(bits * 4 * len(targets))
    e.call("void", "rt_undefined_wmma_load", [
        *_head(d, instr), descriptor, which, layout, ("ptr", out),
        ("ptr", d.address), stride])  # fmt: skip
    return {t.name: d.reload(out, bits, i) for i, t in enumerate(targets) if isinstance(t, Reg)}


MEMORY_RULES: dict[str, Rule] = {
    "ld": _ld, "ldu": _ld, "st": _st, "atom": _atom, "red": _atom, "mbarrier": _mbarrier,
    "ldmatrix": _ldmatrix, "stmatrix": _ldmatrix, "wmma": _wmma,
}  # fmt: skip

ALL_RULES = Rules(RULES, default, MEMORY_RULES)
