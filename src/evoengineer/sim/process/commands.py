"""What the device process does for each command.

Commands of all streams are carried out one after the other, in the order they arrive, which is an order that
CUDA allows. A kernel's failure poisons the context: everything after it returns that error, until a reset.
Owns memory contents, loaded modules, texture objects and the simulated clock; the socket is server.py's.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evoengineer.card.occupancy import DEFAULT_REGISTERS, KernelResources, blocks_per_multiprocessor
from evoengineer.card.profile import profile_for
from evoengineer.errors import DeviceError, EvoEngineerError, PtxError, UnsupportedError, UsageError
from evoengineer.sim.engine.engine import Engine, KernelInfo, Module
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.process import guards
from evoengineer.sim.process.activity import Activity
from evoengineer.sim.process.call_error import INVALID_VALUE, OUT_OF_MEMORY, CallError
from evoengineer.sim.process.clock import Clock
from evoengineer.sim.process.memory_commands import MemoryCommands
from evoengineer.sim.process.properties import device_attributes, device_properties
from evoengineer.sim.process.texture_command import read_texture
from evoengineer.sim.ptx.fatbin import ptx_of
from evoengineer.sim.runtime import native, structs
from evoengineer.sim.runtime.textures import TextureObjects
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import Op

if TYPE_CHECKING:
    from evoengineer.sim.timing.profile import LaunchProfile

INVALID_IMAGE, NO_KERNEL_IMAGE, INVALID_PTX = 200, 209, 218  # cudaError
INVALID_HANDLE, LAUNCH_FAILURE, NOT_SUPPORTED, UNKNOWN = 400, 719, 801, 999
LIMIT_HEAP = 2  # cudaLimitMallocHeapSize
DEFAULT_HEAP_BYTES = 8 << 20
_OUTPUT_CHUNK = 1 << 20


class ClientGone(Exception):
    """The client went away while we waited for one of its functions."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    module: Module
    kernel: KernelInfo


class Commands:
    def __init__(self, options: DeviceOptions, host_bytes: int = 0, quiet: bool = False) -> None:
        self.profile = profile_for(options.device)
        self.sticky = 0
        self._last_profile: tuple[LaunchProfile, dict[str, object]] | None = None
        self.profiles: list[LaunchProfile] = []  # of all launches so far, in order
        self.failed = False  # a device error happened, whether or not the program noticed
        self.interrupted = False
        self.activity = Activity()
        self._quiet = quiet  # what goes wrong is kept as data only
        self._arenas = native.Memory(host_bytes=host_bytes or native.HOST_ARENA_BYTES)
        self._runtime = native.load_runtime()
        self.memory = MemoryCommands(self._arenas, self.profile.dram_bytes)
        self._options = options
        self.block_order = "ascending"
        self._textures = TextureObjects(self._runtime)
        self._host_calls: socket.socket | None = None
        self._used = False  # by a client, since the device was new
        self._start()
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

    def _start(self) -> None:
        """The state of a device that nobody has used yet."""
        limits = self._options.limits
        self.engine = Engine(
            self.profile,
            self._options.threads,
            self._options.checks,
            limits.max_instructions,
            limits.max_seconds,
            self._arenas,
            self._options.sample_blocks,
            self._options.sampled_only,
        )
        self.engine.reversed_blocks = self.block_order == "reversed"
        self._clock = Clock(self.profile)
        self._clock.touch = self.engine.touch
        self.marked_ns = 0.0
        self._modules: dict[int, Module] = {}
        self._kernels: dict[int, _Loaded] = {}
        self._next_module = self._next_kernel = 1
        self._handles: set[tuple[str, int]] = set()
        self.memory.forget()
        self.sticky = 0

    # -- clients -------------------------------------------------------------------------------------

    def begin_client(self, host_calls: socket.socket) -> None:
        """A new client finds a new device: nothing of an earlier one's memory or code is left."""
        self._runtime.rt_interrupt(0)
        self.interrupted = False
        self._host_calls = host_calls
        if self._used:
            self._textures.destroy_all()
            self.take_output()
            self._arenas.renew()
            self._start()
            self._runtime.rt_heap_limit(DEFAULT_HEAP_BYTES)
            self.failed = False
            self.activity = Activity()
            gc.collect()  # machine code of the earlier client's kernels
        self._used = True

    def end_client(self) -> None:
        if self._host_calls is not None:
            self._host_calls.close()
            self._host_calls = None

    def interrupt(self) -> None:
        """(From another thread.) Stop what runs now and start nothing until the next client."""
        self.interrupted = True
        self._runtime.rt_interrupt(1)
        if self._host_calls is not None:
            with contextlib.suppress(OSError):
                self._host_calls.shutdown(socket.SHUT_RDWR)

    def refuse_client(self, why: str) -> None:
        self._fail("protocol", UNKNOWN, f"the client does not speak the protocol: {why}")

    def internal_error(self, trace: str) -> None:
        self._fail("internal", UNKNOWN, f"internal error in the simulated GPU (please report it)\n{trace}")

    def reconfigure(self, options: DeviceOptions, block_order: str) -> None:
        """Other checks, limits and orders for the launches to come; memory and modules stay."""
        self._options, self.block_order = options, block_order
        engine = self.engine
        if ("init" in options.checks) != ("init" in engine.checks):
            self._arenas.track_initialised("init" in options.checks)
        engine.threads, engine.checks = options.threads, options.checks
        engine.instruction_limit = options.limits.max_instructions
        engine.wall_limit_seconds = options.limits.max_seconds
        engine.reversed_blocks = block_order == "reversed"
        engine.set_sampling(
            options.sample_blocks,
            options.sampled_only,
            options.reuse_profiles,
            options.extra_blocks,
            options.extra_seed,
            options.sample_seed,
        )
        self.memory.poison = options.poison

    @property
    def options(self) -> DeviceOptions:
        return self._options

    def mark(self) -> tuple[float, float, Activity]:
        """Simulated time, busy time and activity since the last mark, with everything that was asked for done."""
        busy_ns, now_ns = self._clock.busy_ns(), self._clock.drain()
        elapsed_ns, self.marked_ns = now_ns - self.marked_ns, now_ns
        activity, self.activity = self.activity, Activity()
        if self.sticky:  # until a reset the device goes on failing
            self.activity.failure = activity.failure
        return elapsed_ns, busy_ns, activity

    @property
    def host_memory_fd(self) -> int:
        return self._arenas.fd

    def allocations(self) -> list[tuple[int, int, int]]:
        """What the client has allocated: start, size, kind."""
        return [each for each in self._arenas.allocations() if self.memory.owns(each[0])]

    def _say(self, text: str, prefix: bool = True) -> None:
        self.activity.said(text)
        if not self._quiet:
            complain(text, prefix)

    def _fail(self, kind: str, code: int, report: str, prefix: bool = True) -> None:
        self.failed = True
        self.sticky = code
        if self.interrupted:
            kind = "interrupted"
        self.activity.failed(kind, code, report)
        self._say(report, prefix)

    def execute(self, op: int, payload: memoryview) -> tuple[int, bytes]:
        """Carry out one command: its own status and its result."""
        if self.sticky and op not in self._always:
            return self.sticky, b""
        handler = self._handlers.get(op)
        if handler is None:
            return INVALID_VALUE, b""
        try:
            return 0, handler(payload) or b""
        except CallError as error:
            if str(error):
                self._say(str(error))
            return error.status, b""
        except struct.error:  # a payload of the wrong size
            return INVALID_VALUE, b""
        except DeviceError as error:
            kind = error.kind or "device"
            self._fail(kind, error.code or LAUNCH_FAILURE, error.report or str(error), not error.report)
            return self.sticky, b""
        except EvoEngineerError as error:  # an instruction or feature that we lack
            missing = isinstance(error, UnsupportedError)
            code = NOT_SUPPORTED if missing else INVALID_PTX
            self._fail("unsupported" if missing else "invalid_ptx", code, str(error))
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
            self._arenas.host_bytes,
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
        self._textures.destroy_all()
        self._arenas.free_all()
        now_ns, marked_ns = self._clock.drain(), self.marked_ns
        self._start()
        self.marked_ns = marked_ns - now_ns  # what ran before counts for the next mark
        self.activity.resets += 1

    def _set_limit(self, payload: memoryview) -> None:
        limit, _, value = protocol.LIMIT.unpack(payload)
        if limit == LIMIT_HEAP:
            self._runtime.rt_heap_limit(min(value, self.memory.limit_bytes))

    # -- memory ------------------------------------------------------------------------------------

    def _memory_info(self, payload: memoryview) -> bytes:
        return self.memory.info()

    def _alloc(self, payload: memoryview) -> bytes:
        return self.memory.allocate(payload, self.activity)

    def _free(self, payload: memoryview) -> None:
        self._clock.synchronize()
        self.memory.free(payload)

    def _copy(self, payload: memoryview) -> None:
        self.memory.copy(payload, self._clock, self.activity)

    def _write(self, payload: memoryview) -> None:
        self.memory.write(payload, self._clock, self.activity)

    def _memset(self, payload: memoryview) -> None:
        self.memory.fill(payload, self._clock, self.activity)

    def _host_register(self, payload: memoryview) -> bytes:
        return self.memory.register(payload, self.activity)

    def _host_unregister(self, payload: memoryview) -> None:
        self.memory.unregister(payload)

    # -- modules and kernels -----------------------------------------------------------------------

    def _module_load(self, payload: memoryview) -> bytes:
        count, _ = protocol.MODULE.unpack_from(payload)
        at = protocol.MODULE.size
        images = []
        for _ in range(count):
            (size,) = protocol.IMAGE.unpack_from(payload, at)
            at += protocol.IMAGE.size
            if size > len(payload) - at:
                raise CallError(INVALID_IMAGE)
            images.append(bytes(payload[at : at + size]))
            at += size
        module = self._load(images)
        number, self._next_module = self._next_module, self._next_module + 1
        self._modules[number] = module
        return self._describe(number, module)

    def _load(self, images: list[bytes]) -> Module:
        self.activity.module_loads += 1
        try:
            with guards.deadline(self._options.limits.max_seconds, "loading a module"):
                module = self.engine.load_module(self._texts(images))
            if any(info.param_bytes > guards.MOST_PARAMETER_BYTES for info in module.kernels.values()):
                raise UnsupportedError(
                    f"a kernel with more than {guards.MOST_PARAMETER_BYTES} bytes of parameters"
                )
            return module
        except (CallError, DeviceError):
            raise
        except EvoEngineerError as error:
            self.failed = True
            raise CallError(INVALID_PTX, str(error)) from error
        except Exception as error:  # whatever a text that no compiler wrote makes our parser do
            self.failed = True
            raise CallError(
                INVALID_PTX, f"PTX that cannot be read: {type(error).__name__}: {error}"
            ) from error

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
        self.engine.unload_module(module)

    def _launch(self, payload: memoryview) -> None:
        kernel, stream, *sizes, shared_bytes, cooperative = protocol.LAUNCH.unpack_from(payload)
        grid, block = (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5])
        loaded = self._kernels.get(kernel)
        if loaded is None:
            raise DeviceError("a kernel was launched whose module is no longer loaded", code=INVALID_HANDLE)
        params = bytes(payload[protocol.LAUNCH.size :])
        problem = guards.launch_problem(self.profile, loaded.kernel, grid, block, shared_bytes, len(params))
        if not problem and cooperative:
            problem = guards.cooperative_problem(self.profile, grid, block)
        if problem:
            raise CallError(problem)
        self._note("stream", stream)
        name = loaded.kernel.name
        with guards.deadline(self._options.limits.max_seconds, f"translating {name}"):
            static_bytes = self.engine.image(loaded.module, name, block).plan.shared_bytes
        if static_bytes + shared_bytes > self.profile.shared_bytes_per_block_optin:
            raise CallError(INVALID_VALUE)
        record: dict[str, object] = {
            "kernel": name,
            "grid": grid,
            "block": block,
            "shared_bytes": shared_bytes,
        }
        self.activity.launched(record)
        cycles = self._clock.cycles(stream)
        result = self.engine.launch(
            loaded.module, name, grid, block, shared_bytes, params, bool(cooperative), cycles
        )
        record["elapsed_ns"] = result.elapsed_ns
        if result.profile is not None:
            record["profile"] = self._profile_json(result.profile)
            if self._options.profile_file:
                self.profiles.append(result.profile)
        self._clock.kernel(stream, result.elapsed_ns)

    def _profile_json(self, profile: LaunchProfile) -> dict[str, object]:
        """Launches that repeat one another share a profile, and its JSON."""
        if self._last_profile is None or self._last_profile[0] is not profile:
            self._last_profile = (profile, profile.to_json())
        return self._last_profile[1]

    def _occupancy(self, payload: memoryview) -> bytes:
        kernel, threads, shared_bytes = protocol.OCCUPANCY.unpack(payload)
        loaded = self._kernels.get(kernel)
        if loaded is None or not 1 <= threads <= self.profile.max_threads_per_block:
            raise CallError(INVALID_VALUE)
        info = loaded.kernel
        resources = KernelResources(
            threads, info.static_shared_bytes + shared_bytes, info.registers or DEFAULT_REGISTERS
        )
        return protocol.COUNT.pack(blocks_per_multiprocessor(self.profile, resources))

    # -- streams and events ------------------------------------------------------------------------

    def _note(self, what: str, number: int) -> None:
        """A stream or event by its number, of which a client may make up only so many."""
        if (what, number) in self._handles:
            return
        if len(self._handles) >= guards.MOST_HANDLES:
            raise CallError(OUT_OF_MEMORY)
        self._handles.add((what, number))

    def _stream_create(self, payload: memoryview) -> None:
        stream, flags = protocol.STREAM.unpack(payload)
        self._note("stream", stream)
        self._clock.create_stream(stream, flags)

    def _event_record(self, payload: memoryview) -> None:
        event, stream = protocol.EVENT.unpack(payload)
        self._note("event", event)
        self._note("stream", stream)
        self._clock.record(event, stream)

    def _stream_wait(self, payload: memoryview) -> None:
        event, stream = protocol.EVENT.unpack(payload)
        self._note("stream", stream)
        self._clock.wait(stream, event)

    def _event_elapsed(self, payload: memoryview) -> bytes:
        start, end = protocol.EVENT.unpack(payload)
        self._clock.synchronize()
        elapsed_ns = self._clock.elapsed_ns(start, end)
        if elapsed_ns is None:
            raise CallError(INVALID_HANDLE)
        return protocol.ELAPSED_RESULT.pack(elapsed_ns / 1e6)

    def _host_call(self, payload: memoryview) -> None:
        """Have the client's own thread run a function, and wait for it (as long as for a kernel)."""
        function, data, handle, kind, _ = protocol.HOST_CALL.unpack(payload)
        self.activity.host_calls += 1
        if self._host_calls is None:
            raise ClientGone
        self._host_calls.settimeout(self._options.limits.max_seconds or None)
        try:
            request = protocol.HOST_REQUEST.pack(function, data, handle, kind, self.sticky)
            self._host_calls.sendall(request)
            protocol.receive(self._host_calls, 1)
        except TimeoutError:
            raise DeviceError("a host function did not return in time", code=702, kind="wall_limit") from None
        except (EOFError, OSError):
            raise ClientGone from None

    # -- textures ----------------------------------------------------------------------------------

    def _texture_create(self, payload: memoryview) -> bytes:
        try:
            image, sampling = read_texture(payload)
            for level in image.levels:
                found = self._arenas.find(level.address)
                if found is None or not found.inside or not found.live or found.kind == structs.HEAP:
                    raise CallError(INVALID_VALUE)
            if sampling is None:
                return protocol.ADDRESS.pack(self._textures.create_surface(image))
            return protocol.ADDRESS.pack(self._textures.create_texture(image, sampling))
        except UsageError as error:
            raise CallError(INVALID_VALUE, str(error)) from error
        except UnsupportedError as error:
            raise CallError(NOT_SUPPORTED, str(error)) from error

    def _texture_destroy(self, payload: memoryview) -> None:
        (handle,) = protocol.ADDRESS.unpack(payload)
        if not self._textures.destroy(handle):
            raise CallError(INVALID_HANDLE)


def complain(text: str, prefix: bool = True) -> None:
    """A message for the person at the terminal, on the device process's stderr."""
    sys.stderr.write(f"evoengineer: {text}\n" if prefix else text.rstrip("\n") + "\n")
    sys.stderr.flush()
