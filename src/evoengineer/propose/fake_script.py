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

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoengineer.errors import UsageError, check_names
from evoengineer.propose.fake_endpoint import FAULTS, Answer, Script, by_number, by_order
from evoengineer.user_files import is_file, number, read_text, read_toml

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
    data = read_toml(path, "script")
    where = f"script {path}"
    check_names(where, data, _TOP)
    entries = data.get("answer", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{where}: answers are tables, [[answer]]")
    answers = [_answer(path, entry) for entry in entries]
    if not answers:
        raise UsageError(f"{where}: it has no [[answer]]")
    order = data.get("by", "number")
    if order not in ("number", "order"):
        raise UsageError(f"{where}: by = {order!r}; valid: number, order")
    for name in ("requests_per_second", "concurrent"):
        if name in data and not number(data[name], f"{where}: {name}") > 0:
            raise UsageError(f"{where}: {name} must be positive")
    script = by_number(answers) if order == "number" else by_order(answers)
    return FakeScript(script, data.get("requests_per_second"), data.get("concurrent"))


def reply_text(code: str, name: str, thought: str) -> str:
    """A reply in the form that prompts ask for."""
    return f"name: {name}\nthought: {thought}\ncode:\n```cuda\n{code.strip()}\n```\n"


def _answer(path: Path, entry: dict[str, Any]) -> Answer:
    where = f"script {path}: an answer"
    check_names(where, entry, _ANSWER)
    faults = entry.get("faults", [])
    if not isinstance(faults, list):
        raise UsageError(f"{where}: faults must be a list, not {faults!r}")
    faults = tuple(str(fault) for fault in faults)
    for fault in faults:
        if fault not in FAULTS:
            raise UsageError(f"script {path}: unknown fault {fault!r}; valid: {', '.join(FAULTS)}")
    for name in ("text", "file", "name", "thought"):
        if not isinstance(entry.get(name, ""), str):
            raise UsageError(f"{where}: {name} must be text, not {entry[name]!r}")
    for name in ("delay_seconds", "input_tokens", "output_tokens"):
        if name in entry:
            number(entry[name], f"{where}: {name}")
    text = entry.get("text", "")
    if "file" in entry:
        source = path.parent / entry["file"]
        if not is_file(source):
            raise UsageError(f"script {path}: {source}: no such file")
        code = read_text(source, "kernel")
        text = reply_text(code, entry.get("name", source.stem), entry.get("thought", ""))
    return Answer(
        text,
        faults,
        float(entry.get("delay_seconds", 0.0)),
        None if "retry_after" not in entry else str(entry["retry_after"]),
        entry.get("input_tokens"),
        entry.get("output_tokens"),
    )
