"""Running a program against the simulated GPU: our libcudart, the device process, and the program between them.

    run_program(["./vector_add", "1024"], DeviceOptions("sim:rtx4090", threads=2)) → exit code

Owns the two processes from start to end. Does not compile the program.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from evoengineer.errors import UsageError
from evoengineer.sim.options import DeviceOptions
from evoengineer.toolchain.native_build import Part, build

SOCKET_VARIABLE = "EVOENGINEER_SIM_FD"
CUDART_SOURCES = Path(__file__).parent / "cudart"
SONAMES = {13: "libcudart.so.13", 12: "libcudart.so.12", 11: "libcudart.so.11.0"}
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-Wall", "-pthread", "-fvisibility=hidden")
_SHUTDOWN_SECONDS = 5.0
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_EXIT_IGNORED_DEVICE_ERROR = 1


def client_library(cuda_major: int = 13) -> Path:
    """Our libcudart for programs built with that version of CUDA, compiled if need be."""
    soname = SONAMES[cuda_major]
    versions = CUDART_SOURCES / f"exports-{cuda_major}.map"
    link = (f"-Wl,-soname,{soname}", f"-Wl,--version-script={versions}")
    sources = sorted(CUDART_SOURCES.glob("*.cpp"))
    flags = (*_FLAGS, f"-DEVO_CUDART_MAJOR={cuda_major}")
    # The driver's functions are in the same library; the loader knows it again by its file.
    names = ("libcudart.so", "libcuda.so", "libcuda.so.1")
    return build(Part(soname, tuple(sources), flags, ("-shared", *link), links=names))


def cudart_directory(cuda_major: int = 13) -> Path:
    """A directory to link programs against: libcudart.so and libcuda.so are ours."""
    return client_library(cuda_major).parent


def linked_cuda(program: Path) -> int:
    """The CUDA major version whose libcudart an executable asks for; 13 if it names none."""
    try:
        data = program.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {program}: {error.strerror}") from error
    for major, soname in SONAMES.items():
        if soname.encode() + b"\0" in data:
            return major
    if b"libcudart_static" in data or b"cudart_static" in data:
        raise UsageError(
            f"{program} has NVIDIA's runtime built in (the default of nvcc), so ours cannot take its place. "
            "Link it with: nvcc --cudart shared"
        )
    return 13


def server_command(fd: int, options: DeviceOptions) -> list[str]:
    return [
        *(sys.executable, "-m", "evoengineer.sim.process.server"),
        *("--fd", str(fd), "--device", options.device, "--threads", str(options.threads)),
        *("--check", ",".join(sorted(options.checks))),
        *("--max-instructions", str(options.limits.max_instructions)),
        *("--max-seconds", str(options.limits.max_seconds)),
        *("--sample-blocks", str(options.sample_blocks)),
        *(("--sampled-only",) if options.sampled_only else ()),
        *(("--profile-file", options.profile_file) if options.profile_file else ()),
    ]


def start_server(
    sock: socket.socket, options: DeviceOptions, stderr: int | None = None
) -> subprocess.Popen[bytes]:
    """A device process that serves the other end of `sock`. Its reports go to `stderr` (default: ours)."""
    return subprocess.Popen(
        server_command(sock.fileno(), options),
        pass_fds=[sock.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
    )


def run_program(
    arguments: Sequence[str],
    options: DeviceOptions,
    environment: Mapping[str, str] | None = None,
    stdout: int | None = None,
) -> int:
    """Run a program to its end; its exit code, or 128 + the signal that ended it.

    A device error makes the exit code non-zero even if the program ignored it.
    """
    library = client_library(linked_cuda(Path(arguments[0])))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = start_server(ours, options)
        ours.close()
        try:
            program = _start_program(arguments, environment, library, theirs, stdout)
            theirs.close()
            code = _wait(program)
            return _verdict(code, _finish(server))
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()


def _start_program(
    arguments: Sequence[str],
    environment: Mapping[str, str] | None,
    library: Path,
    sock: socket.socket,
    stdout: int | None,
) -> subprocess.Popen[bytes]:
    variables = dict(os.environ if environment is None else environment)
    variables[SOCKET_VARIABLE] = str(sock.fileno())
    # Preloading wins over any RPATH; the directory serves programs that open libcuda.so.1 themselves.
    variables["LD_PRELOAD"] = " ".join(filter(None, [str(library), variables.get("LD_PRELOAD")]))
    path = [str(library.parent), variables.get("LD_LIBRARY_PATH")]
    variables["LD_LIBRARY_PATH"] = ":".join(filter(None, path))
    prctl = ctypes.CDLL(None).prctl
    try:
        return subprocess.Popen(
            list(arguments),
            env=variables,
            stdout=stdout,
            pass_fds=[sock.fileno()],
            preexec_fn=lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),  # noqa: PLW1509 - a system call only
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
