"""Calls: device functions, function pointers, and what the runtime provides (printf, malloc …)."""

from __future__ import annotations

from evoengineer.errors import PtxError
from evoengineer.sim.codegen import abi
from evoengineer.sim.codegen.emitter import Emitter, Val
from evoengineer.sim.codegen.forms import linear_form
from evoengineer.sim.codegen.memory import load, store
from evoengineer.sim.ptx.flow import Block
from evoengineer.sim.ptx.model import Instr, Reg, Sym

BUILTINS = ("vprintf", "malloc", "free", "__assertfail")


class CallBuffers:
    """Where the arguments and results of the calls of one block are kept, lane-major."""

    def __init__(self, e: Emitter, block: Block) -> None:
        self.at: dict[str, tuple[str, int]] = {}  # parameter name → pointer, bytes per lane
        self.of: dict[int, tuple[str, int, str, int]] = {}  # id(call) → arguments, stride, results, stride
        for instr in block.instrs:
            if instr.op == "call":
                arguments = self._place(e, instr.params)
                results = self._place(e, instr.returns)
                self.of[id(instr)] = (*arguments, *results)

    def _place(self, e: Emitter, names: tuple[str, ...]) -> tuple[str, int]:
        offsets, end = {}, 0
        for name in names:
            param = e.unit.body.call_params[name]
            end = -(-end // param.align) * param.align
            offsets[name] = end
            end += param.bytes
        stride = -(-end // 8) * 8
        if not names:
            return "null", 0
        buffer = e.alloca(32 * stride)
        for name, offset in offsets.items():
            self.at[name] = (e.ins(f"getelementptr inbounds i8, ptr {buffer}, i64 {offset}"), stride)
        return buffer, stride


def call(e: Emitter, instr: Instr, buffers: CallBuffers) -> None:
    """A device function by name or by pointer, or one that the runtime provides."""
    arguments, stride, results, result_stride = buffers.of[id(instr)]
    target = instr.args[0]
    site = ("i32", str(e.unit.sites[id(instr)]))
    head = [("ptr", "%w"), ("i32", e.active_bits())]
    if isinstance(target, Reg):
        where = ("ptr", e.spill(e.read(target, 64)))
        areas = [("ptr", arguments), ("i32", str(stride)), ("ptr", results), ("i32", str(result_stride))]
        e.call("void", "rt_call_indirect", [*head, where, *areas, site])
        return
    assert isinstance(target, Sym)
    if target.name in e.unit.program.functions:
        number = e.unit.program.functions[target.name]
        _check_areas(e, instr, number, stride, result_stride)
        e.call("void", "rt_call", [*head, ("i32", str(number)), ("ptr", arguments), ("ptr", results), site])
        return
    _builtin(e, instr, target.name, buffers, site)


def _check_areas(e: Emitter, instr: Instr, number: int, stride: int, result_stride: int) -> None:
    """The function takes what the call passes: both sides lay out their areas by their own declarations."""
    callee = next(u for u in e.unit.program.units if e.unit.program.functions[u.function.name] == number)
    if (callee.param_bytes, callee.result_bytes) != (stride, result_stride):
        raise PtxError(
            f"`{instr.text}` passes {stride} bytes and expects {result_stride}, but {callee.function.name} "
            f"takes {callee.param_bytes} and returns {callee.result_bytes}"
        )


def _builtin(e: Emitter, instr: Instr, name: str, buffers: CallBuffers, site: tuple[str, str]) -> None:
    if name.startswith(("__cudaCDP2", "cudaLaunchDevice", "cudaGetParameterBuffer")):
        raise e.unsupported(f"dynamic parallelism ({name})")
    if name not in BUILTINS:
        raise e.unsupported(f"device function {name}")

    def argument(i: int, bytes_: int) -> tuple[str, str]:
        if i >= len(instr.params) or e.unit.body.call_params[instr.params[i]].bytes < bytes_:
            raise PtxError(f"`{instr.text}`: {name} takes other parameters")
        pointer, stride = buffers.at[instr.params[i]]
        base = e.ins(f"ptrtoint ptr {pointer} to i64")
        return "ptr", e.spill(load(e, Val(64, linear_form(1, stride), [base], "i64"), bytes_, 1)[0])

    def give(val: Val) -> None:
        if not instr.returns or e.unit.body.call_params[instr.returns[0]].bytes < val.bits // 8:
            raise PtxError(f"`{instr.text}`: {name} returns something else")
        pointer, stride = buffers.at[instr.returns[0]]
        base = e.ins(f"ptrtoint ptr {pointer} to i64")
        store(e, Val(64, linear_form(1, stride), [base], "i64"), [val], val.bits // 8)

    head = [("ptr", "%w"), ("i32", e.active_bits())]
    e.set_warp_field(abi.SITE, "i32", site[1])
    if name == "vprintf":
        out = e.alloca(128)
        e.call("void", "rt_vprintf", [*head, ("ptr", out), argument(0, 8), argument(1, 8)])
        if instr.returns:
            give(e.reload(out, 32))
    elif name == "malloc":
        out = e.alloca(256)
        e.call("void", "rt_malloc", [*head, ("ptr", out), argument(0, 8)])
        give(e.reload(out, 64))
    elif name == "free":
        e.call("void", "rt_free", [*head, argument(0, 8)])
    else:
        e.call(
            "void", "rt_assertfail", [*head, argument(0, 8), argument(1, 8), argument(2, 4), argument(3, 8)]
        )
