"""Starting a runner in the sandbox: what it may read, and its connections to the judge and to shared memory."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.runner.build import runner_program
from evoengineer.judge.runner.process import RunnerProcess
from evoengineer.judge.sandbox import run_policy, start


def start_runner(
    library: Path,
    scratch: Path,
    options: JudgeOptions,
    environment: Mapping[str, str],
    readable: tuple[Path, ...],
    *,
    memory: tuple[int, int] | None = None,
    pass_fds: tuple[int, ...] = (),
    gpu: bool = False,
    beside: tuple[int, ...] = (),
) -> RunnerProcess:
    """A sandboxed runner that can read one candidate's library and little else.

    `memory` are the file descriptors of the reference's inputs and outputs, for devices that only the runner can
    reach. `beside` are processes that work for it: while one of them is busy, it waits with good reason.
    """
    program = runner_program()
    policy = run_policy(
        scratch, readable=[program.parent, library.parent, *readable], environment=environment, gpu=gpu
    ).with_limits(
        memory_bytes=options.memory_bytes,
        wall_seconds=0,
        cpu_seconds=options.host_cpu_seconds,
    )
    ours, theirs = socket.socketpair()
    log = scratch / "log"
    with theirs, log.open("wb") as output, Path(os.devnull).open("rb") as nothing:
        fds = (theirs.fileno(), *(memory or (nothing.fileno(), nothing.fileno())))
        process = start(
            [program, *map(str, fds)],
            policy,
            pass_fds=(*dict.fromkeys(fds), *pass_fds),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return RunnerProcess(process, ours, log, options.patience_seconds, beside)
