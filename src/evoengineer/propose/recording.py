"""Recording: every exchange as a line of JSON, and a proposer that plays them back exactly.

A file begins with a line that names the format. An exchange is found by its prompt's hash (and by how many
earlier proposals had the same prompt, since best-of-n asks the same thing every time), or by the proposal's
number. Prompts are kept in full, so that a recording can be read without the archive.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from evoengineer.errors import UsageError
from evoengineer.propose.protocol import (
    Attempt,
    Estimate,
    Proposer,
    ProposerError,
    Reply,
    Request,
    Stopped,
    Usage,
    clean_text,
)
from evoengineer.user_files import check_writable

FORMAT = {"format": "evoengineer recording", "version": 1}


class Match(StrEnum):
    """How a recorded exchange is found."""

    PROMPT = "prompt"
    ORDER = "order"


class Recorder:
    """Passes requests on and appends each answer to a file before it is used."""

    def __init__(self, proposer: Proposer, path: Path) -> None:
        self.proposer = proposer
        self._lock = threading.Lock()
        check_writable(path, "record")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _mend(path)
            self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UsageError(f"record {path}: {error.strerror or error}") from error
        if self._file.tell() == 0:
            self._write(FORMAT)

    @property
    def name(self) -> str:
        return self.proposer.name

    def estimate(self, system: str, user: str) -> Estimate:
        return self.proposer.estimate(system, user)

    def propose(self, request: Request) -> Reply:
        billed = Billed()

        def count(attempt: Attempt) -> None:
            billed.add(attempt)
            request.on_attempt(attempt)

        counted = replace(request, on_attempt=count)
        entry = {
            "number": request.number,
            "prompt": request.prompt,
            "occurrence": request.occurrence,
            "system": request.system,
            "user": request.user,
        }
        try:
            reply = self.proposer.propose(counted)
        except ProposerError as error:
            if not error.fatal and not isinstance(error, Stopped):
                with self._lock:
                    self._write({**entry, "failed": str(error), **billed.entry()})
            raise
        with self._lock:
            self._write({**entry, "reply": asdict(reply), **billed.entry()})
        return reply

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()
        self.proposer.close()


@dataclass
class Billed:
    """What attempts without a usable answer cost."""

    tokens: int = 0
    nano_usd: int = 0

    def add(self, attempt: Attempt) -> None:
        self.tokens += attempt.tokens
        self.nano_usd += attempt.nano_usd

    def entry(self) -> dict[str, Any]:
        return {"billed": asdict(self)} if self.tokens or self.nano_usd else {}


@dataclass(frozen=True, slots=True)
class Exchange:
    """What became of a request: a reply, or that none came."""

    reply: Reply | None
    failed: str
    billed: Billed


class Replay:
    """Answers from a recording; the cost is what it was then, and nothing is paid. What got no answer gets none."""

    name = "replay"

    def __init__(self, path: Path, match: Match = Match.PROMPT) -> None:
        self.path, self.match = path, match
        self._replies: dict[tuple[Any, ...], Exchange] = {}
        for entry in read_recording(path):
            try:
                exchange = _exchange(entry)
                key = self._key(int(entry["number"]), str(entry["prompt"]), int(entry["occurrence"]))
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                raise UsageError(f"recording {path}: an exchange lacks a part: {error!r}") from error
            self._replies[key] = exchange  # of a repeated call the last counts: the first was lost
        if not self._replies:
            raise UsageError(f"recording {path}: it is empty; no answer was recorded")

    def estimate(self, system: str, user: str) -> Estimate:
        return Estimate()

    def propose(self, request: Request) -> Reply:
        found = self._replies.get(self._key(request.number, request.prompt, request.occurrence))
        if found is None:
            raise ProposerError(self._missing(request), fatal=True)
        billed = found.billed
        if billed.tokens or billed.nano_usd:
            said = "calls of the recorded run that gave no usable answer"
            request.on_attempt(
                Attempt(request.number, "recorded", said, tokens=billed.tokens, nano_usd=billed.nano_usd)
            )
        if found.reply is None:
            raise ProposerError(found.failed)
        return found.reply

    def close(self) -> None:
        pass

    def _key(self, number: int, prompt: str, occurrence: int) -> tuple[Any, ...]:
        return (number,) if self.match is Match.ORDER else (prompt, occurrence)

    def _missing(self, request: Request) -> str:
        held = f"recording {self.path} holds {len(self._replies)} answers, but none for proposal {request.number}"
        if self.match is Match.ORDER:
            return held
        return (
            f"{held} (prompt {request.prompt}, occurrence {request.occurrence}). Problem, method, seed, device and "
            "prompts must be those of the recorded run; --match order ignores the prompt."
        )


def read_recording(path: Path) -> Iterator[dict[str, Any]]:
    """The exchanges of a file; a damaged one is refused, naming the line."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"recording {path}: {error.strerror or error}") from error
    for number, line in enumerate(lines, 1):
        if number == len(lines):
            if line:
                raise UsageError(
                    f"recording {path}: line {number} is cut off; the recording was interrupted. Remove that line."
                )
            return
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"recording {path}: line {number} is damaged: {error}") from error
        if number == 1:
            _check_format(path, entry)
        elif not isinstance(entry, dict):
            raise UsageError(f"recording {path}: line {number} is not an exchange")
        else:
            yield entry


def _check_format(path: Path, entry: Any) -> None:
    if not isinstance(entry, dict) or entry.get("format") != FORMAT["format"]:
        raise UsageError(f"{path} is not a recording: its first line does not say so")
    if entry.get("version") != FORMAT["version"]:
        raise UsageError(
            f"recording {path} has version {entry.get('version')}; this program reads {FORMAT['version']}"
        )


def _exchange(entry: dict[str, Any]) -> Exchange:
    billed = Billed(**entry.get("billed", {}))
    _check_counts(asdict(billed))
    if "failed" in entry:
        return Exchange(None, clean_text(str(entry["failed"])), billed)
    return Exchange(_reply(entry["reply"]), "", billed)


def _check_counts(counts: dict[str, Any]) -> None:
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
            raise ValueError(f"{name} = {value!r}")


def _reply(data: dict[str, Any]) -> Reply:
    text, model, finish = (data[name] for name in ("text", "model", "finish"))
    if not all(isinstance(each, str) for each in (text, model, finish)):
        raise ValueError("text, model and finish must be texts")
    usage = Usage(**data["usage"])
    _check_counts(asdict(usage))
    seconds = float(data["seconds"])
    if not 0 <= seconds < math.inf:
        raise ValueError(f"seconds = {seconds}")
    return Reply(clean_text(text), clean_text(model), usage, clean_text(finish), seconds)


def _mend(path: Path) -> None:
    """A process that was killed while it wrote leaves half a line; the next one starts on a new line."""
    if not path.exists():
        return
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        path.write_bytes(data[: data.rfind(b"\n") + 1])
