"""Fixtures to call operations of the C++ runtime: directly, or from small kernels written in C++."""

import ctypes
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evoengineer.sim.runtime import native, structs


class Operations:
    """Calls rt_ functions with NumPy arrays for lanes and a warp outside any launch.

    That is enough for operations that can't fail: an error would look for the warp's block.
    """

    def __init__(self) -> None:
        self.library = native.load_runtime()
        self.warp = ctypes.create_string_buffer(4096)

    def set_shared(self, memory: np.ndarray | None) -> None:
        """Make `memory` the warp's shared memory (Warp::shared_base and shared_bytes)."""
        struct.pack_into("Q", self.warp, 0, 0 if memory is None else memory.ctypes.data)
        struct.pack_into("I", self.warp, 56, 0 if memory is None else memory.nbytes)

    def call(self, name: str, *arguments: int | np.ndarray | None) -> None:
        """Call `name(warp, …)`."""
        self.plain(name, ctypes.addressof(self.warp), *arguments)

    def plain(self, name: str, *arguments: int | np.ndarray | None) -> None:
        """Call `name(…)`; integers pass as 64 bits."""
        getattr(self.library, name)(*(_argument(a) for a in arguments))


def _argument(value: int | np.ndarray | None) -> ctypes.c_void_p | ctypes.c_uint64:
    if value is None:
        return ctypes.c_void_p(None)
    return ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.c_uint64(value)


class Kernels:
    """Launches block functions of `ops_kernels.cpp` as kernels of a single block function each."""

    def __init__(self) -> None:
        self.runtime = native.load_runtime()
        self.memory = native.Memory()
        source = Path(__file__).with_name("ops_kernels.cpp")
        flags = (*native.RUNTIME_FLAGS, f"-I{native.RUNTIME_SOURCES}")
        self.library = ctypes.CDLL(str(native.build_shared([source], "libopskernels.so", flags)))

    def launch(
        self,
        name: str,
        *,
        grid: int = 1,
        block: int = 32,
        threads: int = 1,
        flags: int = 0,
        params: bytes = b"",
    ) -> structs.ErrorRecord:
        info = structs.BlockInfo()
        info.fn = ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value
        info.fast_entry = -1
        function = structs.Function()
        function.blocks = ctypes.pointer(info)
        function.reach = ctypes.pointer(ctypes.c_uint64(0))
        function.block_count = function.reach_words = 1
        function.frame_bytes = 64
        site = structs.Site(16, 16, 2, 1)
        request: Any = structs.Launch()
        request.functions, request.sites = ctypes.pointer(function), ctypes.pointer(site)
        request.function_count = request.site_count = 1
        buffer = ctypes.create_string_buffer(params, max(len(params), 8))
        request.params = ctypes.addressof(buffer)
        request.compile = structs.CompileFn(lambda function, block: None)
        request.grid[:], request.block[:] = (grid, 1, 1), (block, 1, 1)
        request.shared_bytes, request.threads, request.flags = 8192, threads, flags
        request.max_resident = 4
        native.launch(request)
        return request.error

    def output(self) -> list[tuple[int, str]]:
        """What kernels have printed since the last call: (kind, text), neighbours of a kind joined."""
        data = ctypes.create_string_buffer(self.runtime.rt_output_size() or 1)
        size = self.runtime.rt_output_drain(data, len(data))
        stream, chunks, at = data.raw[:size], [], 0
        while at < size:
            kind, length = struct.unpack_from("<BI", stream, at)
            text = stream[at + 5 : at + 5 + length].decode()
            if chunks and chunks[-1][0] == kind:
                text = chunks.pop()[1] + text
            chunks.append((kind, text))
            at += 5 + length
        return chunks


@pytest.fixture(scope="session")
def ops() -> Operations:
    return Operations()


@pytest.fixture(scope="session")
def kernels() -> Kernels:
    return Kernels()
