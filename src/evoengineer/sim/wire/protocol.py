"""What the client (`cudart/`, or `device.py`), the owner (`control.py`) and the device process say to each other.

A command is a header and a payload over a Unix socket. A command with REPLY is answered, in order; the
others are not, and their failures show as the sticky error of later replies. `cudart/wire.h` is the same in
C++: keep the two in step. On the control socket a request is a JSON object and bytes that go with it, and so is
its answer. This module owns the layout; it does not carry out anything.
"""

import enum
import json
import socket
import struct
from dataclasses import dataclass
from typing import Any

VERSION = 1


class Op(enum.IntEnum):
    HELLO = 1
    SYNCHRONIZE = 2
    GOODBYE = 3
    RESET = 4
    MODULE_LOAD = 5
    MODULE_UNLOAD = 6
    ALLOC = 7
    FREE = 8
    COPY = 9
    WRITE = 10
    MEMSET = 11
    LAUNCH = 12
    EVENT_RECORD = 13
    EVENT_ELAPSED = 14
    STREAM_WAIT = 15
    HOST_CALL = 16
    SET_LIMIT = 17
    MEMORY_INFO = 18
    OCCUPANCY = 19
    TEXTURE_CREATE = 20
    TEXTURE_DESTROY = 21
    HOST_REGISTER = 22
    HOST_UNREGISTER = 23
    STREAM_CREATE = 24


class CudaError(enum.IntEnum):
    """Those of cudaError that the device process itself answers with; reports of kernels have more."""

    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    INVALID_CONFIGURATION = 9
    INVALID_IMAGE = 200
    NO_KERNEL_IMAGE = 209
    INVALID_PTX = 218
    INVALID_HANDLE = 400
    TIMEOUT = 702
    ALREADY_REGISTERED = 712
    NOT_REGISTERED = 713
    LAUNCH_FAILURE = 719
    COOPERATIVE_TOO_LARGE = 720
    NOT_SUPPORTED = 801
    UNKNOWN = 999


REPLY, OUTPUT = 1, 2  # flags of a command

HEADER = struct.Struct("<IIQ")  # op, flags, payload bytes
REPLY_HEADER = struct.Struct("<iiQQ")  # status, sticky error, result bytes, output bytes
OUTPUT_HEADER = struct.Struct("<BI")  # 1 stdout or 2 stderr, bytes

HELLO = struct.Struct("<IIII")  # version, CUDA major version, pid, reserved
# Host arena: base, bytes, staging bytes. Device arena: base, bytes. Memory of the card. Then the counts of
# attributes and of the bytes of cudaDeviceProp, which both follow.
HELLO_RESULT = struct.Struct("<QQQQQQII")
ALLOC = struct.Struct("<QII")  # bytes, kind (structs.DEVICE …), alignment
ADDRESS = struct.Struct("<Q")
COPY = struct.Struct("<QQQQQQII")  # target, its pitch, source, its pitch, width, height, kind, stream
WRITE = struct.Struct("<QII")  # target, stream, reserved; then the data
MEMSET = struct.Struct("<QQQQIIII")  # target, pitch, width, height, value, element bytes, stream, reserved
LAUNCH = struct.Struct("<II3I3III")  # kernel, stream, grid, block, shared bytes, cooperative; parameters
EVENT = struct.Struct("<II")  # event, stream (EVENT_ELAPSED: start, end)
ELAPSED_RESULT = struct.Struct("<f")  # milliseconds
HOST_CALL = struct.Struct("<QQQII")  # function, data, stream handle, kind, stream
HOST_REQUEST = struct.Struct("<QQQIi")  # to the client's own thread: as above, then a cudaError
LIMIT = struct.Struct("<IIQ")  # cudaLimit, reserved, value
PAIR = struct.Struct("<QQ")
OCCUPANCY = struct.Struct("<IIQ")  # kernel, threads per block, dynamic shared bytes
COUNT = struct.Struct("<I")
MODULE = struct.Struct("<II")  # MODULE_LOAD: number of images; MODULE_UNLOAD: module
IMAGE = struct.Struct("<Q")  # bytes of the image that follows
MODULE_RESULT = struct.Struct("<IIII")  # module, kernels, variables, reserved
# kernel, parameters, parameter bytes, static shared bytes, threads, registers, local, const, name bytes, reserved
KERNEL_RESULT = struct.Struct("<10I")
PARAMETER = struct.Struct("<II")  # offset, bytes
VARIABLE_RESULT = struct.Struct("<QQII")  # address, bytes, space (VARIABLE_SPACES), name bytes
VARIABLE_SPACES = ("global", "const", "managed")
STREAM = struct.Struct("<II")  # stream, flags
TEXTURE = struct.Struct("<IIQQQQQQ4iiII3iiii4fiifff")  # TextureBody in wire.h
LEVEL = struct.Struct("<QQQQQ")  # address, width, height, depth, pitch
FRAME = struct.Struct("<Q")  # control socket: bytes of JSON


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    sticky: int
    result: bytes
    output: bytes


def receive(sock: socket.socket, size: int) -> bytes:
    """Exactly `size` bytes; EOFError when the other side has gone."""
    parts = bytearray()
    while len(parts) < size:
        part = sock.recv(size - len(parts))
        if not part:
            raise EOFError("the other side of the device connection has closed it")
        parts += part
    return bytes(parts)


def read_reply(sock: socket.socket) -> Reply:
    status, sticky, result_bytes, output_bytes = REPLY_HEADER.unpack(receive(sock, REPLY_HEADER.size))
    return Reply(status, sticky, receive(sock, result_bytes), receive(sock, output_bytes))


def send_frame(sock: socket.socket, head: dict[str, Any]) -> None:
    text = json.dumps(head).encode()
    sock.sendall(FRAME.pack(len(text)) + text)


def receive_frame(sock: socket.socket) -> dict[str, Any]:
    """EOFError when the other side has gone."""
    (text_bytes,) = FRAME.unpack(receive(sock, FRAME.size))
    head: dict[str, Any] = json.loads(receive(sock, text_bytes))
    return head


def split_output(output: bytes) -> list[tuple[int, bytes]]:
    """Device output as (1 for stdout or 2 for stderr, text) in order."""
    parts, at = [], 0
    while at + OUTPUT_HEADER.size <= len(output):
        kind, length = OUTPUT_HEADER.unpack_from(output, at)
        at += OUTPUT_HEADER.size
        parts.append((kind, output[at : at + length]))
        at += length
    return parts
