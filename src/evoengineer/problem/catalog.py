"""Finding problems by name or path, and their records without importing torch.

    find_problem("softmax")                      one that ships with EvoEngineer
    find_problem("kernels91/matmul/square")      a member of a suite
    find_problem("my/problem")                   a folder with problem.py and baseline.cu
    find_problem("level1/19_ReLU.py")            a KernelBench file

A record comes from a cache that is addressed by the file's content, else from a process that runs the file
(`describe.py`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evoengineer.errors import EvoEngineerError, UsageError, did_you_mean
from evoengineer.files import Cache, digest
from evoengineer.idleness import LOOK_SECONDS, Endlessness
from evoengineer.kernel.inline import Signature, signature_of
from evoengineer.problem.model import Case, CaseKind, Distribution, Problem, Tolerance
from evoengineer.version import __version__

SUITES = Path(__file__).parents[1] / "suites"
SECONDS_VARIABLE = "EVOENGINEER_PROBLEM_SECONDS"  # processor time that a problem's file may use
_SECONDS = 120.0
START_SECONDS = 20.0  # for importing PyTorch
_STARTER = "starter"  # its problems need no prefix
_EXTRA = "extra"  # a family of a suite that is not counted among its problems
_CODE = tuple(sorted(Path(__file__).parent.glob("*.py")))
_DESCRIPTIONS = Cache("problems")


@dataclass(frozen=True, slots=True)
class Description:
    """A problem with the shapes of its bench case, and the work that its reference does there."""

    problem: Problem
    arguments: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Any], ...]
    work: Mapping[str, int] = field(default_factory=dict)  # `work.Work`; empty: not counted
    check_arguments: tuple[tuple[Mapping[str, Any], ...], ...] = ()  # of each check case; empty: not known
    mode: str = ""  # of a KernelBench model: what its layers do that behave differently in training

    def signature(self) -> Signature:
        """What a kernel in Python's form is read for."""
        return signature_of(self.arguments, self.problem.reference_source)

    def moved_bytes(self) -> int:
        """Least bytes that the bench case moves: what has to be read of each input once, and every output once."""
        if self.problem.moved_bytes:
            return round(_formula(self.problem.moved_bytes, self.problem.bench_case))
        if self.work:
            return self.work["bytes"]
        return sum(int(each.get("bytes", 0)) for each in (*self.arguments, *self.outputs))

    def flops(self) -> int:
        """Operations of the bench case's straightforward algorithm: the problem's formula, else as counted."""
        return self.flops_of(self.problem.bench_case)

    def flops_of(self, case: Case) -> int:
        """The same for another case; the bench case's where there is no formula."""
        return round(_formula(self.problem.flops, case)) if self.problem.flops else self.work.get("flops", 0)

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
    hint = did_you_mean(name, ending or known, most=3)
    raise UsageError(
        f"no problem {name!r}{hint}. `evoengineer problems` lists them; a folder or file works, too."
    )


def called(folder: Path) -> str:
    """How to name a problem's folder: where a problem that ships has the same name, that one would be meant."""
    return f"./{folder}" if str(folder) in shipped() else str(folder)


def select(suite: str | None, names: Sequence[str] = ()) -> list[str]:
    """Full names of a suite's problems (of all suites: None), those of its family `extra` only if named.

    A name is a family (`matmul`), a problem, or the end of one's name (`square`).
    """
    known = list(shipped())
    if suite is None:
        members = known
    else:
        members = [each for each in known if (each.partition("/")[0] if "/" in each else _STARTER) == suite]
    if not members:
        suites = sorted({_STARTER, *(each.partition("/")[0] for each in known if "/" in each)})
        raise UsageError(f"no suite {suite!r}; there are: {', '.join(suites)}")
    if not names:
        return [each for each in members if f"/{_EXTRA}/" not in each]
    found: list[str] = []
    for name in names:
        inside = f"/{name.strip('/')}/"
        matching = [each for each in members if f"/{each}/".endswith(inside)] or [
            each for each in members if inside in f"/{each}/"
        ]
        if not matching:
            hint = did_you_mean(name, [each.rpartition("/")[2] for each in members])
            raise UsageError(f"no problem {name!r} in suite {suite}{hint}; `evoengineer problems` lists them")
        found += matching
    return list(dict.fromkeys(found))


def list_problems(suite: str | None = None) -> list[str]:
    """Names of the problems that ship with EvoEngineer, of one suite or of all."""
    return select(suite)


def load_problem(problem: str | Path | Problem, *, baseline: str | Path | None = None) -> Problem:
    """A problem by its name in a suite, or from a folder with `problem.py`, or a KernelBench file.

    `baseline` is a kernel's file to compare with instead of the problem's own.
    """
    return find_problem(problem, Path(baseline) if baseline is not None else None).problem


def address_of(problem: str | Path | Problem) -> tuple[str, Path | None]:
    """What names a problem in settings, and its baseline where that is not its own."""
    if not isinstance(problem, Problem):
        return str(problem), None
    by_name = shipped().get(problem.name) == problem.path
    foreign = problem.baseline if problem.baseline != problem.path.with_name("baseline.cu") else None
    return problem.name if by_name else str(problem.path), foreign


def find_problem(problem: str | Path | Problem, baseline: Path | None = None) -> Description:
    """A problem with its shapes."""
    name, foreign = address_of(problem)
    return find_problems([name], baseline or foreign)[0]


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
    return [description_from_json(json.loads(data)) for data in found if data is not None]


def _cache_key(path: Path, name: str, baseline: Path | None) -> str:
    beside = (path.parent / "baseline.cu").exists()
    given = f"{__version__} {path} {baseline and baseline.resolve()} {beside}"
    return digest(given, name, *(file.read_bytes() for file in (path, *_CODE)))


def _ask(requests: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    require_torch()
    with subprocess.Popen(
        [sys.executable, "-m", "evoengineer.problem.describe"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
        process_group=0, env=torch_environment(),
    ) as process:  # fmt: skip
        endless = Endlessness(process.pid, START_SECONDS + problem_seconds() * len(requests))
        given: str | None = json.dumps(requests)
        try:
            while True:
                try:
                    said, complaints = process.communicate(given, timeout=LOOK_SECONDS)
                    break
                except subprocess.TimeoutExpired as error:
                    given = None  # it is on its way
                    if spent := endless.look():
                        done = (error.stdout or b"").count(b"\n")
                        stuck = requests[min(done, len(requests) - 1)]
                        raise does_not_end(
                            f"problem {stuck['name']} ({stuck['path']})", "loaded", spent
                        ) from None
        except BaseException:
            process.kill()
            raise
    lines = said.splitlines()
    if process.returncode != 0 or len(lines) < len(requests):
        raise EvoEngineerError(
            f"the process that loads problems ended early (exit {process.returncode})\n{complaints.strip()}"
        )
    return [json.loads(line) for line in lines[-len(requests) :]]


def does_not_end(what: str, done: str, spent: str) -> UsageError:
    """The error for a problem's file that is stopped while it is loaded, or its inputs are drawn."""
    return UsageError(
        f"{what} does not end: while it was {done}, {spent}. Mend it, or give it more time with ${SECONDS_VARIABLE}."
    )


def problem_seconds() -> float:
    """Processor time that a problem's file may use to be loaded, and for one draw of inputs and its reference."""
    given = os.environ.get(SECONDS_VARIABLE, "")
    try:
        seconds = float(given or _SECONDS)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise UsageError(f"${SECONDS_VARIABLE} must be a number of seconds, not {given!r}")
    return seconds


def require_torch() -> None:
    """References are PyTorch code."""
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        raise EvoEngineerError(
            "problems need PyTorch for their references: pip install torch (a CPU build is enough for sim devices)"
        )


def torch_environment() -> dict[str, str]:
    """For a process that runs PyTorch beside others: its threads sleep while they wait for each other. Where cores are
    shared they would otherwise spin for most of their time."""
    return {"OMP_WAIT_POLICY": "passive", **os.environ}


def problem_to_json(problem: Problem) -> dict[str, Any]:
    """The record alone, as `description_from_json` reads it."""
    return {
        "name": problem.name,
        "path": str(problem.path),
        "title": problem.title,
        "reference_source": problem.reference_source,
        "cases": [{"kind": str(case.kind), "sizes": dict(case.sizes)} for case in problem.cases],
        "tolerance": {
            "relative": dict(problem.tolerance.relative),
            "times_pytorch": problem.tolerance.times_pytorch,
            "reason": problem.tolerance.reason,
        },
        "distributions": [str(each) for each in problem.distributions],
        "baseline": str(problem.baseline) if problem.baseline else None,
        "form": problem.form,
        "flops": problem.flops,
        "moved_bytes": problem.moved_bytes,
        "fast_math": problem.fast_math,
        "half_operators": problem.half_operators,
    }


def description_to_json(description: Description) -> dict[str, Any]:
    """The record with its shapes, for another process."""
    return {
        **problem_to_json(description.problem),
        "arguments": [dict(each) for each in description.arguments],
        "outputs": [dict(each) for each in description.outputs],
        "work": dict(description.work),
        "check_arguments": [[dict(each) for each in case] for case in description.check_arguments],
        "mode": description.mode,
    }


def description_from_json(data: Mapping[str, Any]) -> Description:
    """A problem with its shapes, from a process that ran its file."""
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
        half_operators=data["half_operators"],
    )
    return Description(
        problem,
        tuple(data["arguments"]),
        tuple(data["outputs"]),
        data["work"],
        tuple(tuple(case) for case in data.get("check_arguments", ())),
        data.get("mode", ""),
    )


def _case(data: Mapping[str, Any]) -> Case:
    make = Case.bench if data["kind"] == CaseKind.BENCH else Case.check
    return make(**data["sizes"])
