"""Kernel: one candidate, a single `.cu` text. Its identity is the hash of its normalised source."""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property

# Comments go, strings stay as they are: a `//` inside a string is no comment.
_TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|R"([^(\s"]{0,16})\(.*?(?:\)\1"|\Z)""",
    re.DOTALL,
)
_OPENING_COMMENTS = re.compile(r"(?:\s+|//[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)
_HALF_OPERATORS = re.compile(r"\bhalf-operators:[ \t]*(on|off)\b")
_HALF_TYPES = re.compile(r"\b(?:__)?(?:half2?|nv_bfloat162?)\b")
_SWITCHES = tuple(
    f"__CUDA_NO_{name}__"
    for name in ("HALF_OPERATORS", "HALF_CONVERSIONS", "HALF2_OPERATORS", "BFLOAT16_CONVERSIONS")
)
NO_HALF_OPERATORS = tuple(f"-D{name}" for name in _SWITCHES)
"""What PyTorch's build gives to nvcc: `a * b` on __half is an error then."""
HALF_OPERATORS = tuple(f"-U{name}" for name in _SWITCHES)
"""What takes that back."""
_DEVICE_LAMBDA = re.compile(r"(?<!\])\]\s*[A-Za-z_][\w\s]*\(")  # the annotation may be a macro


@dataclass(frozen=True)
class Kernel:
    source: str

    @cached_property
    def id(self) -> str:
        """The same for two texts that differ in comments and white space only.

        The one comment that says how to compile counts."""
        without = with_half_operators(self.source) != with_half_operators("")
        text = normalised(self.source) + ("\0half-operators: off" if without else "")
        return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def with_half_operators(source: str, unsaid: bool = True) -> bool:
    """Whether `a * b` on __half shall compile: as the text's opening comments say, else as `unsaid` has it."""
    opening = _OPENING_COMMENTS.match(source)
    said = _HALF_OPERATORS.search(opening[0]) if opening else None
    return said[1] == "on" if said else unsaid


def uses_half_operators(source: str) -> bool:
    """Whether PyTorch's own build needs HALF_OPERATORS for this text."""
    return with_half_operators(source) and _HALF_TYPES.search(normalised(source)) is not None


def lambda_flags(source: str) -> tuple[str, ...]:
    """What nvcc wants to be told before it takes `[] __device__ (…)`; it makes every build slower, so only then."""
    return ("--extended-lambda",) if _DEVICE_LAMBDA.search(normalised(source)) else ()


def normalised(source: str) -> str:
    """The text without comments, with runs of white space folded; only directives keep lines of their own."""
    text = source.replace("\r\n", "\n").replace("\\\n", " ")
    text = _TOKENS.sub(lambda m: " " if m[0].startswith(("//", "/*")) else m[0], text)
    lines = [" ".join(line.split()) for line in text.split("\n")]
    parts: list[str] = []
    for line in filter(None, lines):
        alone = line.startswith("#") or not parts or parts[-1].startswith("#")
        if alone:
            parts.append(line)
        else:
            parts[-1] += " " + line
    return "\n".join(parts)
