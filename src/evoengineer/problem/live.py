"""A problem's Python code, loaded: what draws inputs and computes the reference.

Imports torch and runs the problem's file, so it lives in processes of their own: `describe.py`, `checking.py`, and
the judge's (its reference, PyTorch's times). `open_live` tells the two forms apart: a folder's `problem.py`, or a
KernelBench file.
"""

from __future__ import annotations

import inspect
import sys
import traceback
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch

from evoengineer.errors import UsageError
from evoengineer.problem.inputs import Generator
from evoengineer.problem.model import ALL_DISTRIBUTIONS, Case, CaseKind, Distribution, Problem, Tolerance
from evoengineer.problem.work import Work, count_work
from evoengineer.user_files import read_text

_SETTINGS = ("cases", "tolerance", "distributions", "flops", "moved_bytes", "fast_math", "half_operators")


Call = Callable[[Mapping[str, Any]], tuple[torch.Tensor, ...]]


class Live(Protocol):
    """The live side of a problem."""

    problem: Problem
    optional: frozenset[str]  # arguments that need not matter
    mode: str  # how layers behave that training changes, as prompts tell it; empty where there are none

    def inputs(self, case: Case, distribution: Distribution, seed: int) -> dict[str, Any]:
        """Arguments by name, in `forward`'s order."""
        ...

    def shapes(self, case: Case) -> dict[str, Any]:
        """The same without contents; may fail where the problem's code needs them."""
        ...

    def outputs(self, case: Case, inputs: Mapping[str, Any], *, double: bool) -> tuple[torch.Tensor, ...]:
        """The reference's result, in float64 if `double`."""
        ...

    def work(self, case: Case, inputs: Mapping[str, Any]) -> tuple[Work, tuple[torch.Tensor, ...]]:
        """What the reference does to get its result, and the result."""
        ...

    def call(self, case: Case) -> Call:
        """The reference alone, everything that it needs besides its arguments made before."""
        ...


def open_live(path: Path, name: str, baseline: Path | None = None) -> Live:
    """Run a problem's file and check that it keeps the contract."""
    module = _run(path)
    if hasattr(module, "Model") and hasattr(module, "get_inputs"):
        from evoengineer.problem.kernelbench import KernelBenchProblem

        return KernelBenchProblem(module, path, name, baseline)
    return FolderProblem(module, path, name, baseline)


def _run(path: Path) -> types.ModuleType:
    source = read_text(path, "problem")
    module = types.ModuleType(f"evoengineer_problem_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and inspect look modules up by name
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except UsageError as error:
        if str(path) in str(error):
            raise
        raise UsageError(f"{path}{_line(error, path)}: {error}") from error
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise UsageError(
            f"{path}: needs the Python package {package!r}, which is not installed: pip install {package}"
        ) from error
    except BaseException as error:  # also exit(), or whatever else its author wrote
        line = _line(error, path)
        raise UsageError(
            f"{path}{line}: the file cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    return module


def _line(error: BaseException, path: Path) -> str:
    """`, line 12`, where it is known."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    return f", line {lines[-1]}" if lines else ""


class FolderProblem:
    """The live side of a folder's `problem.py`."""

    def __init__(self, module: types.ModuleType, path: Path, name: str, baseline: Path | None) -> None:
        for required in ("reference", "cases", "make_inputs"):
            if not hasattr(module, required):
                raise UsageError(
                    f"{path}: no `{required}`. A problem defines reference(…), cases and make_inputs(case, generator); "
                    "a KernelBench file defines Model, get_inputs and get_init_inputs."
                )
        self._module = module
        self.optional: frozenset[str] = frozenset()
        self.mode = ""
        cases = tuple(module.cases)
        check_cases(path, cases)
        settings = {setting: getattr(module, setting) for setting in _SETTINGS if hasattr(module, setting)}
        beside = path.parent / "baseline.cu"
        self.problem = Problem(
            name=name,
            path=path,
            title=(inspect.getdoc(module) or name).splitlines()[0],
            reference_source=inspect.getsource(module.reference) if _has_source(module) else "",
            cases=cases,
            tolerance=settings.get("tolerance", Tolerance()),
            distributions=tuple(Distribution(d) for d in settings.get("distributions", ALL_DISTRIBUTIONS)),
            baseline=baseline or (beside if beside.exists() else None),
            form="folder",
            flops=settings.get("flops", ""),
            moved_bytes=settings.get("moved_bytes", ""),
            fast_math=settings.get("fast_math", False),
            half_operators=settings.get("half_operators", True),
        )

    def inputs(self, case: Case, distribution: Distribution, seed: int) -> dict[str, Any]:
        return self._make(case, Generator(seed, distribution))

    def shapes(self, case: Case) -> dict[str, Any]:
        return self._make(case, Generator(0, shapes_only=True))

    def _make(self, case: Case, generator: Generator) -> dict[str, Any]:
        drawn = self._module.make_inputs(case, generator)
        if not isinstance(drawn, Mapping):
            raise UsageError(
                f"{self.problem.path}: make_inputs must return a dict of arguments by name, not {type(drawn).__name__}"
            )
        return dict(drawn)

    def outputs(self, case: Case, inputs: Mapping[str, Any], *, double: bool) -> tuple[torch.Tensor, ...]:
        arguments = {name: widened(value) if double else value for name, value in inputs.items()}
        with torch.no_grad():
            return as_outputs(self._module.reference(**arguments), self.problem.path)

    def work(self, case: Case, inputs: Mapping[str, Any]) -> tuple[Work, tuple[torch.Tensor, ...]]:
        return count_work(inputs.values(), lambda: self.outputs(case, inputs, double=False))

    def call(self, case: Case) -> Call:
        return lambda inputs: self.outputs(case, inputs, double=False)


def _has_source(module: types.ModuleType) -> bool:
    try:
        inspect.getsource(module.reference)
    except (OSError, TypeError):
        return False
    return True


def check_cases(path: Path, cases: tuple[Any, ...]) -> None:
    """Are there enough, and one to be timed by?"""
    if not all(isinstance(case, Case) for case in cases):
        raise UsageError(f"{path}: cases must be a list of Case.check(…) and Case.bench(…)")
    benches = [case for case in cases if case.kind is CaseKind.BENCH]
    if len(benches) != 1 or len(cases) - len(benches) < 3:
        raise UsageError(
            f"{path}: cases has {len(cases) - len(benches)} check and {len(benches)} bench cases; "
            "it needs at least three Case.check(…) and exactly one Case.bench(…)"
        )
    names = [case.name for case in cases]
    if len(set(names)) < len(names):
        raise UsageError(f"{path}: two cases have the same sizes: {max(names, key=names.count)}")


def widened(value: Any) -> Any:
    """The value with floating-point tensors in float64; strides are kept."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(torch.float64)
    if isinstance(value, (list, tuple)):
        return type(value)(widened(each) for each in value)
    return value


def as_outputs(result: Any, path: Path) -> tuple[torch.Tensor, ...]:
    """What a reference returned, as a tuple of tensors."""
    outputs = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    for output in outputs:
        if not isinstance(output, torch.Tensor):
            raise UsageError(
                f"{path}: the reference returns {type(output).__name__}; it must return a tensor or a tuple of tensors"
            )
    return outputs
