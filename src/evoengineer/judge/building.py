"""Building for judging: rules that need no compiler, then nvcc in the sandbox."""

from __future__ import annotations

from evoengineer.device.profile import profile_for
from evoengineer.judge.failures import Rejected
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.verdict import Outcome
from evoengineer.kernel.build import Build, BuildFailure, build_kernel
from evoengineer.kernel.text import normalised
from evoengineer.problem.model import Problem

_MOST_SOURCE_BYTES = 1 << 20


def build_sandboxed(source: str, problem: Problem, options: JudgeOptions) -> Build | Rejected:
    """The build, or why there is none. Never raises for a fault of the candidate's."""
    refused = refuse_text(source)
    if refused is not None:
        return refused
    ...


def refuse_text(source: str) -> Rejected | None:
    """What can be told from the text alone."""
    code = normalised(source)
    if len(source.encode()) > _MOST_SOURCE_BYTES:
        return Rejected(Outcome.UNPARSABLE, f"the text has more than {_MOST_SOURCE_BYTES} bytes: no kernel is that long")
    if "__global__" not in code and "PYBIND11_MODULE" not in code:
        return Rejected(
            Outcome.UNPARSABLE,
            "there is no kernel in the text: neither __global__ nor PYBIND11_MODULE occurs",
            f"The text begins: {source.strip()[:200]!r}",
        )
    if "PYBIND11_MODULE" not in code and "TORCH_LIBRARY" not in code:
        return Rejected(
            Outcome.FORBIDDEN,
            'the kernel has no PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }',
            "Add a PYBIND11_MODULE that defines `forward`; without it nothing can call the kernel.",
        )
    return None
