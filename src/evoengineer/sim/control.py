"""Owning a device process: a client uses it, we decide what it checks and learn what the client did.

    with ControlledDevice(DeviceOptions(threads=1)) as device:
        start(program, pass_fds=[device.client_fd], environment=device.client_environment())
        device.configure(replace(device.options, checks=frozenset({"race", "init"})))
        …                                  # the program launches kernels
        region = device.mark()             # what it did since the last mark, and how long that took
        device.new_client()                # the next program finds a new device in the same process

The client holds one socket and shares the host memory of its device; it can reach neither the control socket
nor any other memory of the device process. Everything in a Region is counted by the device process, nothing
is taken from the client's word. Times are simulated.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from evoengineer.errors import DeviceError, EnvironmentFailure, UsageError
from evoengineer.sim.cudart.library import client_environment
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.process.region import Region
from evoengineer.sim.session import start_server
from evoengineer.sim.wire.protocol import receive_frame, send_frame

_SHUTDOWN_SECONDS = 5.0
_FIXED = ("device", "host_bytes", "profile_file")  # options that hold from the start of the process


@dataclass(frozen=True, slots=True)
class Allocation:
    address: int
    bytes: int
    kind: str  # device, managed, pinned, array


@dataclass(frozen=True, slots=True)
class UndefinedByte:
    offset: int
    report: str  # which store put it there, as in docs/errors.md; empty if no kernel has written there


class ControlledDevice:
    def __init__(self, options: DeviceOptions) -> None:
        self._start(options)

    def _start(self, options: DeviceOptions) -> None:
        self._latest = options
        self._client, theirs = socket.socketpair()
        self._control, control = socket.socketpair()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - close() ends it
        with theirs, control:
            self._process = start_server(theirs, options, control=control, stderr=self._said.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the device process."""
        self._client.close()
        self._control.close()
        try:
            self._process.wait(_SHUTDOWN_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()

    def restart(self) -> None:
        """A new process in place of one that does not answer, configured alike."""
        self._process.kill()
        self.close()
        self._start(self._latest)

    # -- the client --------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """Of the device process."""
        return self._process.pid

    @property
    def client_fd(self) -> int:
        """The client's end of its socket, for `pass_fds`. Only one process may use it."""
        return self._client.fileno()

    def client_environment(self, cuda_major: int = 13) -> dict[str, str]:
        """What a program must find in its environment to use the device, whatever it was linked with."""
        return client_environment(self.client_fd, cuda_major)

    def disconnect(self) -> None:
        """The client has ended, or is to be cut off: a kernel that still runs for it is stopped."""
        with suppress(OSError):  # it is already
            self._client.shutdown(socket.SHUT_RDWR)

    def new_client(self) -> None:
        """The next client: a new `client_fd`, a device without memory, modules or failures."""
        self.disconnect()
        fresh, theirs = socket.socketpair()
        with theirs:
            self._ask_about({"request": "new_client"}, theirs.fileno())
        self._client.close()
        self._client = fresh

    # -- what we ask for ---------------------------------------------------------------------------

    @property
    def options(self) -> DeviceOptions:
        """How launches run now, by the word of the engine itself."""
        found = self._ask({"request": "options"})
        return DeviceOptions.from_json(found)

    def configure(self, options: DeviceOptions) -> None:
        """How the launches from here on run: all options, most often some of `options` replaced."""
        for name in _FIXED:
            if getattr(options, name) != getattr(self._latest, name):
                raise UsageError(f"{name} cannot change while the device process runs")
        self._latest = options
        self._ask({"request": "configure", "options": options.to_json()})

    def mark(self, timeout_seconds: float | None = None) -> Region:
        """What happened since the last mark. Waits for what the client has sent so far to be done."""
        found = self._ask({"request": "mark"}, timeout_seconds=timeout_seconds)
        return Region.from_json(found)

    def copy_out(self, address: int, size: int, file: int, offset: int) -> bool:
        """Device memory to a place in a file, once what the client has sent so far is done; whether these bytes are
        inside an allocation. The device process itself reads and writes the file: tensors are large."""
        return self._copy("copy_out", address, size, file, offset)

    def copy_in(self, address: int, size: int, file: int, offset: int) -> bool:
        """The other way."""
        return self._copy("copy_in", address, size, file, offset)

    def first_undefined(self, address: int, size: int) -> UndefinedByte | None:
        """The first byte of these that nobody has given a value; None if all are defined. Only while `init` is
        among the checks: what was allocated before that counts as defined."""
        found = self._ask({"request": "first_undefined", "address": address, "bytes": size})
        return None if found["offset"] is None else UndefinedByte(found["offset"], found["report"])

    def allocations(self) -> tuple[Allocation, ...]:
        """What the client has allocated and not freed."""
        found = self._ask({"request": "allocations"})
        return tuple(Allocation(*each) for each in found["allocations"])

    def _copy(self, request: str, address: int, size: int, file: int, offset: int) -> bool:
        place = {"address": address, "bytes": size, "offset": offset}
        answer = self._ask_about({"request": request, **place}, file)
        if answer["trouble"]:
            raise EnvironmentFailure(f"the simulated GPU cannot copy a tensor: {answer['trouble']}")
        return bool(answer["ok"])

    # -- the connection ----------------------------------------------------------------------------

    def _ask(self, head: dict[str, Any], timeout_seconds: float | None = None) -> dict[str, Any]:
        self._send(head)
        return self._receive(timeout_seconds)

    def _ask_about(self, head: dict[str, Any], file: int) -> dict[str, Any]:
        """A request that comes with a file."""
        self._send(head, file)
        return self._receive(None)

    def _send(self, head: dict[str, Any], file: int | None = None) -> None:
        try:
            send_frame(self._control, head)
            if file is not None:
                socket.send_fds(self._control, [b"\0"], [file])
        except OSError as error:
            raise self._lost() from error

    def _receive(self, timeout_seconds: float | None) -> dict[str, Any]:
        self._control.settimeout(timeout_seconds)
        try:
            return receive_frame(self._control)
        except TimeoutError as error:
            raise DeviceError(
                f"the device process did not answer within {timeout_seconds:g} seconds: restart() it"
            ) from error
        except (EOFError, OSError) as error:
            raise self._lost() from error
        finally:
            self._control.settimeout(None)

    def _lost(self) -> DeviceError:
        self._process.kill()
        self._process.wait()
        self._said.seek(0)
        report = self._said.read().decode("utf-8", "replace")
        return DeviceError(
            f"the device process of {self._latest.device} ended unexpectedly (exit code "
            f"{self._process.returncode})",
            report,
        )
