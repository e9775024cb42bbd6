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
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoengineer import __version__
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.files import Cache, digest
from evoengineer.problem.model import Case, CaseKind, Distribution, Problem, Tolerance

SUITES = Path(__file__).parents[1] / "suites"
_STARTER = "starter"  # its problems need no prefix
_CODE = tuple(sorted(Path(__file__).parent.glob("*.py")))
_DESCRIPTIONS = Cache("problems")


@dataclass(frozen=True, slots=True)
class Description:
    """A problem with the shapes of its bench case."""

    problem: Problem
    arguments: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Any], ...]

    def moved_bytes(self) -> int:
        """Least bytes that the bench case moves: every input read once, every output written once."""
        if self.problem.moved_bytes:
            return round(_formula(self.problem.moved_bytes, self.problem.bench_case))
        return sum(int(each.get("bytes", 0)) for each in (*self.arguments, *self.outputs))

    def flops(self) -> int:
        """Operations of the bench case, by the problem's formula; 0 if it gives none."""
        return flops_of(self.problem, self.problem.bench_case)


def flops_of(problem: Problem, case: Case) -> int:
    """Floating-point operations of one of the problem's cases; 0 where nobody has said."""
    return round(_formula(problem.flops, case)) if problem.flops else 0


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
    keys = [_cache_key(path, name, baseline) for name, path in located]
    found = [_DESCRIPTIONS.get(key) for key in keys]
    missing = [index for index, data in enumerate(found) if data is None]
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
            _DESCRIPTIONS.put(keys[index], data := json.dumps(answer).encode())
            found[index] = data
    return [_from_json(json.loads(data)) for data in found if data is not None]


def _cache_key(path: Path, name: str, baseline: Path | None) -> str:
    beside = (path.parent / "baseline.cu").exists()
    given = f"{__version__} {path} {baseline and baseline.resolve()} {beside}"
    return digest(given, name, *(file.read_bytes() for file in (path, *_CODE)))


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
    return Description(problem, tuple(data["arguments"]), tuple(data["outputs"]))


def _case(data: Mapping[str, Any]) -> Case:
    make = Case.bench if data["kind"] == CaseKind.BENCH else Case.check
    return make(**data["sizes"])
