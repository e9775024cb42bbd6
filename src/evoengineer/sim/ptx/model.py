"""What PTX text is made of: modules, variables, functions, instructions, operands.

Operands are small tagged objects. A register operand names a *virtual* register; registers declared in
an inner scope (inline assembly) are renamed on parsing, so that a name means one register per function.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_BYTES: dict[str, int] = {
    "pred": 0, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "s16x2": 4, "u16x2": 4, "bf16x2": 4, "tf32": 4,
    "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16, "texref": 8, "samplerref": 8, "surfref": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reg:
    """A virtual register, or one of the special ones (`%tid.x`)."""

    name: str


@dataclass(frozen=True, slots=True)
class Imm:
    """An immediate. Float immediates keep their bits: `0f3F800000` is Imm(0x3F800000, 32)."""

    value: int
    float_bits: int = 0  # 32 or 64 when written as a float, else 0


@dataclass(frozen=True, slots=True)
class Sym:
    """The address of a variable, parameter or function, or a label."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Addr:
    """A memory operand `[base + offset]`; base is a register, a symbol or None (absolute)."""

    base: Reg | Sym | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vec:
    """`{a, b, …}`, also the bracketed operand of texture instructions."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`d|p`: a destination with a predicate beside it."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """`!p` as an operand."""

    reg: Reg


Operand = Reg | Imm | Sym | Addr | Vec | Pair | Not


@dataclass(slots=True, eq=False)
class Instr:
    """One instruction: `op` is the part before the first dot, `mods` the rest in order."""

    op: str
    mods: tuple[str, ...]
    args: tuple[Operand, ...]
    guard: Reg | None
    negated: bool
    location: tuple[int, int]  # file number and line of the latest .loc
    text: str
    # `call` only
    returns: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    line: int = 0  # of the PTX file
    # What it reads and writes, once somebody has asked (flow.py).
    read: tuple[str, ...] | None = field(default=None, init=False, repr=False)
    written: tuple[str, ...] | None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """As in the text: `add.rn.f32`."""
        return ".".join((self.op, *self.mods))


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel's or function's parameter, or a `.param` variable of a call sequence."""

    name: str
    bytes: int
    align: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A module-scope or function-scope variable."""

    name: str
    space: str  # global, const, shared, local
    align: int
    bytes: int  # 0: an extern array of unknown size
    init: tuple[Initial, ...] = ()
    external: bool = False
    managed: bool = False


@dataclass(frozen=True, slots=True)
class Initial:
    """One initialised element: plain bytes, or the address of a symbol (plus offset, maybe a byte of it)."""

    offset: int
    data: bytes = b""
    symbol: str = ""
    addend: int = 0
    generic: bool = False
    shift: int = -1  # ≥ 0: only the byte (address >> shift) & 0xff


@dataclass(slots=True)
class Function:
    """A kernel (`entry`) or device function; `body` is parsed on demand by body.parse_body."""

    name: str
    entry: bool
    params: tuple[Param, ...]
    results: tuple[Param, ...]
    text: str  # between the braces; empty for a declaration
    max_threads: int = 0
    cluster: bool = False  # asks for clusters of several blocks
    defined: bool = True
    files: dict[int, str] = field(default_factory=dict)  # numbers used by .loc → paths
    line: int = 0  # of the PTX file on which `text` begins
    body: Body | None = field(default=None, init=False, repr=False, compare=False)


@dataclass(slots=True)
class Body:
    """A parsed function body."""

    instrs: list[Instr]
    labels: dict[str, int]  # label → index of the next instruction
    registers: dict[str, str]  # name → declared type
    variables: list[Variable]
    call_params: dict[str, Param]
    branch_targets: dict[str, tuple[str, ...]]
    prototypes: dict[str, tuple[tuple[Param, ...], tuple[Param, ...]]]
    splits: set[int] = field(default_factory=set)  # instruction indices where a call sequence starts or ends


@dataclass(slots=True)
class Module:
    """One PTX file."""

    functions: dict[str, Function]
    variables: dict[str, Variable]
    files: dict[int, str]
    target: str
    aliases: dict[str, str] = field(default_factory=dict)
