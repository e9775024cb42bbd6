"""Verdicts of what was judged before: the same text, or another text with the same machine code.

A verdict is kept under everything that it depends on: the code judged, the problem's files, the device, the
run seed and our own sources. Those that depend on how busy the machine was are not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from functools import cache
from pathlib import Path

from evoengineer.files import cache_dir
from evoengineer.judge.verdict import Outcome, Verdict
from evoengineer.problem.model import Problem

_PASSING = (Outcome.TIMED_OUT,)
_SOURCES = Path(__file__).parents[1]
_PARTS = ("card", "judge", "kernel", "problem", "sim", "toolchain")


class VerdictCache:
    """For one problem on one device."""

    def __init__(self, problem: Problem, device: str, run_seed: int) -> None:
        digest = hashlib.sha256(f"{device}\0{run_seed}\0{problem.name}\0{our_version()}".encode())
        for file in (problem.path, problem.baseline):
            digest.update(file.read_bytes() if file else b"none")
        self._folder = cache_dir("verdicts") / digest.hexdigest()[:16]

    def find(self, identity: str) -> Verdict | None:
        """By the identity of a text or of machine code."""
        try:
            return Verdict.from_json(
                json.loads((self._folder / f"{identity}.json").read_text(encoding="utf-8"))
            )
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None  # never kept, or half-written by a machine that lost power

    def keep(self, identity: str, verdict: Verdict) -> None:
        """Remember a verdict under the identity of a text or of machine code."""
        if verdict.outcome in _PASSING:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=self._folder, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(verdict.to_json(), file)
        os.replace(partial, self._folder / f"{identity}.json")


@cache
def our_version() -> str:
    """Changes with any source that a verdict depends on: by size and time, which is quick to find out."""
    digest = hashlib.sha256()
    for part in _PARTS:
        for path in sorted((_SOURCES / part).rglob("*")):
            if path.suffix in (".py", ".cpp", ".h", ".cuh", ".toml", ".map"):
                status = path.stat()
                digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
