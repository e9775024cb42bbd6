"""A kernel compiled for one block shape: what the runtime needs to run it, kept on disk between processes.

The *plan* (plain data: blocks, conversions, sites, the FAST code) is made once and pickled. SLOW blocks are
compiled when the dispatcher first asks for one, together with blocks that are likely to follow it.
"""

from __future__ import annotations

import ctypes as c
import hashlib
import time
import zlib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from evoengineer.files import Cache
from evoengineer.sim.codegen import abi, fast, jit, masked, slow, translate, warp
from evoengineer.sim.codegen.program import LinkedModule, build_program, launch_flags
from evoengineer.sim.codegen.regions import Region
from evoengineer.sim.codegen.steps import Steps
from evoengineer.sim.codegen.unit import FunctionUnit, Program, SiteInfo
from evoengineer.sim.codegen.waiting import idle_blocks
from evoengineer.sim.ptx.flow import Block, outside_loops, reachability
from evoengineer.sim.ptx.model import TYPE_BYTES, Imm, Reg
from evoengineer.sim.runtime import structs

KERNELS = Cache("kernels")  # plans and objects, and what is known of their timing
Conversion = tuple[int, int, int, int, Steps]  # as in structs.Conversion
_GROUP_INSTRUCTIONS = 160  # SLOW blocks are compiled in groups of about this size


@dataclass(frozen=True, slots=True)
class FunctionPlan:
    """A function as the dispatcher sees it."""

    number: int
    name: str
    frame_bytes: int
    local_bytes: int
    param_bytes: int
    result_bytes: int
    blocks: tuple[dict[str, int], ...]
    conversions: tuple[Conversion, ...]
    reach: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]  # SLOW blocks that are compiled together


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything about a compiled kernel that does not depend on addresses."""

    functions: tuple[FunctionPlan, ...]
    sites: tuple[SiteInfo, ...]
    symbols: tuple[str, ...]
    shared_bytes: int
    zeroed_shared: tuple[int, int]  # start and size
    flags: int
    fast_code: bytes  # empty: everything runs in SLOW
    instructions: int  # of PTX, all functions


@cache
def _code_version() -> str:
    """Changes whenever the code that makes code changes."""
    sim = Path(__file__).parents[1]
    digest = hashlib.sha256(jit.host_key().encode())
    for path in sorted(
        [*sim.glob("ptx/*.py"), *sim.glob("codegen/*.py"), sim / "runtime/structs.py", sim / "runtime/abi.h"]
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class KernelImage:
    """Loads or makes the plan, links code, and fills the ctypes structures of a launch."""

    def __init__(
        self,
        module: LinkedModule,
        kernel: str,
        shape: tuple[int, int, int],
        mode: str,
        check_access: bool,
        sm_count: int,
        check_init: bool = False,
        lean: bool = False,
    ) -> None:
        """`lean`: FAST code has loops only, if there is much outside of them."""
        self.sm_count, self.check_init, self.lean = sm_count, check_init, lean
        self.module, self.kernel, self.shape, self.mode, self.check_access = (
            module,
            kernel,
            shape,
            mode,
            check_access,
        )
        started = time.perf_counter()
        how = f"{shape} {mode} {check_access} {check_init} {sm_count} {lean}"
        text = f"{_code_version()} {module.digest} {kernel} {how}"
        self.key = hashlib.sha256(text.encode()).hexdigest()[:40]
        self._libraries: list[object] = []
        self._program: Program | None = None
        self.request: structs.Launch | None = None  # filled by the engine, reused by every launch
        self.plan = KERNELS.get_object(f"{self.key}.plan", Plan) or self._make_plan()
        self._fill()
        self.compile_seconds = time.perf_counter() - started

    # -- plan --------------------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        if self._program is None:
            self._program = build_program(
                self.module,
                self.kernel,
                self.shape,
                self.mode,
                self.check_access,
                self.sm_count,
                self.check_init,
            )
        return self._program

    def _make_plan(self) -> Plan:
        program = self.program
        kernel = program.units[0]
        entries: dict[int, int] = {}
        fast_code = b""
        if not program.force_vectors:
            slow = fast.left_out(kernel, self.lean)
            entries = fast.fast_entries(kernel, slow)
            code = fast.fast_function(kernel, entries, self._regions(), slow)
            fast_code = jit.compile_ir(translate.module_text([code]))
        functions = tuple(_plan_function(unit, entries if unit is kernel else {}) for unit in program.units)
        symbols = tuple(sorted(program.symbols, key=lambda name: program.symbols[name]))
        count = sum(len(unit.body.instrs) for unit in program.units)
        plan = Plan(
            functions,
            tuple(program.sites),
            symbols,
            program.shared_bytes,
            program.zeroed_shared,
            self._launch_flags,
            fast_code,
            count,
        )
        KERNELS.put_object(f"{self.key}.plan", plan)
        return plan

    def _regions(self) -> dict[int, Region]:
        return masked.regions_of(self.program.units[0], bool(self._launch_flags & abi.SPINS))

    @cached_property
    def _launch_flags(self) -> int:
        return launch_flags(self.program)

    # -- structures for the runtime ------------------------------------------------------------------

    def _fill(self) -> None:
        count = max(f.number for f in self.plan.functions) + 1
        self.functions = (structs.Function * count)()
        self._keep: list[object] = []
        self.block_count = 0
        for plan in self.plan.functions:
            self._fill_function(self.functions[plan.number], plan)
            self.functions[plan.number].first_count = self.block_count
            self.block_count += len(plan.blocks)
        self.sites = (structs.Site * max(len(self.plan.sites), 1))(
            *(structs.Site(s.bytes, s.align, s.space, s.access, s.lanes) for s in self.plan.sites)
        )
        if self.plan.fast_code:
            library, found = jit.link(self.plan.fast_code, ["f0_fast"])
            self._libraries.append(library)
            self.functions[0].fast = found["f0_fast"]
        self._by_number = {f.number: f for f in self.plan.functions}

    def _fill_function(self, function: structs.Function, plan: FunctionPlan) -> None:
        blocks = (structs.BlockInfo * len(plan.blocks))()
        for info, values in zip(blocks, plan.blocks, strict=True):
            for name, value in values.items():
                setattr(info, name, value)
        conversions = (structs.Conversion * max(len(plan.conversions), 1))()
        tables = {steps: (c.c_int64 * 32)(*steps) for steps in {each[-1] for each in plan.conversions}}
        for slot, (scalar, vector, size, segments, steps) in zip(conversions, plan.conversions, strict=False):
            slot.scalar_offset, slot.vector_offset, slot.bytes, slot.segments = scalar, vector, size, segments
            slot.steps = tables[steps]
        words = -(-len(plan.blocks) // 64)
        reach = (c.c_uint64 * (words * len(plan.blocks)))()
        for i, row in enumerate(plan.reach):
            for word in range(words):
                reach[i * words + word] = row >> (64 * word) & (2**64 - 1)
        self._keep += [blocks, conversions, tables, reach]
        function.blocks, function.conversions, function.reach = blocks, conversions, reach
        function.block_count, function.reach_words = len(plan.blocks), words
        function.frame_bytes, function.local_bytes = plan.frame_bytes, plan.local_bytes
        function.param_bytes, function.result_bytes = plan.param_bytes, plan.result_bytes

    def compile_block(self, function: int, block: int) -> None:
        """Give a SLOW block its code (the runtime calls this when it needs one)."""
        if block & abi.REGION_FORM:
            self._compile_region(block & ~abi.REGION_FORM)
            return
        counting = bool(block & abi.COUNT_FORM)
        block &= ~abi.COUNT_FORM
        plan = self._by_number[function]
        group = next(g for g in plan.groups if block in g)
        key = f"{self.key}.{function}.{group[0]}{'.count' if counting else ''}.o"
        code = KERNELS.get(key)
        if code is None:
            unit = next(u for u in self.program.units if self.program.functions[u.function.name] == function)
            text = translate.module_text([slow.slow_block(unit, i, counting) for i in group])
            # Few blocks are counted, where every access is checked the checks take most of the time, and what is
            # outside of loops is soon over.
            once = outside_loops(unit.flow.blocks).issuperset(group)
            code = jit.compile_ir(text, quick=counting or self.check_access or once)
            KERNELS.put(key, code)
        names = {i: f"f{function}_b{i}" for i in group}
        library, found = jit.link(code, list(names.values()))
        self._libraries.append(library)
        for i, name in names.items():
            setattr(self.functions[function].blocks[i], "count_fn" if counting else "fn", found[name])

    def _compile_region(self, branch: int) -> None:
        key = f"{self.key}.region.{branch}.o"
        code = KERNELS.get(key)
        if code is None:
            kernel = self.program.units[0]
            code = jit.compile_ir(
                translate.module_text([masked.region_function(kernel, self._regions()[branch])])
            )
            KERNELS.put(key, code)
        name = f"f0_r{branch}"
        library, found = jit.link(code, [name])
        self._libraries.append(library)
        self.functions[0].blocks[branch].region_fn = found[name]


# -- planning one function ------------------------------------------------------------------------------


def _plan_function(unit: FunctionUnit, entries: dict[int, int]) -> FunctionPlan:
    conversions: list[Conversion] = []
    blocks = []
    idle = idle_blocks(unit.flow)
    for block in unit.flow.blocks:
        first = len(conversions)
        conversions += _conversions(unit, block)
        entry, count = entries.get(block.index, -1), len(conversions) - first
        blocks.append(_plan_block(unit, block, entry, first, count, block.index in idle))
    return FunctionPlan(
        unit.program.functions[unit.function.name],
        unit.function.name,
        unit.frame_bytes,
        unit.local_bytes,
        unit.param_bytes,
        unit.result_bytes,
        tuple(blocks),
        tuple(conversions),
        tuple(reachability(unit.flow.blocks)),
        _groups(unit),
    )


def _conversions(unit: FunctionUnit, block: Block) -> list[Conversion]:
    found = []
    for name in sorted(block.live_in):
        form = unit.forms.get(name)
        if form is not None:
            scalar, vector = unit.slots[name]
            found.append((scalar, vector, TYPE_BYTES[unit.body.registers[name]], form.segments, form.steps))
    return found


def _plan_block(
    unit: FunctionUnit, block: Block, entry: int, first: int, count: int, idles: bool
) -> dict[str, int]:
    flags = abi.BLOCK_EXIT_ONLY if block.exit_only else 0
    flags |= abi.BLOCK_BACK_EDGE if block.index in unit.flow.headers else 0
    flags |= abi.BLOCK_WAITS if block.index in unit.waiting_blocks else 0
    plan = {"fast_entry": entry, "first_conversion": first, "conversions": count}
    plan["instructions"] = len(block.instrs)
    plan["idles"] = int(idles)
    head = block.barrier or (block.instrs[0] if block.instrs else None)
    plan["site"] = unit.sites.get(id(head)) or unit.sites.get(id(block.terminator), 0)
    sync = block.warp_sync
    if sync is not None:
        plan["barrier_kind"] = zlib.crc32(sync.name.encode())  # operations of one kind may be joined
        flags |= abi.BLOCK_WARP_SYNC | (abi.BLOCK_MEETING if sync.op in ("bar", "barrier") else 0)
        constant = warp.constant_members(sync)
        if constant is not None:
            plan["member"] = constant
        else:
            flags |= abi.BLOCK_MEMBER_SLOT
            plan["member"] = unit.slots[warp.member_operand(sync).name][1]  # type: ignore[union-attr]
    if block.barrier is not None:
        flags |= abi.BLOCK_BARRIER
        file, line = block.barrier.location
        aligned = (
            block.barrier.op == "bar" or "aligned" in block.barrier.mods
        )  # else lanes may come from anywhere
        plan["member"] = zlib.crc32(f"{file}:{line}".encode()) if line and aligned else 0
        number, threads, predicate, plan["barrier_kind"] = translate.barrier_operands(block.barrier)
        for key, operand, slot in (
            ("barrier_id", number, abi.BLOCK_ID_SLOT),
            ("barrier_count", threads, abi.BLOCK_COUNT_SLOT),
        ):
            if isinstance(operand, Imm):
                plan[key] = operand.value
            elif isinstance(operand, Reg):
                flags |= slot
                plan[key] = unit.slots[operand.name][1]
        if isinstance(predicate, Reg):
            plan["barrier_pred"] = unit.slots[predicate.name][1]
    plan["flags"] = flags
    return plan


def _groups(unit: FunctionUnit) -> tuple[tuple[int, ...], ...]:
    """Neighbouring blocks together, up to a size at which compiling takes a few hundredths of a second; those of loops,
    which FAST has as well, apart from others."""
    groups: list[tuple[int, ...]] = []
    current: list[int] = []
    size = 0
    once = outside_loops(unit.flow.blocks)
    for block in unit.flow.blocks:
        unlike = bool(current) and (current[-1] in once) != (block.index in once)
        if current and (unlike or size + len(block.instrs) > _GROUP_INSTRUCTIONS):
            groups.append(tuple(current))
            current, size = [], 0
        current.append(block.index)
        size += len(block.instrs)
    groups.append(tuple(current))
    return tuple(groups)
