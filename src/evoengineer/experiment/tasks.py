"""Tasks: I1's facts, gathered from a problem's description and a card's profile when a run is made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.card.name import DeviceName
from evoengineer.errors import UsageError
from evoengineer.kernel.inline import Unreadable, in_one_file, is_inline
from evoengineer.search.settings import Settings
from evoengineer.search.task import Task, describe_card, describe_light, describe_timing, describe_value
from evoengineer.user_files import read_text

if TYPE_CHECKING:
    from evoengineer.problem.catalog import Description


def describe(settings: Settings) -> Description:
    """The problem that the settings name, with their baseline."""
    from evoengineer.problem.catalog import find_problem

    return find_problem(settings.problem, Path(settings.baseline) if settings.baseline else None)


def gather_task(settings: Settings) -> Task:
    """I1's facts, from the problem's description and the card's profile."""
    from evoengineer.toolchain.compilers import find_toolchain

    description = describe(settings)
    problem = description.problem
    version = ".".join(str(part) for part in find_toolchain().version[:2])
    light_us, light_reason = describe_light(
        settings.device, description.moved_bytes(), description.least_flops(), _dtype(description)
    )
    return Task(
        name=problem.name,
        title=problem.title,
        reference=problem.reference_source,
        arguments=tuple(describe_value(value) for value in description.arguments),
        outputs=tuple(describe_value(value) for value in description.outputs),
        cases=tuple(case.name for case in problem.check_cases),
        device=settings.device,
        card=describe_card(settings.device),
        cuda=version,
        tolerance=_tolerance(description),
        baseline=_baseline_text(description),
        simulated=DeviceName.parse(settings.device).simulated,
        timing=describe_timing(settings.device),
        light_us=light_us,
        light_reason=light_reason,
    )


def _baseline_text(description: Description) -> str:
    """The baseline as one kernel text, whichever form its file has; empty for none."""
    path = description.problem.baseline
    if path is None:
        return ""
    text = read_text(path, "baseline")
    try:
        return in_one_file(text, description.signature()) if is_inline(text) else text
    except Unreadable as error:
        raise UsageError(f"baseline {path}: {error}") from None


def _tolerance(description: Description) -> str:
    """What is compared with what, and how near it must be, for the types that the results have."""
    tolerance = description.problem.tolerance
    types = dict.fromkeys(str(each["dtype"]) for each in description.outputs if "dtype" in each)
    bounds = ", ".join(f"{tolerance.bound(dtype):g} for {dtype}" for dtype in types)
    return (
        "Every element of the results is compared with a float64 reference. Its error is divided by the element's "
        "own magnitude plus the RMS of that result; this relative error may be at most "
        f"{bounds or 'as usual'} (0 is exact), and at most {tolerance.times_pytorch:g} times the error that PyTorch "
        "itself makes in the same type."
    )


def _dtype(description: Description) -> str:
    return next((str(each["dtype"]) for each in description.arguments if "dtype" in each), "float32")
