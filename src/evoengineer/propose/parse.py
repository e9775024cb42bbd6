"""Reading a reply: name, thought and code, in any of the forms that models use. Nothing is ever executed.

    name: … / thought: … / ```cuda … ```      labels, plain or in Markdown, and a fenced block
    {"name": …, "thought": …, "code": …}      JSON, alone, in a fence or amid text
    <name>…</name> <code>…</code>             tags
    #include …                                a bare source text
    import torch … load_inline(…) …           a Python file, in any of these places, or bare

Given the problem's signature, a Python file becomes one kernel text; where it cannot, it stays as it is, and the judge
says why.

A reply without anything that looks like a kernel is unparsable.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from evoengineer.kernel.inline import Signature, Unreadable, in_one_file, is_inline
from evoengineer.kernel.inline.syntax import parse_python

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\n`]*)\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_LABEL = r"^[ \t>#*_-]*{name}[ \t]*[*_]*[ \t]*[:=][ \t]*[*_]*[ \t]*"
_WORDS = "name|title|thoughts?|rationale|insight|explanation|idea|code|kernel|answer|used(?: insights?)?|edit"
_END = rf"(?=^[ \t>#*_-]*(?:{_WORDS})[ \t]*[*_]*[ \t]*[:=]|^[ \t]*(?:```|~~~)|\Z)"
_NAMES = ("name", "title")
_THOUGHTS = ("thought", "thoughts", "rationale", "insight", "explanation", "idea")
_TRIES = 8  # lines after a bare Python file that may have to go
_CODES = ("code", "kernel", "source", "cuda", "solution")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply offers."""

    code: str  # empty: unparsable
    name: str = ""
    thought: str = ""
    original: str = ""  # the Python file that `code` was made of


def parse_reply(text: str, signature: Signature | None = None) -> Parsed:
    """What the reply offers; `code` is empty when it holds no kernel."""
    text = _THINKING.sub("", text.replace("\r\n", "\n"))
    parsed = _from_json(text) or _from_tags(text) or _from_labels(text)
    if signature is None or not is_inline(parsed.code):
        return parsed
    try:
        return replace(parsed, code=in_one_file(parsed.code, signature), original=parsed.code)
    except Unreadable:
        return parsed


def looks_like_kernel(code: str) -> bool:
    """Whether a text is worth compiling."""
    return "__global__" in code or "PYBIND11_MODULE" in code or is_inline(code)


def _from_labels(text: str) -> Parsed:
    blocks = [match[3] for match in _FENCE.finditer(text)]
    code = _best_block(blocks)
    outside = _FENCE.sub("\n```\n", text)  # a fence's content must not be taken for a label
    if not code:
        code, outside = _bare_source(text)
    return Parsed(code, _label(outside, _NAMES, one_line=True), _label(outside, _THOUGHTS) or _boxed(outside))


def _best_block(blocks: list[str]) -> str:
    """The last complete kernel: models that correct themselves give the better version later."""
    whole = [block for block in blocks if _is_whole(block)]
    parts = [block for block in blocks if looks_like_kernel(block)]
    found = whole[-1] if whole else max(parts, key=len, default="")
    return found.strip("\n") + "\n" if found else ""


def _is_whole(block: str) -> bool:
    if is_inline(block):
        return "load_inline" in block and "class ModelNew" in block
    return "PYBIND11_MODULE" in block and "__global__" in block


def _bare_file(text: str) -> tuple[str, str]:
    """A Python file without fences: from the first import to the last line that still is Python."""
    start = re.search(r"^(?:import|from)[ \t]+\w", text, re.MULTILINE)
    if start is None or not _is_whole(text):
        return "", text
    lines = text[start.start() :].split("\n")
    for _ in range(_TRIES):
        try:
            parse_python("\n".join(lines))
        except SyntaxError as error:
            lines = lines[: max(0, (error.lineno or 1) - 1)]
        else:
            code = "\n".join(lines).rstrip() + "\n"
            return (code, text[: start.start()]) if _is_whole(code) else ("", text)
    return "", text


def _bare_source(text: str) -> tuple[str, str]:
    """A source without fences: from the first directive to the end."""
    found = _bare_file(text)
    if found[0]:
        return found
    start = re.search(r"^[ \t]*#[ \t]*(?:include|define|pragma)\b", text, re.MULTILINE)
    if start is None or not looks_like_kernel(text[start.start() :]):
        return "", text
    code = text[start.start() :]
    end = re.search(r"^PYBIND11_MODULE.*?^\}", code, re.DOTALL | re.MULTILINE)
    return (code[: end.end()] if end else code.rstrip()) + "\n", text[: start.start()]


def _from_json(text: str) -> Parsed | None:
    lowered = text.lower()
    if not any(f'"{key}"' in lowered for key in _CODES):
        return None
    candidates = [text, *(match[3] for match in _FENCE.finditer(text))]
    for candidate in candidates:
        start = candidate.find("{")
        while start != -1 and start < 4000:
            try:
                value, _ = json.JSONDecoder(strict=False).raw_decode(candidate, start)
            except (ValueError, RecursionError):  # brackets may nest deeper than anybody reads
                value = None
            parsed = _from_object(value)
            if parsed is not None:
                return parsed
            start = candidate.find("{", start + 1)
    return None


def _from_object(value: Any) -> Parsed | None:
    if not isinstance(value, dict):
        return None
    fields = {str(key).lower(): item for key, item in value.items() if isinstance(item, str)}
    code = next((fields[key] for key in _CODES if looks_like_kernel(fields.get(key, ""))), "")
    if not code:
        return None
    inner = _best_block([match[3] for match in _FENCE.finditer(code)])
    name = next((fields[key] for key in _NAMES if key in fields), "")
    thought = next((fields[key] for key in _THOUGHTS if key in fields), "")
    return Parsed(inner or code.strip("\n") + "\n", name.strip(), thought.strip())


def _from_tags(text: str) -> Parsed | None:
    if "</" not in text:
        return None
    code = _tag(text, _CODES)
    if not looks_like_kernel(code):
        return None
    inner = _best_block([match[3] for match in _FENCE.finditer(code)])
    return Parsed(inner or code.strip() + "\n", _tag(text, _NAMES), _tag(text, _THOUGHTS))


def _tag(text: str, names: tuple[str, ...]) -> str:
    for name in names:
        match = re.search(rf"<{name}>(.*?)(?:</{name}>|\Z)", text, re.DOTALL | re.IGNORECASE)
        if match:
            return match[1].strip()
    return ""


def _label(text: str, names: tuple[str, ...], *, one_line: bool = False) -> str:
    for name in names:
        start = re.search(_LABEL.format(name=name), text, re.IGNORECASE | re.MULTILINE)
        if start is None:
            continue
        rest = text[start.end() :]
        if one_line:
            found = rest.split("\n", 1)[0]
        else:
            end = re.search(_END, rest, re.IGNORECASE | re.MULTILINE)
            found = rest[: end.start()] if end else rest
        cleaned = found.strip().strip("*_`\"' ").strip()
        if cleaned:
            return cleaned
    return ""


def _boxed(text: str) -> str:
    """Evolution of Heuristics asks for the idea in braces; some models keep to that habit."""
    match = re.search(r"\{([^{}]{10,600})\}", text)
    return match[1].strip() if match else ""
