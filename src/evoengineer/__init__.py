"""EvoEngineer: evolve CUDA kernels and judge them, with or without a GPU.

    run = evoengineer.evolve("softmax", trials=10)       search for a faster kernel
    verdict = evoengineer.judge(source, "softmax")       compile, check and time one kernel

This is the whole public surface; docs/python.md shows it in use. Names are loaded when they are first asked for:
importing the package pulls in neither torch nor LLVM nor NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from evoengineer.version import __version__

if TYPE_CHECKING:
    from evoengineer.archive.reading import RunSummary, Trial
    from evoengineer.errors import EvoEngineerError, UsageError
    from evoengineer.experiment.evolving import evolve, list_runs, load_run, resume
    from evoengineer.experiment.program import profile
    from evoengineer.experiment.run import Run
    from evoengineer.judge import JudgeOptions, Outcome, Timing, Verdict, judge, open_judge
    from evoengineer.problem.catalog import list_problems, load_problem
    from evoengineer.problem.inline import define_problem
    from evoengineer.problem.model import Case, Problem, Tolerance
    from evoengineer.report.profiles import explain
    from evoengineer.sim import open_device
    from evoengineer.sim.timing.profile import LaunchProfile

__all__ = [
    "Case",
    "EvoEngineerError",
    "JudgeOptions",
    "LaunchProfile",
    "Outcome",
    "Problem",
    "Run",
    "RunSummary",
    "Timing",
    "Tolerance",
    "Trial",
    "UsageError",
    "Verdict",
    "__version__",
    "define_problem",
    "evolve",
    "explain",
    "judge",
    "list_problems",
    "list_runs",
    "load_problem",
    "load_run",
    "open_device",
    "open_judge",
    "profile",
    "resume",
]

_NAMES_BY_HOME = {
    "archive.reading": ("RunSummary", "Trial"),
    "errors": ("EvoEngineerError", "UsageError"),
    "experiment.evolving": ("evolve", "list_runs", "load_run", "resume"),
    "experiment.program": ("profile",),
    "experiment.run": ("Run",),
    "judge": ("JudgeOptions", "Outcome", "Timing", "Verdict", "open_judge"),
    "problem.catalog": ("list_problems", "load_problem"),
    "problem.inline": ("define_problem",),
    "problem.model": ("Case", "Problem", "Tolerance"),
    "report.profiles": ("explain",),
    "sim": ("open_device",),
    "sim.timing.profile": ("LaunchProfile",),
}
_HOMES = {name: home for home, names in _NAMES_BY_HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "judge":  # the package bears the verb's name, and answers the call: see there
        return import_module(f"{__name__}.judge")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
