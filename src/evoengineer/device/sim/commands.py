"""What the device process does for each command.

Commands of all streams are carried out one after the other, in the order they arrive, which is an order that
CUDA allows. A kernel's failure poisons the context: everything after it returns that error, until a reset.
Owns memory contents, loaded modules, texture objects and the simulated clock; the socket is server.py's.
"""

import ctypes
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

from evoengineer.device.occupancy import DEFAULT_REGISTERS, KernelResources, blocks_per_multiprocessor
from evoengineer.device.options import DeviceOptions
from evoengineer.device.profile import profile_for
from evoengineer.device.sim import native, protocol, structs
from evoengineer.device.sim.clock import Clock
from evoengineer.device.sim.engine import Engine, KernelInfo, Module
from evoengineer.device.sim.fatbin import ptx_of
from evoengineer.device.sim.properties import device_attributes, device_properties
from evoengineer.device.sim.protocol import Op
from evoengineer.device.sim.texture_command import read_texture
from evoengineer.device.sim.textures import TextureObjects
from evoengineer.device.sim.timing.profile import LaunchProfile
from evoengineer.errors import DeviceError, EvoEngineerError, PtxError, UnsupportedError, UsageError

INVALID_VALUE, OUT_OF_MEMORY, INVALID_IMAGE, NO_KERNEL_IMAGE, INVALID_PTX = 1, 2, 200, 209, 218  # cudaError
INVALID_HANDLE, LAUNCH_FAILURE, NOT_SUPPORTED, UNKNOWN = 400, 719, 801, 999
LIMIT_HEAP = 2  # cudaLimitMallocHeapSize
_OUTPUT_CHUNK = 1 << 20


class CallError(Exception):
    """The command itself is at fault: `status` goes to the caller and the context stays usable."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Loaded:
    module: Module
    kernel: KernelInfo


class Commands:
    def __init__(self, options: DeviceOptions, host_calls: socket.socket) -> None:
        self.profile = profile_for(options.device)
        self.sticky = 0
        self.profiles: list[LaunchProfile] = []  # of all launches so far, in order
        self.failed = False  # a device error happened, whether or not the program noticed
        self._host_calls = host_calls
        self._memory = native.Memory()
        self._runtime = native.load_runtime()
        self._options = options
        self._engine = self._new_engine()
        self._clock = Clock(self.profile)
        self._textures = TextureObjects(self._runtime)
        self._modules: dict[int, Module] = {}
        self._kernels: dict[int, _Loaded] = {}
        self._next_module = self._next_kernel = 1
        self._registered: dict[int, int] = {}  # host range → its allocation in the shared arena
        self._handlers: dict[int, Callable[[memoryview], bytes | None]] = {
            Op.HELLO: self._hello,
            Op.SYNCHRONIZE: self._synchronize,
            Op.GOODBYE: self._synchronize,
            Op.RESET: self._reset,
            Op.MODULE_LOAD: self._module_load,
            Op.MODULE_UNLOAD: self._module_unload,
            Op.ALLOC: self._alloc,
            Op.FREE: self._free,
            Op.COPY: self._copy,
            Op.WRITE: self._write,
            Op.MEMSET: self._memset,
            Op.LAUNCH: self._launch,
            Op.EVENT_RECORD: self._event_record,
            Op.EVENT_ELAPSED: self._event_elapsed,
            Op.STREAM_WAIT: self._stream_wait,
            Op.HOST_CALL: self._host_call,
            Op.SET_LIMIT: self._set_limit,
            Op.MEMORY_INFO: self._memory_info,
            Op.OCCUPANCY: self._occupancy,
            Op.TEXTURE_CREATE: self._texture_create,
            Op.TEXTURE_DESTROY: self._texture_destroy,
            Op.HOST_REGISTER: self._host_register,
            Op.HOST_UNREGISTER: self._host_unregister,
            Op.STREAM_CREATE: self._stream_create,
        }
        self._always = {Op.HELLO, Op.SYNCHRONIZE, Op.GOODBYE, Op.RESET, Op.HOST_CALL}

    def _new_engine(self) -> Engine:
        limits = self._options.limits
        return Engine(
            self.profile,
            self._options.threads,
            self._options.checks,
            limits.max_instructions,
            limits.max_seconds,
            self._memory,
            self._options.sample_blocks,
            self._options.sampled_only,
        )

    @property
    def host_memory_fd(self) -> int:
        return self._memory.fd

    def execute(self, op: int, payload: memoryview) -> tuple[int, bytes]:
        """Carry out one command: its own status and its result."""
        if self.sticky and op not in self._always:
            return self.sticky, b""
        try:
            return 0, self._handlers[op](payload) or b""
        except CallError as error:
            if str(error):
                complain(str(error))
            return error.status, b""
        except DeviceError as error:
            self.failed = True
            self.sticky = error.code or LAUNCH_FAILURE
            complain(error.report or str(error), prefix=not error.report)
            return self.sticky, b""
        except EvoEngineerError as error:  # an instruction or feature that we lack
            self.failed = True
            self.sticky = NOT_SUPPORTED if isinstance(error, UnsupportedError) else INVALID_PTX
            complain(str(error))
            return self.sticky, b""

    def take_output(self) -> bytes:
        """What kernels printed since the last time."""
        parts = []
        while self._runtime.rt_output_size():
            buffer = ctypes.create_string_buffer(_OUTPUT_CHUNK)
            size = self._runtime.rt_output_drain(buffer, _OUTPUT_CHUNK)
            if not size:
                break
            parts.append(buffer.raw[:size])
        return b"".join(parts)

    # -- the device --------------------------------------------------------------------------------

    def _hello(self, payload: memoryview) -> bytes:
        version, cuda_major, _, _ = protocol.HELLO.unpack(payload)
        if version != protocol.VERSION:
            raise CallError(
                UNKNOWN, f"the client speaks version {version} of the protocol, not {protocol.VERSION}"
            )
        attributes = device_attributes(self.profile)
        properties = device_properties(self.profile, cuda_major)
        head = protocol.HELLO_RESULT.pack(
            native.HOST_ARENA,
            native.HOST_ARENA_BYTES,
            native.STAGING_BYTES,
            native.DEVICE_ARENA,
            native.DEVICE_ARENA_BYTES,
            self.profile.dram_bytes,
            len(attributes),
            len(properties),
        )
        return head + struct.pack(f"<{len(attributes)}i", *attributes) + properties

    def _synchronize(self, payload: memoryview) -> None:
        self._clock.synchronize()

    def _reset(self, payload: memoryview) -> None:
        self._modules.clear()
        self._kernels.clear()
        self._textures.destroy_all()
        self._memory.free_all()
        self._engine = self._new_engine()
        self._registered.clear()
        self._clock = Clock(self.profile)
        self.sticky = 0

    def _set_limit(self, payload: memoryview) -> None:
        limit, _, value = protocol.LIMIT.unpack(payload)
        if limit == LIMIT_HEAP:
            self._runtime.rt_heap_limit(value)

    def _memory_info(self, payload: memoryview) -> bytes:
        used = sum(self._memory.used(kind) for kind in (structs.DEVICE, structs.SYMBOL, structs.ARRAY))
        return protocol.PAIR.pack(max(self.profile.dram_bytes - used, 0), self.profile.dram_bytes)

    # -- memory ------------------------------------------------------------------------------------

    def _alloc(self, payload: memoryview) -> bytes:
        size, kind, _ = protocol.ALLOC.unpack(payload)
        used = sum(self._memory.used(each) for each in (structs.DEVICE, structs.ARRAY))
        on_device = kind in (structs.DEVICE, structs.ARRAY)
        if on_device and used + size > self.profile.dram_bytes:
            raise CallError(OUT_OF_MEMORY)
        address = self._memory.allocate(kind, size)
        if not address:
            raise CallError(OUT_OF_MEMORY)
        return protocol.ADDRESS.pack(address)

    def _free(self, payload: memoryview) -> None:
        (address,) = protocol.ADDRESS.unpack(payload)
        self._clock.synchronize()
        if self._memory.free(address):
            raise CallError(INVALID_VALUE)

    def _copy(self, payload: memoryview) -> None:
        target, target_pitch, source, source_pitch, width, height, kind, stream = protocol.COPY.unpack(
            payload
        )
        if height == 1 or (target_pitch == width and source_pitch == width):
            ctypes.memmove(target, source, width * height)
            self._memory.copy_initialised(target, source, width * height)
        else:
            for row in range(height):
                to, origin = target + row * target_pitch, source + row * source_pitch
                ctypes.memmove(to, origin, width)
                self._memory.copy_initialised(to, origin, width)
        self._clock.copy(stream, width * height, kind)

    def _write(self, payload: memoryview) -> None:
        target, stream, _ = protocol.WRITE.unpack_from(payload)
        data = payload[protocol.WRITE.size :]
        ctypes.memmove(target, bytes(data), len(data))
        self._memory.mark_initialised(target, len(data))
        self._clock.copy(stream, len(data), 1)

    def _memset(self, payload: memoryview) -> None:
        target, pitch, width, height, value, element, stream, _ = protocol.MEMSET.unpack(payload)
        pattern = (value & ((1 << 8 * element) - 1)).to_bytes(element, "little")
        row_bytes = width * element
        if height > 1 and pitch == row_bytes:
            row_bytes, height = row_bytes * height, 1
        row = pattern * (row_bytes // element) if len(set(pattern)) > 1 else b""
        for y in range(height):
            address = target + y * pitch
            if row:
                ctypes.memmove(address, row, row_bytes)
            else:
                ctypes.memset(address, pattern[0], row_bytes)
            self._memory.mark_initialised(address, row_bytes)
        self._clock.fill(stream, row_bytes * height)

    def _host_register(self, payload: memoryview) -> bytes:
        address, size = protocol.PAIR.unpack(payload)
        page = 4096
        start = self._memory.allocate(structs.PINNED, size + page)
        if not start:
            raise CallError(OUT_OF_MEMORY)
        self._registered[address] = start
        aligned = -(-start // page) * page
        return protocol.PAIR.pack(aligned, aligned)

    def _host_unregister(self, payload: memoryview) -> None:
        (address,) = protocol.ADDRESS.unpack(payload)
        self._memory.free(self._registered.pop(address))

    # -- modules and kernels -----------------------------------------------------------------------

    def _module_load(self, payload: memoryview) -> bytes:
        count, _ = protocol.MODULE.unpack_from(payload)
        at = protocol.MODULE.size
        images = []
        for _ in range(count):
            (size,) = protocol.IMAGE.unpack_from(payload, at)
            at += protocol.IMAGE.size
            images.append(bytes(payload[at : at + size]))
            at += size
        try:
            module = self._engine.load_module(self._texts(images))
        except DeviceError:
            raise
        except EvoEngineerError as error:
            self.failed = True
            raise CallError(INVALID_PTX, str(error)) from error
        number, self._next_module = self._next_module, self._next_module + 1
        self._modules[number] = module
        return self._describe(number, module)

    def _texts(self, images: list[bytes]) -> list[str]:
        """PTX of the images. Machine code is no obstacle as long as PTX is there too."""
        texts: list[str] = []
        refusal: UnsupportedError | None = None
        for image in images:
            try:
                text = ptx_of(image, self.profile.sm)
            except UnsupportedError as error:
                refusal = error
                continue
            except PtxError as error:
                raise CallError(INVALID_IMAGE, str(error)) from error
            if text is not None:
                texts.append(text)
        if not texts and refusal:
            self.failed = True
            raise CallError(NO_KERNEL_IMAGE, str(refusal))
        return texts

    def _describe(self, number: int, module: Module) -> bytes:
        parts = [protocol.MODULE_RESULT.pack(number, len(module.kernels), len(module.variables), 0)]
        for name, info in module.kernels.items():
            kernel, self._next_kernel = self._next_kernel, self._next_kernel + 1
            self._kernels[kernel] = _Loaded(module, info)
            text = name.encode()
            parts.append(
                protocol.KERNEL_RESULT.pack(
                    kernel,
                    len(info.param_offsets),
                    info.param_bytes,
                    info.static_shared_bytes,
                    info.max_threads or self.profile.max_threads_per_block,
                    info.registers or DEFAULT_REGISTERS,
                    info.local_bytes,
                    info.const_bytes,
                    len(text),
                    0,
                )
            )
            sizes = zip(info.param_offsets, info.param_sizes, strict=True)
            parts.extend(protocol.PARAMETER.pack(offset, size) for offset, size in sizes)
            parts.append(text)
        for name, variable in module.variables.items():
            text = name.encode()
            space = protocol.VARIABLE_SPACES.index(variable.space)
            parts.append(
                protocol.VARIABLE_RESULT.pack(variable.address, variable.bytes, space, len(text)) + text
            )
        return b"".join(parts)

    def _module_unload(self, payload: memoryview) -> None:
        number, _ = protocol.MODULE.unpack(payload)
        module = self._modules.pop(number, None)
        if module is None:
            return
        self._kernels = {key: loaded for key, loaded in self._kernels.items() if loaded.module is not module}
        self._engine.unload_module(module)

    def _launch(self, payload: memoryview) -> None:
        kernel, stream, *sizes, shared_bytes, cooperative = protocol.LAUNCH.unpack_from(payload)
        grid, block = tuple(sizes[:3]), tuple(sizes[3:])
        loaded = self._kernels.get(kernel)
        if loaded is None:
            raise DeviceError("a kernel was launched whose module is no longer loaded", code=INVALID_HANDLE)
        params = bytes(payload[protocol.LAUNCH.size :])
        result = self._engine.launch(
            loaded.module,
            loaded.kernel.name,
            grid,
            block,
            shared_bytes,
            params,
            bool(cooperative),
            self._clock.cycles(stream),
        )
        if result.profile is not None:
            self.profiles.append(result.profile)
        self._clock.kernel(stream, result.elapsed_ns)

    def _occupancy(self, payload: memoryview) -> bytes:
        kernel, threads, shared_bytes = protocol.OCCUPANCY.unpack(payload)
        info = self._kernels[kernel].kernel
        resources = KernelResources(
            threads, info.static_shared_bytes + shared_bytes, info.registers or DEFAULT_REGISTERS
        )
        return protocol.COUNT.pack(blocks_per_multiprocessor(self.profile, resources))

    # -- streams and events ------------------------------------------------------------------------

    def _stream_create(self, payload: memoryview) -> None:
        self._clock.create_stream(*protocol.STREAM.unpack(payload))

    def _event_record(self, payload: memoryview) -> None:
        self._clock.record(*protocol.EVENT.unpack(payload))

    def _stream_wait(self, payload: memoryview) -> None:
        event, stream = protocol.EVENT.unpack(payload)
        self._clock.wait(stream, event)

    def _event_elapsed(self, payload: memoryview) -> bytes:
        start, end = protocol.EVENT.unpack(payload)
        self._clock.synchronize()
        elapsed_ns = self._clock.elapsed_ns(start, end)
        if elapsed_ns is None:
            raise CallError(INVALID_HANDLE)
        return protocol.ELAPSED_RESULT.pack(elapsed_ns / 1e6)

    def _host_call(self, payload: memoryview) -> None:
        """Have the client's own thread run a function, and wait for it."""
        function, data, handle, kind, _ = protocol.HOST_CALL.unpack(payload)
        self._host_calls.sendall(protocol.HOST_REQUEST.pack(function, data, handle, kind, self.sticky))
        protocol.receive(self._host_calls, 1)

    # -- textures ----------------------------------------------------------------------------------

    def _texture_create(self, payload: memoryview) -> bytes:
        try:
            image, sampling = read_texture(payload)
            if sampling is None:
                return protocol.ADDRESS.pack(self._textures.create_surface(image))
            return protocol.ADDRESS.pack(self._textures.create_texture(image, sampling))
        except UsageError as error:
            raise CallError(INVALID_VALUE, str(error)) from error
        except UnsupportedError as error:
            raise CallError(NOT_SUPPORTED, str(error)) from error

    def _texture_destroy(self, payload: memoryview) -> None:
        (handle,) = protocol.ADDRESS.unpack(payload)
        self._textures.destroy(handle)


def complain(text: str, prefix: bool = True) -> None:
    """A message for the person at the terminal, on the device process's stderr."""
    sys.stderr.write(f"evoengineer: {text}\n" if prefix else text.rstrip("\n") + "\n")
    sys.stderr.flush()
