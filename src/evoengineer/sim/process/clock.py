"""Simulated time of streams, events and copy engines.

Operations wait for their stream, for events, and for the engine they use. A kernel takes what the timing model
says; between kernels of a busy stream lies the time that the card needs to start the next one. Copies between
host and device take a start-up time and then the bus's rate; copies and fills on the device move their bytes
through DRAM, or through L2 when they are small; what a copy reads comes from DRAM unless L2 has it, and
what is written goes there, once, unless it was dirty before. Wall-clock time plays no part, so that two runs agree to
the bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from evoengineer.card.profile import Profile

LEGACY_STREAM = 0
NON_BLOCKING = 1  # cudaStreamNonBlocking
_HOST_TO_DEVICE, _DEVICE_TO_HOST, _DEVICE_TO_DEVICE = 1, 2, 3  # cudaMemcpyKind
_COPY_OVERHEAD_NS = 2000.0  # a copy of a few bytes, as profilers show it
_FILL_OVERHEAD_NS = 1200.0
_CALL_OVERHEAD_NS = 1000.0
_DRAM_EFFICIENCY = 0.88  # copies read and write in turn
_L2_EFFICIENCY = 0.5
_GAP = 0.35  # of the launch overhead: the part that shows between kernels in one stream
_SECTOR_BYTES = 32  # the least that moves between memory and L2


@dataclass(frozen=True, slots=True)
class Rows:
    """What a copy or fill touches on one side: `height` rows of `width` bytes, `pitch` bytes apart."""

    address: int
    width: int
    height: int = 1
    pitch: int = 0

    @property
    def bytes(self) -> int:
        return self.width * self.height

    @property
    def span(self) -> int:
        """From the first byte to behind the last."""
        return (self.height - 1) * self.pitch + self.width if self.height else 0

    @property
    def moved_bytes(self) -> int:
        """Whole sectors, unless rows follow one another."""
        if self.height <= 1 or self.pitch <= self.width:
            return self.bytes
        return self.height * (-(-self.width // _SECTOR_BYTES) * _SECTOR_BYTES)


class Cached(Protocol):
    """What L2 holds; the engine knows."""

    def touch(self, address: int, span: int, size: int) -> None:
        """`size` of these bytes were written."""
        ...

    def cached(self, address: int, span: int) -> float:
        """The part of them that is there."""
        ...

    def dirty(self, address: int, span: int) -> float:
        """The part of them that is there and has yet to be written to DRAM."""
        ...


class Clock:
    """Times are nanoseconds since the start of the device."""

    def __init__(self, profile: Profile, l2: Cached) -> None:
        self._profile = profile
        self._l2 = l2  # told what copies and fills write
        self._host_ns = 0.0
        self._streams: dict[int, float] = {LEGACY_STREAM: 0.0}
        self._blocking: set[int] = set()
        self._engines = {"compute": 0.0, "to_device": 0.0, "to_host": 0.0}
        self._events: dict[int, float] = {}
        self._moved_bytes = 0  # by copies and fills on the device since the last `busy_ns`
        self._first_ns: float | None = None  # start of the first operation since the last `busy_ns`

    def create_stream(self, stream: int, flags: int) -> None:
        self._streams[stream] = self._host_ns
        if not flags & NON_BLOCKING:
            self._blocking.add(stream)

    def kernel(self, stream: int, elapsed_ns: float) -> None:
        self._run(stream, "compute", elapsed_ns + _GAP * self._profile.launch_overhead_ns)

    def cycles(self, stream: int) -> int:
        """What clock64() shows when a kernel that is launched now begins."""
        start = max(self._ready(stream), self._engines["compute"])
        return int(start * self._profile.clock_khz / 1e6)

    def copy(self, stream: int, kind: int, source: Rows, target: Rows) -> None:
        if kind == _DEVICE_TO_DEVICE:
            absent = source.moved_bytes * (1 - self._l2.cached(source.address, source.span))
            moved = source.moved_bytes + target.moved_bytes
            self._run(
                stream, "compute", _FILL_OVERHEAD_NS + self._moved_ns(moved, absent + self._soiled(target))
            )
        else:
            engine = "to_host" if kind == _DEVICE_TO_HOST else "to_device"
            bus_ns = target.bytes / self._profile.pcie_bytes_per_second * 1e9
            self._run(stream, engine, _COPY_OVERHEAD_NS + bus_ns)
        self._l2.touch(target.address, target.span, target.bytes)

    def fill(self, stream: int, target: Rows) -> None:
        time_ns = self._moved_ns(target.moved_bytes, self._soiled(target))
        self._run(stream, "compute", _FILL_OVERHEAD_NS + time_ns)
        self._l2.touch(target.address, target.span, target.bytes)

    def _soiled(self, target: Rows) -> float:
        """Bytes that become dirty. They are written once, whenever that is: who makes them so pays for it, as a kernel
        does, and a kernel that writes the same place afterwards does not."""
        return target.moved_bytes * (1 - self._l2.dirty(target.address, target.span))

    def _moved_ns(self, size: int, through_dram: float) -> float:
        """Bytes through the memory system of the card: what fits into L2 stays there, once, in however many pieces;
        what is not there yet comes from DRAM, and what is written goes there."""
        card = self._profile
        l2_rate = card.l2_bytes_per_clock * card.clock_khz * 1e3 * _L2_EFFICIENCY
        room = max(card.l2_bytes // 2 - self._moved_bytes, 0)
        self._moved_bytes += size
        beyond = max(size - room, through_dram)
        return max(size / l2_rate, beyond / (card.dram_bytes_per_second * _DRAM_EFFICIENCY)) * 1e9

    def record(self, event: int, stream: int) -> None:
        self._events[event] = self._ready(stream)

    def wait(self, stream: int, event: int) -> None:
        self._streams[stream] = max(self._ready(stream), self._events.get(event, 0.0))

    def elapsed_ns(self, start: int, end: int) -> float | None:
        """None unless both events have been recorded (since the last reset)."""
        if start not in self._events or end not in self._events:
            return None
        return self._events[end] - self._events[start]

    def synchronize(self) -> None:
        self._host_ns = max(self._host_ns, *self._streams.values()) + _CALL_OVERHEAD_NS

    def drain(self) -> float:
        """When everything asked for so far is done, on whatever stream; the host knows it from then on."""
        self._host_ns = max(self._host_ns, *self._streams.values(), *self._engines.values())
        return self._host_ns

    def busy_ns(self) -> float:
        """From the start of the first operation to the end of the last, on whatever stream, since the last time."""
        first, self._first_ns, self._moved_bytes = self._first_ns, None, 0
        return 0.0 if first is None else max(*self._streams.values(), *self._engines.values()) - first

    def _ready(self, stream: int) -> float:
        """When the stream can start something new. The legacy stream and blocking streams wait for each other."""
        others: Sequence[int] = ()
        if stream == LEGACY_STREAM:
            others = tuple(self._blocking)
        elif stream in self._blocking:
            others = (LEGACY_STREAM,)
        own = self._streams.get(stream, 0.0)
        return max([own, self._host_ns, *(self._streams[other] for other in others)])

    def _run(self, stream: int, engine: str, duration_ns: float) -> None:
        start = max(self._ready(stream), self._engines[engine])
        self._first_ns = start if self._first_ns is None else min(start, self._first_ns)
        self._streams[stream] = self._engines[engine] = start + duration_ns
