"""Finding problems by name or path, and their records without importing torch.

    find_problem("softmax")                      one that ships with EvoEngineer
    find_problem("kernels91/matmul/square")      a member of a suite
    find_problem("my/problem")                   a folder with problem.py and baseline.cu
    find_problem("level1/19_ReLU.py")            a KernelBench file

A record comes from a cache that is addressed by the file's content, else from a process that runs the file
(`describe.py`).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evoengineer import __version__
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.files import cache_dir
from evoengineer.problem.model import Case, CaseKind, Distribution, Problem, Tolerance

SUITES = Path(__file__).parents[1] / "suites"
_STARTER = "starter"  # its problems need no prefix
_CODE = tuple(Path(__file__).parent.glob("*.py"))


@dataclass(frozen=True, slots=True)
class Description:
    """A problem with the shapes of its bench case, and the work that its reference does there."""

    problem: Problem
    arguments: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Any], ...]
    work: Mapping[str, int] = field(default_factory=dict)  # `work.Work`; empty: not counted

    def moved_bytes(self) -> int:
        """Least bytes that the bench case moves: what has to be read of each input once, and every output once."""
        if self.problem.moved_bytes:
            return round(_formula(self.problem.moved_bytes, self.problem.bench_case))
        if self.work:
            return self.work["bytes"]
        return sum(int(each.get("bytes", 0)) for each in (*self.arguments, *self.outputs))

    def flops(self) -> int:
        """Operations of the straightforward algorithm: the problem's formula, else as counted."""
        if self.problem.flops:
            return round(_formula(self.problem.flops, self.problem.bench_case))
        return self.work.get("flops", 0)

    def least_flops(self) -> int:
        """Operations that no honest kernel can do without: what the speed of light rests on (`work.py`)."""
        return min(self.flops(), self.work.get("least_flops", self.flops()))


def _formula(text: str, case: Case) -> float:
    try:
        return float(eval(text, {"__builtins__": {}}, dict(case.sizes)))  # the problem's own file wrote it
    except Exception as error:
        raise UsageError(
            f"formula {text!r} of the problem: {error}; sizes are {', '.join(case.sizes)}"
        ) from error


def shipped() -> dict[str, Path]:
    """Names of the problems that ship with EvoEngineer, in order, with their files."""
    found = {}
    for path in sorted(SUITES.glob("**/problem.py")):
        parts = path.parent.relative_to(SUITES).parts
        found["/".join(parts[1:] if parts[0] == _STARTER else parts)] = path
    return dict(sorted(found.items(), key=lambda item: ("/" in item[0], item[0])))


def locate(name: str) -> tuple[str, Path]:
    """(name, file) of a problem given by name, folder or file."""
    known = shipped()
    if name in known:
        return name, known[name]
    path = Path(name)
    if path.is_dir() and (path / "problem.py").is_file():
        return path.resolve().name, (path / "problem.py").resolve()
    if path.is_file() and path.suffix == ".py":
        own = path.resolve().parent.name if path.name == "problem.py" else path.stem
        return own, path.resolve()
    if path.exists():
        what = "a folder without problem.py" if path.is_dir() else "not a Python file"
        raise UsageError(
            f"{name} is {what}. A problem is a folder with problem.py and baseline.cu, or a KernelBench .py file."
        )
    ending = [full for full in known if full.endswith("/" + name)]
    if len(ending) == 1:
        return ending[0], known[ending[0]]
    close = difflib.get_close_matches(name, known, n=3) or ending
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise UsageError(
        f"no problem {name!r}{hint} `evoengineer problems` lists them; a folder or file works, too."
    )


def find_problem(name: str, baseline: Path | None = None) -> Description:
    """The problem of that name, with its shapes."""
    return find_problems([name], baseline)[0]


def find_problems(names: Sequence[str], baseline: Path | None = None) -> list[Description]:
    """As `find_problem`, with one process for all that are not in the cache."""
    if baseline is not None and not baseline.is_file():
        raise UsageError(f"baseline {baseline}: no such file")
    located = [locate(name) for name in names]
    entries = [_cache_entry(path, name, baseline) for name, path in located]
    missing = [index for index, entry in enumerate(entries) if not entry.exists()]
    if missing:
        requests = [
            {
                "name": located[i][0],
                "path": str(located[i][1]),
                "baseline": str(baseline.resolve()) if baseline else None,
            }
            for i in missing
        ]
        for index, answer in zip(missing, _ask(requests), strict=True):
            if "error" in answer:
                raise UsageError(answer["error"])
            _store(entries[index], answer)
    return [_from_json(json.loads(entry.read_text(encoding="utf-8"))) for entry in entries]


def _cache_entry(path: Path, name: str, baseline: Path | None) -> Path:
    digest = hashlib.sha256(f"{__version__}\0{name}\0{path}\0{baseline and baseline.resolve()}\0".encode())
    for file in (path, *_CODE):
        digest.update(file.read_bytes())
    digest.update(str((path.parent / "baseline.cu").exists()).encode())
    return cache_dir("problems") / f"{digest.hexdigest()[:24]}.json"


def _store(entry: Path, answer: dict[str, Any]) -> None:
    handle, partial = tempfile.mkstemp(dir=entry.parent, suffix=".part")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(partial, entry)


def _ask(requests: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    require_torch()
    run = subprocess.run(
        [sys.executable, "-m", "evoengineer.problem.describe"],
        input=json.dumps(requests), capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = run.stdout.splitlines()
    if run.returncode != 0 or len(lines) < len(requests):
        raise EvoEngineerError(
            f"the process that loads problems ended early (exit {run.returncode})\n{run.stderr.strip()}"
        )
    return [json.loads(line) for line in lines[-len(requests) :]]


def require_torch() -> None:
    """References are PyTorch code."""
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        raise EvoEngineerError(
            "problems need PyTorch for their references: pip install torch (a CPU build is enough for sim devices)"
        )


def _from_json(data: dict[str, Any]) -> Description:
    problem = Problem(
        name=data["name"],
        path=Path(data["path"]),
        title=data["title"],
        reference_source=data["reference_source"],
        cases=tuple(_case(each) for each in data["cases"]),
        tolerance=Tolerance(**data["tolerance"]),
        distributions=tuple(Distribution(each) for each in data["distributions"]),
        baseline=Path(data["baseline"]) if data["baseline"] else None,
        form=data["form"],
        flops=data["flops"],
        moved_bytes=data["moved_bytes"],
        fast_math=data["fast_math"],
    )
    return Description(problem, tuple(data["arguments"]), tuple(data["outputs"]), data["work"])


def _case(data: Mapping[str, Any]) -> Case:
    make = Case.bench if data["kind"] == CaseKind.BENCH else Case.check
    return make(**data["sizes"])
