"""Statements that threads execute together: barriers, shuffles, votes, shared memory, atomics."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.expressions import Array, Reach, Scope, Variable
from tests.fuzz.scalars import F32, F64, I32, I64, U32, U64
from tests.fuzz.statements import MAX_DEPTH, MAX_TRIPS, Place, Statements, Together
from tests.fuzz.tree import Node, Part, plain

SHUFFLED = (I32, U32, U32, I64, U64, F32, F32, F64)
SHARED_WORDS = Array("sh_u", U32, 512, "shared")
SHARED_FLOATS = Array("sh_f", F32, 512, "shared")
SHARED_DOUBLES = Array("dyn_d", F64, 512, "shared")  # in dynamic shared memory
SHARED_CELLS = Array("sh_cells", U32, 32, "shared")  # updated by atomics
Maker = Callable[[Place, Scope], list[Node]]


class Collectives(Statements):
    """Statements of kernels: those of a single thread and those of many."""

    def choices(self, place: Place, scope: Scope) -> list[tuple[float, Maker]]:
        options = super().choices(place, scope)
        if scope.in_kernel:
            options.append((1.2, self.atomic))
        if place.together >= Together.MASK:
            options += [(4, self.shuffle), (2, self.vote), (1.5, self.match), (1.5, self.redux),
                        (0.8, self.warp_exchange)]  # fmt: skip
            if place.depth < MAX_DEPTH:
                options.append((3, self.masked_branch))
                if place.trips < MAX_TRIPS:
                    options.append((1.5, self.shrinking_loop))
        if place.together >= Together.WARP and place.depth < MAX_DEPTH:
            options.append((1.2, self.warp_branch))
        if place.together is Together.BLOCK:
            options += [
                (3, self.shared_write),
                (1.5, self.shared_atomic),
                (0.8, self.block_vote),
                (0.7, self.tree_sum),
            ]
        return options

    # ---- warps ----

    def masked_branch(self, place: Place, scope: Scope) -> list[Node]:
        """Parts the lanes, but both sides know who is with them."""
        taken, here = self.fresh("c"), self.fresh("m")
        nodes = [plain(f"const bool {taken} = {self.expressions.condition(scope, 2)};\n"
                       f"const u32 {here} = __ballot_sync({place.mask}, {taken});")]  # fmt: skip
        common = {"together": Together.MASK, "full": False, "leave": None}
        parts = [
            Part(
                f"if ({taken}) {{",
                self.block(place.inside(mask=here, **common), scope, self.rng.randrange(1, 4)),
            )
        ]
        if self.rng.random() < 0.5:
            other = place.inside(mask=f"({place.mask} & ~{here})", **common)
            parts.append(Part("} else {", self.block(other, scope, self.rng.randrange(1, 3))))
        return [*nodes, Node(parts, "}")]

    def warp_branch(self, place: Place, scope: Scope) -> list[Node]:
        """A condition that is the same within each warp: warps part, lanes do not."""
        condition = self.expressions.condition(scope, 2, Reach.WARP)
        leave = place.leave if place.leave in (Reach.THREAD, Reach.WARP) else None
        inside = place.inside(together=Together.WARP, leave=leave)
        parts = [Part(f"if ({condition}) {{", self.block(inside, scope, self.rng.randrange(1, 4)))]
        if self.rng.random() < 0.4:
            parts.append(Part("} else {", self.block(inside, scope, self.rng.randrange(1, 3))))
        return [Node(parts, "}")]

    def shrinking_loop(self, place: Place, scope: Scope) -> list[Node]:
        """Lanes drop out of a loop one by one; those that remain go on together."""
        go, members, remaining, counter = self.fresh("c"), self.fresh("m"), self.fresh("m"), self.fresh("i")
        inside = place.inside(
            together=Together.MASK, mask=members, full=False, trips=place.trips * 5, leave=None
        )
        head = (f"bool {go} = {self.expressions.condition(scope, 1)};\nu32 {members} = {place.mask};\n"
                f"for (i32 {counter} = 0; {counter} < 7; ++{counter}) {{\n"
                f"    const u32 {remaining} = __ballot_sync({members}, {go});\n"
                f"    if (!{go}) break;\n    {members} = {remaining};")  # fmt: skip
        inner = scope.child()
        inner.variables.append(Variable(counter, I32, Reach.THREAD, mutable=False))
        body = self.block(inside, inner, self.rng.randrange(1, 4))
        body.append(plain(f"{go} = {self.expressions.condition(inner, 2)};"))
        return [Node([Part(head, body)], "}")]

    def shuffle(self, place: Place, scope: Scope) -> list[Node]:
        kind = self.rng.choice(SHUFFLED)
        width = self.rng.choice((32, 32, 32, 16, 8, 4, 2))
        form = self.rng.choice(("xor", "xor", "up", "down", "index", "broadcast"))
        value, name = self.fresh("v"), self.fresh("v")
        nodes = [self.define(value, kind, self.value(kind, scope), Reach.THREAD, scope)]
        if form == "broadcast":
            source = self.expressions.make(U32, scope, 1, Reach.BLOCK)
            if place.full:
                text = f"__shfl_sync({place.mask}, {value}, (i32)({source} & 31u))"
            else:
                text = f"__shfl_sync({place.mask}, {value}, (i32)member({place.mask} & live, {source}))"
            reach = Reach.WARP if place.together >= Together.WARP else Reach.THREAD
            return [*nodes, self.define(name, kind, text, reach, scope)]
        amount = (
            str(self.rng.randrange(0, 32)) + "u"
            if form == "index"
            else str(self.rng.randrange(1, width)) + "u"
        )
        if self.rng.random() < 0.35:
            amount = self.fresh("v")
            limit = 31 if form == "index" else width - 1
            nodes.append(
                self.define(amount, U32, f"{self.value(U32, scope)} & {limit}u", Reach.THREAD, scope)
            )
        call = {
            "index": "__shfl_sync",
            "xor": "__shfl_xor_sync",
            "up": "__shfl_up_sync",
            "down": "__shfl_down_sync",
        }
        operand = amount if form in ("up", "down") else f"(i32){amount}"
        text = f"{call[form]}({place.mask}, {value}, {operand}, {width})"
        if not place.full:
            text = (
                f"keep_member({place.mask} & live, source_{form}(lane, {amount}, {width}u), {text}, {value})"
            )
        return [*nodes, self.define(name, kind, text, Reach.THREAD, scope)]

    def common_reach(self, place: Place) -> Reach:
        return Reach.WARP if place.together >= Together.WARP else Reach.THREAD

    def vote(self, place: Place, scope: Scope) -> list[Node]:
        condition = self.expressions.condition(scope, 2)
        name = self.fresh("w")
        call = self.rng.choice(("__ballot_sync", "__ballot_sync", "__any_sync", "__all_sync"))
        return [
            self.define(name, U32, f"(u32){call}({place.mask}, {condition})", self.common_reach(place), scope)
        ]

    def match(self, place: Place, scope: Scope) -> list[Node]:
        kind = self.rng.choice((U32, U64, I32))
        key = f"({kind.name})({self.value(kind, scope)} & {self.rng.choice((1, 3, 6))})"
        name = self.fresh("v")
        if self.rng.random() < 0.6:
            return [self.define(name, U32, f"__match_any_sync({place.mask}, {key})", Reach.THREAD, scope)]
        flag = self.fresh("v")
        scope.variables.append(Variable(flag, I32, self.common_reach(place), mutable=False))
        return [
            plain(
                f"i32 {flag} = 0;\nu32 {name} = __match_all_sync({place.mask}, {key}, &{flag});\nacc ^= {name};"
            )
        ]

    def redux(self, place: Place, scope: Scope) -> list[Node]:
        operation = self.rng.choice(("add", "min", "max", "and", "or", "xor"))
        kind = U32 if operation in ("and", "or", "xor") else self.rng.choice((U32, I32))
        text = f"__reduce_{operation}_sync({place.mask}, {self.value(kind, scope)})"
        return [self.define(self.fresh("w"), kind, text, self.common_reach(place), scope)]

    def warp_exchange(self, place: Place, scope: Scope) -> list[Node]:
        """Through shared memory that only this warp uses, ordered by __syncwarp."""
        value, source, name = self.fresh("v"), self.fresh("v"), self.fresh("v")
        text = (f"u32 {value} = {self.value(U32, scope)};\nu32 {source} = {self.value(U32, scope)};\n"
                f"__syncwarp({place.mask});\nsh_warp[lin] = {value};\n__syncwarp({place.mask});\n"
                f"u32 {name} = sh_warp[(lin & ~31u) | member({place.mask} & live, {source})];\n"
                f"__syncwarp({place.mask});")  # fmt: skip
        scope.variables.append(Variable(name, U32, Reach.THREAD))
        return [plain(text)]

    # ---- blocks ----

    def shared_write(self, place: Place, scope: Scope) -> list[Node]:
        """Every thread writes a cell of its own, in some permutation, between two barriers."""
        array = self.rng.choice((SHARED_WORDS, SHARED_FLOATS, SHARED_DOUBLES))
        shift = self.rng.randrange(1, 40)
        index = self.rng.choice(("lin", "lin", "nt - 1u - lin", f"(lin + {shift}u) & 511u", f"lin ^ {shift}u",
                                 "ty * blockDim.x + tx + tz * blockDim.x * blockDim.y",
                                 f"(lin * {shift | 1}u) & 511u", "(u32)(511 - (i32)lin)"))  # fmt: skip
        value = self.fresh("v")
        nodes = [plain(f"{array.kind.name} {value} = {self.value(array.kind, scope)};\n__syncthreads();\n"
                       f"{array.name}[{index}] = {value};\n__syncthreads();")]  # fmt: skip
        scope.variables.append(Variable(value, array.kind, Reach.THREAD))
        if self.rng.random() < 0.7:
            read = self.rng.choice((f"(lin + {shift}u) & 511u", "nt - 1u - lin", "lin ^ 1u", f"{shift}u",
                                    f"{self.value(U32, scope)} & 511u", "lane", "(tx & 255u) * 2u"))  # fmt: skip
            nodes.append(
                self.define(self.fresh("v"), array.kind, f"{array.name}[{read}]", Reach.THREAD, scope)
            )
        return nodes

    def shared_atomic(self, place: Place, scope: Scope) -> list[Node]:
        operation = self.rng.choice(("Add", "Min", "Max", "And", "Or", "Xor"))
        value, index = self.fresh("v"), self.fresh("v")
        text = f"u32 {value} = {self.value(U32, scope)};\nu32 {index} = {self.value(U32, scope)};\n"
        update = f"atomic{operation}(&sh_cells[{index} & 31u], {value});"
        if self.rng.random() < 0.4:  # the condition may read the cells: take it before the barrier
            taken = self.fresh("c")
            text += f"const bool {taken} = {self.expressions.condition(scope, 1)};\n"
            update = f"if ({taken}) {update}"
        read = self.define(
            self.fresh("v"), U32, f"sh_cells[{self.value(U32, scope)} & 31u]", Reach.THREAD, scope
        )
        return [plain(f"{text}__syncthreads();\n{update}\n__syncthreads();"), read]

    def block_vote(self, place: Place, scope: Scope) -> list[Node]:
        call = self.rng.choice(("count", "or", "and"))
        text = f"__syncthreads_{call}({self.expressions.condition(scope, 2)})"
        if call != "count":  # any non-zero value stands for true
            text = f"({text} != 0)"
        return [self.define(self.fresh("b"), I32, f"(i32){text}", Reach.BLOCK, scope)]

    def tree_sum(self, place: Place, scope: Scope) -> list[Node]:
        """The classical reduction in shared memory, on threads of which fewer and fewer take part."""
        value, step, name = self.fresh("v"), self.fresh("i"), self.fresh("b")
        kind, array = self.rng.choice(((U32, "sh_u"), (F32, "sh_f")))
        text = (f"{kind.name} {value} = {self.value(kind, scope)};\n__syncthreads();\n{array}[lin] = {value};\n"
                f"__syncthreads();\nfor (u32 {step} = 256u; {step} > 0u; {step} >>= 1) {{\n"
                f"    if (lin < {step} && lin + {step} < nt) {array}[lin] += {array}[lin + {step}];\n"
                f"    __syncthreads();\n}}\nconst {kind.name} {name} = {array}[0];")  # fmt: skip
        scope.variables.append(Variable(name, kind, Reach.BLOCK, mutable=False))
        return [plain(text)]

    # ---- global atomics ----

    def atomic(self, place: Place, scope: Scope) -> list[Node]:
        """Updates whose order does not show: each cell knows one operation, its result is not used."""
        roll = self.rng.random()
        index = self.rng.choice((self.value(U32, scope), "lin", "0u", "blockIdx.x", "tx"))
        word, wide = self.value(U32, scope), self.value(U64, scope)
        if roll < 0.15:  # a thread's own slot: here the result is certain
            return [
                self.define(
                    self.fresh("v"), U32, f"atomicAdd(&{self.slot(U32, 2)}, {word})", Reach.THREAD, scope
                )
            ]
        if roll < 0.22:
            return [self.cas_loop(index, word)]
        return [plain(self.rng.choice((
            f"atomicAdd(&cells.u[{index} & 15u], {word});", f"atomicSub(&cells.u[{index} & 15u], {word});",
            f"atomicMin(&cells.u[16u + ({index} & 7u)], {word});",
            f"atomicMax((i32*)&cells.u[24u + ({index} & 7u)], (i32){word});",
            f"atomicAnd(&cells.u[32u + ({index} & 7u)], {word} | 0xffu);",
            f"atomicOr(&cells.u[40u + ({index} & 7u)], {word} & 0xff00u);",
            f"atomicXor(&cells.u[48u + ({index} & 7u)], {word});",
            f"atomicInc(&cells.u[56u + ({index} & 3u)], 1000u);",
            f"atomicAdd(&cells.l[{index} & 31u], {wide});", f"atomicMax(&cells.l[32u + ({index} & 15u)], {wide});",
            f"atomicXor(&cells.l[48u + ({index} & 15u)], {wide});",
            f"atomicAdd(&cells.f[{index} & 63u], (f32)({word} & 15u));",
            f"atomicAdd(&cells.d[{index} & 63u], (f64)({word} & 1023u));",
        )))]  # fmt: skip

    def cas_loop(self, index: str, word: str) -> Node:
        seen, was, cell, value = (self.fresh(x) for x in ("v", "v", "p", "v"))
        return plain(f"u32* {cell} = &cells.u[{index} & 15u];\nu32 {value} = {word};\nu32 {seen} = *{cell}, {was};\n"
                     f"do {{\n    {was} = {seen};\n    {seen} = atomicCAS({cell}, {was}, {was} + {value});\n"
                     f"}} while ({seen} != {was});")  # fmt: skip
