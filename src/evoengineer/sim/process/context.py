"""Context: the state of one simulated card that all commands work on. What CUDA calls a context.

A kernel's failure poisons it: everything after that returns the same error, until a reset.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from evoengineer.sim.engine.engine import Engine
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.process import guards
from evoengineer.sim.process.activity import Activity
from evoengineer.sim.process.call_error import CallError
from evoengineer.sim.process.clock import Clock
from evoengineer.sim.process.region import Failure, Region
from evoengineer.sim.runtime import native
from evoengineer.sim.wire.protocol import CudaError

if TYPE_CHECKING:
    from evoengineer.sim.timing.profile import LaunchProfile


class Context:
    def __init__(self, options: DeviceOptions, quiet: bool) -> None:
        self.options = options
        self.card = options.device.profile
        self.arenas = native.Memory(host_bytes=options.host_bytes or native.HOST_ARENA_BYTES)
        self.runtime = native.load_runtime()
        self.activity = Activity()
        self.profiles: list[LaunchProfile] = []  # of all launches so far, if somebody wants them in a file
        self.failed = False  # a device error happened, whether or not the program noticed
        self.interrupted = False  # nothing is to be started until the next client
        self._quiet = quiet  # what goes wrong is kept as data only
        self.renew()

    def renew(self) -> None:
        """The state of a device that nobody has used yet; memory is the caller's to free."""
        self.engine = Engine(self.options, self.arenas)
        self.clock = Clock(self.card, self.engine)
        self.sticky = 0  # cudaError
        self._marked_ns = 0.0
        self._handles: set[tuple[str, int]] = set()

    def reset(self) -> None:
        """As new, but for the record and the limits: what ran before counts for the next mark."""
        self.arenas.free_all()
        before, before_ns = self.engine, self.clock.drain() - self._marked_ns
        self.renew()
        self.engine.continue_from(before)
        self._marked_ns = -before_ns
        self.activity.resets += 1

    def configure(self, options: DeviceOptions) -> None:
        self.options = options
        self.engine.configure(options)

    def note(self, what: str, number: int) -> None:
        """A stream or event by its number, of which a client may make up only so many."""
        if (what, number) not in self._handles and len(self._handles) >= guards.MOST_HANDLES:
            raise CallError(CudaError.OUT_OF_MEMORY)
        self._handles.add((what, number))

    def mark(self) -> Region:
        """What happened since the last mark, with everything that was asked for done."""
        busy_ns, now_ns = self.clock.busy_ns(), self.clock.drain()
        elapsed_ns, self._marked_ns = now_ns - self._marked_ns, now_ns
        region = self.activity.region(elapsed_ns, busy_ns)
        self.engine.mark()
        # Until a reset the device goes on failing.
        self.activity = Activity(failure=region.failure if self.sticky else None)
        return region

    def say(self, text: str, prefix: bool = True) -> None:
        """For the record, and for the person at the terminal."""
        self.activity.said(text)
        if not self._quiet:
            sys.stderr.write(f"evoengineer: {text}\n" if prefix else text.rstrip("\n") + "\n")
            sys.stderr.flush()

    def fail(self, kind: str, code: int, report: str, prefix: bool = True) -> None:
        self.failed = True
        self.sticky = code
        self.activity.failed(Failure("interrupted" if self.interrupted else kind, code, report))
        self.say(report, prefix)
