"""The device process's end of a client's socket: commands come in, answers go out, nobody waits.

The other end is not to be trusted: it may send any bytes, stop in the middle of a command, or never read an
answer. Commands are taken apart here and nothing is said about what they mean. A client that breaks the
framing, or asks for more than a command can hold, is a ProtocolError: whoever owns the link drops it.
"""

import array
import socket

from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import Op

_CHUNK = 1 << 20
# Modules are the only large commands; everything else fits in parameters and a small upload.
MOST_MODULE_BYTES = 256 << 20
MOST_PAYLOAD_BYTES = 1 << 20


class ProtocolError(Exception):
    """The client does not speak the protocol."""


class ClientLink:
    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.greeted = False
        self.ended = False  # nothing more will come
        self._incoming = bytearray()
        self._outgoing = bytearray()

    @property
    def behind(self) -> bool:
        """Answers wait to be read by the client."""
        return bool(self._outgoing)

    def fill(self) -> int:
        """Take in what has arrived, at most one chunk; how many bytes that were. Never waits."""
        if self.ended:
            return 0
        try:
            part = self.sock.recv(_CHUNK)
        except BlockingIOError:
            return 0
        except OSError:
            part = b""
        if not part:
            self.ended = True
        self._incoming += part
        return len(part)

    def next_command(self) -> tuple[int, int, bytes] | None:
        """The next whole command, or None."""
        head = protocol.HEADER.size
        if len(self._incoming) < head:
            return None
        op, flags, size = protocol.HEADER.unpack_from(self._incoming)
        if size > (MOST_MODULE_BYTES if op == Op.MODULE_LOAD else MOST_PAYLOAD_BYTES):
            raise ProtocolError(f"a command {op} of {size} bytes")
        if len(self._incoming) < head + size:
            return None
        payload = bytes(self._incoming[head : head + size])
        del self._incoming[: head + size]
        if self.greeted == (op == Op.HELLO):
            raise ProtocolError("a second hello" if self.greeted else f"command {op} before hello")
        self.greeted = True
        return op, flags, payload

    def send_files(self, files: list[int]) -> None:
        """A byte that carries file descriptors: part of the answer to hello, the first that a client gets."""
        rights = array.array("i", files)
        try:
            self.sock.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        except OSError:
            self.ended = True

    def send(self, data: bytes) -> None:
        self._outgoing += data
        self.flush()

    def flush(self) -> None:
        """Send what the client has room for."""
        while self._outgoing and not self.ended:
            try:
                sent = self.sock.send(bytes(self._outgoing[:_CHUNK]))
            except BlockingIOError:
                return
            except OSError:
                self.ended = True
                return
            del self._outgoing[:sent]
