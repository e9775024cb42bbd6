"""Running a program against the simulated GPU: our libcudart, the device process, and the program between them.

    run_program(["./vector_add", "1024"], DeviceOptions(threads=2)) → exit code

Owns the two processes from start to end. Does not compile the program.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from evoengineer.errors import UsageError
from evoengineer.lifetime import die_with_parent
from evoengineer.sim.cudart.library import client_environment, linked_cuda
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.runtime.native import runtime_library

_SHUTDOWN_SECONDS = 5.0
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_EXIT_IGNORED_DEVICE_ERROR = 1


def start_server(
    client: socket.socket,
    options: DeviceOptions,
    *,
    control: socket.socket | None = None,
    stderr: int | None = None,
) -> subprocess.Popen[bytes]:
    """A device process that serves the other end of `client`, and belongs to that of `control` if there is one.

    Its reports go to `stderr` (default: ours). The options go through a pipe: seeds are not for process lists.
    """
    runtime_library()  # built here, where somebody can be told that it takes a while
    sockets = {"--fd": client, "--control-fd": control}
    files = {name: sock.fileno() for name, sock in sockets.items() if sock is not None}
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "evoengineer.sim.process.server"),
            *(word for name, fd in files.items() for word in (name, str(fd))),
        ],
        pass_fds=list(files.values()),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        process_group=0,  # Ctrl-C in a terminal reaches the whole group, and is meant for us
    )
    assert server.stdin is not None
    with suppress(BrokenPipeError), server.stdin as pipe:  # a process that could not start says so itself
        pipe.write(json.dumps(options.to_json()).encode())
    return server


def run_program(
    arguments: Sequence[str],
    options: DeviceOptions,
    environment: Mapping[str, str] | None = None,
    stdout: int | None = None,
) -> int:
    """Run a program to its end; its exit code, or 128 + the signal that ended it.

    A device error makes the exit code non-zero even if the program ignored it.
    """
    cuda_major = linked_cuda(Path(arguments[0]))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        around = os.environ if environment is None else environment
        variables = client_environment(theirs.fileno(), cuda_major, around)
        server = start_server(ours, options)
        ours.close()
        try:
            program = _start_program(arguments, variables, theirs, stdout)
            theirs.close()
            code = _wait(program)
            return _verdict(code, _finish(server))
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()


def _start_program(
    arguments: Sequence[str], environment: Mapping[str, str], sock: socket.socket, stdout: int | None
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(arguments),
            env=environment,
            stdout=stdout,
            pass_fds=[sock.fileno()],
            preexec_fn=die_with_parent,  # noqa: PLW1509 - a system call only
        )
    except OSError as error:
        raise UsageError(f"cannot run {arguments[0]}: {error.strerror}") from error


def _wait(program: subprocess.Popen[bytes]) -> int:
    with _forwarding(program):
        code = program.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _forwarding(program: subprocess.Popen[bytes]) -> Iterator[None]:
    """Signals meant for us go to the program; its end is ours."""

    def forward(number: int, frame: FrameType | None) -> None:
        if program.poll() is None:
            program.send_signal(number)

    previous = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _finish(server: subprocess.Popen[bytes]) -> int:
    """The device process ends by itself once its client has gone."""
    try:
        return server.wait(_SHUTDOWN_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        return server.wait()


def _verdict(program_code: int, server_code: int) -> int:
    if program_code == 0 and server_code != 0:
        return _EXIT_IGNORED_DEVICE_ERROR
    return program_code
