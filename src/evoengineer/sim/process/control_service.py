"""The device process's side of the control socket. The owner's side, and what the requests mean: control.py.

The owner is trusted and waits for each answer, so requests are read in one go. They are served between the
client's commands.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.runtime.structs import ALLOCATION_KINDS
from evoengineer.sim.wire.protocol import receive_frame, send_frame

if TYPE_CHECKING:
    from evoengineer.sim.process.server import Server

Answer = tuple[dict[str, Any], bytes]


class ControlService:
    def __init__(self, sock: socket.socket, server: Server) -> None:
        self.sock = sock
        self._server = server
        self._requests: dict[str, Callable[[dict[str, Any], bytes], Answer]] = {
            "mark": self._mark,
            "options": self._options,
            "configure": self._configure,
            "read": self._read,
            "write": self._write,
            "first_undefined": self._first_undefined,
            "allocations": self._allocations,
            "new_client": self._new_client,
        }

    def step(self) -> bool:
        """Serve a request if one has come; False once the owner has gone."""
        try:
            first = self.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not first:
            return False
        try:
            head, data = receive_frame(self.sock)
            send_frame(self.sock, *self._requests[head["request"]](head, data))
        except (EOFError, OSError):
            return False
        return True

    def _mark(self, head: dict[str, Any], data: bytes) -> Answer:
        self._server.drain()
        return self._server.context.mark().to_json(), b""

    def _options(self, head: dict[str, Any], data: bytes) -> Answer:
        return self._server.context.engine.options.to_json(), b""

    def _configure(self, head: dict[str, Any], data: bytes) -> Answer:
        self._server.drain()  # what was sent before runs as it was meant to
        self._server.context.configure(DeviceOptions.from_json(head["options"]))
        return {}, b""

    def _read(self, head: dict[str, Any], data: bytes) -> Answer:
        self._server.drain()
        found = self._server.commands.memory.read_bytes(head["address"], head["bytes"])
        return ({"ok": False}, b"") if found is None else ({"ok": True}, found)

    def _first_undefined(self, head: dict[str, Any], data: bytes) -> Answer:
        self._server.drain()
        memory, address = self._server.commands.memory, head["address"]
        stores = self._server.context.engine.undefined_results
        offset = memory.first_undefined(address, head["bytes"])
        if offset is None:
            return {"offset": None, "report": ""}, b""
        report = stores.describe(address + offset)
        if not report:  # of very many stores only some are known; one that still holds will do
            known = stores.within(address, address + head["bytes"])
            offset, report = next(
                ((at - address, words) for at, words in known if memory.first_undefined(at, 1) == 0),
                (offset, ""),
            )
        return {"offset": offset, "report": report}, b""

    def _write(self, head: dict[str, Any], data: bytes) -> Answer:
        self._server.drain()
        return {"ok": self._server.commands.memory.write_bytes(head["address"], data)}, b""

    def _allocations(self, head: dict[str, Any], data: bytes) -> Answer:
        found = self._server.commands.memory.allocations()
        named = [(start, size, ALLOCATION_KINDS[kind]) for start, size, kind in found]
        return {"allocations": named}, b""

    def _new_client(self, head: dict[str, Any], data: bytes) -> Answer:
        """The client's socket follows as a file descriptor."""
        _, files, _, _ = socket.recv_fds(self.sock, 1, 1)
        self._server.attach(socket.socket(fileno=files[0]))
        return {}, b""
