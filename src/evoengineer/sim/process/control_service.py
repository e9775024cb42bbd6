"""The device process's side of the control socket. The owner's side, and what the requests mean: control.py.

A request is a JSON object and bytes that go with it; so is the answer. The owner is trusted and waits for each
answer, so requests are read in one go. They are served between the client's commands.
"""

from __future__ import annotations

import dataclasses
import json
import socket
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evoengineer.sim.options import Limits
from evoengineer.sim.runtime.structs import ALLOCATION_KINDS
from evoengineer.sim.wire.protocol import receive

if TYPE_CHECKING:
    from evoengineer.sim.process.server import Server

FRAME = struct.Struct("<QQ")  # bytes of JSON, bytes of data
Answer = tuple[dict[str, Any], bytes]


def send_frame(sock: socket.socket, head: dict[str, Any], data: bytes = b"") -> None:
    text = json.dumps(head).encode()
    sock.sendall(FRAME.pack(len(text), len(data)) + text + data)


def receive_frame(sock: socket.socket) -> Answer:
    """EOFError when the other side has gone."""
    text_bytes, data_bytes = FRAME.unpack(receive(sock, FRAME.size))
    head = json.loads(receive(sock, text_bytes))
    return head, receive(sock, data_bytes)


class ControlService:
    def __init__(self, sock: socket.socket, server: Server) -> None:
        self.sock = sock
        self._server = server
        self._requests: dict[str, Callable[[dict[str, Any], bytes], Answer]] = {
            "mark": self._mark,
            "configure": self._configure,
            "read": self._read,
            "write": self._write,
            "first_undefined": self._first_undefined,
            "allocations": self._allocations,
            "new_client": self._new_client,
            "detach": self._detach,
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
        elapsed_ns, busy_ns, activity = self._server.commands.mark()
        return {"elapsed_ns": elapsed_ns, "busy_ns": busy_ns, **dataclasses.asdict(activity)}, b""

    def _configure(self, head: dict[str, Any], data: bytes) -> Answer:
        self._server.drain()  # what was sent before runs as it was meant to
        commands = self._server.commands
        options = commands.options
        limits = Limits(
            head.get("max_instructions", options.limits.max_instructions),
            head.get("max_seconds", options.limits.max_seconds),
        )
        named = (
            *("threads", "sample_blocks", "sample_seed", "sampled_only", "extra_blocks", "extra_seed"),
            *("reuse_profiles", "poison"),
        )
        options = dataclasses.replace(
            options,
            checks=frozenset(head.get("checks", options.checks)),
            limits=limits,
            **{name: head[name] for name in named if name in head},
        )
        commands.reconfigure(options, head.get("block_order", commands.block_order))
        if "memory_bytes" in head:
            commands.memory.limit_bytes = head["memory_bytes"]
        return {}, b""

    def _read(self, head: dict[str, Any], data: bytes) -> Answer:
        self._server.drain()
        found = self._server.commands.memory.read_bytes(head["address"], head["bytes"])
        return ({"ok": False}, b"") if found is None else ({"ok": True}, found)

    def _first_undefined(self, head: dict[str, Any], data: bytes) -> Answer:
        self._server.drain()
        commands, address = self._server.commands, head["address"]
        offset = commands.memory.first_undefined(address, head["bytes"])
        report = "" if offset is None else commands.engine.undefined_results.describe(address + offset)
        return {"offset": offset, "report": report}, b""

    def _write(self, head: dict[str, Any], data: bytes) -> Answer:
        self._server.drain()
        return {"ok": self._server.commands.memory.write_bytes(head["address"], data)}, b""

    def _allocations(self, head: dict[str, Any], data: bytes) -> Answer:
        found = [
            (start, size, ALLOCATION_KINDS[kind]) for start, size, kind in self._server.commands.allocations()
        ]
        return {"allocations": found}, b""

    def _new_client(self, head: dict[str, Any], data: bytes) -> Answer:
        """The client's socket follows as a file descriptor."""
        _, files, _, _ = socket.recv_fds(self.sock, 1, 1)
        self._server.attach(socket.socket(fileno=files[0]))
        return {}, b""

    def _detach(self, head: dict[str, Any], data: bytes) -> Answer:
        self._server.detach()
        return {}, b""
