"""Diagnostics as data: what cudafe++, cicc, the host compiler, ptxas and the linker said about kernel.cu.

A message that starts inside a header is moved to the line of kernel.cu that led there. Nothing of the machine
(paths of our headers, of the toolkit, of the private directory) is left in what a prompt gets to see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SOURCE_NAME = "kernel.cu"
_SHOWN = 5
_MESSAGE_LENGTH = 600

# kernel.cu(12): error #20: identifier "x" is undefined
_EDG = re.compile(
    r"^(?P<file>[^\s(][^(]*)\((?P<line>\d+)\): (?P<severity>catastrophic error|internal error|error|warning)"
    r"(?: #[\w-]+)?: (?P<message>.*)$"
)
# kernel.cu:5:10: fatal error: no.h: No such file or directory
_GCC = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?P<severity>fatal error|error|warning): (?P<message>.*)$"
)
_PTXAS = re.compile(r"^ptxas (?:\S+, line (?P<line>\d+); )?(?P<severity>error|fatal)\s*: (?P<message>.*)$")
_LINKER = re.compile(
    r"^.*?(?P<message>(?:undefined reference to|undefined symbol:|multiple definition of|relocation ).*)$"
)
_NOTE = re.compile(r"^\S+(?:\(\d+\)|:\d+:\d+): (?:note|remark)\b")
_PLACE = re.compile(r"at line (?P<line>\d+)(?: of (?P<file>\S+))?")
_PATH = re.compile(r"(?<![\w.+-])(?:/[\w.+-]+)+/(?=[\w.+-]+)")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    file: str
    line: int  # 0 when the message belongs to no line
    column: int
    severity: str  # "error" or "warning"
    message: str
    source_line: str

    def text(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else ""
        quoted = f"\n    {self.source_line}" if self.source_line else ""
        return f"{place}{self.severity}: {self.message}{quoted}"


def parse(log: str, source: str) -> tuple[Diagnostic, ...]:
    """Every error and warning in the order of the log, once each."""
    lines = source.split("\n")
    found: dict[Diagnostic, None] = {}
    for head, body in _blocks(log):
        diagnostic = _diagnostic(head, body, lines)
        if diagnostic:
            found[diagnostic] = None
    return tuple(found)


def prompt_text(diagnostics: Sequence[Diagnostic]) -> str:
    """The first few errors, short enough to be read by a model."""
    errors = [each for each in diagnostics if each.severity == "error"]
    shown = errors[:_SHOWN]
    text = "\n".join(each.text() for each in shown)
    if len(errors) > len(shown):
        text += f"\n({len(errors) - len(shown)} more errors)"
    return text


def without_paths(text: str) -> str:
    return _PATH.sub("", text)


def _blocks(log: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    """A message and the lines that belong to it; notes and what follows them are left out."""
    head: re.Match[str] | None = None
    body: list[str] = []
    for line in log.split("\n"):
        match = _EDG.match(line) or _GCC.match(line) or _PTXAS.match(line) or _LINKER.match(line)
        if match or _NOTE.match(line) or not line.strip():
            if head:
                yield head, body
            head, body = match, []
        elif head:
            body.append(line)
    if head:
        yield head, body


def _diagnostic(head: re.Match[str], body: Sequence[str], lines: Sequence[str]) -> Diagnostic | None:
    parts = head.groupdict()
    severity = "warning" if parts.get("severity") == "warning" else "error"
    file, line = parts.get("file") or SOURCE_NAME, int(parts.get("line") or 0)
    message = parts["message"].strip()
    if head.re is _PTXAS or head.re is _LINKER:
        line = 0
    elif file.rsplit("/", 1)[-1] != SOURCE_NAME:
        if severity == "warning":
            return None
        line = _led_from(body)
    else:
        message = " ".join([message, *_continuation(body)])
    message = without_paths(message)[:_MESSAGE_LENGTH]
    quoted = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return Diagnostic(SOURCE_NAME, line, int(parts.get("column") or 0), severity, message, quoted)


def _continuation(body: Sequence[str]) -> list[str]:
    """Lines that finish an EDG message: deeper indented than the source line that is quoted after them."""
    taken = []
    for line in body:
        if not line.startswith(" " * 8) or set(line.strip()) <= {"^", "~"}:
            break
        taken.append(line.strip())
    return taken


def _led_from(body: Sequence[str]) -> int:
    """The line of kernel.cu in `… detected during: instantiation of … at line 21 of kernel.cu`."""
    for line in body:
        place = _PLACE.search(line)
        if place and (place["file"] or "").strip('".').rsplit("/", 1)[-1] == SOURCE_NAME:
            return int(place["line"])
    return 0
