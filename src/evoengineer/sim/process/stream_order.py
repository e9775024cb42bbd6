"""In which order commands of several streams are carried out: the one in which they were sent, or the opposite one.

CUDA orders two commands if they are in one stream, if one of them is in the legacy stream and the other in a stream
that waits for it, or by an event. Whatever else a program relies on shows when what nothing orders comes in another
order: commands are kept until somebody waits for them, and then the last one that may come does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from evoengineer.sim.process.clock import LEGACY_STREAM, NON_BLOCKING
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import Op

_PER_THREAD_STREAM = 1
_MOST_KEPT = 256
# Where commands that may be kept have their stream.
_WITH_STREAM: dict[int, tuple[struct.Struct, int]] = {
    Op.LAUNCH: (protocol.LAUNCH, 1), Op.MEMSET: (protocol.MEMSET, 6), Op.COPY: (protocol.COPY, 7),
    Op.EVENT_RECORD: (protocol.EVENT, 1), Op.STREAM_WAIT: (protocol.EVENT, 1),
}  # fmt: skip
# Nobody waits for the device by these.
_BESIDE = (
    Op.HELLO,
    Op.ALLOC,
    Op.STREAM_CREATE,
    Op.MODULE_LOAD,
    Op.OCCUPANCY,
    Op.MEMORY_INFO,
    Op.TEXTURE_CREATE,
)


@dataclass(frozen=True, slots=True)
class _Kept:
    op: int
    payload: memoryview
    stream: int
    event: int | None
    after: frozenset[int]  # places of those that must come before


class StreamOrder:
    """Commands of one client that were sent and not carried out."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self._waiting = {LEGACY_STREAM, _PER_THREAD_STREAM}  # streams that the legacy stream waits for
        self._several = False  # is there any stream but the legacy one?

    def note(self, op: int, payload: memoryview) -> None:
        """Streams are told apart from their creation on."""
        if op == Op.STREAM_CREATE and len(payload) == protocol.STREAM.size:
            stream, kind = protocol.STREAM.unpack(payload)
            self._several = True
            self._waiting |= set() if kind & NON_BLOCKING else {stream}

    def keep(self, op: int, flags: int, payload: memoryview) -> bool:
        """Whether the command will be carried out later."""
        known = _WITH_STREAM.get(op)
        if known is None or not self._several or flags & protocol.REPLY or len(self._kept) >= _MOST_KEPT:
            return False
        layout, place = known
        if len(payload) < layout.size:
            return False
        fields = layout.unpack_from(payload)
        event = fields[0] if op in (Op.EVENT_RECORD, Op.STREAM_WAIT) else None
        after = (
            at for at, earlier in enumerate(self._kept) if self._ordered(earlier, op, fields[place], event)
        )
        self._kept.append(_Kept(op, payload, fields[place], event, frozenset(after)))
        return True

    def must_finish(self, op: int) -> bool:
        """Whether what is kept has to be done before that command."""
        return bool(self._kept) and op not in _BESIDE

    def take(self) -> Iterator[tuple[int, memoryview]]:
        """All that is kept, the last of those that may come first."""
        kept, self._kept = self._kept, []
        left, done = list(range(len(kept))), set[int]()
        while left:
            at = next(each for each in reversed(left) if kept[each].after <= done)
            left.remove(at)
            done.add(at)
            yield kept[at].op, kept[at].payload

    def _ordered(self, earlier: _Kept, op: int, stream: int, event: int | None) -> bool:
        both = {earlier.stream, stream}
        if len(both) == 1 or (LEGACY_STREAM in both and both <= self._waiting):
            return True
        if event is None or event != earlier.event:
            return False
        return Op.EVENT_RECORD in (earlier.op, op)
