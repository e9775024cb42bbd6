"""Atomics, fences, asynchronous copies and the barriers in memory that go with them."""

from __future__ import annotations

from evoengineer.sim.codegen import abi
from evoengineer.sim.codegen.bounds import check
from evoengineer.sim.codegen.emitter import Emitter, Val, bits_of
from evoengineer.sim.codegen.memory import address, space_of
from evoengineer.sim.codegen.moves import choose
from evoengineer.sim.ptx.model import Addr, Instr, Operand, Reg

# -- atomics -------------------------------------------------------------------------------------------

_ATOM_OPS = ("add", "min", "max", "inc", "dec", "exch", "cas", "and", "or", "xor")


def atom(e: Emitter, instr: Instr) -> None:
    """atom and red: done by the runtime, lane after lane."""
    op = next((m for m in instr.mods if m in _ATOM_OPS), None)
    kind = instr.mods[-1]
    if op is None or any(m in ("v2", "v4", "v8") for m in instr.mods):
        raise e.unsupported(instr.name)
    bits = bits_of(kind)
    returns = instr.op == "atom"
    place = 1 if returns else 0
    where = address(e, instr.args[place], space_of(instr))
    operands = [e.read(a, bits) for a in instr.args[place + 1 :]]
    check(e, instr, where, bits // 8)
    if op in ("and", "or", "xor", "exch", "cas"):
        kind = f"b{bits}"
    if op == "add" and kind in ("s32", "s64"):
        kind = "u" + kind[1:]
    pointers = [e.spill(v) for v in operands]
    pointers += ["null"] * (2 - len(pointers))
    out = e.alloca(bits * 4) if returns else "null"
    e.call(
        "void",
        f"rt_atom_{op}_{kind}",
        [
            ("ptr", "%w"),
            ("i32", e.active_bits()),
            ("ptr", out),
            ("ptr", e.spill(where)),
            *(("ptr", p) for p in pointers),
        ],
    )
    if returns and instr.args[0] != Reg("_"):
        e.write(instr.args[0], e.reload(out, bits))


def fence(e: Emitter, instr: Instr) -> None:
    """Workers share memory through the processor's own coherence; order is all that is needed."""
    if "cta" not in instr.mods:
        e.do("fence seq_cst")
    if e.unit.program.check_access:
        whole_card = ("i32", str(int("cta" not in instr.mods)))
        e.call("void", "rt_fenced", [("ptr", "%w"), ("i32", e.active_bits()), whole_card])


def nothing(e: Emitter, instr: Instr) -> None:
    """prefetch, discard, setmaxnreg …: hints."""


def copy_async(e: Emitter, instr: Instr) -> None:
    """cp.async: queued by the runtime and completed at its wait."""
    mods = instr.mods
    if "reduce" in mods or {"tensor", "multicast::cluster"} & set(mods):
        raise e.unsupported(instr.name)
    if "bulk" in mods:
        _copy_bulk(e, instr)
        return
    head: list[tuple[str, str]] = [("ptr", "%w")]
    bits = ("i32", e.active_bits())
    if "commit_group" in mods:
        e.call("void", "rt_cp_async_commit", [*head, bits])
    elif "wait_group" in mods:
        e.call("void", "rt_cp_async_wait", [*head, bits, ("i32", e.read(instr.args[0], 32).names[0])])
    elif "wait_all" in mods:
        e.call("void", "rt_cp_async_wait_all", [*head, bits])
    elif "mbarrier" in mods:
        barrier = address(e, instr.args[0], space_of(instr))
        if e.unit.program.check_access:  # whoever waits there sees what was copied
            check(e, instr, barrier, 8)
        noinc = ("i32", str(int("noinc" in mods)))
        e.call("void", "rt_cp_async_mbarrier_arrive", [*head, bits, ("ptr", e.spill(barrier)), noinc])
    else:
        to = address(e, instr.args[0], "shared")
        source = address(e, instr.args[1], "global")
        size = e.read(instr.args[2], 32)
        given = "null"
        if len(instr.args) > 3:
            given = _source_bytes(e, instr.args[3], size)
        site = ("i32", str(e.unit.sites[id(instr)]))
        e.call(
            "void",
            "rt_cp_async",
            [
                *head,
                site,
                bits,
                ("ptr", e.spill(to)),
                ("ptr", e.spill(source)),
                ("i32", size.names[0]),
                ("ptr", given),
            ],
        )


def _copy_bulk(e: Emitter, instr: Instr) -> None:
    """cp.async.bulk: a whole stretch, between global and shared memory."""
    mods = instr.mods
    head: list[tuple[str, str]] = [("ptr", "%w")]
    bits = ("i32", e.active_bits())
    spaces = [m.partition("::")[0] for m in mods if m.partition("::")[0] in ("shared", "global")]
    if "prefetch" in mods:
        return
    if "commit_group" in mods:
        e.call("void", "rt_bulk_commit", [*head, bits])
    elif "wait_group" in mods:
        e.call("void", "rt_bulk_wait", [*head, bits, ("i32", e.read(instr.args[0], 32).names[0])])
    elif spaces in (["shared", "global"], ["global", "shared"]):
        to_shared = spaces[0] == "shared"
        to, source = (address(e, a, s) for a, s in zip(instr.args[:2], spaces, strict=True))
        size = ("ptr", e.spill(e.read(instr.args[2], 32)))
        barrier = e.spill(address(e, instr.args[3], "shared")) if to_shared else "null"
        e.call(
            "void",
            "rt_bulk_copy",
            [
                *head,
                ("i32", str(e.unit.sites[id(instr)])),
                bits,
                ("ptr", e.spill(to)),
                ("ptr", e.spill(source)),
                size,
                ("ptr", barrier),
                ("i32", str(int(to_shared))),
            ],
        )
    else:  # between the shared memories of a cluster
        raise e.unsupported(instr.name)


def _source_bytes(e: Emitter, operand: Operand, size: Val) -> str:
    """The fourth operand: how many bytes to read, or a predicate that says to read none."""
    if isinstance(operand, Reg) and e.unit.body.registers.get(operand.name) == "pred":
        return e.spill(choose(e, e.read(operand, 1), e.constant(0, 32), size))
    if isinstance(operand, Reg) and e.register_bits(operand.name) == 64:
        return "null"  # a cache policy
    return e.spill(e.read(operand, 32))


def mbarrier(e: Emitter, instr: Instr) -> None:
    """mbarrier.*: by the runtime."""
    mods = instr.mods
    e.set_warp_field(abi.SITE, "i32", str(e.unit.sites[id(instr)]))
    head: list[tuple[str, str]] = [("ptr", "%w"), ("i32", e.active_bits())]
    if "pending_count" in mods:
        out = e.alloca(128)
        e.call(
            "void",
            "rt_mbarrier_pending_count",
            [*head, ("ptr", out), ("ptr", e.spill(e.read(instr.args[1], 64)))],
        )
        e.write(instr.args[0], e.reload(out, 32))
        return
    place = next(i for i, a in enumerate(instr.args) if isinstance(a, Addr))
    space = "shared" if any(m.startswith("shared") for m in mods) else "generic"
    operand = instr.args[place]
    real = address(e, operand, space)
    check(e, instr, real, 8)
    where = ("ptr", e.spill(real))
    if "init" in mods:
        e.call("void", "rt_mbarrier_init", [*head, where, ("ptr", e.spill(e.read(instr.args[1], 32)))])
    elif "inval" in mods:
        e.call("void", "rt_mbarrier_inval", [*head, where])
    elif mods[0] in ("expect_tx", "complete_tx"):
        given = ("ptr", e.spill(e.read(instr.args[1], 32)))
        e.call("void", "rt_mbarrier_tx", [*head, where, given, ("i32", str(int("complete_tx" in mods)))])
    elif "test_wait" in mods or "try_wait" in mods:
        parity = "parity" in mods
        state = e.read(instr.args[place + 1], 32 if parity else 64)
        name = "rt_mbarrier_test_wait" + ("_parity" if parity else "")
        done = e.call("i32", name, [*head, where, ("ptr", e.spill(state))])
        e.write(instr.args[0], e.varying(e.ins(f"bitcast i32 {done} to <32 x i1>"), 1))
        if "try_wait" in mods:
            e.call("void", "rt_yield", [("ptr", "%w")])
    elif "arrive" in mods or "arrive_drop" in mods:
        flags = int("noComplete" in mods) + 2 * int("arrive_drop" in mods) + 4 * int("expect_tx" in mods)
        count = e.read(instr.args[place + 1], 32) if len(instr.args) > place + 1 else e.constant(1, 32)
        wants = place == 1 and instr.args[0] != Reg("_")
        out = e.alloca(256) if wants else "null"
        e.call(
            "void",
            "rt_mbarrier_arrive",
            [*head, ("ptr", out), where, ("ptr", e.spill(count)), ("i32", str(flags))],
        )
        if wants:
            e.write(instr.args[0], e.reload(out, 64))
    else:
        raise e.unsupported(instr.name)
