"""Texture and surface instructions: sampled by the runtime."""

from __future__ import annotations

from evoengineer.errors import PtxError
from evoengineer.sim.codegen.emitter import Emitter, Val
from evoengineer.sim.codegen.limits import check_count
from evoengineer.sim.ptx.model import Instr, Operand, Vec

_GEOMETRY = {"1d": 0, "2d": 1, "3d": 2, "a1d": 3, "a2d": 4, "cube": 5, "acube": 6}
_COORDINATES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3, "acube": 4}
_TYPES = {"u32": 0, "s32": 1, "f32": 2}


def _geometry(instr: Instr) -> str:
    return next(m for m in instr.mods if m in _GEOMETRY)


def _coordinates(e: Emitter, operand: Operand, count: int) -> str:
    items = operand.items if isinstance(operand, Vec) else (operand,)
    if len(items) < count:
        raise PtxError(f"{len(items)} coordinates where there must be {count} in {e.where()}")
    return e.spill_all([e.read(x, 32) for x in items[:count]])


def tex(e: Emitter, instr: Instr) -> None:
    """tex and tld4, in all geometries."""
    shape = _geometry(instr)
    kinds = [m for m in instr.mods if m in _TYPES]
    mode = 1 if "level" in instr.mods else 2 if "grad" in instr.mods else 0
    gather = 0
    if instr.op == "tld4":
        gather = "rgba".index(next(m for m in instr.mods if m in ("r", "g", "b", "a"))) + 1
    operand = instr.args[1]
    assert isinstance(operand, Vec)
    # [texture, {coordinates}] or [texture, sampler, {coordinates}]
    handle, coordinates = operand.items[0], operand.items[-1]
    coordinate_type = {"s32": 0, "f32": 1}[kinds[1]]
    descriptor = _GEOMETRY[shape] | _TYPES[kinds[0]] << 4 | coordinate_type << 6 | mode << 8 | gather << 10
    lod = "null"
    if mode:
        vals: list[Val] = []
        for extra in instr.args[2:]:
            vals += [e.read(x, 32) for x in (extra.items if isinstance(extra, Vec) else (extra,))]
        steps = 1 if mode == 1 else {"1d": 2, "a1d": 2, "3d": 8, "cube": 8, "acube": 8}.get(shape, 4)
        if len(vals) < steps:
            raise PtxError(f"{len(vals)} numbers for the level of detail, not {steps}, in {e.where()}")
        lod = e.spill_all(vals)
    out = e.alloca(512)
    site = ("i32", str(e.unit.sites[id(instr)]))
    where = [("ptr", e.spill(e.read(handle, 64))), ("ptr", _coordinates(e, coordinates, _COORDINATES[shape]))]
    head = [("ptr", "%w"), site, ("i32", e.active_bits()), ("i32", str(descriptor)), ("ptr", out)]
    e.call("void", "rt_tex", [*head, *where, ("ptr", lod)])
    to = instr.args[0]
    targets = to.items if isinstance(to, Vec) else (to,)
    if len(targets) > 4:
        raise PtxError(f"more than 4 results in {e.where()}")
    for i, target in enumerate(targets):
        e.write(target, e.reload(out, 32, i))


def surface(e: Emitter, instr: Instr) -> None:
    """suld.b and sust.b."""
    shape = _geometry(instr)
    bits = next(int(m[1:]) for m in instr.mods if m in ("b8", "b16", "b32", "b64"))
    count = next((int(m[1:]) for m in instr.mods if m in ("v2", "v4")), 1)
    clamp = {"trap": 0, "clamp": 1, "zero": 2}[
        next((m for m in instr.mods if m in ("trap", "clamp", "zero")), "trap")
    ]
    descriptor = (
        _GEOMETRY[shape]
        | {8: 0, 16: 1, 32: 2, 64: 3}[bits] << 4
        | count << 6
        | clamp << 9
        | int("p" in instr.mods) << 11
    )
    loading = instr.op == "suld"
    operand = instr.args[1] if loading else instr.args[0]
    assert isinstance(operand, Vec)
    handle, coordinates = (
        ("ptr", e.spill(e.read(operand.items[0], 64))),
        ("ptr", _coordinates(e, operand.items[1], _COORDINATES[shape])),
    )
    head = [
        ("ptr", "%w"),
        ("i32", str(e.unit.sites[id(instr)])),
        ("i32", e.active_bits()),
        ("i32", str(descriptor)),
    ]
    width = 64 if bits == 64 else 32
    data = instr.args[0] if loading else instr.args[1]
    check_count(instr, data, count)
    items = data.items if isinstance(data, Vec) else (data,)
    if loading:
        out = e.alloca(width * 4 * count)
        e.call("void", "rt_suld", [*head, ("ptr", out), handle, coordinates])
        for i, target in enumerate(items):
            e.write(target, e.reload(out, width, i))
    else:
        e.call(
            "void",
            "rt_sust",
            [*head, ("ptr", e.spill_all([e.read(x, width) for x in items])), handle, coordinates],
        )


_QUERIES = {"width": 0, "height": 1, "depth": 2, "channel_data_type": 3, "channel_order": 4, "normalized_coords": 5,
            "num_mipmap_levels": 6, "array_size": 7}  # fmt: skip


def query(e: Emitter, instr: Instr) -> None:
    """txq and suq."""
    what = next(m for m in instr.mods if m in _QUERIES)
    operand = instr.args[1]
    handle: Operand = operand.items[0] if isinstance(operand, Vec) else operand.base  # type: ignore
    out = e.alloca(128)
    e.call(
        "void",
        "rt_txq",
        [
            ("ptr", "%w"),
            ("i32", e.active_bits()),
            ("i32", str(_QUERIES[what])),
            ("ptr", out),
            ("ptr", e.spill(e.read(handle, 64))),
        ],
    )
    e.write(instr.args[0], e.reload(out, 32))
