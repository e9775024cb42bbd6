"""The device process's side of the control socket. The owner's side, and what the requests mean: control.py.

The owner is trusted and waits for each answer, so requests are read in one go. They are served between the
client's commands.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.runtime.structs import ALLOCATION_KINDS
from evoengineer.sim.wire.protocol import receive_frame, send_frame

if TYPE_CHECKING:
    from evoengineer.sim.process.server import Server

Answer = dict[str, Any]


class ControlService:
    def __init__(self, sock: socket.socket, server: Server) -> None:
        self.sock = sock
        self._server = server
        self._requests: dict[str, Callable[[dict[str, Any]], Answer]] = {
            "mark": self._mark,
            "options": self._options,
            "configure": self._configure,
            "copy_out": self._copy_out,
            "copy_in": self._copy_in,
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
            head = receive_frame(self.sock)
            send_frame(self.sock, self._requests[head["request"]](head))
        except (EOFError, OSError):
            return False
        return True

    def _mark(self, head: dict[str, Any]) -> Answer:
        self._server.drain()
        return self._server.context.mark().to_json()

    def _options(self, head: dict[str, Any]) -> Answer:
        return self._server.context.engine.options.to_json()

    def _configure(self, head: dict[str, Any]) -> Answer:
        self._server.drain()  # what was sent before runs as it was meant to
        self._server.context.configure(DeviceOptions.from_json(head["options"]))
        return {}

    def _copy_out(self, head: dict[str, Any]) -> Answer:
        return self._copy(head, self._server.commands.memory.copy_out)

    def _copy_in(self, head: dict[str, Any]) -> Answer:
        return self._copy(head, self._server.commands.memory.copy_in)

    def _copy(self, head: dict[str, Any], copy: Callable[[int, int, int, int], bool]) -> Answer:
        file = self._file()
        try:
            self._server.drain()
            return {"ok": copy(head["address"], head["bytes"], file, head["offset"]), "trouble": ""}
        except (OSError, ValueError) as error:  # no room for it, or the file is shorter than that
            return {"ok": False, "trouble": str(error)}
        finally:
            os.close(file)

    def _file(self) -> int:
        """That follows a request."""
        _, files, _, _ = socket.recv_fds(self.sock, 1, 1)
        return files[0]

    def _first_undefined(self, head: dict[str, Any]) -> Answer:
        self._server.drain()
        memory, address = self._server.commands.memory, head["address"]
        stores = self._server.context.engine.undefined_results
        offset = memory.first_undefined(address, head["bytes"])
        if offset is None:
            return {"offset": None, "report": ""}
        report = stores.describe(address + offset)
        if not report:  # of very many stores only some are known; one that still holds will do
            known = stores.within(address, address + head["bytes"])
            offset, report = next(
                ((at - address, words) for at, words in known if memory.first_undefined(at, 1) == 0),
                (offset, ""),
            )
        return {"offset": offset, "report": report}

    def _allocations(self, head: dict[str, Any]) -> Answer:
        found = self._server.commands.memory.allocations()
        named = [(start, size, ALLOCATION_KINDS[kind]) for start, size, kind in found]
        return {"allocations": named}

    def _new_client(self, head: dict[str, Any]) -> Answer:
        self._server.attach(socket.socket(fileno=self._file()))
        return {}
