"""Whole CUDA programs on the simulated GPU: compiled, run, profiled."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.card.name import DEFAULT_DEVICE, DeviceName
from evoengineer.errors import DeviceError, EvoEngineerError
from evoengineer.files import scratch_folder
from evoengineer.kernel.program import Program, check_program, compile_program
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.timing.profile import LaunchProfile
from evoengineer.toolchain.compilers import find_toolchain

if TYPE_CHECKING:
    from evoengineer.judge import JudgeOptions
    from evoengineer.problem.model import Problem


def build_program(program: Program, device: DeviceName, scratch: Path) -> tuple[Path, str]:
    """The program as an executable for that device, in `scratch`, and what nvcc had to say."""
    check_program(program)
    toolchain = find_toolchain()

    from evoengineer.sim.cudart.library import cudart_directory

    executable = scratch / program.sources[0].stem
    runtime = cudart_directory(toolchain.version[0])
    return executable, compile_program(program, executable, toolchain, device.profile.sm, runtime)


def profiled_run(
    command: Sequence[str], device: DeviceOptions, scratch: Path, stdout: int | None = None
) -> tuple[int, tuple[LaunchProfile, ...]]:
    """Run a program; its exit code and the profile of every launch."""
    from evoengineer.sim.session import run_program

    report = scratch / "profiles.json"
    code = run_program(command, replace(device, profile_file=str(report)), stdout=stdout)
    found = json.loads(report.read_text()) if report.exists() else []
    return code, tuple(LaunchProfile.from_json(each) for each in found)


def profile(
    source: str | Path,
    problem: str | Path | Problem | None = None,
    *,
    device: str | None = None,
    arguments: Sequence[str] = (),
    nvcc_args: Sequence[str] = (),
    options: JudgeOptions | None = None,
) -> tuple[LaunchProfile, ...]:
    """What each launch took on the simulated card, and why; `explain` puts it into words.

    With a problem, `source` is a kernel for it (text, or the `Path` of its file): it is judged, and the launches are
    those of the bench case. Without one, it is a whole CUDA program, run with `arguments`.
    """
    if problem is not None:
        return _of_kernel(source, problem, device, options)
    chosen = DeviceOptions(device=DeviceName.parse(device) if device else DEFAULT_DEVICE)
    with scratch_folder() as folder, tempfile.TemporaryFile() as output:
        scratch = Path(folder)
        file = source
        if not isinstance(file, Path):
            file = scratch / "program.cu"
            file.write_text(str(source), encoding="utf-8")
        executable, _ = build_program(Program((file,), tuple(nvcc_args)), chosen.device, scratch)
        code, launches = profiled_run([str(executable), *arguments], chosen, scratch, output.fileno())
        if code != 0:
            output.seek(0)
            said = output.read().decode(errors="replace")
            raise DeviceError(f"the program ended with exit code {code}", said)
        return launches


def _of_kernel(
    source: str | Path, problem: str | Path | Problem, device: str | None, options: JudgeOptions | None
) -> tuple[LaunchProfile, ...]:
    from evoengineer.judge import judge

    verdict = judge(source, problem, device=device, options=options)
    if verdict.timing is None:
        raise EvoEngineerError(f"only a valid kernel has a profile; {verdict.outcome}: {verdict.summary}")
    return verdict.timing.launches
