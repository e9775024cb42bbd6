"""Tasks: I1's facts, gathered from a problem's description and a card's profile when a run is made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.card.name import DeviceName
from evoengineer.errors import UsageError
from evoengineer.kernel.inline import Unreadable, in_one_file, is_inline
from evoengineer.problem.model import ORDER_EPSILONS, Distribution
from evoengineer.search.settings import Settings
from evoengineer.search.task import (
    Task,
    declaration_of,
    describe_card,
    describe_case,
    describe_light,
    describe_reach,
    describe_timing,
    describe_value,
)
from evoengineer.user_files import read_text

if TYPE_CHECKING:
    from evoengineer.problem.catalog import Description

_EPSILONS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


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
    moved_bytes, flops, dtype = description.moved_bytes(), description.least_flops(), _dtype(description)
    light_us, light_reason = describe_light(settings.device, moved_bytes, flops, dtype)
    written = sum(int(each.get("bytes", 0)) for each in description.outputs)
    return Task(
        name=problem.name,
        title=problem.title,
        reference=problem.reference_source,
        arguments=tuple(describe_value(value) for value in description.arguments),
        outputs=tuple(describe_value(value) for value in description.outputs),
        cases=_cases(description),
        device=settings.device,
        card=describe_card(settings.device),
        cuda=version,
        tolerance=_tolerance(description),
        baseline=_baseline_text(description),
        simulated=DeviceName.parse(settings.device).simulated,
        timing=describe_timing(settings.device),
        light_us=light_us,
        light_reason=light_reason,
        declaration=declaration_of(description.arguments, description.outputs),
        bench=problem.bench_case.name if problem.bench_case.sizes else "",
        notes=_notes(description),
        inputs=", ".join(_VALUES[each] for each in problem.distributions),
        compiler=f"-std=c++17 -O2, {'with' if problem.fast_math else 'without'} --use_fast_math",
        reach_us=describe_reach(settings.device, moved_bytes, min(written, moved_bytes), flops, dtype),
        least_bytes=float(moved_bytes),
    )


_VALUES = {
    Distribution.NORMAL: "normally distributed",
    Distribution.SHIFTED: "with mean 3",
    Distribution.LARGE: "large (deviation 30)",
    Distribution.NEAR_CONSTANT: "nearly constant",
    Distribution.INTEGERS: "small whole numbers",
    Distribution.SMALL: "small (deviation 0.001)",
    Distribution.SPIKED: "far below zero with one far above the others",
    Distribution.MIXED: "mostly ordinary with a few very large ones among them",
    Distribution.OWN: "as get_inputs draws them",
}


def _cases(description: Description) -> tuple[str, ...]:
    """Check cases with the shapes of their arguments, where these are known."""
    names = [case.name for case in description.problem.check_cases]
    known = description.check_arguments or ((),) * len(names)
    return tuple(
        describe_case(name, arguments, description.arguments)
        for name, arguments in zip(names, known, strict=True)
    )


def _notes(description: Description) -> tuple[str, ...]:
    """What a KernelBench file leaves to its reader."""
    if description.problem.form != "kernelbench":
        return ()
    notes = [
        "After the inputs of `Model.forward` come the model's parameters and buffers, in the order of its "
        "`state_dict()`. What else the model is made with is the same in all cases: write it into the kernel."
    ]
    return (*notes, f"{description.mode}.") if description.mode else tuple(notes)


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
    floats = [dtype for dtype in types if dtype in ORDER_EPSILONS]
    rules = [f"{dtype} results must be exact" for dtype in types if dtype not in ORDER_EPSILONS]
    rules += [
        f"for {dtype} it may be at most {tolerance.bound(dtype):g}, and no more than {tolerance.times_pytorch:g} times "
        f"the error that PyTorch makes in {dtype} or {ORDER_EPSILONS[dtype] * _EPSILONS[dtype]:.1g}, whichever is "
        "larger"
        for dtype in floats
    ]
    text = "Every element of the results is compared with a float64 reference. "
    if floats:
        text += "Its error is divided by the element's own magnitude plus the RMS of that result. "
    text += f"{'; '.join(rules)}.".replace("for ", "For ", 1) if rules else ""
    if "float32" in floats:
        text += " Another order of summation is fine, TF32 or half precision is too coarse."
    if Distribution.INTEGERS in description.problem.distributions and floats:
        text += " Where inputs are whole numbers and the right result needs no rounding, it must come out exactly."
    return text


def _dtype(description: Description) -> str:
    return next((str(each["dtype"]) for each in description.arguments if "dtype" in each), "float32")
