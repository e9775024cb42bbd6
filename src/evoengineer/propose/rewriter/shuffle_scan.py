"""A scan in shared memory by doubling distances becomes a scan within warps, with three barriers for any block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tree_sitter import Node

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.syntax.dependence import condition_of, statements_of
from evoengineer.propose.syntax.kernels import fresh_name
from evoengineer.propose.syntax.reductions import is_barrier, squeezed
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    named,
    operator,
    parse,
    stripped,
    text,
    walk,
)


@dataclass(frozen=True, slots=True)
class ShuffleScan:
    """Recognises, with any names and with `+=` or `*=`,

    for (int d = 1; d < N; d *= 2) { T before = t >= d ? s[t - d] : 0; barrier; s[t] += before; barrier; }
    """

    name: str = "shuffle scan"
    thought: str = (
        "A scan within warps by shuffles, then over the sums of warps, needs three barriers where doubling "
        "distances in shared memory needs two for every step."
    )
    treats: tuple[str, ...] = ("barriers", "latency_bound", "dram_bound")
    weight: float = 3.0
    fresh: bool = False

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        edits = []
        for node in walk(parse(source).root_node):
            if node.type == "for_statement":
                try:
                    edits.append(Edit(node.start_byte, node.end_byte, _Scan(node).text(source)))
                except NotUnderstood:
                    continue
        if edits:
            yield Change("scan by shuffles", edited(source, edits))


class _Scan:
    """The parts of the loop."""

    def __init__(self, loop: Node) -> None:
        self.size = self._doubles(loop)
        inside = statements_of(field(loop, "body"))
        if [is_barrier(each) for each in inside] != [False, True, False, True]:
            raise NotUnderstood("no step of a scan")
        declared = [each for each in named(inside[0]) if each.type == "init_declarator"]
        if inside[0].type != "declaration" or len(declared) != 1:
            raise NotUnderstood("no step of a scan")
        self.type = text(field(inside[0], "type"))
        before = text(field(declared[0], "declarator"))
        value = stripped(field(declared[0], "value"))
        if value.type != "conditional_expression" or self.type not in ("float", "double", "int"):
            raise NotUnderstood("no step of a scan")
        test = stripped(condition_of(value))
        load, other = stripped(field(value, "consequence")), stripped(field(value, "alternative"))
        if test.type != "binary_expression" or load.type != "subscript_expression":
            raise NotUnderstood("no step of a scan")
        self.thread, self.array = squeezed(field(test, "left")), text(field(load, "argument"))
        step = stripped(named(inside[2])[0]) if named(inside[2]) else inside[2]
        if (
            squeezed(test) != f"{self.thread}>={self.distance}"
            or squeezed(load) != f"{self.array}[{self.thread}-{self.distance}]"
            or step.type != "assignment_expression"
            or squeezed(field(step, "left")) != f"{self.array}[{self.thread}]"
            or squeezed(field(step, "right")) != before
        ):
            raise NotUnderstood("no step of a scan")
        self.how, self.neutral = operator(step), text(other)
        zeros = ("0", "0.0f", "0.f", "0.0") if self.how == "+=" else ("1", "1.0f", "1.f", "1.0")
        if self.how not in ("+=", "*=") or self.neutral not in zeros:
            raise NotUnderstood("no step of a scan")

    def _doubles(self, loop: Node) -> str:
        declared = [each for each in named(field(loop, "initializer")) if each.type == "init_declarator"]
        if len(declared) != 1 or squeezed(field(declared[0], "value")) != "1":
            raise NotUnderstood("no doubling")
        self.distance = name = text(field(declared[0], "declarator"))
        condition, update = stripped(field(loop, "condition")), squeezed(field(loop, "update"))
        if (
            condition.type != "binary_expression"
            or squeezed(field(condition, "left")) != name
            or operator(condition) != "<"
            or update not in (f"{name}*=2", f"{name}<<=1", f"{name}={name}*2", f"{name}+={name}")
        ):
            raise NotUnderstood("no doubling")
        size = field(condition, "right")
        if size.type not in ("identifier", "number_literal"):
            raise NotUnderstood("a number of threads that may be anything")
        return text(size)

    def text(self, source: str) -> str:
        scanned, total = fresh_name(source, "scanned"), fresh_name(source, "of_warps")
        kind, size, thread, how = self.type, self.size, self.thread, self.how

        def within(value: str) -> str:
            return (
                f"for (int distance = 1; distance < 32; distance *= 2) {{\n"
                f"    const {kind} before = __shfl_up_sync(0xffffffffu, {value}, distance);\n"
                f"    if ({thread} % 32 >= distance) {value} {how} before;\n}}\n"
            )

        lines = (
            f'{{\nstatic_assert({size} >= 32 && {size} <= 1024 && {size} % 32 == 0, "threads of a scan");\n'
            f"__shared__ {kind} {total}[32];\n"
            f"{kind} {scanned} = {self.array}[{thread}];\n"
            f"{within(scanned)}"
            f"if ({thread} % 32 == 31) {total}[{thread} / 32] = {scanned};\n"
            f"__syncthreads();\n"
            f"if ({thread} < 32) {{\n"
            f"{kind} sum_of_warps = {thread} < {size} / 32 ? {total}[{thread}] : {self.neutral};\n"
            f"{within('sum_of_warps')}"
            f"{total}[{thread}] = sum_of_warps;\n}}\n"
            f"__syncthreads();\n"
            f"if ({thread} >= 32) {scanned} {how} {total}[{thread} / 32 - 1];\n"
            f"{self.array}[{thread}] = {scanned};\n"
            f"__syncthreads();\n}}"
        )
        return lines.replace("\n", "\n        ")
