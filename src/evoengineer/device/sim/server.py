"""The device process: `python -m evoengineer.device.sim.server --fd N --device sim:rtx4090 --threads N`.

Reads commands from the socket, has them carried out, answers. It ends with its client: at goodbye, or at
once, even in the middle of a kernel, when the other side of the socket is gone. Exit codes: 0, or
EXIT_DEVICE_ERROR if any kernel or module failed, whether or not the program looked.
"""

import argparse
import array
import ctypes
import json
import os
import select
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path

from evoengineer.device.options import DeviceOptions, Limits
from evoengineer.device.sim import protocol
from evoengineer.device.sim.commands import UNKNOWN, Commands, complain
from evoengineer.device.sim.protocol import Op
from evoengineer.errors import EvoEngineerError

EXIT_DEVICE_ERROR = 3
EXIT_CANNOT_START = 4
_CHUNK = 1 << 20
_PR_SET_PDEATHSIG = 1


class Server:
    def __init__(self, sock: socket.socket, options: DeviceOptions) -> None:
        self._sock = sock
        self._profile_file = Path(options.profile_file) if options.profile_file else None
        here, self._client_end = socket.socketpair()
        self._commands = Commands(options, here)
        self._buffer = bytearray()

    def exit_code(self) -> int:
        return EXIT_DEVICE_ERROR if self._commands.failed else 0

    def serve(self) -> int:
        """Until goodbye, or until the client is gone."""
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            while True:
                op, flags, payload = self._next_command()
                self._carry_out(op, flags, payload)
                if op == Op.GOODBYE:
                    return self.exit_code()
        except (EOFError, OSError):
            return self.exit_code()

    def _carry_out(self, op: int, flags: int, payload: bytes) -> None:
        try:
            status, result = self._commands.execute(op, memoryview(payload))
        except (EOFError, ConnectionError):
            raise  # the client went away while we waited for one of its functions
        except Exception:
            # A defect of ours: say where, and fail every call from here on instead of hanging the program.
            traceback.print_exc()
            complain("internal error in the simulated GPU (please report it)")
            self._commands.failed = True
            self._commands.sticky = UNKNOWN
            status, result = UNKNOWN, b""
        if op == Op.GOODBYE and self._profile_file is not None:  # before the client goes, and we with it
            profiles = [profile.to_json() for profile in self._commands.profiles]
            self._profile_file.write_text(json.dumps(profiles))
        if op == Op.HELLO:
            files = array.array("i", [self._commands.host_memory_fd, self._client_end.fileno()])
            self._sock.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
            self._client_end.close()
        if flags & protocol.REPLY:
            output = self._commands.take_output() if flags & protocol.OUTPUT else b""
            head = protocol.REPLY_HEADER.pack(status, self._commands.sticky, len(result), len(output))
            self._sock.sendall(head + result + output)

    def _next_command(self) -> tuple[int, int, bytes]:
        op, flags, size = protocol.HEADER.unpack(self._take(protocol.HEADER.size))
        return op, flags, self._take(size)

    def _take(self, size: int) -> bytes:
        """The next bytes of the stream; several small commands arrive in one read."""
        while len(self._buffer) < size:
            part = self._sock.recv(max(_CHUNK, size - len(self._buffer)))
            if not part:
                raise EOFError
            self._buffer += part
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _watch(self) -> None:
        """End the process as soon as nobody is left to talk to, whatever it is doing."""
        poll = select.poll()
        poll.register(self._sock.fileno(), select.POLLRDHUP | select.POLLHUP | select.POLLERR)
        poll.poll()
        os._exit(self.exit_code())


def die_with_parent() -> None:
    """A second guard: the kernel ends us when the process that started us ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="evoengineer.device.sim.server", description=__doc__)
    parser.add_argument("--fd", type=int, required=True, help="our end of the socket")
    parser.add_argument("--device", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--check", default="", help="comma-separated names, as resolved by the command line")
    parser.add_argument("--max-instructions", type=int, default=0)
    parser.add_argument("--max-seconds", type=float, default=0.0)
    parser.add_argument("--sample-blocks", type=int, default=0)
    parser.add_argument("--sampled-only", action="store_true")
    parser.add_argument("--profile-file", default="")
    given = parser.parse_args(arguments)
    die_with_parent()
    # The terminal's Ctrl-C goes to the program; we end with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    checks = frozenset(name for name in given.check.split(",") if name)
    limits = Limits(given.max_instructions, given.max_seconds)
    sock = socket.socket(fileno=given.fd)
    try:
        options = DeviceOptions(
            given.device,
            given.threads,
            checks,
            limits,
            given.sample_blocks,
            given.sampled_only,
            given.profile_file,
        )
        server = Server(sock, options)
    except EvoEngineerError as error:
        complain(f"the simulated GPU cannot start: {error}\n{error.details}".rstrip())
        return EXIT_CANNOT_START
    return server.serve()


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # at once: nothing here needs the interpreter's orderly end
