"""What the device process does for each command.

Commands of all streams are carried out one after the other, in the order they arrive or in another one that CUDA
allows (stream_order.py). This module hands each to its group (memory, kernels, streams, textures), makes failures into
error numbers, and gives each client a new device; the state is in the Context, the socket is server.py's.
"""

from __future__ import annotations

import ctypes
import gc
import socket
import struct
import traceback

from evoengineer.errors import DeviceError, EvoEngineerError, UnsupportedError
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.process.activity import Activity
from evoengineer.sim.process.call_error import CallError, ClientGone
from evoengineer.sim.process.context import Context
from evoengineer.sim.process.kernel_commands import KernelCommands
from evoengineer.sim.process.memory_commands import MemoryCommands
from evoengineer.sim.process.properties import device_attributes, device_properties
from evoengineer.sim.process.stream_commands import StreamCommands
from evoengineer.sim.process.stream_order import StreamOrder
from evoengineer.sim.process.texture_commands import TextureCommands
from evoengineer.sim.runtime import native
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import CudaError, Op

DEFAULT_HEAP_BYTES = 8 << 20
_OUTPUT_CHUNK = 1 << 20
_COMMAND_WORK = 2_000  # instructions: what any command takes us
_RESET_WORK = 100_000  # all memory and all code are given up
_MOST_VAIN = 10_000  # commands to a device that has failed, until we let go of the client
_ONCE = (Op.HELLO, Op.GOODBYE)  # no client can make us busy with these
_ALWAYS = (Op.HELLO, Op.SYNCHRONIZE, Op.GOODBYE, Op.RESET, Op.HOST_CALL)  # also on a device that has failed


class Commands:
    def __init__(self, options: DeviceOptions, quiet: bool = False) -> None:
        self.context = Context(options, quiet)
        self.memory = MemoryCommands(self.context)
        self._kernels = KernelCommands(self.context)
        self._streams = StreamCommands(self.context)
        self._textures = TextureCommands(self.context)
        self._handlers = {
            Op.HELLO: self._hello,
            Op.RESET: self._reset,
            **self.memory.handlers,
            **self._kernels.handlers,
            **self._streams.handlers,
            **self._textures.handlers,
        }
        self._order = StreamOrder()
        self._used = False  # by a client, since the device was new
        self._vain = 0  # commands after a failure

    # -- clients -------------------------------------------------------------------------------------

    def begin_client(self, host_calls: socket.socket) -> None:
        """A new client finds a new device: nothing of an earlier one's memory or code is left."""
        context = self.context
        context.runtime.rt_interrupt(0)
        context.interrupted = False
        self._streams.host_calls = host_calls
        self._vain = 0
        self._order = StreamOrder()
        if self._used:
            self._forget()
            self.take_output()
            context.arenas.renew()
            context.renew()
            context.runtime.rt_heap_limit(DEFAULT_HEAP_BYTES)
            context.failed = False
            context.activity = Activity()
            gc.collect()  # machine code of the earlier client's kernels
        self._used = True

    def end_client(self) -> None:
        self._streams.end_client()

    def interrupt(self) -> None:
        """(From another thread.) Stop what runs now and start nothing until the next client."""
        self.context.interrupted = True
        self.context.runtime.rt_interrupt(1)
        self._streams.interrupt()

    def refuse_client(self, why: str) -> None:
        self.context.fail("protocol", CudaError.UNKNOWN, f"the client does not speak the protocol: {why}")

    def internal_error(self, trace: str) -> None:
        self.context.fail(
            "internal", CudaError.UNKNOWN, f"internal error in the simulated GPU (please report it)\n{trace}"
        )

    def _forget(self) -> None:
        for group in (self._textures, self._kernels, self.memory):
            group.forget()

    # -- commands ------------------------------------------------------------------------------------

    def take(self, op: int, flags: int, payload: memoryview) -> tuple[int, bytes]:
        """Carry out a command, or keep it for later if nobody waits for it: its own status and its result."""
        self._order.note(op, payload)
        if self.context.engine.reversed and self._order.keep(op, flags, payload):
            return 0, b""
        if self._order.must_finish(op):
            self.finish()
        return self.execute(op, payload)

    def finish(self) -> None:
        """Carry out everything that was kept."""
        for op, payload in self._order.take():
            try:
                self.execute(op, payload)
            except ClientGone:
                raise
            except Exception:
                self.internal_error(traceback.format_exc())

    def execute(self, op: int, payload: memoryview) -> tuple[int, bytes]:
        """Carry out one command, now."""
        context = self.context
        if context.sticky and op not in _ONCE:
            self._vain += 1
            if self._vain > _MOST_VAIN:
                raise ClientGone  # as good as: it has not noticed, and never will
            if op not in _ALWAYS:
                return context.sticky, b""
        handler = self._handlers.get(op)
        if handler is None:
            return CudaError.INVALID_VALUE, b""
        try:
            if op not in _ONCE and not context.sticky:  # waiting, too: who waits for ever keeps us busy
                context.engine.spend(_COMMAND_WORK, "a call of CUDA's")
            return 0, handler(payload) or b""
        except CallError as error:
            if str(error):
                context.say(str(error))
            return error.status, b""
        except struct.error:  # a payload of the wrong size
            return CudaError.INVALID_VALUE, b""
        except DeviceError as error:
            kind = error.kind or "device"
            context.fail(
                kind, error.code or CudaError.LAUNCH_FAILURE, error.report or str(error), not error.report
            )
            return context.sticky, b""
        except EvoEngineerError as error:  # an instruction or feature that we lack
            missing = isinstance(error, UnsupportedError)
            code = CudaError.NOT_SUPPORTED if missing else CudaError.INVALID_PTX
            context.fail("unsupported" if missing else "invalid_ptx", code, str(error))
            return context.sticky, b""

    def take_output(self) -> bytes:
        """What kernels printed since the last time."""
        runtime, parts = self.context.runtime, []
        while runtime.rt_output_size():
            buffer = ctypes.create_string_buffer(_OUTPUT_CHUNK)
            size = runtime.rt_output_drain(buffer, _OUTPUT_CHUNK)
            if not size:
                break
            parts.append(buffer.raw[:size])
        said = b"".join(parts)
        self.context.activity.device_to_host_bytes += len(said)  # the client gets it, by whatever way
        return said

    def _hello(self, payload: memoryview) -> bytes:
        version, cuda_major, _, _ = protocol.HELLO.unpack(payload)
        if version != protocol.VERSION:
            raise CallError(
                CudaError.UNKNOWN,
                f"the client speaks version {version} of the protocol, not {protocol.VERSION}",
            )
        card = self.context.card
        attributes = device_attributes(card)
        properties = device_properties(card, cuda_major)
        head = protocol.HELLO_RESULT.pack(
            native.HOST_ARENA,
            self.context.arenas.host_bytes,
            native.STAGING_BYTES,
            native.DEVICE_ARENA,
            native.DEVICE_ARENA_BYTES,
            card.dram_bytes,
            len(attributes),
            len(properties),
        )
        return head + struct.pack(f"<{len(attributes)}i", *attributes) + properties

    def _reset(self, payload: memoryview) -> None:
        self.context.engine.spend(
            _RESET_WORK, "to reset the device"
        )  # a device that failed for its limits stays so
        self._forget()
        self.context.reset()
