"""Starting a runner in the sandbox: what it may read, and its connections to the judge and to shared memory."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.reference import ReferenceProcess
from evoengineer.judge.runner_build import runner_program
from evoengineer.judge.runner_process import RunnerProcess
from evoengineer.judge.sandbox import run_policy, start


def start_runner(
    library: Path,
    reference: ReferenceProcess,
    scratch: Path,
    options: JudgeOptions,
    environment: Mapping[str, str],
    readable: tuple[Path, ...],
    *,
    pass_fds: tuple[int, ...] = (),
    gpu: bool = False,
) -> RunnerProcess:
    """A sandboxed runner that can read one candidate's library and little else."""
    program = runner_program()
    policy = run_policy(
        scratch, readable=[program.parent, library.parent, *readable], environment=environment, gpu=gpu
    ).with_limits(
        memory_bytes=options.memory_bytes,
        wall_seconds=20 * options.run_seconds,  # a last resort: our own clock leaves out what it waits for
        cpu_seconds=options.run_seconds + 10,
    )
    ours, theirs = socket.socketpair()
    log = scratch / "log"
    fds = (theirs.fileno(), reference.inputs_fd, reference.outputs_fd)
    with theirs, log.open("wb") as output:
        process = start(
            [program, *map(str, fds)],
            policy,
            pass_fds=(*fds, *pass_fds),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return RunnerProcess(process, ours, log, options.run_seconds)
