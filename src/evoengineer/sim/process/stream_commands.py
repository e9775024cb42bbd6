"""Commands about streams and events, and functions that a stream has the host run."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable

from evoengineer.errors import DeviceError
from evoengineer.sim.process.call_error import CallError, ClientGone
from evoengineer.sim.process.context import Context
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import CudaError, Op


class StreamCommands:
    def __init__(self, context: Context) -> None:
        self._context = context
        self.host_calls: socket.socket | None = None  # to the thread of the client that runs functions for us
        self.handlers: dict[int, Callable[[memoryview], bytes | None]] = {
            Op.SYNCHRONIZE: self._synchronize,
            Op.GOODBYE: self._synchronize,
            Op.STREAM_CREATE: self._create,
            Op.STREAM_WAIT: self._wait,
            Op.EVENT_RECORD: self._record,
            Op.EVENT_ELAPSED: self._elapsed,
            Op.HOST_CALL: self._host_call,
        }

    def _synchronize(self, payload: memoryview) -> None:
        self._context.clock.synchronize()

    def _create(self, payload: memoryview) -> None:
        stream, flags = protocol.STREAM.unpack(payload)
        self._context.note("stream", stream)
        self._context.clock.create_stream(stream, flags)

    def _record(self, payload: memoryview) -> None:
        event, stream = protocol.EVENT.unpack(payload)
        self._context.note("event", event)
        self._context.note("stream", stream)
        self._context.clock.record(event, stream)

    def _wait(self, payload: memoryview) -> None:
        event, stream = protocol.EVENT.unpack(payload)
        self._context.note("stream", stream)
        self._context.clock.wait(stream, event)

    def _elapsed(self, payload: memoryview) -> bytes:
        start, end = protocol.EVENT.unpack(payload)
        self._context.clock.synchronize()
        elapsed_ns = self._context.clock.elapsed_ns(start, end)
        if elapsed_ns is None:
            raise CallError(CudaError.INVALID_HANDLE)
        return protocol.ELAPSED_RESULT.pack(elapsed_ns / 1e6)

    def _host_call(self, payload: memoryview) -> None:
        """Have the client's own thread run a function, and wait for it (as long as for a kernel)."""
        function, data, handle, kind, _ = protocol.HOST_CALL.unpack(payload)
        self._context.activity.host_calls += 1
        if self.host_calls is None:
            raise ClientGone
        self.host_calls.settimeout(self._context.options.limits.max_seconds or None)
        try:
            request = protocol.HOST_REQUEST.pack(function, data, handle, kind, self._context.sticky)
            self.host_calls.sendall(request)
            protocol.receive(self.host_calls, 1)
        except TimeoutError:
            raise DeviceError(
                "a host function did not return in time", code=CudaError.TIMEOUT, kind="wall_limit"
            ) from None
        except (EOFError, OSError):
            raise ClientGone from None

    def interrupt(self) -> None:
        """(From another thread.) Wait for the client no longer."""
        if self.host_calls is not None:
            with contextlib.suppress(OSError):
                self.host_calls.shutdown(socket.SHUT_RDWR)

    def end_client(self) -> None:
        if self.host_calls is not None:
            self.host_calls.close()
            self.host_calls = None
