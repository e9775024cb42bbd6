"""The simulated GPU for Python: modules, buffers and launches over a device process of its own.

Speaks the same commands as our libcudart. Launches are sent without waiting; `synchronize` and `download`
wait, and raise DeviceError with the device's report if a kernel failed. A failed device stays failed: open
a new one.
"""

from __future__ import annotations

import array
import contextlib
import mmap
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from evoengineer.errors import DeviceError, UsageError
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.runtime import structs
from evoengineer.sim.session import start_server
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import Op

Extent = int | Sequence[int]
_TO_DEVICE, _TO_HOST = 1, 2  # cudaMemcpyKind
_CHUNK = 16 << 20


@dataclass(frozen=True, slots=True)
class SimBuffer:
    address: int
    nbytes: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SimKernel:
    name: str
    number: int
    parameters: tuple[tuple[int, int], ...]  # offset, bytes
    parameter_bytes: int
    static_shared_bytes: int
    max_threads: int
    registers: int


@dataclass(frozen=True, slots=True)
class SimModule:
    number: int
    kernels: Mapping[str, SimKernel]
    variables: Mapping[str, SimBuffer]

    def __getitem__(self, name: str) -> SimKernel:
        """A kernel by its name in PTX, or by the C++ name it was made from if that is unambiguous."""
        if name in self.kernels:
            return self.kernels[name]
        mangled = f"{len(name)}{name}"
        found = [
            kernel
            for full, kernel in self.kernels.items()
            if full.startswith(("_Z", "_ZN")) and mangled in full
        ]
        if len(found) == 1:
            return found[0]
        raise UsageError(f"no kernel {name!r} in the module; it has: {', '.join(self.kernels) or 'none'}")


class SimDevice:
    def __init__(self, options: DeviceOptions, client_fd: int | None = None) -> None:
        """A device process of its own, or the client's side of one that somebody else owns (control.py)."""
        self._profile = options.device.profile
        self._report = tempfile.TemporaryFile()  # noqa: SIM115 - the device process writes its reports here; close() ends it
        self._server: subprocess.Popen[bytes] | None = None
        if client_fd is not None:
            self._socket = socket.socket(fileno=os.dup(client_fd))
        else:
            self._socket, theirs = socket.socketpair()
            with theirs:
                self._server = start_server(theirs, options, stderr=self._report.fileno())
        self.output = b""  # what kernels printed, in order
        try:
            self._staging = self._hello()
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        return self._profile.device

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the device process, if it is ours; all its memory goes with it."""
        self._socket.close()
        if self._server is not None:
            self._server.kill()
            self._server.wait()
        self._report.close()

    # -- code --------------------------------------------------------------------------------------

    def load(self, code: str | bytes | Path) -> SimModule:
        """Load PTX text, a fat binary, or a file that holds either."""
        data = (
            code.read_bytes() if isinstance(code, Path) else code.encode() if isinstance(code, str) else code
        )
        payload = protocol.MODULE.pack(1, 0) + protocol.IMAGE.pack(len(data)) + data
        return _read_module(self._call(Op.MODULE_LOAD, payload))

    def unload(self, module: SimModule) -> None:
        self._call(Op.MODULE_UNLOAD, protocol.MODULE.pack(module.number, 0))

    # -- memory ------------------------------------------------------------------------------------

    def allocate(self, shape: Extent, dtype: Any = "uint8") -> SimBuffer:
        kind = np.dtype(dtype)
        extents = (shape,) if isinstance(shape, int) else tuple(shape)
        size = int(np.prod(extents, dtype=np.int64)) * kind.itemsize
        result = self._call(Op.ALLOC, protocol.ALLOC.pack(max(size, 1), structs.DEVICE, 256))
        return SimBuffer(protocol.ADDRESS.unpack(result)[0], size, kind, extents)

    def free(self, buffer: SimBuffer) -> None:
        self._call(Op.FREE, protocol.ADDRESS.pack(buffer.address))

    def upload(self, array: np.ndarray) -> SimBuffer:
        """A new buffer with the array's contents, type and shape."""
        buffer = self.allocate(array.shape, array.dtype)
        self.write(buffer, array)
        return buffer

    def write(self, buffer: SimBuffer, array: np.ndarray) -> None:
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        if len(data) > buffer.nbytes:
            raise UsageError(f"the array has {len(data)} bytes, the buffer only {buffer.nbytes}")
        for start in range(0, len(data), _CHUNK):
            part = data[start : start + _CHUNK]
            self._staging[: len(part)] = part
            self._copy(buffer.address + start, self._staging_address, len(part), _TO_DEVICE)

    def download(self, buffer: SimBuffer) -> np.ndarray:
        """The buffer's contents, once everything before has run."""
        data = np.empty(buffer.nbytes, np.uint8)
        for start in range(0, buffer.nbytes, _CHUNK):
            size = min(_CHUNK, buffer.nbytes - start)
            self._copy(self._staging_address, buffer.address + start, size, _TO_HOST)
            data[start : start + size] = np.frombuffer(self._staging, np.uint8, size)
        return data.view(buffer.dtype).reshape(buffer.shape)

    def _copy(self, target: int, source: int, size: int, kind: int) -> None:
        self._call(Op.COPY, protocol.COPY.pack(target, size, source, size, size, 1, kind, 0))

    # -- launching ---------------------------------------------------------------------------------

    def launch(
        self,
        kernel: SimKernel,
        grid: Extent,
        block: Extent,
        arguments: Sequence[Any] = (),
        *,
        shared_bytes: int = 0,
        cooperative: bool = False,
    ) -> None:
        """Start a kernel. Arguments are buffers, NumPy scalars, Python numbers, or bytes (structs)."""
        grid3, block3 = _extent("grid", grid), _extent("block", block)
        threads = block3[0] * block3[1] * block3[2]
        if threads > kernel.max_threads:
            raise UsageError(
                f"{kernel.name}: {threads} threads per block, at most {kernel.max_threads} are possible"
            )
        limit = self._profile.shared_bytes_per_block_optin
        if kernel.static_shared_bytes + shared_bytes > limit:
            raise UsageError(
                f"{kernel.name}: {shared_bytes} bytes of shared memory, but a block has {limit} at most"
            )
        head = protocol.LAUNCH.pack(kernel.number, 0, *grid3, *block3, shared_bytes, int(cooperative))
        self._post(Op.LAUNCH, head + pack_arguments(kernel, arguments))

    def synchronize(self) -> None:
        """Wait for all launches; raises DeviceError if one failed."""
        self._call(Op.SYNCHRONIZE, b"")

    def record(self, event: int) -> None:
        """Note the simulated time at which everything so far is done, under a number of the caller's choice."""
        self._post(Op.EVENT_RECORD, protocol.EVENT.pack(event, 0))

    def elapsed_ms(self, start: int, end: int) -> float:
        """Simulated time between two recorded events."""
        return float(
            protocol.ELAPSED_RESULT.unpack(self._call(Op.EVENT_ELAPSED, protocol.EVENT.pack(start, end)))[0]
        )

    # -- the connection ----------------------------------------------------------------------------

    def _hello(self) -> mmap.mmap:
        self._send(Op.HELLO, protocol.REPLY, protocol.HELLO.pack(protocol.VERSION, 13, os.getpid(), 0))
        files = array.array("i")
        try:
            _, ancillary, _, _ = self._socket.recvmsg(1, socket.CMSG_SPACE(2 * files.itemsize))
        except OSError:
            ancillary = []
        if not ancillary:
            raise DeviceError(f"the device process of {self.name} did not start", self._take_report())
        files.frombytes(ancillary[0][2][: 2 * files.itemsize])
        try:
            layout = protocol.HELLO_RESULT.unpack_from(self._reply().result)
            self._staging_address = layout[0]
            return mmap.mmap(files[0], layout[2])
        finally:
            for file in files:
                os.close(file)

    def _send(self, op: int, flags: int, payload: bytes) -> None:
        try:
            self._socket.sendall(protocol.HEADER.pack(op, flags, len(payload)) + payload)
        except OSError as error:
            raise self._lost() from error

    def _post(self, op: int, payload: bytes) -> None:
        self._send(op, 0, payload)

    def _call(self, op: int, payload: bytes) -> bytes:
        self._send(op, protocol.REPLY | protocol.OUTPUT, payload)
        return self._reply().result

    def _reply(self) -> protocol.Reply:
        try:
            reply = protocol.read_reply(self._socket)
        except (EOFError, OSError) as error:
            raise self._lost() from error
        self.output += b"".join(text for _, text in protocol.split_output(reply.output))
        if reply.sticky or reply.status:
            report = self._take_report()
            first = report.partition("\n")[0].removeprefix("========= ").removeprefix("evoengineer: ")
            code = reply.sticky or reply.status
            raise DeviceError(f"{self.name}: {first or f'CUDA error {code}'}", report, code)
        return reply

    def _lost(self) -> DeviceError:
        return DeviceError(f"the device process of {self.name} ended unexpectedly", self._take_report())

    def _take_report(self) -> str:
        """Everything the device process has said so far."""
        with contextlib.suppress(OSError):
            self._report.seek(0)
        return self._report.read().decode("utf-8", "replace")


def pack_arguments(kernel: SimKernel, arguments: Sequence[Any]) -> bytes:
    """The kernel's parameter buffer."""
    if len(arguments) != len(kernel.parameters):
        raise UsageError(
            f"{kernel.name} takes {len(kernel.parameters)} arguments, {len(arguments)} were given"
        )
    buffer = bytearray(kernel.parameter_bytes)
    for position, (argument, (offset, size)) in enumerate(zip(arguments, kernel.parameters, strict=True)):
        data = _pack(argument, size)
        if len(data) != size:
            raise UsageError(
                f"{kernel.name}: argument {position} has {len(data)} bytes ({type(argument).__name__}), "
                f"but the parameter has {size}"
            )
        buffer[offset : offset + size] = data
    return bytes(buffer)


def _pack(argument: Any, size: int) -> bytes:
    if isinstance(argument, SimBuffer):
        return struct.pack("<Q", argument.address)
    if isinstance(argument, (bytes, bytearray)):
        return bytes(argument)
    if isinstance(argument, np.generic | np.ndarray):
        return argument.tobytes()
    if isinstance(argument, float) and size in (4, 8):
        return struct.pack("<f" if size == 4 else "<d", argument)
    if isinstance(argument, int) and size in (1, 2, 4, 8):
        return (argument & ((1 << 8 * size) - 1)).to_bytes(size, sys.byteorder)
    raise UsageError(f"cannot pass {argument!r} to a kernel: use a buffer, a number, a NumPy value or bytes")


def _extent(what: str, value: Extent) -> tuple[int, int, int]:
    sizes = (value,) if isinstance(value, int) else tuple(value)
    if not 1 <= len(sizes) <= 3 or any(size < 1 for size in sizes):
        raise UsageError(f"{what} must be one to three positive sizes, not {value!r}")
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return x, y, z


def _read_module(result: bytes) -> SimModule:
    number, kernel_count, variable_count, _ = protocol.MODULE_RESULT.unpack_from(result)
    at = protocol.MODULE_RESULT.size
    kernels, variables = {}, {}
    for _ in range(kernel_count):
        kernel, parameters, size, shared, threads, registers, _, _, name_bytes, _ = (
            protocol.KERNEL_RESULT.unpack_from(result, at)
        )
        at += protocol.KERNEL_RESULT.size
        pairs = []
        for _ in range(parameters):
            pairs.append(protocol.PARAMETER.unpack_from(result, at))
            at += protocol.PARAMETER.size
        name = result[at : at + name_bytes].decode()
        at += name_bytes
        kernels[name] = SimKernel(name, kernel, tuple(pairs), size, shared, threads, registers)
    for _ in range(variable_count):
        address, size, _, name_bytes = protocol.VARIABLE_RESULT.unpack_from(result, at)
        at += protocol.VARIABLE_RESULT.size
        name = result[at : at + name_bytes].decode()
        at += name_bytes
        variables[name] = SimBuffer(address, size, np.dtype(np.uint8), (size,))
    return SimModule(number, kernels, variables)
