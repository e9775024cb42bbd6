"""Commands about memory: allocating, copying, filling.

A client's addresses and sizes are checked by the runtime (runtime/transfers.cpp) against the table of
allocations; a client can free only what it has allocated itself.
"""

import ctypes
import mmap
import os
from collections.abc import Callable

from evoengineer.sim.process.call_error import CallError
from evoengineer.sim.process.clock import Rows
from evoengineer.sim.process.context import Context
from evoengineer.sim.process.guards import MOST_ALLOCATIONS, MOST_HANDLES
from evoengineer.sim.runtime import native, structs
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import CudaError, Op

_CLIENT_KINDS = (structs.DEVICE, structs.MANAGED, structs.PINNED, structs.ARRAY)
_HOST_KINDS = (structs.MANAGED, structs.PINNED)
_TO_DEVICE, _TO_HOST, _ON_DEVICE = 1, 2, 3  # cudaMemcpyKind
_LIMIT_HEAP = 2  # cudaLimitMallocHeapSize
_PAGE = 4096
_BYTES_AN_INSTRUCTION = 64  # how far a copy gets while an instruction of a warp runs


class MemoryCommands:
    def __init__(self, context: Context) -> None:
        self._context, self._memory, self._library = context, context.arenas, context.runtime
        self._owned: set[int] = set()
        self._registered: dict[int, int] = {}  # host range → its allocation in the shared arena
        self.handlers: dict[int, Callable[[memoryview], bytes | None]] = {
            Op.MEMORY_INFO: self._info,
            Op.SET_LIMIT: self._set_limit,
            Op.ALLOC: self._allocate,
            Op.FREE: self._free,
            Op.COPY: self._copy,
            Op.WRITE: self._write,
            Op.MEMSET: self._fill,
            Op.HOST_REGISTER: self._register,
            Op.HOST_UNREGISTER: self._unregister,
        }

    def forget(self) -> None:
        self._owned.clear()
        self._registered.clear()

    @property
    def _limit_bytes(self) -> int:
        """Of everything that a client allocates."""
        return self._context.options.memory_bytes or self._context.card.dram_bytes

    def _info(self, payload: memoryview) -> bytes:
        used = sum(self._memory.used(kind) for kind in (structs.DEVICE, structs.SYMBOL, structs.ARRAY))
        there = self._context.card.dram_bytes
        return protocol.PAIR.pack(max(there - used, 0), there)

    def _set_limit(self, payload: memoryview) -> None:
        limit, _, value = protocol.LIMIT.unpack(payload)
        if limit == _LIMIT_HEAP:
            self._library.rt_heap_limit(min(value, self._limit_bytes))

    def _allocate(self, payload: memoryview) -> bytes:
        size, kind, _ = protocol.ALLOC.unpack(payload)
        if kind not in _CLIENT_KINDS:
            raise CallError(CudaError.INVALID_VALUE)
        address = self._take(kind, size)
        self._context.activity.allocated(size, kind in _HOST_KINDS)
        return protocol.ADDRESS.pack(address)

    def _take(self, kind: int, size: int) -> int:
        if len(self._owned) >= MOST_ALLOCATIONS or self._memory.used() + size > self._limit_bytes:
            raise CallError(CudaError.OUT_OF_MEMORY)
        address = self._memory.allocate(kind, size)
        if not address:
            raise CallError(CudaError.OUT_OF_MEMORY)
        self._owned.add(address)
        self._spend(size)
        options = self._context.options  # whatever it is filled with, it still counts as never written
        on_card = kind not in _HOST_KINDS
        if options.noise and on_card:
            self._library.rt_fill_noise(address, size, options.noise + address)
        elif options.poison and on_card:
            ctypes.memset(address, 0xFF, size)
        return address

    def _free(self, payload: memoryview) -> None:
        self._context.clock.synchronize()
        (address,) = protocol.ADDRESS.unpack(payload)
        if address not in self._owned:
            raise CallError(CudaError.INVALID_VALUE)
        self._owned.discard(address)
        if self._memory.free(address):
            raise CallError(CudaError.INVALID_VALUE)

    def _copy(self, payload: memoryview) -> None:
        *rows, _, stream = protocol.COPY.unpack(payload)
        target, target_pitch, source, source_pitch, width, height = rows
        self._check(self._library.rt_transfer_copy(*rows))
        self._spend(width * height)
        from_host, to_host = native.in_host_arena(source), native.in_host_arena(target)
        kind = _TO_HOST if to_host else _TO_DEVICE if from_host else _ON_DEVICE
        self._context.activity.copied(width * height, from_host, to_host)
        self._context.clock.copy(
            stream,
            kind,
            Rows(source, width, height, source_pitch),
            Rows(target, width, height, target_pitch),
        )

    def _write(self, payload: memoryview) -> None:
        target, stream, _ = protocol.WRITE.unpack_from(payload)
        data = bytes(payload[protocol.WRITE.size :])
        self._check(self._library.rt_transfer_write(target, data, len(data)))
        self._context.activity.copied(len(data), True, False)
        self._context.clock.copy(stream, _TO_DEVICE, Rows(0, len(data)), Rows(target, len(data)))

    def _fill(self, payload: memoryview) -> None:
        target, pitch, width, height, value, element, stream, _ = protocol.MEMSET.unpack(payload)
        if element not in (1, 2, 4):
            raise CallError(CudaError.INVALID_VALUE)
        self._check(self._library.rt_transfer_fill(target, pitch, width, height, value, element))
        self._spend(width * height * element)
        self._context.activity.memset_bytes += width * height * element
        self._context.clock.fill(stream, Rows(target, width * element, height, pitch))

    def _spend(self, size: int) -> None:
        self._context.engine.spend(size // _BYTES_AN_INSTRUCTION, f"to copy, fill or allocate {size} bytes")

    def _check(self, outcome: int) -> None:
        if outcome:
            raise CallError(CudaError.INVALID_VALUE)

    def _register(self, payload: memoryview) -> bytes:
        address, size = protocol.PAIR.unpack(payload)
        if address in self._registered:
            raise CallError(CudaError.ALREADY_REGISTERED)
        if len(self._registered) >= MOST_HANDLES:
            raise CallError(CudaError.OUT_OF_MEMORY)
        start = self._take(structs.PINNED, size + _PAGE)
        self._registered[address] = start
        self._context.activity.allocated(size, True)
        aligned = -(-start // _PAGE) * _PAGE
        return protocol.PAIR.pack(aligned, aligned)

    def _unregister(self, payload: memoryview) -> None:
        (address,) = protocol.ADDRESS.unpack(payload)
        start = self._registered.pop(address, 0)
        if not start:
            raise CallError(CudaError.NOT_REGISTERED)
        self._owned.discard(start)
        self._memory.free(start)

    # -- for whoever owns the device ---------------------------------------------------------------

    def allocations(self) -> list[tuple[int, int, int]]:
        """What the client has allocated, and the __managed__ variables of its modules: start, size, kind."""
        return [
            each
            for each in self._memory.allocations()
            if each[0] in self._owned or each[2] == structs.MANAGED
        ]

    def copy_out(self, address: int, size: int, file: int, offset: int) -> bool:
        """Memory that is allocated to a place in a file; whether it is."""
        if size and not self._library.rt_is_live(address, size):
            return False
        data = memoryview((ctypes.c_char * size).from_address(address)) if size else memoryview(b"")
        while data:
            written = os.pwrite(file, data, offset)
            data, offset = data[written:], offset + written
        return True

    def first_undefined(self, address: int, size: int) -> int | None:
        """Offset of the first byte that nobody has written (while `init` is among the checks)."""
        return self._memory.first_undefined(address, size) if self._library.rt_is_live(address, size) else 0

    def copy_in(self, address: int, size: int, file: int, offset: int) -> bool:
        """The other way."""
        if not size:
            return True
        before = offset % mmap.ALLOCATIONGRANULARITY
        with mmap.mmap(file, before + size, access=mmap.ACCESS_COPY, offset=offset - before) as mapped:
            data = (ctypes.c_char * len(mapped)).from_buffer(mapped)
            start = ctypes.c_char_p(ctypes.addressof(data) + before)
            written = self._library.rt_transfer_write(address, start, size)
            del data  # what is mapped is held by it
        return int(written) == 0
