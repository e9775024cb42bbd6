"""Instructions and blocks, put together: what FAST and SLOW code have in common.

An instruction that is missing from the table, or that its handler refuses, becomes a call that fails by name
when it is reached, so that code which is never run does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from evoengineer.errors import UnsupportedError
from evoengineer.sim.codegen import abi, bounds, calls, limits, undefined
from evoengineer.sim.codegen.emitter import Emitter, Val
from evoengineer.sim.codegen.handlers import HANDLERS
from evoengineer.sim.codegen.moves import choose
from evoengineer.sim.codegen.regions import Region
from evoengineer.sim.codegen.undefined_memory import ALL_RULES
from evoengineer.sim.codegen.unit import EFFECTS, FunctionUnit, has_effect
from evoengineer.sim.ptx.flow import Block, destinations
from evoengineer.sim.ptx.model import Imm, Instr, Operand, Reg


class Translator(Emitter):
    """An emitter that knows how blocks begin and end."""

    buffers: calls.CallBuffers
    regions: Mapping[int, Region] = MappingProxyType({})  # of branches whose lanes meet again under a mask

    def __init__(self, unit: FunctionUnit, fast: bool) -> None:
        super().__init__(unit, fast)
        self.defined = undefined.Definedness(self, ALL_RULES) if unit.program.check_init else None

    def start_block(self) -> None:
        super().start_block()
        if self.defined is not None:
            self.defined.known = {}

    def store_slots(self, live_out: set[str]) -> None:
        super().store_slots(live_out)
        if self.defined is not None:
            self.defined.store_slots(live_out)

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
        if form is not None and form.stride == 0 and val.flat:
            names = self.scalars(val, f"i{val.bits}", form.segments)
            return Val(val.bits, form, names, f"i{val.bits}")
        return self.varying(self.vector(val), val.bits)

    # -- blocks ------------------------------------------------------------------------------------

    def body(self, block: Block) -> None:
        """The instructions of a block, but not where it goes afterwards."""
        self.buffers = calls.CallBuffers(self, block)
        self.groups = bounds.check_groups(self, block) if self.shares_checks else {}
        end = block.terminator
        for instr in block.instrs[: -1 if end is not None else None]:
            self.instruction(instr)
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


def function_text(name: str, third: str, e: Emitter, lead: list[str]) -> str:
    """An emitter's code as an LLVM function; `third` names its last parameter, `lead` comes first."""
    if e.stack_bytes > limits.MOST_STACK_BYTES:
        raise UnsupportedError(
            f"{e.unit.function.name} needs more than {limits.MOST_STACK_BYTES} bytes of stack"
        )
    head = f"define i32 @{name}(ptr noalias %w, ptr noalias %frame, i32 %{third}) #0 {{"
    tables = []
    for table, offset in (("caches", abi.CACHES), ("totals", abi.TOTALS), ("idle", abi.IDLE)):
        tables.append(f"  %{table}_at = getelementptr inbounds i8, ptr %w, i64 {offset}")
        tables.append(f"  %{table} = load ptr, ptr %{table}_at")
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
