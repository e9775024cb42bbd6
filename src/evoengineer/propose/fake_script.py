"""Scripts of the fake endpoint, in TOML.

by = "number"                # or "order": order of arrival
requests_per_second = 2      # optional: 429 beyond that
concurrent = 4               # optional: 429 beyond that

[[answer]]
text = "…"                   # the whole reply, or:
file = "kernel.cu"           # a source beside the script, with
name = "tiled"               #   a name
thought = "…"                #   and a thought
delay_seconds = 0.5
faults = ["429", "cut"]      # first attempts fail like this
retry_after = "1"
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoengineer.errors import UsageError, check_names
from evoengineer.propose.fake_endpoint import FAULTS, Answer, Script, by_number, by_order

_TOP = ("by", "requests_per_second", "concurrent", "answer")
_ANSWER = (
    "text", "file", "name", "thought", "delay_seconds", "faults", "retry_after", "input_tokens", "output_tokens",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FakeScript:
    """A script as it was read."""

    script: Script
    requests_per_second: float | None
    concurrent: int | None


def load_script(path: Path) -> FakeScript:
    """Read a script and check it."""
    try:
        data = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"script {path}: {error.strerror or error}") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"script {path}: {error}") from error
    check_names(f"script {path}", data, _TOP)
    answers = [_answer(path, entry) for entry in data.get("answer", [])]
    if not answers:
        raise UsageError(f"script {path}: it has no [[answer]]")
    order = data.get("by", "number")
    if order not in ("number", "order"):
        raise UsageError(f"script {path}: by = {order!r}; valid: number, order")
    script = by_number(answers) if order == "number" else by_order(answers)
    return FakeScript(script, data.get("requests_per_second"), data.get("concurrent"))


def reply_text(code: str, name: str, thought: str) -> str:
    """A reply in the form that prompts ask for."""
    return f"name: {name}\nthought: {thought}\ncode:\n```cuda\n{code.strip()}\n```\n"


def _answer(path: Path, entry: dict[str, Any]) -> Answer:
    check_names(f"script {path}: an answer", entry, _ANSWER)
    faults = tuple(str(fault) for fault in entry.get("faults", ()))
    for fault in faults:
        if fault not in FAULTS:
            raise UsageError(f"script {path}: unknown fault {fault!r}; valid: {', '.join(FAULTS)}")
    text = entry.get("text", "")
    if "file" in entry:
        source = path.parent / entry["file"]
        if not source.is_file():
            raise UsageError(f"script {path}: {source}: no such file")
        text = reply_text(source.read_text(), entry.get("name", source.stem), entry.get("thought", ""))
    return Answer(
        text,
        faults,
        float(entry.get("delay_seconds", 0.0)),
        None if "retry_after" not in entry else str(entry["retry_after"]),
        entry.get("input_tokens"),
        entry.get("output_tokens"),
    )
