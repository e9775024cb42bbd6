"""Commands about memory: allocating, copying, filling. See commands.py for the rest.

A client's addresses and sizes are checked by the runtime (runtime/transfers.cpp) against the table of
allocations; a client can free only what it has allocated itself.
"""

import ctypes

from evoengineer.sim.process.activity import Activity
from evoengineer.sim.process.call_error import INVALID_VALUE, OUT_OF_MEMORY, CallError
from evoengineer.sim.process.clock import Clock
from evoengineer.sim.process.guards import MOST_ALLOCATIONS, MOST_HANDLES
from evoengineer.sim.runtime import native, structs
from evoengineer.sim.wire import protocol

_ALREADY_REGISTERED, _NOT_REGISTERED = 712, 713  # cudaError
_CLIENT_KINDS = (structs.DEVICE, structs.MANAGED, structs.PINNED, structs.ARRAY)
_HOST_KINDS = (structs.MANAGED, structs.PINNED)
_TO_DEVICE, _TO_HOST, _ON_DEVICE = 1, 2, 3  # cudaMemcpyKind
_PAGE = 4096


class MemoryCommands:
    def __init__(self, memory: native.Memory, device_bytes: int) -> None:
        self._memory = memory
        self._card_bytes = device_bytes
        self.limit_bytes = device_bytes  # of everything that a client allocates
        self.poison = False  # fill new device memory with ones; it still counts as never written
        self._owned: set[int] = set()
        self._registered: dict[int, int] = {}  # host range → its allocation in the shared arena
        self._library = native.load_runtime()

    def forget(self) -> None:
        self._owned.clear()
        self._registered.clear()

    def owns(self, address: int) -> bool:
        return address in self._owned

    def info(self) -> bytes:
        used = sum(self._memory.used(kind) for kind in (structs.DEVICE, structs.SYMBOL, structs.ARRAY))
        return protocol.PAIR.pack(max(self._card_bytes - used, 0), self._card_bytes)

    def allocate(self, payload: memoryview, activity: Activity) -> bytes:
        size, kind, _ = protocol.ALLOC.unpack(payload)
        if kind not in _CLIENT_KINDS:
            raise CallError(INVALID_VALUE)
        address = self._take(kind, size)
        activity.allocated(size, kind in _HOST_KINDS)
        return protocol.ADDRESS.pack(address)

    def _take(self, kind: int, size: int) -> int:
        if len(self._owned) >= MOST_ALLOCATIONS or self._memory.used() + size > self.limit_bytes:
            raise CallError(OUT_OF_MEMORY)
        address = self._memory.allocate(kind, size)
        if not address:
            raise CallError(OUT_OF_MEMORY)
        self._owned.add(address)
        if self.poison and kind == structs.DEVICE:
            ctypes.memset(address, 0xFF, size)
        return address

    def free(self, payload: memoryview) -> None:
        (address,) = protocol.ADDRESS.unpack(payload)
        if address not in self._owned:
            raise CallError(INVALID_VALUE)
        self._owned.discard(address)
        if self._memory.free(address):
            raise CallError(INVALID_VALUE)

    def copy(self, payload: memoryview, clock: Clock, activity: Activity) -> None:
        *rows, _, stream = protocol.COPY.unpack(payload)
        target, _, source, _, width, height = rows
        self._check(self._library.rt_transfer_copy(*rows))
        from_host, to_host = native.in_host_arena(source), native.in_host_arena(target)
        kind = _TO_HOST if to_host else _TO_DEVICE if from_host else _ON_DEVICE
        activity.copied(width * height, from_host, to_host)
        clock.copy(stream, width * height, kind, target)

    def write(self, payload: memoryview, clock: Clock, activity: Activity) -> None:
        target, stream, _ = protocol.WRITE.unpack_from(payload)
        data = bytes(payload[protocol.WRITE.size :])
        self._check(self._library.rt_transfer_write(target, data, len(data)))
        activity.copied(len(data), True, False)
        clock.copy(stream, len(data), _TO_DEVICE, target)

    def fill(self, payload: memoryview, clock: Clock, activity: Activity) -> None:
        target, pitch, width, height, value, element, stream, _ = protocol.MEMSET.unpack(payload)
        if element not in (1, 2, 4):
            raise CallError(INVALID_VALUE)
        self._check(self._library.rt_transfer_fill(target, pitch, width, height, value, element))
        activity.memset_bytes += width * height * element
        clock.fill(stream, width * height * element, target)

    def _check(self, outcome: int) -> None:
        if outcome:
            raise CallError(INVALID_VALUE)

    def register(self, payload: memoryview, activity: Activity) -> bytes:
        address, size = protocol.PAIR.unpack(payload)
        if address in self._registered:
            raise CallError(_ALREADY_REGISTERED)
        if len(self._registered) >= MOST_HANDLES:
            raise CallError(OUT_OF_MEMORY)
        start = self._take(structs.PINNED, size + _PAGE)
        self._registered[address] = start
        activity.allocated(size, True)
        aligned = -(-start // _PAGE) * _PAGE
        return protocol.PAIR.pack(aligned, aligned)

    def unregister(self, payload: memoryview) -> None:
        (address,) = protocol.ADDRESS.unpack(payload)
        start = self._registered.pop(address, 0)
        if not start:
            raise CallError(_NOT_REGISTERED)
        self._owned.discard(start)
        self._memory.free(start)

    # -- for whoever owns the device ---------------------------------------------------------------

    def read_bytes(self, address: int, size: int) -> bytes | None:
        """The contents of memory that is allocated; None if it is not."""
        if size == 0:
            return b""
        return ctypes.string_at(address, size) if self._library.rt_is_live(address, size) else None

    def first_undefined(self, address: int, size: int) -> int | None:
        """Offset of the first byte that nobody has written (while `init` is among the checks)."""
        return self._memory.first_undefined(address, size) if self._library.rt_is_live(address, size) else 0

    def write_bytes(self, address: int, data: bytes) -> bool:
        return int(self._library.rt_transfer_write(address, data, len(data))) == 0
