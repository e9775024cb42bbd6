"""Random statements: control flow, arrays, calls and stores.

A `Place` says who is known to be here together, and that decides what may be written: block
barriers only where the whole block is, warp collectives only for a known member mask. So every
kernel is free of races and deadlocks by construction, and has one right answer.
"""

from __future__ import annotations

import enum
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.fuzz.expressions import GLOBALS, Array, Expressions, Reach, Scope, Variable
from tests.fuzz.scalars import COMMON, F32, F64, I16, I32, I64, U8, U16, U32, U64, Scalar
from tests.fuzz.tree import Node, Part, plain


class Together(enum.IntEnum):
    """Which threads are certain to be at a place at the same time."""

    NOBODY = 0
    MASK = 1  # the lanes of the place's mask
    WARP = 2  # all lanes of the warp that have not exited
    BLOCK = 3  # all threads of the block that have not exited


@dataclass(frozen=True)
class Place:
    together: Together
    mask: str = ""  # expression for the member mask, where together >= MASK; may name lanes that do not exist
    full: bool = False  # the mask is all 32 lanes, for certain
    depth: int = 0
    trips: int = 1  # product of the trip counts of the loops around
    leave: Reach | None = None  # break/continue allowed if the condition has this reach
    may_return: bool = False  # in the tail of a kernel, where nothing collective follows

    def inside(self, **changes: object) -> Place:
        return replace(self, depth=self.depth + 1, **changes)  # type: ignore[arg-type]

    @property
    def reach(self) -> Reach:
        """The reach a condition needs to keep everybody together."""
        return {Together.BLOCK: Reach.BLOCK, Together.WARP: Reach.WARP, Together.MASK: Reach.WARP}.get(
            self.together, Reach.THREAD
        )


NOWHERE = {"together": Together.NOBODY, "mask": "", "full": False}
VECTORS = (
    ("uint4", "in.u", U32, 4), ("uint2", "in.u", U32, 2), ("float4", "in.f", F32, 4), ("float2", "in.f", F32, 2),
    ("double2", "in.d", F64, 2), ("longlong2", "in.l", I64, 2), ("short4", "in.h", I16, 4), ("short2", "in.h", I16, 2),
    ("uchar4", "in.b", U8, 4), ("uchar2", "in.b", U8, 2),
)  # fmt: skip
MAX_TRIPS = 150
MAX_DEPTH = 4


class Statements:
    """Grows statement lists. Subclassed by `Collectives`, which adds what threads do together."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.expressions = Expressions(rng)
        self.numbers = itertools.count()

    def fresh(self, prefix: str) -> str:
        return f"{prefix}_{next(self.numbers)}"

    def block(self, place: Place, scope: Scope, count: int) -> list[Node]:
        """A list of statements. Its variables flow into `acc` at the end, so that they matter."""
        inner = scope.child()
        known = len(inner.variables)
        nodes = self.sequence(place, inner, count)
        for one in inner.variables[known:]:
            if self.rng.random() < 0.6 and any(v.name == "acc" for v in inner.variables):
                nodes.append(plain(f"acc = acc * 3u + {self.word(one.name, one.kind)};"))
        return nodes

    def sequence(self, place: Place, scope: Scope, count: int) -> list[Node]:
        nodes: list[Node] = []
        for _ in range(count):
            nodes += self.statement(place, scope)
        return nodes

    def statement(self, place: Place, scope: Scope) -> list[Node]:
        choices = self.choices(place, scope)
        weights = [weight for weight, _ in choices]
        return self.rng.choices([make for _, make in choices], weights)[0](place, scope)

    def choices(self, place: Place, scope: Scope) -> list[tuple[float, Callable[[Place, Scope], list[Node]]]]:
        options: list[tuple[float, Callable[[Place, Scope], list[Node]]]] = [
            (5, self.declare),
            (5, self.assign),
        ]
        if place.depth < MAX_DEPTH:
            options += [(3, self.branch), (1, self.switch)]
            if place.trips < MAX_TRIPS:
                options += [(1.5, self.uniform_loop), (1.5, self.thread_loop)]
        options += [(1, self.local_array), (1.5, self.array_write)]
        if place.leave is not None:
            options.append((1.5, self.leave_loop))
        if scope.in_kernel:
            options += [(1, self.vector_load), (1, self.store), (0.7, self.generic_pointer)]
            if place.may_return:
                options.append((0.7, self.early_return))
        if scope.in_kernel and scope.routines:
            options += [(0.5, self.indirect_call), (0.5, self.struct_call), (0.5, self.pointer_call)]
        return options

    @staticmethod
    def word(text: str, kind: Scalar) -> str:
        """The value folded to 32 bits."""
        if kind is F32:
            return f"bits_of({text})"
        if kind is F64:
            return f"(u32)(bits_of({text}) >> 7)"
        return f"(u32)({text} ^ ({text} >> 32))" if kind.bits == 64 else f"(u32){text}"

    # ---- variables ----

    def declare(self, place: Place, scope: Scope) -> list[Node]:
        kind = self.rng.choice(COMMON)
        reaches = [Reach.THREAD, Reach.THREAD]
        if place.together >= Together.WARP:
            reaches.append(Reach.WARP)
        if place.together is Together.BLOCK:
            reaches += [Reach.BLOCK]
        reach = self.rng.choice(reaches)
        prefix = {Reach.THREAD: "v", Reach.WARP: "w", Reach.BLOCK: "b"}[reach]
        return [self.define(self.fresh(prefix), kind, self.value(kind, scope, reach), reach, scope)]

    def define(self, name: str, kind: Scalar, text: str, reach: Reach, scope: Scope) -> Node:
        scope.variables.append(Variable(name, kind, reach))
        return plain(f"{kind.name} {name} = {text};")

    def value(self, kind: Scalar, scope: Scope, reach: Reach = Reach.THREAD) -> str:
        return self.expressions.make(kind, scope, self.rng.choice((1, 2, 2, 3)), reach)

    def assign(self, place: Place, scope: Scope) -> list[Node]:
        limit = {Together.BLOCK: Reach.BLOCK, Together.WARP: Reach.WARP}.get(place.together, Reach.THREAD)
        targets = [v for v in scope.variables if v.mutable and v.reach <= limit]
        if not targets:
            return self.declare(place, scope)
        one = self.rng.choice(targets)
        text = self.value(one.kind, scope, one.reach)
        if self.rng.random() < 0.4 and (one.kind.floating or one.kind in (U32, U64)):
            return [plain(f"{one.name} {self.rng.choice(('+=', '-=', '*='))} {text};")]
        return [plain(f"{one.name} = {text};")]

    # ---- branches ----

    def branch(self, place: Place, scope: Scope) -> list[Node]:
        """if/else; the condition is either as uniform as the place needs, or parts the threads."""
        if place.together > Together.NOBODY and self.rng.random() < 0.35:
            inside = place.inside()
            condition = self.expressions.condition(scope, 2, place.reach)
        else:
            inside = place.inside(**NOWHERE, leave=place.leave if place.leave is Reach.THREAD else None)
            condition = self.expressions.condition(scope, 2)
        parts = [Part(f"if ({condition}) {{", self.block(inside, scope, self.rng.randrange(1, 4)))]
        while self.rng.random() < 0.45 and len(parts) < 4:
            if self.rng.random() < 0.3 and inside.together is Together.NOBODY:
                header = f"}} else if ({self.expressions.condition(scope, 1)}) {{"
                parts.append(Part(header, self.block(inside, scope, self.rng.randrange(1, 3))))
            else:
                parts.append(Part("} else {", self.block(inside, scope, self.rng.randrange(1, 4))))
                break
        return [Node(parts, "}")]

    def switch(self, place: Place, scope: Scope) -> list[Node]:
        inside = place.inside(**NOWHERE, leave=None)
        reach = Reach.THREAD
        if place.together > Together.NOBODY and self.rng.random() < 0.3:
            inside, reach = place.inside(leave=None), place.reach
        cases = self.rng.choice((3, 4, 6, 9))
        selector = f"{self.expressions.make(U32, scope, 2, reach)} {self.rng.choice(('%', '&'))} {cases}u"
        parts = [Part(f"switch ({selector}) {{")]
        for i in range(cases):
            if self.rng.random() < 0.25:
                continue
            ending = "" if self.rng.random() < 0.3 else "break;"  # or fall through
            body = [Node([Part("{", self.block(inside, scope, self.rng.randrange(1, 3)))], "}")]
            if ending:
                body.append(plain(ending, removable=False))
            parts.append(Part(f"case {i}u:", body))
        parts.append(Part("default:", [Node([Part("{", self.block(inside, scope, 1))], "}")]))
        return [Node(parts, "}")]

    # ---- loops ----

    def uniform_loop(self, place: Place, scope: Scope) -> list[Node]:
        """All threads here make the same number of trips, so they stay together."""
        limit = self.rng.randrange(1, 8)
        inside = place.inside(trips=place.trips * 5, leave=place.reach)
        bound = self.rng.choice((
            str(limit), f"p.trips[{self.rng.randrange(4)}]" if scope.in_kernel else str(limit),
            f"(i32)({self.expressions.make(U32, scope, 1, place.reach)} & 7u)",
        ))  # fmt: skip
        inner = scope.child()
        name = self.fresh("i")
        reach = Reach.BLOCK if place.together is Together.BLOCK else Reach.WARP
        if place.together <= Together.MASK:
            reach = Reach.THREAD
        if self.rng.random() < 0.25:
            header = f"for (u32 {name} = (u32)({bound}); {name}-- > 0u;) {{"
            inner.variables.append(Variable(name, U32, reach, mutable=False))
        else:
            step = self.rng.choice(("++{0}", "++{0}", "{0} += 2"))
            header = f"for (i32 {name} = 0; {name} < {bound}; {step.format(name)}) {{"
            inner.variables.append(Variable(name, I32, reach, mutable=False))
        if self.rng.random() < 0.2:
            header = "#pragma unroll 1\n" + header
        return [Node([Part(header, self.block(inside, inner, self.rng.randrange(1, 5)))], "}")]

    def thread_loop(self, place: Place, scope: Scope) -> list[Node]:
        """Every thread makes its own number of trips."""
        inside = place.inside(**NOWHERE, trips=place.trips * 5, leave=Reach.THREAD)
        inner = scope.child()
        name = self.fresh("i")
        start = "lin" if scope.in_kernel else self.expressions.leaf(U32, scope, Reach.THREAD)
        bound = f"{self.expressions.make(U32, scope, 2)} & 7u"
        condition = self.expressions.condition(inner, 1)
        shape = self.rng.randrange(5)
        close = "}"
        if shape == 0:
            header = f"for (i32 {name} = 0; {name} < (i32)({bound}); ++{name}) {{"
        elif shape == 1:  # strides as in grid-stride loops
            step = self.rng.choice(("blockDim.x", "32u", "nt")) if scope.in_kernel else "29u"
            size = self.rng.randrange(40, 200)
            header = (f"for (u32 {name} = {start} % {size}u; {name} < {size}u && {name} < 10u * {step}; "
                      f"{name} += {step}) {{")  # fmt: skip
        elif shape == 2:
            header = f"for (i32 {name} = 0; {name} < 9 && {condition}; ++{name}) {{"
        elif shape == 3:
            first = f"{self.expressions.make(U32, scope, 1)} & 0xfffu"
            header = f"for (u32 {name} = {first}; {name} != 0u; {name} >>= 2) {{"
        else:
            return self.do_loop(inside, scope)
        inner.variables.append(Variable(name, U32 if shape in (1, 3) else I32, Reach.THREAD, mutable=False))
        return [Node([Part(header, self.block(inside, inner, self.rng.randrange(1, 5)))], close)]

    def do_loop(self, inside: Place, scope: Scope) -> list[Node]:
        name = self.fresh("i")
        condition = self.expressions.condition(scope, 2)
        inner = scope.child()
        inner.variables.append(Variable(name, I32, Reach.THREAD, mutable=False))
        body = self.block(inside, inner, self.rng.randrange(1, 4))
        return [Node([Part(f"i32 {name} = 0;\ndo {{", body)], f"}} while (++{name} < 7 && {condition});")]

    def leave_loop(self, place: Place, scope: Scope) -> list[Node]:
        assert place.leave is not None
        condition = self.expressions.condition(scope, 1, place.leave)
        return [plain(f"if ({condition}) {self.rng.choice(('break', 'continue'))};")]

    def early_return(self, place: Place, scope: Scope) -> list[Node]:
        # Without a store: nvcc would merge it with one behind a later barrier, which the thread then seems to
        # have gone around, and that is reported.
        return [plain(f"if ({self.expressions.condition(scope, 2)}) return;")]

    # ---- memory ----

    def local_array(self, place: Place, scope: Scope) -> list[Node]:
        kind = self.rng.choice((U32, U32, I32, F32, F64, I64, U8, U16))
        length = self.rng.choice((4, 8, 16))
        name = self.fresh("a")
        if self.rng.random() < 0.5:
            values = ", ".join(self.expressions.make(kind, scope, 1) for _ in range(length))
            text = f"{kind.name} {name}[{length}] = {{{values}}};"
        else:
            index = self.fresh("i")
            inner = scope.child()
            inner.variables.append(Variable(index, I32, Reach.THREAD, mutable=False))
            text = (f"{kind.name} {name}[{length}];\nfor (i32 {index} = 0; {index} < {length}; ++{index}) "
                    f"{name}[{index}] = {self.expressions.make(kind, inner, 2)};")  # fmt: skip
        scope.arrays.append(Array(name, kind, length, "local"))
        return [plain(text)]

    def array_write(self, place: Place, scope: Scope) -> list[Node]:
        locals_ = [a for a in scope.arrays if a.space == "local"]
        if not locals_:
            return self.local_array(place, scope)
        array = self.rng.choice(locals_)
        index = f"{self.expressions.make(U32, scope, 1)} & {array.length - 1}u"
        return [plain(f"{array.name}[{index}] = {self.value(array.kind, scope)};")]

    def vector_load(self, place: Place, scope: Scope) -> list[Node]:
        vector, source, kind, width = self.rng.choice(VECTORS)
        name = self.fresh("q")
        mask = 65536 // width - 1
        index = self.rng.choice((
            "lin", f"gid + {self.rng.randrange(100)}u", f"({self.expressions.make(U32, scope, 2)}) & {mask:#x}u",
            "(u8)(lin * 3u)", f"{self.expressions.make(U32, scope, 1, Reach.BLOCK)} & {mask:#x}u", "lin >> 1",
            "2000 - (i32)lin", "lin * 3u + 1u",
        ))  # fmt: skip
        nodes = [plain(f"{vector} {name} = ((const {vector}*){source})[{index}];")]
        for member in "xyzw"[:width]:
            scope.variables.append(Variable(f"{name}.{member}", kind, Reach.THREAD))
        return nodes

    def store_text(self, slot: int, kind: Scalar, text: str) -> str:
        """Stores to one of this thread's own output slots."""
        value = f"canon({text})" if kind.floating else f"({kind.name})({text})"
        return f"{self.slot(kind, slot)} = {value};"

    @staticmethod
    def slot(kind: Scalar, number: int) -> str:
        """An output slot; kernels define SLOT4 and SLOT2 as array of structures or the reverse."""
        if kind is U32:
            return f"out.u[SLOT4({number}u)]"
        return f"out.{ {U64: 'l', F32: 'f', F64: 'd'}[kind] }[SLOT2({number & 1}u)]"

    def store(self, place: Place, scope: Scope) -> list[Node]:
        kind = self.rng.choice((U32, U32, U64, F32, F64))
        node = plain(self.store_text(self.rng.randrange(2, 4), kind, self.value(kind, scope)))
        if self.rng.random() < 0.4:  # read it back: the thread must see its own store
            text = f"canon({self.slot(kind, 3)})" if kind.floating else self.slot(kind, 3)
            return [node, self.define(self.fresh("v"), kind, text, Reach.THREAD, scope)]
        return [node]

    def generic_pointer(self, place: Place, scope: Scope) -> list[Node]:
        """A pointer that may lead to different kinds of memory in different threads."""
        arrays = [*scope.arrays, *GLOBALS]
        first = self.rng.choice(scope.arrays or arrays)
        second = self.rng.choice([a for a in arrays if a.kind is first.kind])
        condition = self.expressions.condition(scope, 1)
        index = self.expressions.make(U32, scope, 1)
        pointer, name = self.fresh("p"), self.fresh("v")
        text = (f"const {first.kind.name}* {pointer} = {condition} ? &{first.name}[{index} & {first.length - 1}u] "
                f": &{second.name}[{index} & {second.length - 1}u];")  # fmt: skip
        return [plain(text), self.define(name, first.kind, f"*{pointer}", Reach.THREAD, scope)]

    # ---- calls that are not expressions; routines.py writes the callees ----

    def indirect_call(self, place: Place, scope: Scope) -> list[Node]:
        """Calls through a pointer that may differ between threads."""
        first, second = scope.routines[0].name, scope.routines[1].name
        pointer, name = self.fresh("fn"), self.fresh("v")
        condition = self.expressions.condition(scope, 1)
        arguments = f"{self.expressions.make(U32, scope, 1)}, {self.expressions.make(U32, scope, 1)}"
        return [
            plain(f"u32 (*{pointer})(u32, u32) = {condition} ? {first} : {second};"),
            self.define(name, U32, f"{pointer}({arguments})", Reach.THREAD, scope),
        ]

    def struct_call(self, place: Place, scope: Scope) -> list[Node]:
        name, callee = self.fresh("s"), scope.routines[0].name.replace("_f0", "_pair")
        first, second = self.value(U32, scope), self.value(I64, scope)
        scope.variables += [
            Variable(f"{name}.a", U32, Reach.THREAD),
            Variable(f"{name}.b", I64, Reach.THREAD),
        ]
        return [
            plain(
                f"Pair {name} = {{{first}, {second}}};\n{name} = {callee}({name}, {self.value(F32, scope)});"
            )
        ]

    def pointer_call(self, place: Place, scope: Scope) -> list[Node]:
        arrays = [a for a in scope.arrays if a.space == "local" and a.kind is U32]
        if not arrays:
            return self.local_array(place, scope)
        callee = scope.routines[0].name.replace("_f0", "_touch")
        text = f"{callee}({self.rng.choice(arrays).name}, {self.value(U32, scope)}, {self.value(U32, scope)})"
        return [self.define(self.fresh("v"), U32, text, Reach.THREAD, scope)]
