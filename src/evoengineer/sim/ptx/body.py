"""A function's text → instructions.

Scopes of inline assembly are flattened: a register, label or parameter declared in one gets a name of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial

from evoengineer.errors import PtxError
from evoengineer.sim.ptx.model import (
    Addr,
    Body,
    Function,
    Imm,
    Instr,
    Not,
    Operand,
    Pair,
    Param,
    Reg,
    Sym,
    Vec,
)
from evoengineer.sim.ptx.parser import NUMBER, parse_number, parse_params, parse_variable

_LOC = re.compile(
    r"^[ \t]*\.loc[ \t]+(\d+)[ \t]+(\d+)[ \t]+(\d+)(?:[^\n]*inlined_at[ \t]+(\d+)[ \t]+(\d+)[ \t]+(\d+))?[^\n]*$",
    re.M,
)
_BRACKETS = re.compile(r"[][(){}]")
_LABEL = re.compile(r"\s*([A-Za-z_$%][\w$]*)\s*:(?!:)")
_WORD = re.compile(r"[\w:]+")
_MOST_REGISTERS = 1 << 18  # virtual ones, of a function
_REG_DECL = re.compile(r"\.reg\s*\.(\w+)\s+(.*)$", re.S)
SPECIAL = re.compile(
    r"^%(?:tid|ntid|ctaid|nctaid|laneid|warpid|nwarpid|smid|nsmid|gridid|lanemask_\w+|clock\w*|"
    r"globaltimer\w*|envreg\d+|dynamic_smem_size|total_smem_size|aggr_smem_size|pm\d+|cluster\w*|is_explicit_cluster|"
    r"reserved_smem_\w+|current_graph_exec)(?:\.[xyzw])?$"
)
VIDEO_OPS = frozenset(
    [f"v{name}" for name in ("add", "sub", "absdiff", "min", "max", "shl", "shr", "mad", "set")]
    + [f"v{name}{n}" for name in ("add", "sub", "absdiff", "min", "max", "avrg", "set") for n in (2, 4)]
)
_BRANCH_AROUND = frozenset(
    {
        "bar",
        "barrier",
        "ret",
        "exit",
        "trap",
        "shfl",
        "vote",
        "match",
        "redux",
        "mma",
        "wmma",
        "ldmatrix",
        "stmatrix",
        "elect",
    }
)


def parse_body(function: Function) -> Body:
    """A function's instructions, parsed the first time."""
    if function.body is None:
        function.body = _BodyParser(function).run()
    return function.body


class _BodyParser:
    def __init__(self, function: Function) -> None:
        self.text = _LOC.sub(lambda m: f".loc {' '.join(g or '0' for g in m.groups())};", function.text)
        self.inlined: dict[tuple[int, int, int], tuple[int, int, int]] = {}  # place → where it was inlined
        self.function = function
        self.body = Body([], {}, {}, [], {}, {}, {})
        self.scopes: list[dict[str, str]] = [{}]  # names declared in each open scope → unique names
        # Of each open scope: branches to labels, by name as written. Which label is meant shows at the scope's end.
        self.branches: list[list[tuple[str, Callable[[str], None]]]] = [[]]
        self.call_scope: list[bool] = [False]
        self.location = (0, 0)
        self.serial = 0
        self.line = function.line  # on which the current statement ends

    def run(self) -> Body:
        for statement in self._statements():
            self.line += statement.count("\n")
            self._statement(statement)
        return self.body

    def _statements(self) -> list[str]:
        """Split on ';' outside strings (strings occur only in .pragma)."""
        return self.text.split(";")

    def _statement(self, text: str) -> None:
        text = text.strip()
        while text:
            if text[0] == "{":
                self.scopes.append({})
                self.branches.append([])
                self.call_scope.append(False)
                text = text[1:].lstrip()
            elif text[0] == "}":
                self._end_scope()
                if self.call_scope.pop():
                    self.body.splits.add(len(self.body.instrs))
                text = text[1:].lstrip()
            elif (label := _LABEL.match(text)) is not None:
                name, text = label.group(1), text[label.end() :].lstrip()
                if text.startswith(".branchtargets"):
                    self._branch_table(name, re.findall(r"[\w$]+", text[14:]))
                    return
                if text.startswith(".callprototype"):
                    self.body.prototypes[name] = _parse_prototype(text[14:])
                    return
                self.body.labels[self._define_label(name)] = len(self.body.instrs)
            elif text[0] == ".":
                self._directive(text)
                return
            else:
                instr = self._instruction(text)
                instr.line = self.line - text.count("\n")
                self._append(instr)
                return

    def _append(self, instr: Instr) -> None:
        """Add an instruction; a guarded one that waits or ends a thread becomes a branch around it."""
        if instr.op in ("bar", "barrier") and any(isinstance(a, Not) for a in instr.args):
            instr.args = tuple(self._positive(a, instr) for a in instr.args)
        if instr.guard is None or instr.op not in _BRANCH_AROUND:
            self.body.instrs.append(instr)
            return
        self.serial += 1
        skip = f"@skip{self.serial}"
        around = Instr("bra", (), (Sym(skip),), instr.guard, not instr.negated, instr.location, instr.text)
        instr.guard = None
        self.body.instrs += [around, instr]
        self.body.labels[skip] = len(self.body.instrs)

    def _positive(self, operand: Operand, instr: Instr) -> Operand:
        """Replace `!p` by a register that holds it."""
        if not isinstance(operand, Not):
            return operand
        self.serial += 1
        inverse = Reg(f"%not@{self.serial}")
        self.body.registers[inverse.name] = "pred"
        self.body.instrs.append(
            Instr("not", ("pred",), (inverse, operand.reg), None, False, instr.location, instr.text)
        )
        return inverse

    def _define_label(self, name: str) -> str:
        """Labels inside inline-assembly scopes are local to the scope."""
        if len(self.scopes) > 1 and not name.startswith("$L__"):
            self.serial += 1
            self.scopes[-1][name] = f"{name}@{self.serial}"
        return self._resolve(name)

    def _end_scope(self) -> None:
        """Branches to the scope's own labels find them, also those further down; others may mean outer ones."""
        names, branches = self.scopes.pop(), self.branches.pop()
        for name, settle in branches:
            if name in names:
                settle(names[name])
            else:
                self.branches[-1].append((name, settle))

    def _branch_table(self, name: str, targets: list[str]) -> None:
        table = list(targets)

        def settle(place: int, label: str) -> None:
            table[place] = label
            self.body.branch_targets[name] = tuple(table)

        self.body.branch_targets[name] = tuple(table)
        for place, target in enumerate(targets):
            self.branches[-1].append((target, partial(settle, place)))

    def _branch(self, instr: Instr, name: str) -> None:
        def settle(label: str) -> None:
            instr.args = (Sym(label),)

        settle(name)
        self.branches[-1].append((name, settle))

    def _resolve(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def _directive(self, text: str) -> None:
        if text.startswith(".loc "):
            file, line, column, *outer = (int(word) for word in text.split()[1:7])
            if outer[0]:
                self.inlined[file, line, column] = (outer[0], outer[1], outer[2])
            if line:
                self.location = self._outside_headers((file, line, column))
        elif (reg := _REG_DECL.match(text)) is not None:
            for name in reg.group(2).split(","):
                self._declare_register(reg.group(1), name.strip())
        elif text.startswith(".param"):
            for param in parse_params(text):
                self.serial += 1
                unique = f"{param.name}@{self.serial}"
                self.scopes[-1][param.name] = unique
                self.body.call_params[unique] = Param(unique, param.bytes, param.align)
            if len(self.call_scope) > 1 and not self.call_scope[-1]:
                self.call_scope[-1] = True
                self.body.splits.add(len(self.body.instrs))
        elif text.startswith((".local", ".shared", ".global", ".const", ".visible", ".extern", ".weak")):
            self.body.variables.append(parse_variable(text))
        elif text.startswith((".pragma", ".branchtargets", ".noreturn", ".file")):
            pass
        else:
            raise PtxError(f"unknown PTX directive {text[:80]!r} in {self.function.name}")

    def _outside_headers(self, place: tuple[int, int, int]) -> tuple[int, int]:
        """Follow inlining out of the toolkit's headers to the user's line."""
        for _ in range(32):
            if "/include/" not in self.function.files.get(place[0], "") or place not in self.inlined:
                break
            place = self.inlined[place]
        return place[:2]

    def _declare_register(self, kind: str, name: str) -> None:
        ranged = re.match(r"(.*)<(\d+)>$", name)
        if len(self.body.registers) + (int(ranged.group(2)) if ranged else 1) > _MOST_REGISTERS:
            raise PtxError(f"more than {_MOST_REGISTERS} registers in {self.function.name}")
        names = [f"{ranged.group(1)}{i}" for i in range(int(ranged.group(2)))] if ranged else [name]
        for each in names:
            unique = each
            if len(self.scopes) > 1 or each in self.body.registers:
                self.serial += 1
                unique = f"{each}@{self.serial}"
                self.scopes[-1][each] = unique
            self.body.registers[unique] = kind

    def _instruction(self, text: str) -> Instr:
        guard, negated, whole = None, False, text
        if text[0] == "@":
            match = re.match(r"@\s*(!?)\s*([\w$%@.]+)\s+", text)
            if match is None:
                raise PtxError(f"cannot read guard of {text!r}")
            negated = bool(match.group(1))
            guard = Reg(self._resolve(match.group(2)))
            text = text[match.end() :]
        opcode, *tail = text.split(None, 1)
        rest = tail[0] if tail else ""
        words = _words(opcode)
        if not words:
            raise PtxError(f"cannot read instruction {opcode[:80]!r} in {self.function.name}")
        op, *mods = words
        if mods and mods[-1] == "relu":  # CUDA's headers write min.s32.relu, too
            mods[-2:] = reversed(mods[-2:])
        if op == "call":
            return self._call(mods, rest, guard, negated, whole)
        if op in VIDEO_OPS:  # selectors and signs of operands: codegen/video.py reads them from the text
            rest = re.sub(r"(?<=\w)\.[bh]\d+|-(?=\s*%)", "", rest)
        args = () if op == "bra" else tuple(self._operand(a) for a in _split(rest))
        op, mods, args = _alone_in_cluster(op, mods, args)
        instr = Instr(op, tuple(mods), args, guard, negated, self.location, " ".join(whole.split()))
        if op == "bra":
            self._branch(instr, rest.strip())
        return instr

    def _call(self, mods: list[str], rest: str, guard: Reg | None, negated: bool, whole: str) -> Instr:
        parts = _split(rest)
        returns: tuple[str, ...] = ()
        if parts[0].startswith("("):
            returns = tuple(self._resolve(n.strip()) for n in parts.pop(0)[1:-1].split(",") if n.strip())
        target = self._operand(parts.pop(0))
        params: tuple[str, ...] = ()
        if parts and parts[0].startswith("("):
            params = tuple(self._resolve(n.strip()) for n in parts.pop(0)[1:-1].split(",") if n.strip())
        args = (target, *(Sym(p) for p in parts))
        line = " ".join(whole.split())
        return Instr("call", tuple(mods), args, guard, negated, self.location, line, returns, params)

    def _operand(self, text: str) -> Operand:
        text = text.strip()
        if text in self.body.registers and not any(self.scopes):  # nearly always: no name stands for another
            return Reg(text)
        first = text[0]
        if first == "{":
            return Vec(tuple(self._operand(t) for t in _split(text[1:-1])))
        if first == "[":
            return self._address(text[1:-1].strip())
        if first == "!":
            return Not(Reg(self._resolve(text[1:].strip())))
        if NUMBER.match(text):
            return parse_number(text)
        if "|" in text:
            a, b = text.split("|")
            return Pair(self._operand(a), self._operand(b))
        if text == "_":
            return Reg("_")
        return self._name(text)

    def _name(self, text: str) -> Reg | Sym:
        if SPECIAL.match(text) or text == "WARP_SZ":
            return Reg(text)
        unique = self._resolve(text)
        if unique in self.body.registers:
            return Reg(unique)
        _, dot, part = text.rpartition(".")
        if dot and part in "xyzw":
            raise PtxError(f"vector register element {text!r} is not supported")
        match = re.match(r"([\w$@]+)\s*([+-])\s*(\d+)$", unique)
        if match:
            return Sym(self._resolve(match.group(1)), int(match.group(2) + match.group(3)))
        return Sym(unique)

    def _address(self, text: str) -> Operand:
        if "," in text:  # texture and bulk operands: [handle, {x, y}]
            return Vec(tuple(self._operand(t) for t in _split(text)))
        match = re.match(r"([^\s+]+?)\s*(?:\+\s*(-?\s*\w+)|-\s*(\w+))?$", text)
        if match is None:
            raise PtxError(f"cannot read address [{text}]")
        name, plus, minus = match.groups()
        offset = int(plus.replace(" ", ""), 0) if plus else -int(minus, 0) if minus else 0
        if NUMBER.match(name):
            return Addr(None, parse_number(name).value + offset)
        base = self._name(name)
        if isinstance(base, Sym):
            return Addr(Sym(base.name), base.offset + offset)
        return Addr(base, offset)


@lru_cache(maxsize=4096)
def _words(opcode: str) -> tuple[str, ...]:
    """`add.rn.f32` → its words; none if it cannot be one."""
    words = tuple(opcode.split("."))
    return words if all(_WORD.fullmatch(word) for word in words) else ()


def _parse_prototype(text: str) -> tuple[tuple[Param, ...], tuple[Param, ...]]:
    """`(.param .b32 _) _ (.param .b64 _, …)` → results, params."""
    groups = re.findall(r"\(([^()]*)\)", text)
    lead = text.strip().startswith("(")
    results = parse_params(groups[0]) if lead else ()
    rest = groups[1:] if lead else groups
    return results, parse_params(rest[0]) if rest else ()


def _alone_in_cluster(
    op: str, mods: list[str], args: tuple[Operand, ...]
) -> tuple[str, list[str], tuple[Operand, ...]]:
    """What an instruction for clusters is where each block is one of its own; there are no others here."""
    if op == "barrier" and "cluster" in mods:  # whoever arrives has to wait: all meet there
        return ("barrier", ["sync"], (Imm(0),)) if "wait" in mods else ("fence", ["acq_rel", "cta"], ())
    if op == "mapa" and len(args) == 3:
        return "mov", mods[-1:], args[:2]
    if op == "getctarank" and len(args) == 2:
        return "mov", mods[-1:], (args[0], Imm(0))
    return op, mods, args


def _split(text: str) -> list[str]:
    """Split on commas outside brackets."""
    if not _BRACKETS.search(text):
        parts = [part.strip() for part in text.split(",")]
        return parts if parts[-1] else parts[:-1]
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    if last:
        parts.append(last)
    return parts
