"""Filling: how a step of an operand comes from global to shared memory.

A whole step passes through registers, so that the next one can be under way while the present one is computed
(`AHEAD`), four elements at a time where the addresses allow it. Whether they do is found out once, before the loop:
the first address must be a multiple of 16 bytes, and moving along the other direction must keep it one. Addresses that
are not sums of a counter, a dimension and what is the same for the block are loaded one by one. The last step, which
may be shorter, goes straight to shared memory, and so does everything where the test fails: two ways through registers
would take twice as many of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from evoengineer.propose.rewriter.widening import STEP, Loop
from evoengineer.propose.syntax.addresses import has_unit_stride, is_affine
from evoengineer.propose.syntax.tree import expression, render

PADDING = 4  # elements after each row: writes along the rows hit different banks, and rows stay aligned
_WIDE = {"float": "float4", "int": "int4", "unsigned": "uint4", "unsigned int": "uint4"}


@dataclass(frozen=True, slots=True)
class Side:
    """A dimension of the tile as staging needs it: names of constants and variables of the kernel."""

    dim: str
    type: str
    extent: str
    tile: str  # constant: outputs of a block along it
    first: str  # variable: the block's first
    place: str  # expression: where the thread's output lies in the tile


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a loop that is staged `step` iterations at a time, in an array `name` of shared memory."""

    name: str
    kind: str
    sides: tuple[Side, ...]
    address: str  # in terms of `counter_at` and `dimension_at`
    loop: Loop
    step: str  # constants: iterations at once, threads of a block
    threads: str
    wide: bool  # load four elements at a time where the addresses allow it

    @property
    def row(self) -> str:
        return " * ".join(side.tile for side in self.sides)

    @property
    def declaration(self) -> str:
        return f"__shared__ __align__(16) {self.kind} {self.name}[{self.step}][{self.row} + {PADDING}];\n"

    @property
    def bytes(self) -> str:
        return f"{self.step} * ({self.row} + {PADDING}) * sizeof({self.kind})"

    @property
    def _along(self) -> bool:
        """Whether memory runs with the loop, not with a dimension."""
        return has_unit_stride(self.address, f"{self.loop.name}_at")

    @property
    def _wide(self) -> str:
        """The type of four elements; empty where they cannot be loaded at once."""
        side = self.sides[-1]
        names = {f"{self.loop.name}_at", f"{side.dim}_at"}
        if not self.wide or len(self.sides) > 1 or not is_affine(self.address, names):
            return ""
        if not self._along and not has_unit_stride(self.address, f"{side.dim}_at"):
            return ""
        return _WIDE.get(self.kind, "")

    # -- a whole step, through registers ------------------------------------------------------------------

    def before(self, pad: str, first: str) -> str:
        """Registers for a step from `first` on, and whether it can be loaded four elements at a time."""
        width = 4 if self._wide else 1
        count = f"({self.step} * ({self.row}) / {width} + {self.threads} - 1) / {self.threads} * {width}"
        printed = f"{pad}{self.kind} held_{self.name}[{count}];\n"
        if not self._wide:
            return printed
        side = self.sides[0]
        ends = f"{self.step} % 4 == 0" if self._along else f"({side.extent}) % 4 == 0"
        moved = (first, f"{side.first} + 1") if self._along else (f"{first} + 1", side.first)
        start = f"&({self._at(first, side.first)})"
        apart = f"(&({self._at(*moved)}) - {start}) % 4 == 0"
        aligned = f"reinterpret_cast<uintptr_t>({start}) % 16 == 0"
        return (
            printed
            + f"{pad}const bool wide_{self.name} = ({self.row}) % 4 == 0 && {ends} && {aligned} && {apart};\n"
        )

    def load(self, pad: str, block: str) -> str:
        """Into the registers; nothing where elements are not loaded four at a time though they could be."""
        inner = pad + STEP
        if not self._wide:
            held = f"{inner}held_{self.name}[part / {self.threads}] = {self.address};\n"
            return self._items(pad, 1, self._indices(inner, block) + held)
        inner += STEP
        body = self._indices(inner, block, 4)
        body += (
            f"{inner}const {self._wide} four = *reinterpret_cast<const {self._wide}*>(&({self.address}));\n"
        )
        for number, element in enumerate("xyzw"):
            body += f"{inner}held_{self.name}[part / {self.threads} * 4 + {number}] = four.{element};\n"
        return f"{pad}if (wide_{self.name}) {{\n{self._items(pad + STEP, 4, body)}{pad}}}\n"

    def store(self, pad: str, block: str) -> str:
        """From the registers to shared memory; straight from global memory what is not in registers."""
        inner = pad + STEP
        if not self._wide:
            held = f"{inner}{self.name}[step][place] = held_{self.name}[part / {self.threads}];\n"
            return self._items(pad, 1, self._places(inner) + held)
        held = f"held_{self.name}[part / {self.threads} * 4 + "
        straight = self._indices(inner + STEP, block)
        straight += f"{inner + STEP}{self.name}[step][place] = {self.address};\n"
        inner += STEP
        body = self._places(inner, 4)
        if self._along:
            for number in range(4):
                body += f"{inner}{self.name}[step + {number}][place] = {held}{number}];\n"
        else:
            four = ", ".join(f"{held}{number}]" for number in range(4))
            target = f"*reinterpret_cast<{self._wide}*>(&{self.name}[step][place])"
            body += f"{inner}{target} = make_{self._wide}({four});\n"
        return (
            f"{pad}if (wide_{self.name}) {{\n{self._items(pad + STEP, 4, body)}{pad}}} else {{\n"
            f"{self._items(pad + STEP, 1, straight, unroll=' 4')}{pad}}}\n"
        )

    # -- a step that may be shorter -----------------------------------------------------------------------

    def fill(self, pad: str, block: str, end: str) -> str:
        """Straight to shared memory, zeros past the end of the loop."""
        inner = pad + STEP
        value = f"{self.loop.name}_at < {end} ? {self.address} : {self.kind}()"
        return self._items(
            pad, 1, self._indices(inner, block) + f"{inner}{self.name}[step][place] = {value};\n"
        )

    # -- parts --------------------------------------------------------------------------------------------

    def _items(self, pad: str, width: int, body: str, unroll: str = "") -> str:
        """The loop over a thread's share of a step, in groups of `width` elements."""
        count = f"{self.step} * ({self.row})" + (f" / {width}" if width > 1 else "")
        inner = pad + STEP
        return (
            f"{pad}#pragma unroll{unroll}\n"
            f"{pad}for (int part = 0; part < {count}; part += {self.threads}) {{\n"
            f"{inner}const int item = part + threadIdx.x;\n"
            f"{inner}if ({count} % {self.threads} != 0 && item >= {count}) break;\n"
            f"{body}{pad}}}\n"
        )

    def _places(self, pad: str, width: int = 1) -> str:
        """Where an item lies in the array."""
        along, times = self._along, f" * {width}" if width > 1 else ""
        size = self.step if along else f"({self.row})"
        size = f"({size} / {width})" if width > 1 else size
        fast, slow = f"item % {size}{times}", f"item / {size}"
        step, place = (fast, slow) if along else (slow, fast)
        return f"{pad}const int step = {step}, place = {place};\n"

    def _indices(self, pad: str, block: str, width: int = 1) -> str:
        """Where an item lies in the array, and the indices of its address."""
        name = self.loop.name
        lines = [self._places(pad, width), f"{pad}const {self.loop.type} {name}_at = {block} + step;\n"]
        behind = "1"
        for side in reversed(self.sides):
            index = f"place / ({behind}) % {side.tile}" if len(self.sides) > 1 else "place"
            last = f"static_cast<{side.type}>(({side.extent}) - {1 if self._along else width})"
            lines.append(
                f"{pad}const {side.type} {side.dim}_at = "
                f"min(static_cast<{side.type}>({side.first} + {index}), {last});\n"
            )
            behind = f"{behind} * {side.tile}"
        return "".join(lines)

    def _at(self, counter: str, index: str) -> str:
        """The address at one place, as an expression."""
        side = self.sides[0]
        values = {
            f"{self.loop.name}_at": f"static_cast<{self.loop.type}>({counter})",
            f"{side.dim}_at": f"static_cast<{side.type}>({index})",
        }
        return render(expression(self.address), values)
