"""Building and loading the C++ parts of the simulated GPU.

The runtime is compiled from `runtime/*.cpp` on first use (toolchain/native_build.py), then loaded so that machine
code made later finds its rt_ functions in the process. This module owns the ctypes signatures; it does not
decide what to launch.
"""

import ctypes as c
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evoengineer.errors import DeviceError, ToolchainError
from evoengineer.sim.runtime import structs
from evoengineer.toolchain import native_build

RUNTIME_SOURCES = Path(__file__).parent
RUNTIME_FLAGS = (
    *("-std=c++17", "-O2", "-fPIC", "-Wall", "-pthread", "-fno-math-errno", "-ffp-contract=off"),
    *("-fno-semantic-interposition", "-fno-tree-slp-vectorize", "-mpopcnt"),
)
DEVICE_ARENA, DEVICE_ARENA_BYTES = 0x300000000000, 96 << 30
HOST_ARENA, HOST_ARENA_BYTES = 0x200000000000, 64 << 30
STAGING_BYTES = 64 << 20
_MOST_NOTES = 4096  # kMostNotes in checks_init.cpp


def build_shared(
    sources: Sequence[Path], name: str, flags: Sequence[str] = RUNTIME_FLAGS, link_flags: Sequence[str] = ()
) -> Path:
    """A shared library `name` made of C++ sources with the runtime's flags, from the cache if unchanged."""
    return native_build.build_shared(sources, name, flags, link_flags)


# -- loading -------------------------------------------------------------------------------------------


def runtime_library() -> Path:
    """The runtime's file, built if need be."""
    return build_shared(sorted(RUNTIME_SOURCES.glob("*.cpp")), "libevosim.so")


@cache
def load_runtime() -> c.CDLL:
    """The runtime with signatures set; its symbols are visible to compiled kernels."""
    library = c.CDLL(str(runtime_library()), mode=c.RTLD_GLOBAL)
    for struct, mirror in structs.SIZES.items():
        size = getattr(library, f"rt_sizeof_{struct}")()
        if size != c.sizeof(mirror):
            raise ToolchainError(f"struct {struct} has {size} bytes in C++ and {c.sizeof(mirror)} in Python")
    u32, u64 = c.c_uint32, c.c_uint64
    signatures: dict[str, tuple[type | None, list[type]]] = {
        "rt_launch": (c.c_int32, [c.POINTER(structs.Launch)]),
        "rt_memory_init": (c.c_int, [u64, u64]),
        "rt_memory_renew": (c.c_int, []),
        "rt_allocations": (u64, [c.POINTER(u64), u64]),
        "rt_is_live": (c.c_int32, [u64, u64]),
        "rt_transfer_copy": (c.c_int32, [u64, u64, u64, u64, u64, u64]),
        "rt_transfer_write": (c.c_int32, [u64, c.c_char_p, u64]),
        "rt_transfer_fill": (c.c_int32, [u64, u64, u64, u64, u32, u32]),
        "rt_fill_noise": (None, [u64, u64, u64]),
        "rt_race_scope": (None, [u64, c.POINTER(u64), u64]),
        "rt_interrupt": (None, [c.c_int]),
        "rt_alloc": (u64, [u32, u64]),
        "rt_free_allocation": (c.c_int32, [u64]),
        "rt_find": (c.c_int32, [u64, c.POINTER(u64), c.POINTER(u64), c.POINTER(u32), c.POINTER(u32)]),
        "rt_memory_used": (u64, [u32]),
        "rt_free_all": (None, [u32]),
        "rt_track_initialised": (None, [c.c_int32, u64]),
        "rt_mark_initialised": (None, [u64, u64]),
        "rt_copy_initialised": (None, [u64, u64, u64]),
        "rt_first_undefined": (u64, [u64, u64]),
        "rt_undefined_notes": (u64, [c.POINTER(structs.UndefinedNote), u64]),
        "rt_heap_limit": (None, [u64]),
        "rt_output_drain": (c.c_size_t, [c.c_char_p, c.c_size_t]),
        "rt_output_size": (c.c_size_t, []),
        "rt_common": (u64, [u32, u32, u64, u64]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name, None)
        if function is not None:
            function.restype, function.argtypes = result, arguments
    return library


@dataclass(frozen=True, slots=True)
class Allocation:
    """An entry of the allocation table; `inside` says whether the address asked for lies in it."""

    start: int
    bytes: int
    state: int  # structs.STATE_LIVE or STATE_FREED
    kind: int  # structs.DEVICE …
    inside: bool

    @property
    def live(self) -> bool:
        return self.state == structs.STATE_LIVE


def in_host_arena(address: int) -> bool:
    """Does the address lie in memory that the host shares?"""
    return HOST_ARENA <= address < DEVICE_ARENA


class Memory:
    """Device and host-visible memory of this process."""

    def __init__(self, device_bytes: int = DEVICE_ARENA_BYTES, host_bytes: int = HOST_ARENA_BYTES) -> None:
        self._library = load_runtime()
        self.host_bytes = host_bytes
        self.fd: int = self._library.rt_memory_init(device_bytes, host_bytes)
        if self.fd < 0:
            raise DeviceError(
                f"cannot reserve address space for device memory ({os.strerror(-self.fd)}): "
                "raise the limit on virtual memory (ulimit -v) and on file size (ulimit -f)"
            )

    def allocate(self, kind: int, size: int) -> int:
        """The address of `size` new bytes, aligned to 256; 0 when there is no room."""
        return int(self._library.rt_alloc(kind, size))

    def renew(self) -> None:
        """Forget all contents and allocations. Host memory is a new file, out of reach for earlier clients."""
        fd = self._library.rt_memory_renew()
        if fd < 0:
            raise DeviceError(f"cannot renew device memory ({os.strerror(-fd)})")
        self.fd = fd

    def allocations(self) -> list[tuple[int, int, int]]:
        """Start, size and kind of what is allocated now."""
        room = int(self._library.rt_allocations(None, 0))
        out = (c.c_uint64 * max(3 * room, 1))()
        count = min(room, int(self._library.rt_allocations(out, room)))
        return [(out[3 * i], out[3 * i + 1], out[3 * i + 2]) for i in range(count)]

    def free(self, address: int) -> int:
        """0, or 1 if the address does not start an allocation, 2 if it was freed already."""
        return int(self._library.rt_free_allocation(address))

    def find(self, address: int) -> Allocation | None:
        """The allocation at an address, else the nearest one."""
        start, size, state, kind = c.c_uint64(), c.c_uint64(), c.c_uint32(), c.c_uint32()
        found = self._library.rt_find(address, c.byref(start), c.byref(size), c.byref(state), c.byref(kind))
        if found < 0:
            return None
        return Allocation(start.value, size.value, state.value, kind.value, found == 1)

    def used(self, kind: int = 0) -> int:
        """Bytes of live allocations, of one kind or of all."""
        return int(self._library.rt_memory_used(kind))

    def free_all(self, kind: int = 0) -> None:
        """Forget all allocations (of a kind), freed ones included: a device reset."""
        self._library.rt_free_all(kind)

    def track_initialised(self, on: bool, noise: int = 0) -> None:
        """Keep track of written bytes, for launches with CHECK_INIT; or no longer: then the others hold `noise`."""
        self._library.rt_track_initialised(int(on), noise)

    def mark_initialised(self, address: int, size: int) -> None:
        self._library.rt_mark_initialised(address, size)

    def copy_initialised(self, to: int, source: int, size: int) -> None:
        self._library.rt_copy_initialised(to, source, size)

    def first_undefined(self, address: int, size: int) -> int | None:
        """Offset of the first byte that nobody has written; None if there is none, or nobody keeps track."""
        offset = int(self._library.rt_first_undefined(address, size))
        return offset if offset < size else None

    def undefined_notes(self) -> list[structs.UndefinedNote]:
        """What launches have put into device memory that was not defined, since the last time."""
        room = (structs.UndefinedNote * _MOST_NOTES)()
        return list(room[: int(self._library.rt_undefined_notes(room, _MOST_NOTES))])


def launch_progress() -> tuple[int, int]:
    """Blocks of the launch under way that have started, and how many there are; from any thread."""
    begun, blocks = c.c_uint64(), c.c_uint64()
    load_runtime().rt_progress(c.byref(begun), c.byref(blocks))
    return min(begun.value, blocks.value), blocks.value


def launch(request: structs.Launch) -> int:
    """Run a grid; the error code, 0 if all went well. Details are in `request.error`."""
    return int(load_runtime().rt_launch(c.byref(request)))
