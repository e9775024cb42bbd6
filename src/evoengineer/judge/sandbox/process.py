"""Starting and ending sandboxed commands.

`start` returns at once; the launcher stays as the command's supervisor and ends everything at a limit, on
`kill`, or when this process is gone. How it ended comes over a pipe that the command never sees.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from evoengineer.errors import SandboxError
from evoengineer.judge.sandbox.isolation import active_layers
from evoengineer.judge.sandbox.launching import launch_command
from evoengineer.judge.sandbox.policy import Policy

OUTPUT_BYTES = 4 << 20  # captured of each stream; the rest is read and dropped
_KILL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended: with a code, or by a signal; and whether we ended it, for which limit."""

    code: int | None
    signal: int | None
    limit: str  # "", or what was exceeded: wall, cpu, memory, processes, disk; or "killed" by us
    cpu_seconds: float
    peak_bytes: int

    @property
    def timed_out(self) -> bool:
        return self.limit in ("wall", "cpu")

    @property
    def succeeded(self) -> bool:
        return self.code == 0 and not self.limit

    def describe(self) -> str:
        """A phrase for evidence: "exited with code 3", "killed by SIGSEGV", "exceeded the wall limit"."""
        if self.limit:
            return "killed by us" if self.limit == "killed" else f"exceeded its {self.limit} limit"
        if self.signal is not None:
            try:
                return f"killed by {signal.Signals(self.signal).name}"
            except ValueError:
                return f"killed by signal {self.signal}"
        return f"exited with code {self.code}"


@dataclass(frozen=True, slots=True)
class Completed:
    """An ended command and what it wrote, at most OUTPUT_BYTES of each stream."""

    exit: Exit
    stdout: bytes
    stderr: bytes


class Sandboxed:
    """A command under way. As a context manager it is killed at the end of the block if it still runs."""

    def __init__(self, popen: subprocess.Popen[bytes], report: int) -> None:
        self._popen = popen
        self._report = report
        self._ending: Exit | SandboxError | None = None
        self._lock = threading.Lock()
        self.stdin: IO[bytes] | None = popen.stdin
        self.stdout: IO[bytes] | None = popen.stdout
        self.stderr: IO[bytes] | None = popen.stderr

    @property
    def pid(self) -> int:
        """Of the supervisor, whose end is the end of all; the command's own number means nothing out here."""
        return self._popen.pid

    def wait(self, timeout: float | None = None) -> Exit:
        """Until it has ended and everything it started is gone; subprocess.TimeoutExpired if it has not.

        SandboxError if it could not be started.
        """
        self._popen.wait(timeout)
        with self._lock:
            if self._ending is None:
                self._ending = self._read_report()
        if isinstance(self._ending, SandboxError):
            raise self._ending
        return self._ending

    def poll(self) -> Exit | None:
        """How it ended, or None while it runs."""
        return None if self._popen.poll() is None else self.wait()

    def kill(self) -> Exit:
        """End the command and everything that it started; on return all of it is gone."""
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGTERM)
        try:
            return self.wait(_KILL_SECONDS)
        except subprocess.TimeoutExpired:
            self._popen.kill()  # the kernel then kills what is inside
            return self.wait()

    def __enter__(self) -> Sandboxed:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(SandboxError):  # told already to whoever waited
            self.kill()
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()

    def _read_report(self) -> Exit | SandboxError:
        with open(self._report, "rb") as file:
            text = file.read().decode("utf-8", "replace")
        kind, _, rest = text.strip().partition(" ")
        if kind == "ended":
            limit, status, cpu_us, peak = rest.split()
            code = os.waitstatus_to_exitcode(int(status))
            return Exit(
                code=code if code >= 0 else None,
                signal=-code if code < 0 else None,
                limit="" if limit == "none" else limit,
                cpu_seconds=int(cpu_us) / 1e6,
                peak_bytes=int(peak),
            )
        if kind == "failed":
            number, _, stage = rest.partition(" ")
            return SandboxError(
                f"the sandbox could not start the command: {stage}: {os.strerror(int(number))}",
                stage=stage,
                errno=int(number),
            )
        return Exit(code=None, signal=signal.SIGKILL, limit="killed", cpu_seconds=0.0, peak_bytes=0)


def start(
    command: Sequence[str | Path],
    policy: Policy,
    *,
    pass_fds: Iterable[int] = (),
    stdin: int | IO[Any] | None = subprocess.DEVNULL,
    stdout: int | IO[Any] | None = subprocess.DEVNULL,
    stderr: int | IO[Any] | None = subprocess.DEVNULL,
    layers: frozenset[str] | None = None,
) -> Sandboxed:
    """Start a command (its first word an absolute path) under a policy.

    `pass_fds` keep their numbers; nothing else is inherited. `layers` leaves protections out; by default all
    that the machine offers are used.
    """
    active = active_layers() if layers is None else layers
    passed = tuple(pass_fds)
    reader, writer = os.pipe()
    try:
        popen = subprocess.Popen(
            launch_command(command, policy, active, writer, passed),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={},
            pass_fds=(*passed, writer),
            cwd="/",
            start_new_session=True,  # a signal to our process group is meant for us
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    return Sandboxed(popen, reader)


def run(
    command: Sequence[str | Path],
    policy: Policy,
    *,
    pass_fds: Iterable[int] = (),
    input: bytes | None = None,
    layers: frozenset[str] | None = None,
) -> Completed:
    """Run a command to its end and keep what it wrote."""
    stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
    with start(
        command,
        policy,
        pass_fds=pass_fds,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        layers=layers,
    ) as process:
        outputs: dict[str, bytes] = {"stdout": b"", "stderr": b""}
        threads = [
            threading.Thread(target=lambda name=name: outputs.update({name: _drain(getattr(process, name))}))
            for name in outputs
        ]
        for thread in threads:
            thread.start()
        if process.stdin is not None:
            _feed(process.stdin, input or b"")
        try:
            ending = process.wait()
        finally:
            with suppress(SandboxError):
                process.kill()  # so that its streams end
            for thread in threads:
                thread.join()
    return Completed(ending, outputs["stdout"], outputs["stderr"])


def _drain(stream: IO[bytes]) -> bytes:
    """All of a stream; what exceeds the limit is read, so that the writer does not hang, and dropped."""
    kept = bytearray()
    while chunk := os.read(stream.fileno(), 1 << 16):
        kept += chunk[: max(0, OUTPUT_BYTES - len(kept))]
    return bytes(kept)


def _feed(stream: IO[bytes], data: bytes) -> None:
    with suppress(BrokenPipeError):  # the command need not want it all
        stream.write(data)
        stream.close()
