"""PTX modules linked together, and the part of them that one kernel needs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from evoengineer.errors import PtxError, UnsupportedError
from evoengineer.sim.codegen import abi
from evoengineer.sim.codegen.unit import RESERVED_SHARED, FunctionUnit, Program, make_unit
from evoengineer.sim.ptx.flow import destinations, reachability, sources
from evoengineer.sim.ptx.model import Addr, Function, Imm, Instr, Operand, Reg, Sym, Variable, Vec
from evoengineer.sim.ptx.parser import parse_module

RESERVED_BYTES = 1024  # shared memory that the system keeps for itself in every block


@dataclass(slots=True)
class LinkedModule:
    """All functions and variables of one or several PTX texts, by name."""

    digest: str
    functions: dict[str, Function]
    variables: dict[str, Variable]
    numbers: dict[str, int] = field(default_factory=dict)  # device function → number; the kernel is 0
    texts: tuple[str, ...] = ()
    text_of: dict[str, int] = field(default_factory=dict)  # function → which of the texts defines it

    @property
    def kernels(self) -> list[Function]:
        return [f for f in self.functions.values() if f.entry]


def link(texts: list[str]) -> LinkedModule:
    """Bring texts together by symbol name, as nvlink does for relocatable code."""
    functions: dict[str, Function] = {}
    variables: dict[str, Variable] = {}
    aliases: dict[str, str] = {}
    text_of: dict[str, int] = {}
    for number, text in enumerate(texts):
        module = parse_module(text)
        for name, function in module.functions.items():
            if name not in functions or (function.defined and not functions[name].defined):
                functions[name], text_of[name] = function, number
        for name, variable in module.variables.items():
            if name not in variables or (variables[name].external and not variable.external):
                variables[name] = variable
        aliases.update(module.aliases)
    for new, old in aliases.items():
        functions[new] = functions[old]
    numbers: dict[str, int] = {}
    for name, function in functions.items():
        if not function.entry and function.defined:
            numbers[name] = len(numbers) + 1
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    return LinkedModule(digest, functions, variables, numbers, tuple(texts), text_of)


def build_program(
    module: LinkedModule,
    kernel: str,
    block_shape: tuple[int, int, int],
    mode: str,
    check_access: bool,
    sm_count: int,
    check_init: bool = False,
) -> Program:
    """Everything that `kernel` may run, parsed and laid out for blocks of this shape."""
    entry = module.functions[kernel]
    program = Program(block_shape, mode == "varying" or check_access, check_access, check_init)
    program.functions = {kernel: 0, **module.numbers}
    program.sm_count = sm_count
    program.kernels = frozenset(f.name for f in module.kernels)
    for name, variable in module.variables.items():
        if variable.space in ("global", "const"):
            program.symbol_index(name)
    program.units = [make_unit(program, entry)]
    _add_callees(program, module)
    _lay_out_shared(program, module)
    program.flush_denormals = _all_flush(program)
    return program


def _add_callees(program: Program, module: LinkedModule) -> None:
    """Parse the functions that can be reached, those behind pointers included."""
    wanted = list(_referenced(program.units[0], module))
    seen = set(wanted)
    if any(instr.op == "call" and isinstance(instr.args[0], Reg) for instr in program.units[0].body.instrs):
        seen |= _behind_pointers(module)
        wanted = sorted(seen)
    while wanted:
        unit = make_unit(program, module.functions[wanted.pop(0)])
        program.units.append(unit)
        more = _referenced(unit, module)
        if any(instr.op == "call" and isinstance(instr.args[0], Reg) for instr in unit.body.instrs):
            more |= _behind_pointers(module)
        wanted += sorted(more - seen)
        seen |= more


def _behind_pointers(module: LinkedModule) -> set[str]:
    """Functions whose address is stored in a variable, or taken anywhere in the module."""
    stored = {i.symbol for v in module.variables.values() for i in v.init if i.symbol}
    return {name for name in module.numbers if name in stored or _address_taken(module, name)}


def _address_taken(module: LinkedModule, name: str) -> bool:
    return any(
        ("mov.u64" in f.text and f", {name};" in f.text) or ("mov.b64" in f.text and f", {name};" in f.text)
        for f in module.functions.values()
    )


def symbols_of(instr: Instr) -> set[str]:
    """Names of variables and functions that an instruction mentions."""
    return {name for arg in instr.args if not isinstance(arg, Reg) for name in _symbols(arg)}


def _symbols(operand: Operand) -> Iterator[str]:
    match operand:
        case Sym(name, _) | Addr(Sym(name, _), _):
            yield name
        case Vec(items):
            for item in items:
                yield from _symbols(item)


def _referenced(unit: FunctionUnit, module: LinkedModule) -> set[str]:
    names = set().union(*(symbols_of(i) for i in unit.body.instrs)) if unit.body.instrs else set()
    return {n for n in names if n in module.numbers}


def _lay_out_shared(program: Program, module: LinkedModule) -> None:
    """Static shared variables one after the other, the dynamic array behind them."""
    used: dict[str, Variable] = {}
    for unit in program.units:
        used.update({v.name: v for v in unit.body.variables if v.space == "shared"})
        for instr in unit.body.instrs:
            for name in symbols_of(instr):
                variable = module.variables.get(name)
                if variable is not None and variable.space == "shared":
                    used[name] = variable
    end = 0
    for variable in used.values():
        if variable.bytes:
            end = -(-end // variable.align) * variable.align
            program.shared[variable.name] = end
            end += variable.bytes
    if any(Reg(RESERVED_SHARED) in i.args for u in program.units for i in u.body.instrs):
        program.zeroed_shared = (-(-end // 128) * 128, RESERVED_BYTES)
        program.shared[RESERVED_SHARED], _ = program.zeroed_shared
        end = sum(program.zeroed_shared)
    dynamic = [v for v in used.values() if not v.bytes]
    start = -(-end // 16) * 16 if dynamic else end
    for variable in dynamic:
        program.shared[variable.name] = start
    program.shared_bytes = start


def _all_flush(program: Program) -> bool:
    """Can the processor's own flush-to-zero mode do all .ftz of this program?"""
    flushing = False
    for unit in program.units:
        for instr in unit.body.instrs:
            kinds = set(instr.mods)
            if instr.op in (
                "add",
                "sub",
                "mul",
                "fma",
                "mad",
                "div",
                "sqrt",
                "rcp",
                "rsqrt",
                "cvt",
                "min",
                "max",
                "setp",
                "set",
            ):
                if kinds & {"f64", "bf16", "bf16x2"}:
                    return False
                if "f32" in kinds and instr.op != "cvt" and not (kinds & {"approx"}):
                    if "ftz" not in kinds:
                        return False
                    flushing = True
    return flushing


# -- what the scheduler must know --------------------------------------------------------------------

_WATCHFUL = {"volatile", "acquire", "relaxed", "release", "mmio"}
_COMMUTES = {"add", "min", "max", "and", "or", "xor"}


def launch_flags(program: Program) -> int:
    """USES_BARRIER, ORDERED, SPINS, SHARES and FLUSH_DENORMALS of a program."""
    flags = abi.FLUSH_DENORMALS if program.flush_denormals else 0
    for unit in program.units:
        read = {name for instr in unit.body.instrs for name in sources(instr)}
        loops = _in_loop(unit)
        for block in unit.flow.blocks:
            if block.barrier is not None:
                flags |= abi.USES_BARRIER
            for instr in block.instrs:
                if _depends_on_order(instr, read):
                    flags |= abi.ORDERED
                if (block.index in loops and _may_wait(instr, read)) or (
                    instr.op == "mbarrier" and "wait" in instr.name
                ):
                    flags |= abi.SPINS
                if block.index in loops and _takes_a_share(instr, read):
                    flags |= abi.SHARES
    return flags


def _in_loop(unit: FunctionUnit) -> set[int]:
    return {i for i, row in enumerate(reachability(unit.flow.blocks)) if row >> i & 1}


def _result_used(instr: Instr, read: set[str]) -> bool:
    return instr.op == "atom" and any(name in read for name in destinations(instr))


def _depends_on_order(instr: Instr, read: set[str]) -> bool:
    """Could another order of blocks give another result?"""
    mods = set(instr.mods)
    if instr.op in ("atom", "red"):
        if "shared" in mods or any(m.startswith("shared::") for m in mods):
            return False
        kind = instr.mods[-1]
        return (
            _result_used(instr, read)
            or kind in ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2")
            or not mods & _COMMUTES
        )
    if instr.op in ("ld", "st"):
        return bool(mods & _WATCHFUL) and not mods & {"shared", "local"}
    if instr.op == "call" and isinstance(instr.args[0], Sym):
        return instr.args[0].name in ("malloc", "free")
    return False


def _may_wait(instr: Instr, read: set[str]) -> bool:
    """In a loop: may this be how a thread waits for another?"""
    mods = set(instr.mods)
    if instr.op == "ld":
        return bool(mods & {"volatile", "acquire", "relaxed", "mmio"})
    if instr.op == "atom":
        return _result_used(instr, read)
    return instr.op == "nanosleep"


def _takes_a_share(instr: Instr, read: set[str]) -> bool:
    """In a loop: may this be how a block asks what to do next?"""
    counts = bool({"add", "inc", "dec"} & set(instr.mods)) and Imm(0) not in instr.args
    return counts and _result_used(instr, read) and _depends_on_order(instr, read)


def refuse_unsupported(function: Function) -> None:
    """Kernels that ask for hardware we do not have."""
    if function.cluster:
        raise UnsupportedError(
            f"thread block clusters (kernel {function.name}) are not supported by the simulated GPU"
        )
    if not function.defined:
        raise PtxError(f"kernel {function.name} is declared but not defined")
