"""Commands of several streams in another order than the one in which they were sent, as far as CUDA allows it."""

from evoengineer.sim.process.clock import LEGACY_STREAM, NON_BLOCKING
from evoengineer.sim.process.stream_order import StreamOrder
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import Op


class Sent:
    """A client whose commands are kept; `order` says by their names in which order they are carried out."""

    def __init__(self, **kinds: int) -> None:
        self._order = StreamOrder()
        self._names: list[tuple[memoryview, str]] = []
        self._streams = {name: number for number, name in enumerate(kinds, 2)} | {"legacy": LEGACY_STREAM}
        for name, kind in kinds.items():
            self._order.note(Op.STREAM_CREATE, memoryview(protocol.STREAM.pack(self._streams[name], kind)))

    def launch(self, name: str, stream: str) -> bool:
        payload = protocol.LAUNCH.pack(len(self._names), self._streams[stream], 1, 1, 1, 1, 1, 1, 0, 0)
        return self._keep(name, Op.LAUNCH, payload)

    def record(self, name: str, event: int, stream: str) -> bool:
        return self._keep(name, Op.EVENT_RECORD, protocol.EVENT.pack(event, self._streams[stream]))

    def wait(self, name: str, event: int, stream: str) -> bool:
        return self._keep(name, Op.STREAM_WAIT, protocol.EVENT.pack(event, self._streams[stream]))

    def order(self) -> list[str]:
        return [name for _, taken in self._order.take() for payload, name in self._names if payload is taken]

    def _keep(self, name: str, op: Op, payload: bytes) -> bool:
        self._names.append((memoryview(payload), name))
        return self._order.keep(op, 0, self._names[-1][0])


def test_nothing_is_kept_of_who_has_one_stream() -> None:
    assert not Sent().launch("only", "legacy")


def test_what_nothing_orders_comes_in_the_opposite_order() -> None:
    sent = Sent(one=NON_BLOCKING, other=NON_BLOCKING)
    sent.launch("writes", "one")
    sent.launch("writes more", "one")
    sent.launch("reads", "other")
    assert sent.order() == ["reads", "writes", "writes more"]
    assert sent.order() == []


def test_an_event_orders_two_streams() -> None:
    sent = Sent(one=NON_BLOCKING, other=NON_BLOCKING)
    sent.launch("writes", "one")
    sent.record("done", 1, "one")
    sent.wait("waits", 1, "other")
    sent.launch("reads", "other")
    assert sent.order() == ["writes", "done", "waits", "reads"]


def test_an_event_that_is_recorded_again_does_not_hold_up_who_waited_before() -> None:
    sent = Sent(one=NON_BLOCKING, other=NON_BLOCKING)
    sent.record("first", 1, "one")
    sent.wait("waits", 1, "other")
    sent.record("second", 1, "one")
    assert sent.order() == ["first", "waits", "second"]


def test_the_legacy_stream_waits_for_blocking_streams_and_they_for_it() -> None:
    sent = Sent(blocking=0, free=NON_BLOCKING)
    sent.launch("fills", "legacy")
    sent.launch("works", "blocking")
    sent.launch("uses", "legacy")
    sent.launch("beside", "free")
    assert sent.order() == ["beside", "fills", "works", "uses"]


def test_who_is_waited_for_or_answered_comes_at_once() -> None:
    order = StreamOrder()
    order.note(Op.STREAM_CREATE, memoryview(protocol.STREAM.pack(2, NON_BLOCKING)))
    copy = memoryview(protocol.COPY.pack(1, 4, 2, 4, 4, 1, 3, 2))
    assert not order.keep(Op.COPY, protocol.REPLY, copy)
    assert not order.must_finish(Op.SYNCHRONIZE)
    assert order.keep(Op.COPY, 0, copy)
    assert order.must_finish(Op.SYNCHRONIZE)
    assert order.must_finish(Op.FREE)
    assert not order.must_finish(Op.ALLOC)
