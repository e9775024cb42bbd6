"""Which PTX instructions generated programs contain."""

from __future__ import annotations

import re
from collections import Counter

# An opcode at the start of a line, perhaps after a guard or an inline-assembly scope with a register.
_INSTRUCTION = re.compile(
    r"^\s*(?:\{?\s*\.reg[^;\n]*;\s*)?(?:@!?%\w+\s+)?([a-z][a-z0-9]*(?:\.[A-Za-z0-9_:]+)*)(?=[\s;])",
    re.MULTILINE,
)


def opcode_counts(ptx: str) -> Counter[str]:
    """Full opcodes, such as `add.rn.f32`, with how often they occur."""
    return Counter(found for found in _INSTRUCTION.findall(ptx) if not found.startswith("param"))


def report(counts: Counter[str]) -> str:
    """A line per mnemonic: how many of it, and its most frequent forms."""
    families: dict[str, Counter[str]] = {}
    for opcode, count in counts.items():
        families.setdefault(opcode.split(".")[0], Counter())[opcode] += count
    lines = []
    for name, forms in sorted(families.items(), key=lambda item: -item[1].total()):
        shown = ", ".join(f"{opcode} {count}" for opcode, count in forms.most_common(8))
        lines.append(f"{name:10} {forms.total():7}  {len(forms):3} forms: {shown}")
    return "\n".join(
        [*lines, f"{len(families)} mnemonics, {len(counts)} opcodes, {counts.total()} instructions"]
    )
