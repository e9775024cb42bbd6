"""Puts blocks together: the FAST function of a kernel, the SLOW functions of single blocks.

`handlers` is the table of PTX instructions. One that is missing, or that its handler refuses, becomes a
call that fails by name when it is reached, so that code which is never run does no harm.
"""

from __future__ import annotations

from collections.abc import Callable

from evoengineer.device.sim.codegen import (
    abi,
    bounds,
    calls,
    convert,
    floating,
    integer,
    memory,
    texture,
    video,
    warp,
)
from evoengineer.device.sim.codegen.emitter import Emitter, Val
from evoengineer.device.sim.codegen.integer import choose
from evoengineer.device.sim.codegen.unit import FunctionUnit, has_effect
from evoengineer.device.sim.ptx.flow import Block, destinations
from evoengineer.device.sim.ptx.model import Imm, Instr, Reg
from evoengineer.device.sim.ptx.body import VIDEO_OPS
from evoengineer.errors import UnsupportedError

Handler = Callable[[Emitter, Instr], None]
_FLOATS = ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2")


def _by_type(floats: Handler, integers: Handler) -> Handler:
    def handle(e: Emitter, instr: Instr) -> None:
        (floats if instr.mods[-1] in _FLOATS else integers)(e, instr)

    return handle


HANDLERS: dict[str, Handler] = {
    "add": _by_type(floating.add_sub_mul_div, integer.add_sub),
    "sub": _by_type(floating.add_sub_mul_div, integer.add_sub),
    "addc": integer.add_sub, "subc": integer.add_sub,
    "mul": _by_type(floating.add_sub_mul_div, integer.mul_mad),
    "mad": _by_type(floating.fma, integer.mul_mad), "madc": integer.mul_mad,
    "mul24": integer.mul_mad, "mad24": integer.mul_mad, "fma": floating.fma, "sad": integer.sad,
    "div": _by_type(floating.add_sub_mul_div, integer.div_rem), "rem": integer.div_rem,
    "min": _by_type(floating.min_max, integer.min_max), "max": _by_type(floating.min_max, integer.min_max),
    "neg": _by_type(floating.neg_abs, integer.neg_abs), "abs": _by_type(floating.neg_abs, integer.neg_abs),
    "copysign": floating.copysign, "testp": floating.testp,
    "rcp": floating.roots, "sqrt": floating.roots, "rsqrt": floating.roots,
    "ex2": floating.transcendental, "lg2": floating.transcendental, "sin": floating.transcendental,
    "cos": floating.transcendental, "tanh": floating.transcendental,
    "and": integer.logic, "or": integer.logic, "xor": integer.logic, "not": integer.logic, "cnot": integer.logic,
    "shl": integer.shift, "shr": integer.shift, "shf": integer.funnel, "lop3": integer.lop3, "prmt": integer.prmt,
    "popc": integer.count_bits, "clz": integer.count_bits, "brev": integer.count_bits, "bfind": integer.count_bits,
    "bfe": integer.bit_field, "bfi": integer.bit_field, "fns": integer.rare, "szext": integer.rare, "bmsk": integer.rare,
    "dp4a": integer.dot_product, "dp2a": integer.dot_product,
    "mov": integer.mov, "selp": integer.selp, "slct": integer.slct, "setp": integer.setp, "set": integer.set_,
    "cvt": convert.cvt, "cvta": memory.cvta, "isspacep": memory.isspacep,
    "ld": memory.ld, "ldu": memory.ld, "st": memory.st, "atom": memory.atom, "red": memory.atom,
    "membar": memory.fence, "fence": memory.fence, "cp": memory.copy_async, "mbarrier": memory.mbarrier,
    "prefetch": memory.nothing, "prefetchu": memory.nothing, "discard": memory.nothing, "applypriority": memory.nothing,
    "createpolicy": memory.nothing, "pmevent": memory.nothing, "griddepcontrol": memory.nothing,
    "shfl": warp.shfl, "vote": warp.vote, "match": warp.match_, "redux": warp.redux, "elect": warp.elect,
    "activemask": warp.activemask, "nanosleep": warp.nanosleep, "bar": warp.warp_barrier, "barrier": warp.warp_barrier,
    "mma": warp.mma, "wmma": warp.wmma, "ldmatrix": warp.ldmatrix, "stmatrix": warp.ldmatrix, "movmatrix": warp.movmatrix,
    "tex": texture.tex, "tld4": texture.tex, "suld": texture.surface, "sust": texture.surface,
    "txq": texture.query, "suq": texture.query, **dict.fromkeys(VIDEO_OPS, video.video),
}  # fmt: skip


class Translator(Emitter):
    """An emitter that knows how blocks begin and end."""

    buffers: calls.CallBuffers

    def unit_call_buffer(self, name: str) -> tuple[str, int]:
        return self.buffers.at[name]

    def instruction(self, instr: Instr) -> None:
        self.instr = instr
        if instr.guard is None:
            self._plain(instr)
            return
        guard = self.read(instr.guard, 1)
        guard = self.invert(guard) if instr.negated else guard
        if has_effect(instr):
            self._around(instr, guard)
            return
        before = {name: self._register(name) for name in destinations(instr)}
        self._plain(instr)
        for name, old in before.items():
            self.write(Reg(name), choose(self, guard, self.env[name], old))

    def _plain(self, instr: Instr) -> None:
        try:
            if instr.op == "call":
                calls.call(self, instr, self.buffers)
                return
            handler = HANDLERS.get(instr.op)
            if handler is None:
                raise self.unsupported(f"PTX instruction {instr.name}")
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
        old = {name: self._register(name) for name in names}
        for arg in instr.args:  # operands are read before the branch, so that later code may use them too
            self._touch(arg)
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

    def _touch(self, operand: object) -> None:
        from evoengineer.device.sim.ptx.flow import operand_names

        for name in operand_names(operand):  # type: ignore[arg-type]
            self._register(name)

    def _merge_form(self, name: str, val: Val, uniform: bool) -> Val:
        """Bring both sides of a guarded write to one form: the register's own where it has one."""
        form = self.slot_form(name) if uniform and self.fast else None
        if form is not None and form.stride == 0 and val.flat:
            names = self.scalars(val, f"i{val.bits}", form.segments)
            return Val(val.bits, form, names, f"i{val.bits}")
        return self.varying(self.vector(val), val.bits)

    # -- blocks ------------------------------------------------------------------------------------

    def body(self, block: Block) -> None:
        self.buffers = calls.CallBuffers(self, block)
        self.groups = bounds.check_groups(self, block) if self.fast and not self.unit.program.check_access else {}
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
        """Loops count down the warp's budget at each back edge."""
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

    def predicate_bits(self, end: Instr) -> Val:
        assert end.guard is not None
        p = self.read(end.guard, 1)
        return self.invert(p) if end.negated else p


def module_text(emitters: list[tuple[str, Emitter]]) -> str:
    """Function texts → one LLVM module."""
    declared: dict[str, str] = {}
    strings: list[str] = []
    for _, e in emitters:
        declared.update(e.declared)
        strings += e.strings
    tail = ['!0 = !{!"branch_weights", i32 1, i32 2000}', '!1 = !{!"branch_weights", i32 2000, i32 1}']
    attributes = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
    return "\n".join([*strings, *(t for t, _ in emitters), *declared.values(), attributes, *tail, ""])


def _wrap(name: str, third: str, e: Emitter, lead: list[str]) -> str:
    head = f"define i32 @{name}(ptr noalias %w, ptr noalias %frame, i32 %{third}) #0 {{"
    caches = [
        "  %caches_at = getelementptr inbounds i8, ptr %w, i64 24",
        "  %caches = load ptr, ptr %caches_at",
    ]
    return "\n".join([head, "start:", *caches, *e.allocas, *lead, *e.lines, "}"])


# -- SLOW --------------------------------------------------------------------------------------------


def slow_block(unit: FunctionUnit, index: int) -> tuple[str, Emitter]:
    """The function of one block for any set of lanes."""
    e = Translator(unit, fast=False)
    block = unit.flow.blocks[index]
    e.block_index = index
    e.mask, e.mask_bits = "%lanes", "%mask"
    e.start_block()
    if block.barrier is not None:
        _take_reduction(e, block.barrier, e.warp_field(abi.REDUCED, "i32"))
    e.body(block)
    e.store_slots(block.live_out)
    e.tick(block)
    _slow_end(e, block)
    lead = ["  %lanes = bitcast i32 %mask to <32 x i1>"]
    return _wrap(f"{unit.prefix}_b{index}", "mask", e, lead), e


def _slow_end(e: Translator, block: Block) -> None:
    end = block.terminator
    if end is None:
        _go(e, block.index + 1)
    elif end.op in ("ret", "exit", "trap"):
        code = abi.EXIT_THREAD if end.op == "exit" and not e.unit.function.entry else abi.EXIT
        e.set_warp_field(abi.NEXT_BLOCK, "i32", str(block.index))
        e.do(f"ret i32 {code}")
    elif end.op == "brx":
        index = e.vector(e.read(end.args[0], 32))
        chosen = "splat (i32 0)"
        for i, target in enumerate(block.successors):
            here = e.ins(f"icmp eq <32 x i32> {index}, splat (i32 {i})")
            chosen = e.ins(f"select <32 x i1> {here}, <32 x i32> splat (i32 {target}), <32 x i32> {chosen}")
        pointer = e.ins(f"getelementptr inbounds i8, ptr %w, i64 {abi.LANE_NEXT}")
        e.do(f"store <32 x i32> {chosen}, ptr {pointer}, align 4")
        e.do(f"ret i32 {abi.SCATTER}")
    elif end.guard is None:
        _go(e, block.successors[0])
    else:
        taken_to, fall_to = block.successors
        p = e.ins(f"bitcast <32 x i1> {e.vector(e.predicate_bits(end))} to i32")
        taken = e.ins(f"and i32 {p}, %mask")
        fall = e.ins(f"xor i32 {taken}, %mask")
        none, all_ = e.ins(f"icmp eq i32 {taken}, 0"), e.ins(f"icmp eq i32 {fall}, 0")
        first = e.ins(f"select i1 {none}, i32 {fall_to}, i32 {taken_to}")
        e.set_warp_field(abi.NEXT_BLOCK, "i32", first)
        e.set_warp_field(abi.NEXT_BLOCK + 4, "i32", str(fall_to))
        e.set_warp_field(abi.NEXT_MASK, "i32", taken)
        e.set_warp_field(abi.NEXT_MASK + 4, "i32", fall)
        one = e.ins(f"or i1 {none}, {all_}")
        e.do(f"ret i32 {e.ins(f'select i1 {one}, i32 1, i32 2')}")


def _go(e: Translator, target: int) -> None:
    e.set_warp_field(abi.NEXT_BLOCK, "i32", str(target))
    e.do("ret i32 1")


def _take_reduction(e: Translator, barrier: Instr, result: str) -> None:
    if "red" not in barrier.mods:
        return
    to = barrier.args[0]
    if "popc" in barrier.mods:
        e.write(to, e.uniform(result, 32))
    else:
        e.write(to, e.uniform(e.ins(f"icmp ne i32 {result}, 0"), 1))


# -- FAST --------------------------------------------------------------------------------------------


def barrier_operands(barrier: Instr) -> tuple[object, object | None, object | None, int]:
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


def needs_slow(unit: FunctionUnit, block: Block) -> bool:
    """Has the block no FAST form?"""
    for instr in block.instrs:
        if instr.op in ("call", "match"):
            return True
        if instr.op == "brx":
            form = unit.forms.get(instr.args[0].name) if isinstance(instr.args[0], Reg) else None
            return form is None or (form.segments, form.stride) != (1, 0)
    head = block.warp_sync
    if head is not None:
        constant = warp.constant_members(head)
        if constant is not None:
            return constant != abi.FULL_MASK
        operand = warp.member_operand(head)
        form = unit.forms.get(operand.name) if isinstance(operand, Reg) else None
        return form is None or (form.segments, form.stride) != (1, 0)
    if block.barrier is not None:
        for operand in barrier_operands(block.barrier)[:2]:
            if isinstance(operand, Reg):
                form = unit.forms.get(operand.name)
                if form is None or (form.segments, form.stride) != (1, 0):
                    return True
    return False


def fast_entries(unit: FunctionUnit) -> dict[int, int]:
    """Blocks at which SLOW may hand a warp back → entry numbers (0 is the start)."""
    blocks = unit.flow.blocks
    slow = {b.index for b in blocks if needs_slow(unit, b)}
    before: dict[int, list[int]] = {b.index: [] for b in blocks}
    for b in blocks:
        for s in b.successors:
            before[s].append(b.index)
    entries = {0: 0}
    for b in blocks[1:]:
        joins = (
            len(before[b.index]) > 1 or any(p in slow for p in before[b.index]) or b.barrier or b.warp_sync
        )
        if joins and b.index not in slow and not b.exit_only:
            entries[b.index] = len(entries)
    return entries


def fast_function(unit: FunctionUnit, entries: dict[int, int]) -> tuple[str, Emitter]:
    """The whole kernel for warps whose 32 lanes stay together."""
    e = Translator(unit, fast=True)
    # The dispatcher performs the barrier at the head of a block before it hands a warp back (settled).
    after = {b.index for b in unit.flow.blocks if b.barrier is not None}
    cases = " ".join(
        f"i32 {number}, label %{'A' if index in after else 'B'}{index}"
        for index, number in entries.items()
        if number
    )
    e.do(f"switch i32 %entry, label %B0 [ {cases} ]")
    for block in unit.flow.blocks:
        e.start_block()
        e.block_index = block.index
        e.label(f"B{block.index}")
        if needs_slow(unit, block):
            _leave(e, block.index)
            continue
        if block.warp_sync is not None and warp.constant_members(block.warp_sync) is None:
            _leave_unless_full(e, block)
        if block.barrier is not None:
            _fast_barrier(e, block)
        e.body(block)
        e.store_slots(block.live_out)
        e.tick(block)
        _fast_end(e, block)
    return _wrap(f"{unit.prefix}_fast", "entry", e, []), e


def _leave(e: Translator, index: int) -> None:
    e.set_warp_field(abi.NEXT_BLOCK, "i32", str(index))
    e.do(f"ret i32 {abi.ONE}")


def _leave_unless_full(e: Translator, block: Block) -> None:
    assert block.warp_sync is not None
    operand = warp.member_operand(block.warp_sync)
    full = warp.all_lanes(e, e.read(operand, 32))  # type: ignore[arg-type]
    stay, leave = e.new_label("together"), e.new_label("apart")
    e.do(f"br i1 {full}, label %{stay}, label %{leave}, !prof !1")
    e.label(leave)
    _leave(e, block.index)
    e.label(stay)


def _fast_barrier(e: Translator, block: Block) -> None:
    assert block.barrier is not None
    e.instr = block.barrier
    number, count, predicate, kind = barrier_operands(block.barrier)
    e.set_warp_field(abi.NEXT_BLOCK, "i32", str(block.index))
    args = [("ptr", "%w")]
    for operand in (number, count):
        val = e.read(operand, 32) if operand is not None else e.constant(0, 32)  # type: ignore[arg-type]
        args.append(("i32", e.scalars(val, "i32", 1)[0]))
    bits = "0"
    if predicate is not None:
        bits = e.ins(f"bitcast <32 x i1> {e.vector(e.read(predicate, 1))} to i32")  # type: ignore[arg-type]
    result = e.call("i32", "rt_barrier", [*args, ("i32", str(kind)), ("i32", bits)])
    e.set_warp_field(abi.REDUCED, "i32", result)
    e.branch(f"A{block.index}")
    e.label(f"A{block.index}")
    e.start_block()
    _take_reduction(e, block.barrier, e.warp_field(abi.REDUCED, "i32"))


def _fast_end(e: Translator, block: Block) -> None:
    end = block.terminator
    if end is None:
        e.branch(f"B{block.index + 1}")
    elif end.op in ("ret", "exit", "trap"):
        e.set_warp_field(abi.NEXT_BLOCK, "i32", str(block.index))
        e.do(f"ret i32 {abi.EXIT}")
    elif end.op == "brx":
        index = e.scalars(e.read(end.args[0], 32), "i32", 1)[0]
        cases = " ".join(f"i32 {i}, label %B{t}" for i, t in enumerate(block.successors))
        e.do(f"switch i32 {index}, label %B{block.successors[0]} [ {cases} ]")
    elif end.guard is None:
        e.branch(f"B{block.successors[0]}")
    else:
        taken_to, fall_to = block.successors
        p = e.predicate_bits(end)
        if p.flat and len(p.names) == 1:
            e.do(f"br i1 {p.names[0]}, label %B{taken_to}, label %B{fall_to}")
            return
        bits = e.ins(f"bitcast <32 x i1> {e.vector(p)} to i32")
        some, apart = e.new_label("some"), e.new_label("apart")
        e.do(f"br i1 {e.ins(f'icmp eq i32 {bits}, -1')}, label %B{taken_to}, label %{some}")
        e.label(some)
        e.do(f"br i1 {e.ins(f'icmp eq i32 {bits}, 0')}, label %B{fall_to}, label %{apart}")
        e.label(apart)
        e.set_warp_field(abi.NEXT_BLOCK, "i32", str(taken_to))
        e.set_warp_field(abi.NEXT_BLOCK + 4, "i32", str(fall_to))
        e.set_warp_field(abi.NEXT_MASK, "i32", bits)
        e.set_warp_field(abi.NEXT_MASK + 4, "i32", e.ins(f"xor i32 {bits}, -1"))
        e.do(f"ret i32 {abi.TWO}")
