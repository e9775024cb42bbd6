"""Building for judging: rules that need no compiler, then nvcc in the sandbox."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.errors import EnvironmentFailure
from evoengineer.idleness import LOOK_SECONDS, Idleness
from evoengineer.judge.failures import Rejected, trimmed
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.sandbox import Exit, Surroundings, compile_policy, from_outside, start
from evoengineer.judge.verdict import Outcome
from evoengineer.kernel.build import Build, BuildFailure, build_kernel
from evoengineer.kernel.command import BuildLimits, Command, Finished
from evoengineer.kernel.inline import Signature, Unreadable, in_one_file
from evoengineer.kernel.text import normalised
from evoengineer.problem.model import Problem
from evoengineer.toolchain.compilers import find_toolchain

if TYPE_CHECKING:
    from evoengineer.judge.worker import Target

_MOST_SOURCE_BYTES = 1 << 20
_MOST_FILE_BYTES = (
    64 << 20
)  # of each file that a compiler writes: we read PTX, and take many times its length for that


def build_sandboxed(source: str, problem: Problem, target: Target, options: JudgeOptions) -> Build | Rejected:
    """The build, or why there is none. Never raises for a fault of the candidate's."""
    refused = refuse_text(source)
    if refused is not None:
        return refused
    toolchain = find_toolchain()
    built = build_kernel(
        source,
        sm=target.sm,
        target=target.kind,
        fast_math=problem.fast_math,
        half_operators=problem.half_operators,
        limits=BuildLimits(
            wall_seconds=options.patience_seconds,
            cpu_seconds=options.compiler_cpu_seconds,
            file_bytes=_MOST_FILE_BYTES,
        ),
        toolchain=toolchain,
        runner=_sandboxed((toolchain.nvcc, Path(toolchain.host.command[0]))),
    )
    return _rejected(built) if isinstance(built, BuildFailure) else built


def refuse_text(source: str) -> Rejected | None:
    """What can be told from the text alone."""
    code = normalised(source)
    if len(source.encode("utf-8", "replace")) > _MOST_SOURCE_BYTES:
        return Rejected(Outcome.UNPARSABLE, f"there is no kernel of more than {_MOST_SOURCE_BYTES} bytes")
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


def refuse_inline(source: str, signature: Signature) -> Rejected:
    """Why a Python file cannot be turned into one kernel text."""
    try:
        in_one_file(source, signature)
    except Unreadable as error:
        if error.forbidden:
            return Rejected(Outcome.FORBIDDEN, f"forbidden: ModelNew, {error}")
        return Rejected(
            Outcome.UNPARSABLE,
            f"the Python file cannot be read: {error}",
            "It is read without being run. Give the kernel as one .cu text with PYBIND11_MODULE, or keep to sources "
            "that are literal strings and to a forward that only passes tensors on to the extension's functions.",
        )
    raise AssertionError("it can be read")


def _rejected(failure: BuildFailure) -> Rejected:
    outcome = Outcome(failure.outcome)
    first = failure.diagnostics[0] if failure.diagnostics else None
    place = f"line {first.line}: " if first and first.line else ""
    what = f"{place}{first.message}" if first else "the compiler gave no reason"
    verb = {"forbidden": "forbidden", "timed_out": "compiling took too long"}.get(
        failure.outcome, "does not compile"
    )
    return Rejected(
        outcome,
        f"{verb}: {what}",
        trimmed(failure.text),
        {"diagnostics": [asdict(each) for each in failure.diagnostics[:20]]},
    )


def _blame_the_machine(ending: Exit, trouble: str) -> None:
    """A compiler that fails because of its surroundings says nothing about the text that it was given."""
    if not trouble and from_outside(ending):
        trouble = f"it was {ending.describe()}"
    if not trouble and ending.limit == "killed":
        trouble = "it was killed from outside"
    if not trouble and ending.limit == "wall":
        trouble = (
            "it did not get anywhere for half an hour, though it was not idle: is the machine overloaded?"
        )
    if trouble:
        raise EnvironmentFailure(f"the compiler failed for a reason that is not the kernel's: {trouble}")


def _sandboxed(compilers: tuple[Path, ...]) -> Callable[[Command], Finished]:
    """Runs the compiler's steps where they can write to their own directory only."""

    def run(command: Command) -> Finished:
        limits = command.limits
        policy = compile_policy(command.directory, readable=command.readable, compilers=compilers)
        policy = replace(
            policy,
            environment={**policy.environment, **command.environment},
            memory_bytes=limits.memory_bytes,
            cpu_seconds=float(limits.cpu_seconds),
            wall_seconds=limits.wall_seconds,
            file_bytes=limits.file_bytes,
        )
        before = Surroundings.now()
        with start(list(command.arguments), policy) as process:
            idle = Idleness(supervisors=[process.pid])
            ending = None
            while ending is None:
                try:
                    ending = process.wait(LOOK_SECONDS)
                except subprocess.TimeoutExpired:
                    if idle.look():
                        process.kill()
                        return Finished(-signal.SIGKILL, timed_out=True)
        if not ending.succeeded:
            _blame_the_machine(ending, before.trouble(command.directory))
        code = ending.code if ending.code is not None else -(ending.signal or signal.SIGKILL)
        return Finished(code, ending.timed_out)

    return run
