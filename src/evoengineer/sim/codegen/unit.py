"""What codegen knows of a kernel and of the functions it may call: layout, symbols, special registers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from evoengineer.errors import PtxError, UnsupportedError
from evoengineer.sim.codegen import abi
from evoengineer.sim.codegen.forms import UNIFORM, Form, infer_forms, linear_form, special_form, widens
from evoengineer.sim.codegen.limits import check_sizes
from evoengineer.sim.codegen.origins import find_origins
from evoengineer.sim.codegen.regions import regions_lost
from evoengineer.sim.codegen.waiting import waiting_loops
from evoengineer.sim.ptx.body import parse_body
from evoengineer.sim.ptx.flow import (
    Flow,
    build_flow,
    destinations,
    is_barrier,
    is_special,
    is_warp_sync,
)
from evoengineer.sim.ptx.model import Body, Function, Instr, Reg, Sym

if TYPE_CHECKING:
    from evoengineer.sim.codegen.emitter import Emitter, Val

GRID_WORKSPACE = "%grid_workspace"  # symbol 0: where cooperative groups keep their grid barrier
RESERVED_SHARED = "%reserved_smem_offset_1"  # where they keep the scratch of tiles of several warps
_MEMORY_OPS = {"ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "wmma", "tex", "tld4", "suld",
               "sust", "sured", "mbarrier"}  # fmt: skip
_SITE_OPS = _MEMORY_OPS | {"trap", "call", "brkpt"}
EFFECTS = _MEMORY_OPS - {"ld", "ldu", "tex", "tld4", "suld"} | {"call", "membar", "fence", "nanosleep"}


@dataclass(frozen=True, slots=True)
class SiteInfo:
    """A place that may fail, with what a message needs to name it."""

    bytes: int
    align: int
    space: int
    access: int
    lanes: int  # that FAST touches at once from one address (memory.check says so)
    file: str
    line: int
    text: str


@dataclass(slots=True)
class Program:
    """A kernel and every function it may call, for one block shape."""

    block_shape: tuple[int, int, int]
    force_vectors: bool
    check_access: bool
    check_init: bool = False
    symbols: dict[str, int] = field(default_factory=lambda: {GRID_WORKSPACE: 0})
    shared: dict[str, int] = field(default_factory=dict)  # shared variable → offset
    shared_bytes: int = 0  # static part
    zeroed_shared: tuple[int, int] = (0, 0)  # start and size of what the system keeps for itself in it
    functions: dict[str, int] = field(default_factory=dict)
    units: list[FunctionUnit] = field(default_factory=list)
    sites: list[SiteInfo] = field(default_factory=list)
    flush_denormals: bool = False
    kernels: frozenset[str] = frozenset()
    sm_count: int = 1

    def symbol_index(self, name: str) -> int:
        """A symbol's place in the table that is filled in at load time."""
        return self.symbols.setdefault(name, len(self.symbols))


@dataclass(slots=True)
class FunctionUnit:
    """One function, ready to be translated."""

    program: Program
    function: Function
    body: Body
    flow: Flow
    forms: dict[str, Form | None]
    slots: dict[str, tuple[int, int]]  # register → frame offsets of its scalars and of its vector
    frame_bytes: int
    local_bytes: int
    local_offsets: dict[str, int]
    param_offsets: dict[str, int]
    param_bytes: int
    result_offsets: dict[str, int]
    result_bytes: int
    sites: dict[int, int]  # id(instr) → site number
    waiting_blocks: frozenset[int]  # of loops that only wait
    # Once races.py has asked for them: registers whose value is of use, places of compare-and-swaps.
    read_registers: frozenset[str] | None = None
    compared_places: frozenset[tuple[str, int]] | None = None
    # For --check init: registers that may be undefined → the reads behind them; frame offsets of their undefined bits.
    origins: dict[str, int] = field(default_factory=dict)
    shadow_slots: dict[str, int] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """What the names of this function's code begin with."""
        return f"f{self.program.functions[self.function.name]}"

    @property
    def block_shape(self) -> tuple[int, int, int]:
        return self.program.block_shape

    @property
    def force_vectors(self) -> bool:
        return self.program.force_vectors

    # -- names in the text -----------------------------------------------------------------------

    def symbol(self, e: Emitter, sym: Sym) -> Val:
        """The address of a variable, parameter or function."""
        from evoengineer.sim.codegen.emitter import Val

        name = sym.name
        if name in self.local_offsets:
            base = e.warp_field(abi.LOCAL_BASE, "i64")
            base = e.ins(f"add i64 {base}, {self.local_offsets[name] + sym.offset}")
            return Val(64, linear_form(1, self.local_bytes), [base], "i64")
        if name in self.program.shared:
            return e.constant(self.program.shared[name] + sym.offset, 64)
        if name in self.param_offsets:
            offset = self.param_offsets[name] + sym.offset
            if self.function.entry:
                return e.uniform(e.ins(f"add i64 {e.warp_field(abi.PARAMS, 'i64')}, {offset}"), 64)
            base = e.ins(f"add i64 {e.warp_field(abi.ARGS, 'i64')}, {offset}")
            return Val(64, linear_form(1, self.param_bytes), [base], "i64")
        if name in self.program.functions:
            return e.constant(abi.FUNCTION_BASE + 16 * self.program.functions[name], 64)
        if name in self.program.symbols:
            table = e.warp_field(abi.SYMBOLS, "ptr")
            slot = e.ins(f"getelementptr inbounds i64, ptr {table}, i64 {self.program.symbols[name]}")
            address = e.ins(f"load i64, ptr {slot}")
            return e.uniform(e.ins(f"add i64 {address}, {sym.offset}") if sym.offset else address, 64)
        if name in self.program.kernels:  # a kernel's address is of use only for launching it from a kernel
            raise e.unsupported(f"dynamic parallelism (launch of {name})")
        raise PtxError(f"unknown symbol {name!r} in {e.where()}")

    def special(self, e: Emitter, name: str) -> Val:
        """The value of a special register."""
        from evoengineer.sim.codegen.emitter import Val

        base, _, axis = name.partition(".")
        index = "xyz".find(axis) if axis else 0
        if axis == "w":
            return e.constant(0, 32)
        shape = self.block_shape
        match base:
            case "%tid":
                return self._thread_index(e, name, index)
            case "%ntid":
                return e.constant(shape[index], 32)
            case "%ctaid":
                return e.uniform(e.warp_field(abi.CTAID + 4 * index, "i32"), 32)
            case "%nctaid":
                return e.uniform(e.warp_field(abi.NCTAID + 4 * index, "i32"), 32)
            case "%laneid":
                return Val(32, special_form(name, shape), ["0"], "i32")
            case (
                "%warpid"
            ):  # a place on the multiprocessor, as it happens to be free: not the warp's in its block
                place = e.ins(
                    f"add i32 {e.warp_field(abi.WARP_INDEX, 'i32')}, {e.warp_field(abi.CTAID, 'i32')}"
                )
                place = e.ins(f"add i32 {place}, 1")
                warps = (shape[0] * shape[1] * shape[2] + 31) // 32
                return e.uniform(e.ins(f"urem i32 {place}, {warps}"), 32)
            case "%nwarpid":
                return e.constant((shape[0] * shape[1] * shape[2] + 31) // 32, 32)
            case "WARP_SZ":
                return e.constant(32, 32)
            case "%smid":  # blocks are dealt out to multiprocessors in turn
                block = e.warp_field(abi.CTAID, "i32")
                return e.uniform(e.ins(f"urem i32 {block}, {self.program.sm_count}"), 32)
            case "%nsmid":
                return e.constant(self.program.sm_count, 32)
            case "%gridid":
                return e.constant(1, 64)
            case "%dynamic_smem_size":
                total = e.warp_field(abi.SHARED_BYTES, "i32")
                return e.uniform(e.ins(f"sub i32 {total}, {self.program.shared_bytes}"), 32)
            case "%total_smem_size" | "%aggr_smem_size":
                return e.uniform(e.warp_field(abi.SHARED_BYTES, "i32"), 32)
            case "%reserved_smem_offset_1":
                return e.constant(self.program.shared[RESERVED_SHARED], 32)
            case "%clock" | "%clock_hi" | "%clock64" | "%globaltimer" | "%globaltimer_lo" | "%globaltimer_hi":
                value = e.uniform(e.call("i64", "rt_clock", [("ptr", "%w")]), 64)
                if base.endswith("_hi"):
                    value = e.uniform(e.ins(f"lshr i64 {value.names[0]}, 32"), 64)
                wide = base in ("%clock64", "%globaltimer")
                return value if wide else e.resize(value, 32)
            case "%envreg1" | "%envreg2":
                address = self.symbol(e, Sym(GRID_WORKSPACE)).names[0]
                if base == "%envreg1":
                    address = e.ins(f"lshr i64 {address}, 32")
                return e.uniform(e.ins(f"trunc i64 {address} to i32"), 32)
            case "%is_explicit_cluster":
                return e.constant(0, 1)
            case "%nclusterid":
                return e.uniform(e.warp_field(abi.NCTAID + 4 * index, "i32"), 32)
            case "%clusterid":
                return e.uniform(e.warp_field(abi.CTAID + 4 * index, "i32"), 32)
            case "%cluster_ctaid" | "%cluster_ctarank":
                return e.constant(0, 32)
            case "%cluster_nctaid" | "%cluster_nctarank":
                return e.constant(1, 32)
        if base.startswith("%lanemask_"):
            kind = base[10:]
            masks = [
                {"eq": 1 << i, "lt": (1 << i) - 1, "le": (2 << i) - 1, "gt": -(2 << i), "ge": -(1 << i)}[kind]
                for i in range(32)
            ]
            items = ", ".join(f"i32 {((mask + (1 << 31)) % (1 << 32)) - (1 << 31)}" for mask in masks)
            return e.varying(f"<{items}>", 32)
        raise UnsupportedError(f"special register {name} is not supported by the simulated GPU")

    def _thread_index(self, e: Emitter, name: str, axis: int) -> Val:
        from evoengineer.sim.codegen.emitter import Val

        x, y, z = self.block_shape
        form = special_form(name, self.block_shape)
        if (x, y, z)[axis] == 1:
            return e.constant(0, 32)
        if form is None:
            table = e.warp_field(abi.TIDS, "ptr")
            row = e.ins(f"getelementptr inbounds i8, ptr {table}, i64 {axis * 128}")
            return e.varying(e.ins(f"load <32 x i32>, ptr {row}, align 4"), 32)
        warp = e.warp_field(abi.WARP_INDEX, "i32")
        first = e.ins(f"shl i32 {warp}, 5")
        divisor, extent = (1, x) if axis == 0 else (x, y) if axis == 1 else (x * y, z)
        value = e.ins(f"udiv i32 {first}, {divisor}")
        value = e.ins(f"urem i32 {value}, {extent}")
        if form.segments == 1:
            return Val(32, form, [value], "i32")
        names = [e.ins(f"add i32 {value}, {i}") for i in range(form.segments)]
        return Val(32, form, names, "i32")


def make_unit(program: Program, function: Function) -> FunctionUnit:
    """Parse a function and lay out its frame."""
    parsed = parse_body(function)
    body = replace(parsed, registers=dict(parsed.registers))  # which gets more
    local_offsets, local_bytes = _layout(
        [(v.name, v.bytes, v.align) for v in body.variables if v.space == "local"]
    )
    local_bytes = (local_bytes + 15) // 16 * 16
    params, param_bytes = _layout([(p.name, p.bytes, p.align) for p in function.params])
    results, result_bytes = _layout([(p.name, p.bytes, p.align) for p in function.results])
    forms = (
        infer_forms(body, program.block_shape, local_bytes)
        if function.entry and not program.force_vectors
        else {}
    )
    flow = build_flow(body, _widening_splits(body, forms))
    varying: frozenset[str] = frozenset()
    while more := regions_lost(flow.blocks, forms):
        varying |= more
        forms = infer_forms(body, program.block_shape, local_bytes, varying)
    slots, frame_bytes = _frame(flow, forms)
    sites: dict[int, int] = {}
    waits = waiting_loops(flow)
    for block in flow.blocks:
        for instr in ([block.barrier] if block.barrier else []) + block.instrs:
            loops = instr is block.terminator and any(s <= block.index for s in block.successors)
            decides = program.check_init and instr.op in ("bra", "brx")
            if instr.op in _SITE_OPS or loops or decides or is_barrier(instr) or is_warp_sync(instr):
                sites[id(instr)] = len(program.sites)
                info = _site(instr, function.files)
                program.sites.append(replace(info, access=abi.WAIT_LOOP) if id(instr) in waits else info)
    unit = FunctionUnit(program, function, body, flow, forms, slots, frame_bytes, local_bytes, local_offsets,
                        params, -(-param_bytes // 8) * 8, results, -(-result_bytes // 8) * 8, sites,
                        frozenset().union(*waits.values()))  # fmt: skip
    if program.check_init:
        unit.origins = find_origins(body, sites)
        unit.shadow_slots, unit.frame_bytes = _shadow_slots(unit)
    check_sizes(unit)
    return unit


def _layout(items: list[tuple[str, int, int]]) -> tuple[dict[str, int], int]:
    offsets, end = {}, 0
    for name, size, align in items:
        end = -(-end // align) * align
        offsets[name] = end
        end += size
    return offsets, end


def _widening_splits(body: Body, forms: dict[str, Form | None]) -> frozenset[int]:
    """Start a block before an instruction that widens a linear value, if the block had an effect before.

    Should the value wrap, FAST gives up at the start of the block and SLOW runs it again, so nothing may
    have happened in it yet.
    """
    splits, effect = set(), False
    starts = set(body.labels.values()) | body.splits
    for i, instr in enumerate(body.instrs):
        if i in starts or is_barrier(instr) or is_warp_sync(instr):
            effect = is_barrier(instr)
        if widens(instr) and effect:
            names = [a.name for a in instr.args[1:3] if isinstance(a, Reg)]
            known = [forms.get(name, UNIFORM) for name in names]
            linear = any(form is not None and not form.flat and not form.cut for form in known)
            if linear or any(map(is_special, names)):
                splits.add(i)
                effect = False
        if instr.op in EFFECTS:
            effect = True
        if instr.op in ("bra", "ret", "exit", "brx"):
            effect = False
    return frozenset(splits)


def _frame(flow: Flow, forms: dict[str, Form | None]) -> tuple[dict[str, tuple[int, int]], int]:
    """Frame offsets of every register that lives across blocks: its scalars, its vector."""
    from evoengineer.sim.codegen.emitter import bits_of

    names = sorted(flow.slots)
    scalar: dict[str, int] = {}
    end = 0
    for name in names:
        form = forms.get(name)
        if form is not None:
            bytes_ = max(bits_of(flow.body.registers[name]) // 8, 1)
            end = -(-end // bytes_) * bytes_
            scalar[name] = end
            end += bytes_ * form.segments
    slots: dict[str, tuple[int, int]] = {}
    predicates = [n for n in names if flow.body.registers[n] == "pred"]
    end = -(-end // 4) * 4
    for name in predicates:
        slots[name] = (scalar.get(name, 0), end)
        end += 4
    end = -(-end // 64) * 64
    for name in names:
        if name not in slots:
            slots[name] = (scalar.get(name, 0), end)
            end += 32 * bits_of(flow.body.registers[name]) // 8
            end = -(-end // 64) * 64
    return slots, max(end, 64)


def _shadow_slots(unit: FunctionUnit) -> tuple[dict[str, int], int]:
    """Frame offsets of the undefined bits of registers that live across blocks, behind the registers themselves."""
    from evoengineer.sim.codegen.emitter import bits_of

    slots: dict[str, int] = {}
    end = -(-unit.frame_bytes // 64) * 64
    for name in sorted(unit.slots.keys() & unit.origins.keys()):
        slots[name] = end
        end += max(-(-32 * bits_of(unit.body.registers[name]) // 8 // 64) * 64, 64)
    return slots, end


_VECTOR = {"v2": 2, "v4": 4, "v8": 8}


def _site(instr: Instr, files: dict[int, str]) -> SiteInfo:
    from evoengineer.sim.ptx.model import TYPE_BYTES

    mods = [m.partition("::")[0] for m in instr.mods]
    space = next((abi.SPACES[m] for m in mods if m in abi.SPACES and instr.op != "cvta"), 0)
    each = next((TYPE_BYTES[m] for m in reversed(mods) if m in TYPE_BYTES), 4) or 1
    count = next((_VECTOR[m] for m in mods if m in _VECTOR), 1)
    size = each * count
    access = {"ld": abi.LOAD, "ldu": abi.LOAD, "st": abi.STORE, "atom": abi.ATOMIC, "red": abi.ATOMIC}.get(
        instr.op, abi.NO_ACCESS
    )
    if instr.op == "cp":
        size, space, access = (
            int(getattr(instr.args[2], "value", 4)) if len(instr.args) > 2 else 4,
            2,
            abi.STORE,
        )
    if instr.op == "ldmatrix":
        size, access, space = 16, abi.LOAD, abi.SPACES["shared"]
    if instr.op == "stmatrix":
        size, access, space = 16, abi.STORE, abi.SPACES["shared"]
    if instr.op == "wmma":
        access = abi.STORE if "store" in mods else abi.LOAD
        size = each
    if "mbarrier" in (instr.op, *mods):  # cp.async.mbarrier.arrive, too
        size, access, space = 8, abi.STORE if "init" in mods else abi.ATOMIC, abi.SPACES["shared"]
    align = size if size in (1, 2, 4, 8, 16, 32) else each
    file, line = instr.location
    return SiteInfo(size, min(align, 32), space, access, 1, files.get(file, ""), line, instr.text)


def has_effect(instr: Instr) -> bool:
    """Must the instruction be skipped, not just its result dropped, where its guard is false?"""
    return instr.op in EFFECTS | _MEMORY_OPS or not destinations(instr)
