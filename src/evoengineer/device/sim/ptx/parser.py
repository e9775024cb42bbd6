"""PTX text → Module. Function bodies are kept as text until `parse_body` is asked for one.

The grammar is taken as nvcc emits it (also around inline assembly), not as the whole PTX ISA allows it.
"""

from __future__ import annotations

import re

from evoengineer.device.sim.ptx.model import (
    TYPE_BYTES,
    Addr,
    Body,
    Function,
    Imm,
    Initial,
    Instr,
    Module,
    Not,
    Operand,
    Pair,
    Param,
    Reg,
    Sym,
    Variable,
    Vec,
)
from evoengineer.errors import PtxError

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.S)
_LOC = re.compile(
    r"^[ \t]*\.loc[ \t]+(\d+)[ \t]+(\d+)[ \t]+(\d+)(?:[^\n]*inlined_at[ \t]+(\d+)[ \t]+(\d+)[ \t]+(\d+))?[^\n]*$",
    re.M,
)
_FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')
_BRACES = re.compile(r"[{}]")
_LABEL = re.compile(r"\s*([A-Za-z_$%][\w$]*)\s*:(?!:)")
_FUNCTION = re.compile(r"\.(entry|func)\b")
_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr(?:\s*\.\w+)*(?:\s*\.align\s+\d+)?\s+)?([\w$]+)\s*(?:\[\s*(\d*)\s*\])?"
)
_VARIABLE = re.compile(
    r"\.(global|const|shared|local)\s+((?:\.attribute\([^)]*\)\s*)?)(?:\.align\s+(\d+)\s+)?\.(?:(v2|v4)\s+\.)?(\w+)\s+([\w$]+)\s*((?:\[\s*\d*\s*\])*)\s*(?:=\s*(.*))?$",
    re.S,
)
_REG_DECL = re.compile(r"\.reg\s*\.(\w+)\s+(.*)$", re.S)
VIDEO_OPS = frozenset(
    [f"v{name}" for name in ("add", "sub", "absdiff", "min", "max", "shl", "shr", "mad", "set")]
    + [f"v{name}{n}" for name in ("add", "sub", "absdiff", "min", "max", "avrg", "set") for n in (2, 4)]
)

_NUMBER = re.compile(r"^[+-]?(?:0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|\d+U?)$")
SPECIAL = re.compile(
    r"^%(?:tid|ntid|ctaid|nctaid|laneid|warpid|nwarpid|smid|nsmid|gridid|lanemask_\w+|clock\w*|"
    r"globaltimer\w*|envreg\d+|dynamic_smem_size|total_smem_size|aggr_smem_size|pm\d+|cluster\w*|is_explicit_cluster|"
    r"reserved_smem_\w+|current_graph_exec)(?:\.[xyzw])?$"
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


def parse_module(text: str) -> Module:
    """Parse the outer structure of a PTX file."""
    files = {int(n): name for n, name in _FILE.findall(text)}
    text = _COMMENT.sub(lambda m: m.group(0) if m.group(0)[0] == '"' else " ", text)
    target = re.search(r"\.target\s+(\w+)", text)
    module = Module({}, {}, files, target.group(1) if target else "")
    for statement, body in _top_level(text):
        _declare(module, statement, body)
    return module


def _top_level(text: str) -> list[tuple[str, str | None]]:
    """Split a file into (statement, body) pairs; body is the text between the braces of a function."""
    found: list[tuple[str, str | None]] = []
    text = re.sub(r"^[ \t]*\.(?:version|target|address_size|file)\b[^\n]*$", "", text, flags=re.M)
    start = 0
    scan = re.compile(r'[{};"]')
    position = 0
    while (mark := scan.search(text, position)) is not None:
        position = mark.end()
        char = mark.group(0)
        if char == '"':
            position = text.index('"', position) + 1
        elif char == ";":
            found.append((text[start : mark.start()].strip(), None))
            start = position
        elif char == "{":
            end = _closing(text, mark.start())
            head = text[start : mark.start()].strip()
            if _FUNCTION.search(head):
                found.append((head, text[mark.end() : end]))
                start = position = end + 1
            elif ".section" in head:
                start = position = end + 1
            else:  # the initialiser of a variable
                position = end + 1
        else:
            raise PtxError(f"unbalanced '}}' in PTX near {text[max(0, position - 60) : position]!r}")
    return found


def _closing(text: str, opening: int) -> int:
    depth = 0
    for mark in _BRACES.finditer(text, opening):
        depth += 1 if mark.group(0) == "{" else -1
        if depth == 0:
            return mark.start()
    raise PtxError(f"'{{' without its '}}' in PTX near {text[opening : opening + 60]!r}")


def _declare(module: Module, statement: str, body: str | None) -> None:
    if not statement or statement.startswith((".pragma", ".maxn", ".minn")):
        return
    if statement.startswith(".alias"):
        new, old = re.findall(r"[\w$]+", statement)[1:3]
        module.aliases[new] = old
        return
    if _FUNCTION.search(statement):
        function = _parse_function(statement, body)
        function.files = module.files
        known = module.functions.get(function.name)
        if known is None or (body is not None and not known.defined):
            module.functions[function.name] = function
        return
    variable = _parse_variable(statement)
    known_variable = module.variables.get(variable.name)
    if known_variable is None or known_variable.external:
        module.variables[variable.name] = variable


def _parse_function(head: str, body: str | None) -> Function:
    entry = ".entry" in head
    rest = head[_FUNCTION.search(head).end() :].strip()  # type: ignore[union-attr]
    results: tuple[Param, ...] = ()
    if not entry and rest.startswith("("):
        end = rest.index(")")
        results = _parse_params(rest[1:end])
        rest = rest[end + 1 :].strip()
    match = re.match(r"([\w$]+)\s*(\()?", rest)
    if match is None:
        raise PtxError(f"cannot read function header {head!r}")
    params: tuple[Param, ...] = ()
    tail = rest[match.end() :]
    if match.group(2):
        end = tail.index(")")
        params = _parse_params(tail[:end])
        tail = tail[end + 1 :]
    threads = 0
    if limit := re.search(r"\.(?:maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", tail):
        threads = 1
        for extent in limit.groups():
            threads *= int(extent or 1)
    cluster = ".reqnctapercluster" in tail or ".explicitcluster" in tail
    return Function(match.group(1), entry, params, results, body or "", threads, cluster, body is not None)


def _parse_params(text: str) -> tuple[Param, ...]:
    found = []
    for align, kind, name, count in _PARAM.findall(text):
        each = TYPE_BYTES[kind] or 1
        found.append(Param(name, each * int(count or 1), int(align or each)))
    # Registers as parameters (`.reg .b32 x`) do not occur in what nvcc emits.
    return tuple(found)


def _parse_variable(statement: str) -> Variable:
    external = ".extern" in statement.split()
    text = re.sub(r"^(?:\.(?:visible|extern|weak|common)\s+)+", "", statement)
    if text.startswith(".tex") or re.search(r"\.(?:texref|surfref|samplerref)\b", text):
        name = re.findall(r"[\w$]+", text)[-1]
        return Variable(name, "global", 8, 8)
    match = _VARIABLE.match(text)
    if match is None:
        raise PtxError(f"cannot read PTX declaration {statement[:120]!r}")
    space, attributes, align, vector, kind, name, extents, init = match.groups()
    each = TYPE_BYTES[kind] * {"v2": 2, "v4": 4, None: 1}[vector]
    count, sizes = 1, re.findall(r"\[\s*(\d*)\s*\]", extents)
    for size in sizes:
        count *= int(size or 0)
    initial = _parse_initial(init, TYPE_BYTES[kind]) if init else ()
    return Variable(
        name, space, int(align or each), each * count, initial, external, ".managed" in attributes
    )


def _parse_initial(text: str, each: int) -> tuple[Initial, ...]:
    """`= {1, 2}`, `= 0f3F800000`, `= {generic(x)+4, 0xFF(y)}`: nested braces are flattened."""
    found: list[Initial] = []
    plain = bytearray()
    plain_start = offset = 0
    for item in text.replace("{", " ").replace("}", " ").split(","):
        item = item.strip()
        if not item:
            continue
        if _NUMBER.match(item):
            if not plain:
                plain_start = offset
            plain += (_number(item).value & ((1 << (8 * each)) - 1)).to_bytes(each, "little")
        else:
            if plain:
                found.append(Initial(plain_start, bytes(plain)))
                plain = bytearray()
            found.append(_symbolic(item, offset))
        offset += each
    if plain:
        found.append(Initial(plain_start, bytes(plain)))
    return tuple(found)


def _symbolic(item: str, offset: int) -> Initial:
    masked = re.match(r"(0x[0-9a-fA-F]+)\s*\((.*)\)\s*$", item)
    shift, inner = -1, item
    if masked:
        mask = int(masked.group(1), 16)
        shift = (mask & -mask).bit_length() - 1
        inner = masked.group(2)
    parts = re.match(r"\s*(generic\s*\(\s*)?([\w$]+)\s*\)?\s*([+-]\s*\d+)?\s*$", inner)
    if parts is None:
        raise PtxError(f"cannot read initialiser {item!r}")
    addend = int((parts.group(3) or "0").replace(" ", ""))
    return Initial(offset, b"", parts.group(2), addend, bool(parts.group(1)), shift)


def _number(text: str) -> Imm:
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").rstrip("U")
    kind = digits[:2].lower()
    if kind == "0f" and len(digits) == 10:
        return Imm(int(digits[2:], 16), 32)
    if kind == "0d" and len(digits) == 18:
        return Imm(int(digits[2:], 16), 64)
    if kind == "0x":
        return Imm(sign * int(digits, 16))
    if len(digits) > 1 and digits[0] == "0":
        return Imm(sign * int(digits, 8))
    return Imm(sign * int(digits))


def parse_body(function: Function) -> Body:
    """Parse a function's instructions."""
    return _BodyParser(function).run()


class _BodyParser:
    def __init__(self, function: Function) -> None:
        self.text = _LOC.sub(lambda m: f".loc {' '.join(g or '0' for g in m.groups())};", function.text)
        self.inlined: dict[tuple[int, int, int], tuple[int, int, int]] = {}  # place → where it was inlined
        self.function = function
        self.body = Body([], {}, {}, [], {}, {}, {})
        self.scopes: list[dict[str, str]] = [{}]  # names declared in each open scope → unique names
        self.call_scope: list[bool] = [False]
        self.location = (0, 0)
        self.serial = 0

    def run(self) -> Body:
        for statement in self._statements():
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
                self.call_scope.append(False)
                text = text[1:].lstrip()
            elif text[0] == "}":
                self.scopes.pop()
                if self.call_scope.pop():
                    self.body.splits.add(len(self.body.instrs))
                text = text[1:].lstrip()
            elif (label := _LABEL.match(text)) is not None:
                name, text = label.group(1), text[label.end() :].lstrip()
                if text.startswith(".branchtargets"):
                    targets = tuple(self._label(t) for t in re.findall(r"[\w$]+", text[14:]))
                    self.body.branch_targets[name] = targets
                    return
                if text.startswith(".callprototype"):
                    self.body.prototypes[name] = _parse_prototype(text[14:])
                    return
                self.body.labels[self._label(name, define=True)] = len(self.body.instrs)
            elif text[0] == ".":
                self._directive(text)
                return
            else:
                self._append(self._instruction(text))
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

    def _label(self, name: str, define: bool = False) -> str:
        """Labels inside inline-assembly scopes are local to the scope."""
        if define and len(self.scopes) > 1 and not name.startswith("$L__"):
            self.serial += 1
            self.scopes[-1][name] = f"{name}@{self.serial}"
        return self._resolve(name)

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
            for param in _parse_params(text):
                self.serial += 1
                unique = f"{param.name}@{self.serial}"
                self.scopes[-1][param.name] = unique
                self.body.call_params[unique] = Param(unique, param.bytes, param.align)
            if len(self.call_scope) > 1 and not self.call_scope[-1]:
                self.call_scope[-1] = True
                self.body.splits.add(len(self.body.instrs))
        elif text.startswith((".local", ".shared", ".global", ".const", ".visible", ".extern", ".weak")):
            self.body.variables.append(_parse_variable(text))
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
        op, *mods = opcode.split(".")
        if op == "call":
            return self._call(mods, rest, guard, negated, whole)
        if op in VIDEO_OPS:  # selectors and signs of operands: codegen/video.py reads them from the text
            rest = re.sub(r"(?<=\w)\.[bh]\d+|-(?=\s*%)", "", rest)
        args = tuple(self._operand(a) for a in _split(rest))
        return Instr(op, tuple(mods), args, guard, negated, self.location, " ".join(whole.split()))

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
        first = text[0]
        if first == "{":
            return Vec(tuple(self._operand(t) for t in _split(text[1:-1])))
        if first == "[":
            return self._address(text[1:-1].strip())
        if first == "!":
            return Not(Reg(self._resolve(text[1:].strip())))
        if _NUMBER.match(text):
            return _number(text)
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
        base, dot, part = text.rpartition(".")
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
        if _NUMBER.match(name):
            return Addr(None, _number(name).value + offset)
        base = self._name(name)
        if isinstance(base, Sym):
            return Addr(Sym(base.name), base.offset + offset)
        return Addr(base, offset)


def _parse_prototype(text: str) -> tuple[tuple[Param, ...], tuple[Param, ...]]:
    """`(.param .b32 _) _ (.param .b64 _, …)` → results, params."""
    groups = re.findall(r"\(([^()]*)\)", text)
    lead = text.strip().startswith("(")
    results = _parse_params(groups[0]) if lead else ()
    rest = groups[1:] if lead else groups
    return results, _parse_params(rest[0]) if rest else ()


def _split(text: str) -> list[str]:
    """Split on commas outside brackets."""
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
