"""The device process: `python -m evoengineer.sim.process.server --fd N`, with its options as JSON on stdin.

Reads commands from the client's socket, has them carried out, answers. It ends with its client: at goodbye, or
at once, even in the middle of a kernel, when the other side of the socket is gone. Exit codes: 0, or
EXIT_DEVICE_ERROR if any kernel or module failed, whether or not the program looked.

With `--control-fd M` it belongs to whoever holds the other end of that socket (control.py): clients come and
go, reports are kept as data instead of printed, and the process ends with the control socket only.
"""

import argparse
import array
import contextlib
import fcntl
import json
import select
import socket
import sys
import termios
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

from evoengineer.errors import EvoEngineerError
from evoengineer.files import leave
from evoengineer.lifetime import belong_to_parent
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.process.call_error import ClientGone
from evoengineer.sim.process.client_link import ClientLink, ProtocolError
from evoengineer.sim.process.commands import Commands
from evoengineer.sim.process.control_service import ControlService
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import CudaError, Op

EXIT_DEVICE_ERROR = 3
EXIT_CANNOT_START = 4
_GONE = select.POLLRDHUP | select.POLLHUP | select.POLLERR


class Server:
    """One client at a time, and the control socket if there is one."""

    def __init__(self, options: DeviceOptions, control: socket.socket | None) -> None:
        self.commands = Commands(options, quiet=control is not None)
        self.context = self.commands.context
        self._control = ControlService(control, self) if control is not None else None
        self._link: ClientLink | None = None
        self._client_end: socket.socket | None = None
        self._watcher: threading.Thread | None = None
        if control is not None:
            threading.Thread(target=_end_with, args=(control, lambda: leave(0)), daemon=True).start()

    # -- clients -----------------------------------------------------------------------------------

    def attach(self, sock: socket.socket) -> None:
        """Serve this client from now on; the device is as new."""
        self.detach()
        here, self._client_end = socket.socketpair()
        self.commands.begin_client(here)
        self._link = ClientLink(sock)
        self._watcher = threading.Thread(target=_end_with, args=(sock, self._client_gone), daemon=True)
        self._watcher.start()

    def detach(self) -> None:
        """Let go of the client. Its work stays to be marked, its memory to be read."""
        link, self._link = self._link, None
        if link is None:
            return
        link.flush()
        with contextlib.suppress(OSError):  # the other side was quicker
            link.sock.shutdown(socket.SHUT_RDWR)  # also wakes the watcher
        if self._watcher is not None:
            self._watcher.join()
        link.sock.close()
        if self._client_end is not None:
            self._client_end.close()
        self.commands.end_client()

    def _client_gone(self) -> None:
        """(Another thread.) Whatever runs now runs for nobody."""
        if self._control is None:
            leave(self.exit_code())
        self.commands.interrupt()

    def exit_code(self) -> int:
        return EXIT_DEVICE_ERROR if self.context.failed else 0

    # -- the loop ----------------------------------------------------------------------------------

    def serve(self) -> int:
        """Until the client says goodbye or goes; with a control socket: until that closes."""
        cold = True
        while self._link is not None or self._control is not None:
            if cold and not self._wait(0):
                self.context.engine.warm_up()  # nobody waits for us: the first module will
                cold = False
            self._wait()
            if self._control is not None and not self._control.step():
                return self.exit_code()
            if self._link is not None and not self._link.behind:
                self._link.fill()
                self.run_commands()
            if self._link is not None and self._link.ended:
                self.detach()
        return self.exit_code()

    def _wait(self, milliseconds: int | None = None) -> bool:
        """Until there is something to do; whether there is, if the time is limited."""
        poll = select.poll()
        link = self._link
        if link is not None:
            link.flush()
            poll.register(link.sock, select.POLLOUT if link.behind else select.POLLIN)
        if self._control is not None:
            poll.register(self._control.sock, select.POLLIN)
        return bool(poll.poll(milliseconds))

    def drain(self) -> None:
        """Carry out what the client had sent by now, so that a mark counts it."""
        if self._link is None:
            return
        waiting = _readable_bytes(self._link.sock)
        while self._link is not None and waiting > 0:
            count = self._link.fill()
            if not count:
                break
            waiting -= count
            self.run_commands()
        self.run_commands()
        try:
            self.commands.finish()
        except ClientGone:
            if self._link is not None:
                self._link.ended = True

    def run_commands(self) -> None:
        """Carry out every whole command that has arrived."""
        while (link := self._link) is not None:
            try:
                command = None if self.context.interrupted else link.next_command()
                if command is None:
                    return
                self._carry_out(link, *command)
            except ProtocolError as error:
                self.commands.refuse_client(str(error))
                link.ended = True
                return
            except ClientGone:
                link.ended = True
                return
            if command[0] == Op.GOODBYE:
                link.ended = True
                return

    def _carry_out(self, link: ClientLink, op: int, flags: int, payload: bytes) -> None:
        try:
            status, result = self.commands.take(op, flags, memoryview(payload))
        except ClientGone:
            raise
        except Exception:
            # A defect of ours: say where, and fail every call from here on instead of hanging the program.
            self.commands.internal_error(traceback.format_exc())
            status, result = CudaError.UNKNOWN, b""
        profile_file = self.context.options.profile_file
        if op == Op.GOODBYE and profile_file:  # before the client goes, and we with it
            profiles = [profile.to_json() for profile in self.context.profiles]
            Path(profile_file).write_text(json.dumps(profiles))
        if op == Op.HELLO and self._client_end is not None:
            link.send_files([self.context.arenas.fd, self._client_end.fileno()])
            self._client_end.close()
            self._client_end = None
        if flags & protocol.REPLY:
            output = self.commands.take_output() if flags & protocol.OUTPUT else b""
            head = protocol.REPLY_HEADER.pack(status, self.context.sticky, len(result), len(output))
            link.send(head + result + output)


def _end_with(sock: socket.socket, then: Callable[[], None]) -> None:
    """Call `then` as soon as nobody holds the other end of the socket, whatever else goes on."""
    poll = select.poll()
    poll.register(sock.fileno(), _GONE)
    poll.poll()
    then()


def _readable_bytes(sock: socket.socket) -> int:
    count = array.array("i", [0])
    try:
        fcntl.ioctl(sock.fileno(), termios.FIONREAD, count)
    except OSError:
        return 0
    return count[0]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="evoengineer.sim.process.server", description=__doc__)
    parser.add_argument("--fd", type=int, required=True, help="our end of the client's socket")
    parser.add_argument("--control-fd", type=int, default=-1, help="our end of the owner's socket")
    given = parser.parse_args(arguments)
    belong_to_parent()
    control = socket.socket(fileno=given.control_fd) if given.control_fd >= 0 else None
    try:
        server = Server(DeviceOptions.from_json(json.load(sys.stdin)), control)
    except (EvoEngineerError, ValueError) as error:
        details = error.details if isinstance(error, EvoEngineerError) else ""
        sys.stderr.write(f"evoengineer: the simulated GPU cannot start: {error}\n{details}".rstrip() + "\n")
        return EXIT_CANNOT_START
    server.attach(socket.socket(fileno=given.fd))
    return server.serve()


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    leave(code)  # at once: nothing here needs the interpreter's orderly end
