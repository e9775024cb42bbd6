"""Bounds and alignment checks of memory accesses.

The check is inline: each site keeps the bounds of the allocation it touched last (struct Cache in abi.h), and
only a miss calls the runtime. In FAST, accesses of a block that differ only in a constant offset from one
register share one check, which covers all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from evoengineer.sim.codegen import abi, races
from evoengineer.sim.codegen.emitter import Emitter, Val
from evoengineer.sim.codegen.forms import linear_form
from evoengineer.sim.codegen.integer import plus
from evoengineer.sim.ptx.flow import Block, destinations
from evoengineer.sim.ptx.model import Addr, Instr, Reg, Sym

_ONE_ADDRESS = frozenset({"ld", "ldu", "st", "atom", "red"})
_GROUPED_SPACES = (abi.SPACES["generic"], abi.SPACES["global"], abi.SPACES["shared"], abi.SPACES["const"])


@dataclass(slots=True)
class CheckGroup:
    """Accesses of one block at constant distances from one register."""

    low: int  # smallest and largest offset
    high: int
    members: list[tuple[Instr, int]] = field(default_factory=list)  # the first one makes the check


def check_groups(e: Emitter, block: Block) -> dict[int, CheckGroup]:
    """id(instr) → its group, for the accesses of a block that can share a check."""
    found: dict[int, CheckGroup] = {}
    open_groups: dict[tuple[str, int, int, int, int], CheckGroup] = {}
    for instr in block.instrs:
        address = next((a for a in instr.args if isinstance(a, Addr)), None)
        if (
            instr.op in ("ld", "ldu", "st")
            and instr.guard is None
            and address
            and isinstance(address.base, Reg)
        ):
            info = e.unit.program.sites[e.unit.sites[id(instr)]]
            if info.space in _GROUPED_SPACES:
                phase = address.offset % info.align
                key = (address.base.name, info.space, info.access, info.bytes, phase)
                group = open_groups.setdefault(key, CheckGroup(address.offset, address.offset))
                group.low, group.high = min(group.low, address.offset), max(group.high, address.offset)
                group.members.append((instr, address.offset))
                found[id(instr)] = group
        for name in destinations(instr):
            for key in [k for k in open_groups if k[0] == name]:
                del open_groups[key]
    return {key: group for key, group in found.items() if len(group.members) > 1}


def _check_group(e: Emitter, group: CheckGroup, instr: Instr, where: Val, bytes_: int) -> None:
    """One check for the whole group; where it misses, every member is looked up."""
    if group.members[0][0] is not instr:
        return
    sites = e.unit.program.sites
    info = sites[e.unit.sites[id(instr)]]
    shared_site = len(sites)
    lanes = 32 // where.form.segments if where.form is not None and where.form.stride == bytes_ else 1
    scalar = where.form is not None and _in_order(e, where, info.align)
    steps = where.form.steps if where.form is not None and scalar else (0,)
    span = group.high - group.low + bytes_ + max(steps) - min(steps)
    sites.append(replace(info, bytes=span, lanes=1))
    for member, _ in group.members:
        number = e.unit.sites[id(member)]
        sites[number] = replace(sites[number], lanes=lanes)
    first = group.members[0][1]
    low = group.low - first + min(steps)
    start = plus(e, where, e.constant(low, 64)) if low else where
    if scalar:
        good = ""
        for name in start.names:
            name = e.cast(name, start.type, "i64", 1)
            one = _inside(e, shared_site, name, info.align)
            good = e.ins(f"and i1 {good}, {one}") if good else one
        probe = e.cast(start.names[0], start.type, "i64", 1)
    else:
        vec = e.vector(start)
        good = e.ins(f"icmp eq i32 {_outside_bits(e, shared_site, vec, info.align)}, 0")
        probe = e.ins(f"extractelement <32 x i64> {vec}, i64 0")
    miss, hit = e.new_label("miss"), e.new_label("hit")
    e.do(f"br i1 {good}, label %{hit}, label %{miss}, !prof !1")
    e.label(miss)
    known = dict(e.casts), dict(e.splats)
    members = e.numbers([x for member, at in group.members for x in (e.unit.sites[id(member)], at - first)])
    e.call(
        "void",
        "rt_check_members",
        [
            *(*_who(e, shared_site), ("ptr", e.spill(where)), ("i64", probe), ("i64", str(span))),
            *(("ptr", members), ("i32", str(len(group.members)))),
        ],
    )
    e.casts, e.splats = known
    e.branch(hit)
    e.label(hit)


def _in_order(e: Emitter, where: Val, align: int) -> bool:
    """Do the lowest and the highest address of a segment tell of all, because all are as well aligned as its first?"""
    return where.form is not None and e.mask is None and not any(step % align for step in where.form.steps)


def _inside(e: Emitter, site: int, name: str, align: int) -> str:
    base, last = _cache(e, site)
    offset = e.ins(f"sub i64 {name}, {base}")
    if align > 1:
        offset = e.intrinsic("fshr", 1, "i64", offset, offset, str(align.bit_length() - 1))
    return e.ins(f"icmp ule i64 {offset}, {last}")


def _outside_bits(e: Emitter, site: int, vec: str, align: int) -> str:
    """An i32 of the active lanes whose address is not in the site's last allocation."""
    base, last = _cache(e, site)
    offset = e.ins(f"sub <32 x i64> {vec}, {e.vector(e.uniform(base, 64))}")
    if align > 1:
        offset = e.intrinsic("fshr", 32, "i64", offset, offset, f"splat (i64 {align.bit_length() - 1})")
    bad = e.ins(f"icmp ugt <32 x i64> {offset}, {e.vector(e.uniform(last, 64))}")
    bits = e.ins(f"bitcast <32 x i1> {bad} to i32")
    return e.ins(f"and i32 {bits}, {e.mask_bits}") if e.mask is not None else bits


def check(e: Emitter, instr: Instr, where: Val, bytes_: int, values: list[Val] | None = None) -> None:
    """Make sure that every active lane may touch `bytes_` bytes at its address; `values` are what it stores."""
    site = e.unit.sites[id(instr)]
    info = e.unit.program.sites[site]
    if e.counting:
        e.call("void", "rt_counted", [*_who(e, site), ("ptr", e.spill(where))])
        if not e.unit.program.check_access:
            return
    if e.unit.program.check_access:
        pointer = e.spill(where)
        races.record(e, _who(e, site), instr, pointer, values)
        if e.defined is not None:
            e.defined.address = pointer
        return
    group = e.groups.get(id(instr))
    if group is not None:
        _check_group(e, group, instr, where, bytes_)
    elif _in_shared_variables(e, instr, bytes_, info.align):
        return
    elif info.space == abi.SPACES["local"] and e.unit.local_bytes:
        _check_local(e, instr, site, where, bytes_, info.align)
    elif where.flat:
        for name in where.names:
            _check_scalar(e, site, e.cast(name, where.type, "i64", 1), bytes_, info.align, where)
    elif where.form is not None and where.form.stride == bytes_ and e.mask is None:
        lanes = 32 // where.form.segments
        e.unit.program.sites[site] = replace(info, lanes=lanes)
        span = bytes_ * lanes
        for name in where.names:
            _check_scalar(e, site, name, span, info.align, where)
    elif e.shares_checks and where.form is not None and _in_order(e, where, info.align):
        _check_group(e, CheckGroup(0, 0, [(instr, 0)]), instr, where, bytes_)
    else:
        _check_vector(e, site, e.vector(where), info.align)


def _in_shared_variables(e: Emitter, instr: Instr, bytes_: int, align: int) -> bool:
    """Is the address a place in the static shared memory of the block, which every block has?"""
    to = next(a for a in instr.args if isinstance(a, Addr))
    shared = e.unit.program.shared
    if instr.op not in _ONE_ADDRESS or not isinstance(to.base, Sym) or to.base.name not in shared:
        return False
    offset = shared[to.base.name] + to.base.offset + to.offset
    return 0 <= offset <= e.unit.program.shared_bytes - bytes_ and offset % align == 0


def _who(e: Emitter, site: int) -> list[tuple[str, str]]:
    return [("ptr", "%w"), ("i32", str(site)), ("i32", e.active_bits())]


def _check_local(e: Emitter, instr: Instr, site: int, where: Val, bytes_: int, align: int) -> None:
    """Most local accesses are to the function's own variables: known good, or checked against their area."""
    operand = next(a for a in instr.args if isinstance(a, Addr))
    size = e.unit.local_bytes
    if isinstance(operand.base, Sym) and operand.base.name in e.unit.local_offsets:
        offset = e.unit.local_offsets[operand.base.name] + operand.base.offset + operand.offset
        if 0 <= offset <= size - bytes_ and offset % align == 0:
            return
    lanes = Val(64, linear_form(1, size), [e.warp_field(abi.LOCAL_BASE, "i64")], "i64")
    offsets = plus(e, where, lanes, "sub")
    last = (size - bytes_) // align
    turn = align.bit_length() - 1

    def outside(n: int, x: str) -> str:
        turned = e.intrinsic("fshr", n, "i64", x, x, e.k(n, "i64", turn)) if turn else x
        return e.ins(f"icmp ugt {e.t(n, 'i64')} {turned}, {e.k(n, 'i64', last)}")

    bad = e.alu(1, "i1", [(offsets, "i64")], outside)
    if bad.flat and len(bad.names) == 1:
        good = e.ins(f"xor i1 {bad.names[0]}, true")
    else:
        bits = e.ins(f"bitcast <32 x i1> {e.vector(bad)} to i32")
        if e.mask is not None:
            bits = e.ins(f"and i32 {bits}, {e.mask_bits}")
        good = e.ins(f"icmp eq i32 {bits}, 0")
    _or_look_up(e, good, site, where)


def _or_look_up(e: Emitter, good: str, site: int, where: Val) -> None:
    """Unless `good`, have the runtime look at the address of every lane."""
    miss, hit = e.new_label("miss"), e.new_label("hit")
    e.do(f"br i1 {good}, label %{hit}, label %{miss}, !prof !1")
    e.label(miss)
    known = dict(e.casts), dict(e.splats)  # what is computed here is not there afterwards
    e.call("void", "rt_checkv", [*_who(e, site), ("ptr", e.spill(where))])
    e.casts, e.splats = known
    e.branch(hit)
    e.label(hit)


def _cache(e: Emitter, site: int) -> tuple[str, str]:
    entry = e.ins(f"getelementptr inbounds i8, ptr %caches, i64 {16 * site}")
    base = e.ins(f"load i64, ptr {entry}, align 8")
    last = e.ins(f"load i64, ptr {e.ins(f'getelementptr inbounds i8, ptr {entry}, i64 8')}, align 8")
    return base, last


def _check_scalar(e: Emitter, site: int, name: str, span: int, align: int, where: Val) -> None:
    good = _inside(e, site, name, align)
    if len(where.names) > 1 or e.mask is not None:  # the runtime could not tell which lanes they are
        _or_look_up(e, good, site, where)
        return
    miss, hit = e.new_label("miss"), e.new_label("hit")
    e.do(f"br i1 {good}, label %{hit}, label %{miss}, !prof !1")
    e.label(miss)
    e.call("void", "rt_check1", [("ptr", "%w"), ("i32", str(site)), ("i64", name), ("i64", str(span))])
    e.branch(hit)
    e.label(hit)


def _check_vector(e: Emitter, site: int, vec: str, align: int) -> None:
    bits = _outside_bits(e, site, vec, align)
    _or_look_up(e, e.ins(f"icmp eq i32 {bits}, 0"), site, e.varying(vec, 64))
