"""Owning a device process: a client uses it, we decide what it checks and learn what the client did.

    with ControlledDevice(DeviceOptions("sim:rtx4090", threads=1)) as device:
        start(program, pass_fds=[device.client_fd], environment=device.client_environment())
        device.configure(checks=frozenset({"race", "init"}))
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
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

from evoengineer.errors import DeviceError, UsageError
from evoengineer.sim import session
from evoengineer.sim.options import DEFAULT_CHECKS, DeviceOptions
from evoengineer.sim.process.control_service import receive_frame, send_frame

HOST_MEMORY_BYTES = 2 << 30  # shared with the client: staging, pinned and managed memory
_SHUTDOWN_SECONDS = 5.0
BlockOrder = Literal["ascending", "reversed"]
Extent = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the device failed. `kind` is one word: out_of_bounds, misaligned, freed, uninitialised, race,
    barrier_divergence, deadlock, missing_members, instruction_budget, wall_limit, trap, assert, stack_overflow,
    invalid_call, illegal_instruction, write_to_const, invalid_free, unsupported, invalid_ptx, interrupted (the
    client ended in the middle of a kernel), protocol (the client broke the connection's rules), device, internal.
    """

    kind: str
    code: int  # cudaError
    report: str  # as in docs/errors.md


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    kernel: str
    grid: Extent
    block: Extent
    shared_bytes: int  # dynamic
    elapsed_ns: float | None  # simulated; None if the launch failed
    profile: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """What the client made the device do between two marks."""

    elapsed_ns: float  # on the device's clock, all streams drained
    busy_ns: float  # of that, from the start of the first operation on the device to the end of the last
    launches: tuple[LaunchRecord, ...]  # the first few thousand
    launch_count: int
    host_to_device_bytes: int
    device_to_host_bytes: int
    device_to_device_bytes: int
    memset_bytes: int
    device_allocations: int
    device_allocation_bytes: int
    host_visible_allocations: int  # pinned, mapped, managed, registered
    host_visible_bytes: int
    host_calls: int  # functions that a stream had the host run
    module_loads: int
    resets: int
    failure: Failure | None  # the first one; stays until a reset or a new client
    messages: tuple[str, ...]  # everything that the device had to say


@dataclass(frozen=True, slots=True)
class Allocation:
    address: int
    bytes: int
    kind: str  # device, managed, pinned, array


@dataclass(frozen=True, slots=True)
class UndefinedByte:
    offset: int
    report: str  # which store put it there, as in docs/errors.md


class ControlledDevice:
    def __init__(self, options: DeviceOptions, host_memory_bytes: int = HOST_MEMORY_BYTES) -> None:
        self._options = options
        self._host_memory_bytes = host_memory_bytes
        self._start()

    def _start(self) -> None:
        self._client, theirs = socket.socketpair()
        self._control, control = socket.socketpair()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - close() ends it
        with theirs, control:
            command = session.server_command(theirs.fileno(), self._options)
            command += ["--control-fd", str(control.fileno()), "--host-bytes", str(self._host_memory_bytes)]
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno(), control.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said.fileno(),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        """A new process in place of one that does not answer; whatever was configured must be so again."""
        self._process.kill()
        self.close()
        self._start()

    # -- the client --------------------------------------------------------------------------------

    @property
    def client_fd(self) -> int:
        """The client's end of its socket, for `pass_fds`. Only one process may use it."""
        return self._client.fileno()

    def client_environment(self, cuda_major: int = 13) -> dict[str, str]:
        """What a program must find in its environment to use the device, whatever it was linked with."""
        library = session.client_library(cuda_major)
        return {
            session.SOCKET_VARIABLE: str(self.client_fd),
            "LD_PRELOAD": str(library),
            "LD_LIBRARY_PATH": str(session.cudart_directory(cuda_major)),
        }

    def disconnect(self) -> None:
        """The client has ended, or is to be cut off: a kernel that still runs for it is stopped."""
        try:
            self._client.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # already

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

    def configure(
        self,
        *,
        checks: frozenset[str] | None = None,
        threads: int | None = None,
        block_order: BlockOrder | None = None,
        max_instructions: int | None = None,
        max_seconds: float | None = None,
        memory_bytes: int | None = None,
        sample_blocks: int | None = None,
        sample_seed: int | None = None,
        sampled_only: bool | None = None,
        extra_blocks: int | None = None,
        extra_seed: int | None = None,
        reuse_profiles: bool | None = None,
        poison: bool | None = None,
    ) -> None:
        """How the launches from here on run; what is not named stays. `memory_bytes` bounds allocations;
        the others are those of DeviceOptions (0 sample blocks: no times, but quicker)."""
        if block_order not in (None, "ascending", "reversed"):
            raise UsageError(f"block_order is 'ascending' or 'reversed', not {block_order!r}")
        chosen: dict[str, Any] = {
            "checks": None if checks is None else sorted(DEFAULT_CHECKS | checks),
            "threads": threads,
            "block_order": block_order,
            "max_instructions": max_instructions,
            "max_seconds": max_seconds,
            "memory_bytes": memory_bytes,
            "sample_blocks": sample_blocks,
            "sample_seed": sample_seed,
            "sampled_only": sampled_only,
            "extra_blocks": extra_blocks,
            "extra_seed": extra_seed,
            "reuse_profiles": reuse_profiles,
            "poison": poison,
        }
        self._ask({"request": "configure", **{k: v for k, v in chosen.items() if v is not None}})

    def mark(self, timeout_seconds: float | None = None) -> Region:
        """What happened since the last mark. Waits for what the client has sent so far to be done."""
        found, _ = self._ask({"request": "mark"}, timeout_seconds=timeout_seconds)
        failure = found.pop("failure")
        launches = tuple(_launch(each) for each in found.pop("launches"))
        messages = tuple(found.pop("messages"))
        return Region(
            launches=launches,
            failure=Failure(**failure) if failure else None,
            messages=messages,
            **found,
        )

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
            f"the device process of {self._options.device} ended unexpectedly (exit code "
            f"{self._process.returncode})",
            report,
        )


def _launch(found: dict[str, Any]) -> LaunchRecord:
    return LaunchRecord(
        found["kernel"],
        tuple(found["grid"]),
        tuple(found["block"]),
        found["shared_bytes"],
        found.get("elapsed_ns"),
        found.get("profile"),
    )
