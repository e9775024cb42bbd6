"""Kernel: one candidate, a single `.cu` text. Its identity is the hash of its normalised source."""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property

# Comments go, strings stay as they are: a `//` inside a string is no comment.
_TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|R"([^(\s]*)\(.*?\)\1\"""", re.DOTALL
)


@dataclass(frozen=True)
class Kernel:
    source: str

    @cached_property
    def id(self) -> str:
        """The same for two texts that differ in comments and white space only."""
        return hashlib.sha256(normalised(self.source).encode()).hexdigest()[:16]


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
