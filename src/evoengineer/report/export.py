"""Export: the best kernel of a run with its evidence, as a PyTorch extension that is ready to install.

kernel.cu         the source, unchanged
model_new.py      the same as a Python file with ModelNew and load_inline
original.py       what the proposer wrote, if it was such a file
setup.py          builds it with torch.utils.cpp_extension
pyproject.toml    says that the build needs torch
test_kernel.py    compares it with the reference on the problem's cases
reference.py      the problem's own file
evidence.json     verdict, times, lineage, prompt and reply, environment
README.md         what it is and how it was measured
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from evoengineer.archive.reading import (
    Proposal,
    best_kernel,
    best_verdict,
    exchange,
    proposals,
    summary,
    verdict,
)
from evoengineer.archive.store import Archive
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.judge.verdict import Verdict
from evoengineer.kernel.inline.writing import model_file
from evoengineer.kernel.text import HALF_OPERATORS, uses_half_operators
from evoengineer.propose.parse import parse_reply
from evoengineer.search.task import Task
from evoengineer.user_files import check_folder

_TEMPLATES = ("setup.py", "pyproject.toml", "test_kernel.py", "README.md")


def best_source(archive: Archive, run: str) -> tuple[int, str]:
    """Number and text of the best kernel; an error when there is none."""
    best = best_kernel(archive, run)
    if best is None:
        raise EvoEngineerError(f"run {run} has no valid kernel yet")
    return best


def write_best(archive: Archive, run: str) -> Path | None:
    """The best kernel in a file beside the archive, with the Python file that it was made of; None without one."""
    best = best_kernel(archive, run)
    if best is None:
        return None
    path = best_file(archive, run)
    original = original_file(archive, run, best[0])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(best[1], encoding="utf-8")
        if original:
            path.with_suffix(".py").write_text(original, encoding="utf-8")
    except OSError as error:
        raise EvoEngineerError(
            f"the best kernel cannot be written to {path}: {error.strerror or error}. `show {run} --best` prints it."
        ) from error
    return path


def best_file(archive: Archive, run: str) -> Path:
    """Where a run's best kernel is written."""
    return archive.path.parent / "best" / f"{run.replace('/', '_')}.cu"


def export_run(archive: Archive, run: str, folder: Path, number: int | None = None) -> list[Path]:
    """Write the folder; the files that were written."""
    check_folder(folder, "output")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty: choose another with --output")
    chosen = best_source(archive, run)[0] if number is None else number
    every = {each.number: each for each in proposals(archive, run)}
    found = every.get(chosen)
    if found is None or found.outcome != "valid":
        raise UsageError(f"run {run}: proposal {chosen} is no valid kernel")
    judged = verdict(archive, run, chosen)
    if number is None:  # the best may be a setting of the proposal's knobs
        found, judged = replace(found, source=best_source(archive, run)[1]), best_verdict(archive, run)
    assert judged is not None
    evidence = _evidence(archive, run, found, every, judged)
    values = _values(archive, run, found, evidence)
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "kernel.cu": found.source,
        "model_new.py": _model_file(archive, run, found, values),
        **_original(archive, run, found),
        "evidence.json": json.dumps(evidence, indent=2, sort_keys=True) + "\n",
        "reference.py": _reference(archive, run),
        **{name: _template(name).substitute(values) for name in _TEMPLATES},
    }
    written = []
    for name, text in files.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _evidence(
    archive: Archive, run: str, found: Proposal, every: dict[int, Proposal], judged: Verdict
) -> dict[str, Any]:
    record = archive.run(run)
    system, user, reply = exchange(archive, run, found.number)
    return {
        "run": run,
        "problem": record.problem,
        "method": record.method,
        "proposer": record.proposer,
        "device": record.device,
        "seed": record.seed,
        "environment": dict(record.environment),
        "proposal": found.number,
        "trial": found.trial,
        "name": found.name,
        "thought": found.thought,
        "verdict": judged.to_json(),
        "lineage": _lineage(found, every),
        "prompt": {"system": system, "user": user},
        "reply": reply,
    }


def _model_file(archive: Archive, run: str, found: Proposal, values: dict[str, str]) -> str:
    task = Task.from_json(archive.run(run).task)
    names = [each.name for each in task.signature().arguments]
    return model_file(found.source, values["module"], found.name or values["title"], names, task.reference)


def original_file(archive: Archive, run: str, number: int) -> str:
    """The Python file that a proposal's kernel was made of; empty if it was none."""
    reply = exchange(archive, run, number)[2]
    return parse_reply(reply, Task.from_json(archive.run(run).task).signature()).original if reply else ""


def _original(archive: Archive, run: str, found: Proposal) -> dict[str, str]:
    original = original_file(archive, run, found.number)
    return {"original.py": original} if original else {}


def _lineage(found: Proposal, every: dict[int, Proposal]) -> list[dict[str, Any]]:
    """The kernel and all its ancestors, the youngest first."""
    pending, seen = [found.number], set()
    lines = []
    while pending:
        number = pending.pop(0)
        if number in seen or number not in every:
            continue
        seen.add(number)
        each = every[number]
        lines.append({
            "proposal": number,
            "operator": each.operator,
            "name": each.name,
            "outcome": each.outcome,
            "time_us": each.time_us,
            "parents": list(each.parents),
        })  # fmt: skip
        pending += each.parents
    return lines


def _values(archive: Archive, run: str, found: Proposal, evidence: dict[str, Any]) -> dict[str, str]:
    totals = summary(archive, run)
    record = totals.run
    timing = evidence["verdict"]["timing"]
    module = re.sub(r"\W", "_", record.problem.rpartition("/")[2]) + "_kernel"
    label = "simulated, " if timing["simulated"] else ""
    speedup = "" if timing["speedup"] is None else f", {timing['speedup']:.2f}x the baseline's speed"
    return {
        "module": module,
        "problem": record.problem,
        "title": str(record.task.get("title", "")),
        "run": run,
        "name": found.name or f"proposal {found.number}",
        "thought": found.thought or "(none given)",
        "time": f"{timing['time_us']:.2f} us ({label}{timing['device']}){speedup}",
        "method": record.method,
        "proposer": record.proposer,
        "trials": str(totals.trials),
        "nvcc_flags": json.dumps(["-O3", *(HALF_OPERATORS if uses_half_operators(found.source) else ())]),
    }


def _reference(archive: Archive, run: str) -> str:
    """The problem's file where it is still there, else the reference that the prompts showed."""
    record = archive.run(run)
    from evoengineer.problem.catalog import locate

    try:
        return locate(str(record.settings.get("problem", record.problem)))[1].read_text(encoding="utf-8")
    except (UsageError, OSError):
        return str(record.task.get("reference", ""))


@cache
def _template(name: str) -> Template:
    return Template(
        resources.files("evoengineer.report").joinpath("export_templates", f"{name}.txt").read_text()
    )
