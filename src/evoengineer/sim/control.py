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

from evoengineer.errors import DeviceError, UsageError
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
            self._send({"request": "new_client"})
            socket.send_fds(self._control, [b"\0"], [theirs.fileno()])
            self._receive(None)
        self._client.close()
        self._client = fresh

    # -- what we ask for ---------------------------------------------------------------------------

    @property
    def options(self) -> DeviceOptions:
        """How launches run now, by the word of the engine itself."""
        found, _ = self._ask({"request": "options"})
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
        found, _ = self._ask({"request": "mark"}, timeout_seconds=timeout_seconds)
        return Region.from_json(found)

    def read(self, address: int, size: int) -> bytes:
        """Device memory, once what the client has sent so far is done."""
        found, data = self._ask({"request": "read", "address": address, "bytes": size})
        if not found["ok"]:
            raise DeviceError(f"{size} bytes at 0x{address:x} are not inside an allocation")
        return data

    def first_undefined(self, address: int, size: int) -> UndefinedByte | None:
        """The first byte of these that nobody has given a value; None if all are defined. Only while `init` is
        among the checks: what was allocated before that counts as defined."""
        found, _ = self._ask({"request": "first_undefined", "address": address, "bytes": size})
        return None if found["offset"] is None else UndefinedByte(found["offset"], found["report"])

    def write(self, address: int, data: bytes) -> None:
        found, _ = self._ask({"request": "write", "address": address}, data)
        if not found["ok"]:
            raise DeviceError(f"{len(data)} bytes at 0x{address:x} are not inside an allocation")

    def allocations(self) -> tuple[Allocation, ...]:
        """What the client has allocated and not freed."""
        found, _ = self._ask({"request": "allocations"})
        return tuple(Allocation(*each) for each in found["allocations"])

    # -- the connection ----------------------------------------------------------------------------

    def _ask(
        self, head: dict[str, Any], data: bytes = b"", timeout_seconds: float | None = None
    ) -> tuple[dict[str, Any], bytes]:
        self._send(head, data)
        return self._receive(timeout_seconds)

    def _send(self, head: dict[str, Any], data: bytes = b"") -> None:
        try:
            send_frame(self._control, head, data)
        except OSError as error:
            raise self._lost() from error

    def _receive(self, timeout_seconds: float | None) -> tuple[dict[str, Any], bytes]:
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
