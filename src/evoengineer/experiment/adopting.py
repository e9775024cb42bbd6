"""`evoengineer problems adopt`: a KernelBench file becomes a problem folder with a baseline kernel that was judged.

    adopted = adopt(Path("19_ReLU.py"), Path("relu"))

The folder has `problem.py` (the file as it is, then the cases and distributions that were found for it, to be edited)
and `baseline.cu` (a plain kernel for each operation of the reference, `evoengineer.baseline`). It is made beside its
place and moved there when the baseline is valid: what is there was judged.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.experiment.suite import judge_baselines
from evoengineer.problem.catalog import find_problem
from evoengineer.problem.model import CaseKind, Problem

if TYPE_CHECKING:
    from evoengineer.judge import Verdict

_SETTINGS = """

# -- what kernels are judged by, found by `evoengineer problems adopt`; yours to edit (docs/problems.md) --------------

from evoengineer.problem import Case  # noqa: E402

# Sizes by the names of the constants above. Check cases are small and awkward; the bench case is timed.
cases = [
{cases}
]
# What get_inputs draws at random is replaced by values of these kinds; "own" leaves it as it is.
distributions = {distributions}
"""

_HAS_CASES = re.compile(r"^cases\s*[:=]", re.MULTILINE)
_INSTEAD = "`evolve` works on the file without a baseline, too; or write one and give it with --baseline."


@dataclass(frozen=True, slots=True)
class Adopted:
    """A folder that was made, and the verdict on its baseline."""

    folder: Path
    verdict: Verdict


def adopt(
    file: Path, out: Path | None = None, device: str = "sim:rtx4090", say: Callable[[str], None] = print
) -> Adopted:
    """Make the folder; `out` is by default the file's name without its ending, in the current folder."""
    from evoengineer.card.name import DeviceName
    from evoengineer.judge import JudgeOptions

    folder = out if out is not None else Path(file.stem)
    try:
        if folder.exists():
            raise UsageError(f"{folder} is there already; choose another folder with --out")
        folder.parent.mkdir(parents=True, exist_ok=True)
        place = tempfile.TemporaryDirectory(prefix=".adopting-", dir=folder.parent)
    except (OSError, ValueError) as error:
        raise UsageError(f"no folder can be made at {folder}: {error}") from error
    with place as scratch:
        made = Path(scratch) / folder.name
        problem = draft(file, made)
        say(f"{problem.name}: {len(problem.check_cases)} check cases; bench {problem.bench_case.name}")
        (made / "baseline.cu").write_text(_generated(made, file), encoding="utf-8")
        say(f"{problem.name}: judging the generated baseline")
        options = JudgeOptions(device=DeviceName.parse(device))
        verdict = judge_baselines([str(made)], options)[str(made)]
        if not verdict.valid:
            raise EvoEngineerError(
                f"{file}: the generated baseline is {verdict.outcome}: {verdict.summary}\n"
                f"{verdict.evidence}\n{_INSTEAD}"
            )
        shutil.move(made, folder)
    return Adopted(folder, verdict)


def draft(file: Path, folder: Path) -> Problem:
    """A folder with the problem alone: its cases and distributions are found and written down."""
    problem = find_problem(file).problem
    if problem.form != "kernelbench":
        raise UsageError(f"{file} is no KernelBench file: it defines no Model and get_inputs")
    folder.mkdir(parents=True)
    source = problem.path.read_text(encoding="utf-8").rstrip()
    settings = "\n" if _HAS_CASES.search(source) else _settings_text(problem)  # the file's own stay
    (folder / "problem.py").write_text(source + settings, encoding="utf-8")
    return problem


def _settings_text(problem: Problem) -> str:
    def case(kind: str, sizes: dict[str, int]) -> str:
        return f"    Case.{kind}({', '.join(f'{name}={size}' for name, size in sizes.items())}),"

    lines = [
        case("bench" if each.kind is CaseKind.BENCH else "check", dict(each.sizes)) for each in problem.cases
    ]
    distributions = "[" + ", ".join(f'"{each}"' for each in problem.distributions) + "]"
    return _SETTINGS.format(cases="\n".join(lines), distributions=distributions)


def _generated(folder: Path, file: Path) -> str:
    (answer,) = generated_baselines([folder])
    if "error" in answer:
        raise EvoEngineerError(f"{file}: no baseline can be written: {answer['error']}. {_INSTEAD}")
    return answer["text"]


def generated_baselines(folders: Sequence[Path]) -> list[dict[str, str]]:
    """For each problem a plain kernel composed from the reference's calls ("text"), or why there is none ("error")."""
    requests = [{"path": str(folder / "problem.py"), "name": folder.name} for folder in folders]
    run = subprocess.run(
        [sys.executable, "-m", "evoengineer.baseline.generate"],
        input=json.dumps(requests), capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = run.stdout.splitlines()
    if run.returncode != 0 or len(lines) < len(requests):
        raise EvoEngineerError(
            f"the process that writes baselines ended early (exit {run.returncode})\n{run.stderr.strip()}"
        )
    return [json.loads(line) for line in lines[-len(requests) :]]
