"""Reading C++ without a compiler, as far as merging sources needs it: functions, bindings, prototypes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

# What is never closed ends with the text: to look for its end again and again would take forever.
_HIDDEN = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|R"([^(\s"]{0,16})\(.*?(?:\)\1"|\Z)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
_MODULE = re.compile(r"\bPYBIND11_MODULE\s*\(")
_DEF = re.compile(r"\b\w+\s*\.\s*def\s*\(")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*(?=\()")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*\n?", re.MULTILINE)
_STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
_WRAPPED = re.compile(r"(?:torch::)?wrap_pybind_function\s*\((.*)\)", re.DOTALL)
_ARGUMENT = re.compile(r'(?:py|pybind11)::arg\(\s*"(\w+)"\s*\)\s*(?:=\s*(.*))?', re.DOTALL)
_LITERAL = re.compile(r'"(\w+)"_a\s*(?:=\s*(.*))?', re.DOTALL)
_TYPE = re.compile(r"[\w:][\w:<>,&*\s]*[\w>&*\s]")
_NO_TYPES = {"return", "else", "new", "throw", "case", "goto", "using", "delete"}
_TYPE_REACH = 300  # a result's type is no longer than that
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Bound:
    """A function that Python may call: `code` is the C++ expression for it."""

    code: str
    arguments: tuple[tuple[str, str | None], ...] = ()  # names and defaults, where the binding gives them


@dataclass(frozen=True, slots=True)
class Declared:
    """What a declaration or a definition of a function says."""

    result: str
    parameters: tuple[str, ...]  # names


class Text:
    """A C++ text and where its brackets close."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.shadow = _HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)

    @cached_property
    def closings(self) -> dict[int, int]:
        """Of every opening bracket that is closed, the place of the one that closes it."""
        found: dict[int, int] = {}
        opened: list[int] = []
        for place, letter in enumerate(self.shadow):
            if letter in _OPENING:
                opened.append(place)
            elif letter in _CLOSING and opened:
                found[opened.pop()] = place
        return found

    @cached_property
    def functions(self) -> dict[str, Declared]:
        """Every function that is declared or defined, by its name; a definition comes first."""
        found: dict[str, Declared] = {}
        for place, closing, follows in self._headings():
            name, result = place[1], self._type_before(place.start())
            if result and (follows == "{" or name not in found):
                names = [
                    (re.findall(r"\w+", each.split("=")[0]) or [""])[-1]
                    for each in _parameters(self.shadow[place.end() + 1 : closing])
                ]
                found[name] = Declared(result, tuple(names))
        return found

    @cached_property
    def defined(self) -> frozenset[str]:
        """Names of functions that have a body here."""
        return frozenset(
            place[1]
            for place, _, follows in self._headings()
            if follows == "{" and self._type_before(place.start())
        )

    def without_prototypes(self, defined: frozenset[str]) -> str:
        """The text without declarations of these functions: a default may be given once only."""
        kept, start = [], 0
        for place, closing, follows in self._headings():
            declares = follows == ";" and place.start() >= start and bool(self._type_before(place.start()))
            if declares and place[1] in defined:
                kept.append(self.source[start : self._declaration_start(place.start())])
                start = self.shadow.index(";", closing) + 1
        return "".join([*kept, self.source[start:]])

    def _headings(self) -> list[tuple[re.Match[str], int, str]]:
        """What looks like a function's name with its parameters, their end, and the character that follows."""
        found = []
        for place in _CALL.finditer(self.shadow):
            closing = self.closings.get(place.end())
            if closing is not None:
                found.append((place, closing, self.shadow[closing + 1 : closing + 200].lstrip()[:1]))
        return found

    def _declaration_start(self, name: int) -> int:
        """Where the declaration of what is named there begins."""
        begin = max(0, name - _TYPE_REACH)
        before = self.shadow[begin:name]
        last = max(before.rfind(letter) for letter in ";{}")
        lines = before[last + 1 :].split("\n")
        directive = max((i for i, line in enumerate(lines) if line.lstrip().startswith("#")), default=-1)
        return name - len("\n".join(lines[directive + 1 :]))

    def _type_before(self, name: int) -> str:
        text = " ".join(self.shadow[self._declaration_start(name) : name].split())
        words = text.split()
        if not words or set(words) & _NO_TYPES or not _TYPE.fullmatch(text):
            return ""
        return text


def without_bindings(source: str) -> tuple[str, dict[str, Bound]]:
    """The text without its PYBIND11_MODULE, and what that bound."""
    bound: dict[str, Bound] = {}
    for _ in range(8):  # a text has one
        text = Text(source)
        found = _MODULE.search(text.shadow)
        if found is None:
            break
        heading = text.closings.get(found.end() - 1, -1)
        opening = text.shadow.find("{", heading)
        closing = text.closings.get(opening, -1) if heading >= 0 and opening >= 0 else -1
        if closing < 0:
            break
        bound.update(_bindings(source[opening + 1 : closing]))
        source = source[: found.start()] + source[closing + 1 :]
    return source, bound


def _bindings(body: str) -> dict[str, Bound]:
    text, found = Text(body), {}
    for place in _DEF.finditer(text.shadow):
        closing = text.closings.get(place.end() - 1, -1)
        if closing < 0:
            continue
        name, *rest = pieces(body[place.end() : closing])
        spelled = _STRING.fullmatch(name)
        if spelled is None or not rest:
            continue
        wrapped = _WRAPPED.fullmatch(rest[0])
        code = (wrapped[1] if wrapped else rest[0]).strip().removeprefix("&").strip()
        named = [each for word in rest[1:] if (each := _ARGUMENT.fullmatch(word) or _LITERAL.fullmatch(word))]
        found[spelled[1]] = Bound(code, tuple((each[1], each[2]) for each in named))
    return found


def pieces(source: str) -> list[str]:
    """A list's parts between the commas that stand in no bracket, string or comment."""
    parts, start, depth = [], 0, 0
    for place, letter in enumerate(Text(source).shadow):
        depth += (letter in _OPENING) - (letter in _CLOSING)
        if letter == "," and depth == 0:
            parts.append(source[start:place].strip())
            start = place + 1
    return [*parts, source[start:].strip()]


def _parameters(shadow: str) -> list[str]:
    """As `pieces`, with the brackets of templates."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(shadow):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append(shadow[start:place])
            start = place + 1
    return [*parts, shadow[start:]] if shadow.strip() else []


def hoisted(source: str) -> tuple[str, str]:
    """Includes, and the text without them."""
    includes = "".join(found[0].rstrip("\n") + "\n" for found in _INCLUDE.finditer(source))
    return includes, _INCLUDE.sub("\n", source)
