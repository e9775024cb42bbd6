"""Instructions and blocks, put together: what FAST and SLOW code have in common.

An instruction that is missing from the table, or that its handler refuses, becomes a call that fails by name
when it is reached, so that code which is never run does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from evoengineer.errors import UnsupportedError
from evoengineer.sim.codegen import abi, bounds, calls, limits, runs, undefined
from evoengineer.sim.codegen.assembler import Operation
from evoengineer.sim.codegen.emitter import Emitter, Val
from evoengineer.sim.codegen.handlers import HANDLERS
from evoengineer.sim.codegen.moves import choose
from evoengineer.sim.codegen.regions import Region
from evoengineer.sim.codegen.runs import Runs
from evoengineer.sim.codegen.undefined_memory import ALL_RULES
from evoengineer.sim.codegen.unit import EFFECTS, FunctionUnit, has_effect
from evoengineer.sim.ptx.flow import Block, destinations
from evoengineer.sim.ptx.model import Imm, Instr, Operand, Reg


class Translator(Emitter):
    """An emitter that knows how blocks begin and end."""

    buffers: calls.CallBuffers
    runs: Runs | None = None  # of the current block
    tables = True  # may runs be done from tables?
    file_vectors = 0  # that they need
    regions: Mapping[int, Region] = MappingProxyType({})  # of branches whose lanes meet again under a mask

    def __init__(self, unit: FunctionUnit, fast: bool) -> None:
        super().__init__(unit, fast)
        self.defined = undefined.Definedness(self, ALL_RULES) if unit.program.check_init else None

    def start_block(self) -> None:
        super().start_block()
        self.runs = None
        if self.defined is not None:
            self.defined.known = {}

    def store_slots(self, live_out: set[str]) -> None:
        runs_here = self.runs is not None and self.runs.active
        super().store_slots(self._save_places(live_out) if runs_here else live_out)
        if self.defined is not None:
            self.defined.store_slots(self._save_undefined(live_out) if runs_here else live_out)

    # -- values in the file of a run (runs.py) -------------------------------------------------------

    def register(self, name: str) -> Val:
        place = self.runs.places.get(name) if self.runs is not None and name not in self.env else None
        if place is not None:
            pointer = self.file_vector(place)
            self.env[name] = self.varying(self.ins(f"load <32 x i32>, ptr {pointer}, align 64"), 32)
        return super().register(name)

    def write(self, operand: Operand, val: Val) -> None:
        super().write(operand, val)
        if self.runs is not None and isinstance(operand, Reg):
            self.runs.forget(operand.name)

    def frame_vector(self, name: str) -> int | None:
        """Where a register lies in the frame as a vector; None if its present value is not there."""
        return self.home(name) if name not in self.env else None

    def home(self, name: str) -> int | None:
        """Where it does when it lives across blocks."""
        if name not in self.unit.slots or self.slot_form(name) is not None or self.register_bits(name) != 32:
            return None
        return self.unit.slots[name][1]

    def _save_places(self, live_out: set[str]) -> set[str]:
        """What lies in the file goes to the frame as it is; the rest is left to others."""
        assert self.runs is not None
        places = self.runs.places
        at_home = {n for n in self.written & live_out & places.keys() if places[n] < 0}
        there = [n for n in sorted(self.written & live_out - at_home) if n not in self.env and n in places]
        there = [n for n in there if self.slot_form(n) is None]
        if there:
            offsets = [(self.unit.slots[n][1], places[n] * runs.VECTOR_BYTES) for n in there]
            self.move_vectors("%frame", "%file", [x for pair in offsets for x in pair])
        return live_out - at_home - set(there)

    def _save_undefined(self, live_out: set[str]) -> set[str]:
        """The same for undefined bits."""
        assert self.runs is not None
        assert self.defined is not None
        offsets, there = [], set()
        for name in sorted(
            self.written & live_out & self.unit.shadow_slots.keys() - self.defined.known.keys()
        ):
            place = self.runs.undefined_place(name)
            if place is not None:
                offsets += [self.unit.shadow_slots[name], place * runs.VECTOR_BYTES]
                there.add(name)
        if offsets:
            self.move_vectors("%frame", "%file", offsets)
        return live_out - there

    def undefined_in_file(self, name: str) -> str | None:
        place = self.runs.undefined_place(name) if self.runs is not None else None
        return None if place is None else self.file_vector(place)

    def move_vectors(self, to: str, source: str, offsets: list[int]) -> None:
        """Copy vectors between the frame and the file: offsets to, from, to, from …; only the active lanes."""
        table = self.numbers(offsets)
        args = [("ptr", to), ("ptr", source), ("ptr", table), ("i32", str(len(offsets) // 2))]
        self.call("void", "rt_move", [*args, ("i32", self.mask_bits if to == "%frame" else "-1")])

    def receive(self, targets: Sequence[Operand], kind: str, undefined: bool = False) -> str | None:
        """A pointer to vectors of the file for values that are loaded; None if they are to be values as usual."""
        names = [each.name for each in targets if isinstance(each, Reg) and each.name != "_"]
        runs_here = self.runs is not None and self.runs.active and self.instr is not None
        if not runs_here or kind != "f32" or len(set(names)) != len(targets) or self.instr.guard is not None:  # type: ignore
            return None
        if any(self.register_bits(name) != 32 for name in names):
            return None
        assert self.runs is not None
        return self.file_vector(self.runs.receive_undefined(names) if undefined else self.runs.receive(names))

    def file_vector(self, place: int) -> str:
        """A pointer to a vector of the file, or to a home."""
        if place < 0:
            return self.frame(~place)
        return self.ins(f"getelementptr inbounds i8, ptr %file, i64 {place * runs.VECTOR_BYTES}")

    def fill_vector(self, place: int, value: str) -> None:
        self.do(f"store <32 x i32> {value}, ptr {self.file_vector(place)}, align 64")

    def run_table(self, words: list[int]) -> None:
        """Have the runtime do these operations, one after the other."""
        table = f"@run{self.unit.prefix}b{self.block_index}_{len(self.strings)}"
        items = ", ".join(f"i64 {word - (1 << 64) if word >> 63 else word}" for word in words)
        self.strings.append(f"{table} = private unnamed_addr constant [{len(words)} x i64] [{items}]")
        self.call("void", "rt_run", [("ptr", "%file"), ("ptr", table), ("i32", str(len(words)))])

    def run_machine(self, operations: list[Operation], wanted: set[int]) -> None:
        """The same in machine code; `wanted` are the places that count afterwards."""
        name = f"run{self.unit.prefix}b{self.block_index}_{len(self.defined_functions)}"
        self.define(name, runs.machine_code(name, operations, wanted))
        self.file_vectors = max(self.file_vectors, 1)
        self.do(f"call void @{name}(ptr %frame, ptr %file)")

    def unit_call_buffer(self, name: str) -> tuple[str, int]:
        return self.buffers.at[name]

    def instruction(self, instr: Instr) -> None:
        """One instruction, guarded or not."""
        self._guarded(instr)
        self.effects |= instr.op in EFFECTS

    def _guarded(self, instr: Instr) -> None:
        self.instr = instr
        if instr.guard is None:
            self._plain(instr)
            return
        guard = self.read(instr.guard, 1)
        guard = self.invert(guard) if instr.negated else guard
        if has_effect(instr):
            self._around(instr, guard)
            return
        before = {name: self.register(name) for name in destinations(instr)}
        kept = self._undefined_of(before)
        guard_bits = self.defined.of(instr.guard, 1) if self.defined else None
        self._plain(instr)
        for name, old in before.items():
            self.write(Reg(name), choose(self, guard, self.env[name], old))
        if self.defined is not None:
            self.defined.blend(guard, guard_bits, kept)

    def _undefined_of(self, names: Iterable[str]) -> dict[str, undefined.Undefined | None]:
        return {name: self.defined.of_register(name) for name in names} if self.defined else {}

    def _plain(self, instr: Instr) -> None:
        limits.check_operands(instr)
        try:
            if instr.op == "call":
                if self.defined is not None:
                    self.defined.require_operands(instr)
                calls.call(self, instr, self.buffers)
                return
            handler = HANDLERS.get(instr.op)
            if handler is None:
                raise self.unsupported(f"PTX instruction {instr.name}")
            if self.defined is not None:
                self.defined.run(instr, handler)
            else:
                handler(self, instr)
        except UnsupportedError as error:
            self._refuse(instr, str(error))

    def _refuse(self, instr: Instr, text: str) -> None:
        """Fail, by name, when this point is reached."""
        site = self.unit.sites.get(id(instr), 0)
        pointer = self.string(text)
        self.call(
            "void",
            "rt_fail",
            [
                ("ptr", "%w"),
                ("i32", str(abi.UNSUPPORTED)),
                ("i32", str(site)),
                ("i32", self.active_bits()),
                ("ptr", pointer),
            ],
        )
        for name in destinations(instr):
            self.write(Reg(name), self.constant(0, self.register_bits(name)))

    def _around(self, instr: Instr, guard: Val) -> None:
        """Run an instruction with effects only for the lanes whose guard holds, if there are any."""
        names = destinations(instr)
        old = {name: self.register(name) for name in names}
        for arg in instr.args:  # operands are read before the branch, so that later code may use them too
            self._touch(arg)
        around = undefined.Around(self.defined, instr, guard, names) if self.defined is not None else None
        saved = (
            self.mask,
            self.mask_bits,
            dict(self.env),
            dict(self.casts),
            dict(self.splats),
            set(self.written),
        )
        uniform = guard.flat and len(guard.names) == 1
        go, done = self.new_label("guarded"), self.new_label("after")
        if uniform:
            some = guard.names[0]
        else:
            vec = self.vector(guard)
            self.mask = vec if self.mask is None else self.ins(f"and <32 x i1> {self.mask}, {vec}")
            self.mask_bits = self.ins(f"bitcast <32 x i1> {self.mask} to i32")
            some = self.ins(f"icmp ne i32 {self.mask_bits}, 0")
        merged_old = {n: self._merge_form(n, old[n], uniform) for n in names}
        start = self.label_now
        self.do(f"br i1 {some}, label %{go}, label %{done}")
        self.label(go)
        self._plain(instr)
        if around is not None:
            around.hold()
        merged_new = {}
        for name in names:
            new = self.env[name] if uniform else choose(self, guard, self.env[name], old[name])
            merged_new[name] = self._merge_form(name, new, uniform)
        end = self.label_now
        self.branch(done)
        self.label(done)
        self.mask, self.mask_bits, self.env, self.casts, self.splats, self.written = saved
        for name in names:
            a, b = merged_new[name], merged_old[name]
            lanes = 1 if a.form is not None else 32
            ty = self.t(lanes, f"i{a.bits}")
            phis = [
                self.ins(f"phi {ty} [ {x}, %{end} ], [ {y}, %{start} ]")
                for x, y in zip(a.names, b.names, strict=True)
            ]
            self.write(Reg(name), Val(a.bits, a.form, phis, f"i{a.bits}"))
        if around is not None:
            around.merge()

    def _touch(self, operand: object) -> None:
        from evoengineer.sim.ptx.flow import operand_names

        for name in operand_names(operand):  # type: ignore[arg-type]
            self.register(name)

    def _merge_form(self, name: str, val: Val, uniform: bool) -> Val:
        """Bring both sides of a guarded write to one form: the register's own where it has one."""
        form = self.slot_form(name) if uniform and self.fast else None
        if form is not None and form.flat and val.flat:
            names = self.scalars(val, f"i{val.bits}", form.segments)
            return Val(val.bits, form, names, f"i{val.bits}")
        return self.varying(self.vector(val), val.bits)

    # -- blocks ------------------------------------------------------------------------------------

    def body(self, block: Block) -> None:
        """The instructions of a block, but not where it goes afterwards."""
        self.buffers = calls.CallBuffers(self, block)
        self.groups = bounds.check_groups(self, block) if self.shares_checks else {}
        end = block.terminator
        self.runs = Runs(self, block)
        for instr in block.instrs[: -1 if end is not None else None]:
            if not self.runs.take(instr):
                self.instruction(instr)
        self.runs.flush()
        self.instr = end
        if end is not None and end.op == "trap":
            self.call(
                "void",
                "rt_fail",
                [
                    ("ptr", "%w"),
                    ("i32", str(abi.TRAP)),
                    ("i32", str(self.unit.sites[id(end)])),
                    ("i32", self.active_bits()),
                    ("ptr", "null"),
                ],
            )

    def tick(self, block: Block) -> None:
        """Loops count down the warp's slice at each back edge."""
        if not any(s <= block.index for s in block.successors):
            return
        pointer = self.ins(f"getelementptr inbounds i8, ptr %w, i64 {abi.TICKS}")
        left = self.ins(f"sub i64 {self.ins(f'load i64, ptr {pointer}')}, 1")
        self.do(f"store i64 {left}, ptr {pointer}")
        over, on = self.new_label("tick"), self.new_label("on")
        self.do(f"br i1 {self.ins(f'icmp slt i64 {left}, 0')}, label %{over}, label %{on}, !prof !0")
        self.label(over)
        self.set_warp_field(abi.SITE, "i32", str(self.unit.sites[id(block.terminator)]))
        self.call("void", "rt_tick", [("ptr", "%w")])
        self.branch(on)
        self.label(on)

    def part(self, bits: str, block: Block) -> None:
        """The lanes in `bits` take the branch, the others do not: they meet again at its join, or FAST is left."""
        region = self.regions.get(block.index)
        if region is not None:
            args = [("ptr", "%w"), ("ptr", "%frame"), ("i32", str(block.index)), ("i32", bits)]
            next_ = self.call("i32", "rt_region", args)
            joined = self.ins(f"icmp eq i32 {next_}, {abi.JOINED}")
            leave = self.new_label("leave")
            self.do(f"br i1 {joined}, label %B{region.join}, label %{leave}")
            self.label(leave)
            self.do(f"ret i32 {next_}")
            return
        taken_to, fall_to = block.successors
        self.set_warp_field(abi.NEXT_BLOCK, "i32", str(taken_to))
        self.set_warp_field(abi.NEXT_BLOCK + 4, "i32", str(fall_to))
        self.set_warp_field(abi.NEXT_MASK, "i32", bits)
        self.set_warp_field(abi.NEXT_MASK + 4, "i32", self.ins(f"xor i32 {bits}, -1"))
        self.do(f"ret i32 {abi.TWO}")

    def predicate_bits(self, end: Instr) -> Val:
        """Which lanes take a branch."""
        assert end.guard is not None
        p = self.read(end.guard, 1)
        return self.invert(p) if end.negated else p


def module_text(emitters: list[tuple[str, Emitter]]) -> str:
    """Function texts → one LLVM module."""
    declared: dict[str, str] = {}
    defined: dict[str, str] = {}
    strings: list[str] = []
    for _, e in emitters:
        declared.update(e.declared)
        defined.update(e.defined_functions)
        strings += e.strings
    tail = ['!0 = !{!"branch_weights", i32 1, i32 2000}', '!1 = !{!"branch_weights", i32 2000, i32 1}']
    # Large frames are touched page by page, so that none can reach past the guard page of a fibre's stack.
    widths = '"prefer-vector-width"="512" "min-legal-vector-width"="512"'
    attributes = f'attributes #0 = {{ nounwind "probe-stack"="inline-asm" {widths} }}'
    texts = [*strings, *(t for t, _ in emitters), *declared.values(), *defined.values()]
    return "\n".join([*texts, attributes, *tail, ""])


def function_text(
    name: str, e: Translator, parameters: tuple[str, str, str], lead: Sequence[str] = ()
) -> str:
    """An emitter's code as an LLVM function of a warp, its register file and an i32; `lead` comes first."""
    file_bytes = e.file_vectors * runs.VECTOR_BYTES
    if file_bytes:
        e.allocas.append(f"  %file = alloca [{file_bytes} x i8], align 64")
        e.stack_bytes += file_bytes
    if e.stack_bytes > limits.MOST_STACK_BYTES:
        raise UnsupportedError(
            f"{e.unit.function.name} needs more than {limits.MOST_STACK_BYTES} bytes of stack"
        )
    warp, frame, third = parameters
    head = f"define i32 @{name}(ptr noalias %{warp}, ptr noalias %{frame}, i32 %{third}) #0 {{"
    tables = []
    for table, offset in (("caches", abi.CACHES), ("totals", abi.TOTALS), ("idle", abi.IDLE)):
        tables.append(f"  %{table}_at = getelementptr inbounds i8, ptr %{warp}, i64 {offset}")
        tables.append(f"  %{table} = load ptr, ptr %{table}_at")
    tables.append(f"  %shared_at = getelementptr inbounds i8, ptr %{warp}, i64 {abi.SHARED_BASE}")
    tables.append("  %shared = load i64, ptr %shared_at")
    return "\n".join([head, "start:", *tables, *e.allocas, *lead, *e.lines, "}"])


def take_reduction(e: Translator, barrier: Instr, result: str) -> None:
    """A barrier's result (bar.red), where it has one."""
    if "red" not in barrier.mods:
        return
    to = barrier.args[0]
    if "popc" in barrier.mods:
        e.write(to, e.uniform(result, 32))
    else:
        e.write(to, e.uniform(e.ins(f"icmp ne i32 {result}, 0"), 1))


# -- FAST --------------------------------------------------------------------------------------------


def barrier_operands(barrier: Instr) -> tuple[Operand, Operand | None, Operand | None, int]:
    """Number, thread count, predicate and kind of a barrier instruction."""
    args = list(barrier.args)
    kind = next(
        (abi.BARRIER_KINDS[m] for m in ("popc", "and", "or", "arrive", "sync") if m in barrier.mods), 0
    )
    predicate = None
    if "red" in barrier.mods:
        args.pop(0)
        predicate = args.pop()
    number = args[0] if args else Imm(0)
    return number, args[1] if len(args) > 1 else None, predicate, kind
