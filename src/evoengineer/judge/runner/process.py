"""The judge's end of the runner: a sandboxed process that loads one candidate and calls it.

Speaks the lines of `runner.cpp`. A candidate's failure is raised as `CandidateFailure`, which the
judge turns into a verdict; what the runner says is not trusted beyond that (see `integrity.py`).
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Self

from evoengineer.errors import EnvironmentFailure
from evoengineer.idleness import LOOK_SECONDS, Idleness
from evoengineer.judge.reference.client import Staged
from evoengineer.judge.sandbox import Sandboxed, Surroundings, from_outside

Extent = tuple[int, int]  # of memory: where it begins, and the byte behind it

_MOST_REPLY_BYTES = 1 << 20
_MOST_LOG_BYTES = 4000
_MOST_DIMENSIONS, _MOST_BITS = 64, 48  # of a returned tensor; of each of its sizes and strides
_ENDING_SECONDS = 30.0  # for a process whose channel is closed to be gone
# Of PyTorch's types, by the numbers that `evo/abi.h` shares with it; others are not compared.
ELEMENT_BYTES = {0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 2, 6: 4, 7: 8, 11: 1, 15: 2}


class FailureKind(IntEnum):
    """EvoErrorKind of `evo/abi.h`, and what can happen to the process itself."""

    CHECK = 1
    CUDA = 2
    ARGUMENT = 3
    EXCEPTION = 4
    MEMORY = 5
    UNSUPPORTED = 6
    NAME = 7
    ENDED = 100  # exit, abort, a signal
    LATE = 101
    DISTURBED = 103  # ended by a signal that it, or anybody else, may have sent
    NONSENSE = 102  # it answered something that no runner says


@dataclass(eq=False)  # not frozen: Python writes the traceback into an exception
class CandidateFailure(Exception):
    """The candidate failed, or its process did."""

    kind: FailureKind
    message: str
    code: int = 0


@dataclass(frozen=True, slots=True)
class Called:
    """A call that returned: its tensors as described by the runner, and times by its own clocks."""

    tensors: tuple[dict[str, Any], ...]
    event_us: float
    drained_us: float
    wall_us: float
    launches: int  # that it saw
    threads: int = 0  # that were started and not joined, by its own count
    again: bool = False  # does a tensor lie where one of an earlier call does, which is still held?
    given: tuple[Extent, ...] = ()  # where tensors begin and end, but for what lies in inputs


@dataclass(frozen=True, slots=True)
class Undefined:
    """A byte of the results that nobody has given a value; the store that put it there, if there was one."""

    offset: int
    store: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """Where results and inputs lie in the shared memory, and what hit the guard bands."""

    tensors: tuple[dict[str, Any], ...]  # as in Called, with offset and bytes
    inputs: tuple[tuple[int, int], ...]  # offset and bytes
    guards: tuple[str, ...] = field(default=())
    undefined: Undefined | None = None  # the first such byte, by a device that knows


class RunnerProcess:
    """`process` is what the sandbox started; `channel` our end of the socket that it inherited.

    A candidate that waits for ever is found by its idleness, and that of those who work for it (`beside`), not by
    the time that it takes; `patience_seconds` for an answer is what we give a hang of our own.
    """

    def __init__(
        self,
        process: Sandboxed,
        channel: socket.socket,
        log: Path,
        patience_seconds: float,
        beside: tuple[int, ...] = (),
    ) -> None:
        self._process, self._channel, self._log = process, channel, log
        self._patience_seconds, self._beside = patience_seconds, beside
        self._surroundings = Surroundings.now()
        self._buffer = b""
        self._last: tuple[dict[str, Any], ...] = ()
        self._inputs: dict[int, tuple[Extent, ...]] = {}  # of each set: where tensors begin and end
        self._given: tuple[Extent, ...] = ()  # the same of the last results, but for what lies in inputs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()
        self._process.kill()

    def policy(self, guard_bytes: int, poison: bool, reuse: bool) -> None:
        """How memory is given out from now on: guard bands, poison, reuse of freed blocks."""
        self._ask([f"policy {guard_bytes} {int(poison)} {int(reuse)}"])

    def open(self, library: Path) -> tuple[str, ...]:
        """Load the candidate; the names of its functions."""
        lines = self._ask([f"open x{str(library).encode().hex()}"])
        return tuple(_text(line.split()[1]) for line in lines if line.startswith("function "))

    def put(self, number: int, staged: Staged) -> None:
        """Make staged inputs the contents of set `number`."""
        self._placed(number, staged, "put")

    def place(self, number: int, staged: Staged) -> tuple[int, ...]:
        """As `put`, but without contents: the addresses of the tensors, for the caller to fill."""
        return self._placed(number, staged, "place")

    def _placed(self, number: int, staged: Staged, command: str) -> tuple[int, ...]:
        lines = self._ask([f"{command} {number} {staged.count}", *staged.lines])
        try:
            addresses = tuple(int(line.split()[1]) for line in lines if line.startswith("at "))
        except (ValueError, IndexError) as error:
            raise CandidateFailure(FailureKind.NONSENSE, f"malformed answer to {command}") from error
        if len(addresses) != len(staged.tensors):
            raise CandidateFailure(FailureKind.NONSENSE, f"malformed answer to {command}")
        sizes = (size for _, size in staged.tensors)
        self._inputs[number] = tuple(
            (start, start + size) for start, size in zip(addresses, sizes, strict=True)
        )
        return addresses

    def call(
        self, number: int, function: str = "forward", flush_bytes: int = 0, held: Sequence[Extent] = ()
    ) -> Called:
        """Call a function of the candidate's on a set; `flush_bytes` are written first, to empty the L2. Besides the
        results of the call before, those that are `held` are there still."""
        lines = self._ask([f"call {number} {function} {flush_bytes}"])
        self._last = tuple(_tensor(line) for line in lines if line.startswith("output "))
        try:
            event_us, drained_us, wall_us, *counts = (float(word) for word in lines[-1].split()[1:])
            launches, threads = map(int, counts)
        except (ValueError, OverflowError) as error:
            raise CandidateFailure(FailureKind.NONSENSE, f"malformed answer: {lines[-1]!r}") from error
        # A view of an input is the caller's own memory, every time.
        inputs = self._inputs.get(number, ())
        given = tuple(each for each in map(_extent, self._last) if not _inside(each, inputs))
        again = any(_overlap(one, other) for one in (*self._given, *held) for other in given)
        self._given = given
        return Called(self._last, event_us, drained_us, wall_us, launches, threads, again, given)

    def fetch(self, number: int) -> Fetched:
        """Have the last results and the inputs copied to the shared memory."""
        lines = self._ask([f"fetch {number}"])
        places = [line.split() for line in lines]
        try:
            outputs = [(int(w[1]), int(w[2])) for w in places if w[0] == "output"]
            inputs = tuple((int(w[1]), int(w[2])) for w in places if w[0] == "input")
            guards = tuple(f"{_text(w[1])}: {w[3]} bytes {w[2]} its edge" for w in places if w[0] == "guard")
            tensors = tuple(
                {**tensor, "offset": offset, "bytes": size}
                for tensor, (offset, size) in zip(self._last, outputs, strict=True)
            )
        except (ValueError, IndexError) as error:
            raise CandidateFailure(FailureKind.NONSENSE, "malformed answer to fetch") from error
        return Fetched(tensors, inputs, guards)

    def drop(self, number: int) -> None:
        self._ask([f"drop {number}"])

    def _ask(self, lines: Sequence[str]) -> list[str]:
        try:
            self._channel.settimeout(self._patience_seconds)  # a line or two: they fit into the socket
            self._channel.sendall(("\n".join(lines) + "\n").encode())
        except TimeoutError:
            raise self._late() from None
        except OSError:
            raise self._ended() from None
        answer = []
        for line in self._lines():
            answer.append(line)
            if line.startswith("ok"):
                return answer
            if line.startswith("error "):
                raise _failure(line)
        raise self._ended()

    def _lines(self) -> Iterator[str]:
        received = 0
        while True:
            line, found, rest = self._buffer.partition(b"\n")
            if found:
                self._buffer = rest
                yield line.decode(errors="replace")
                continue
            try:
                part = self._receive()
            except OSError:
                return
            received += len(part)
            if not part:
                return
            if received > _MOST_REPLY_BYTES:
                raise CandidateFailure(FailureKind.NONSENSE, "the candidate floods the judge's channel")
            self._buffer += part

    def _receive(self) -> bytes:
        """The next bytes of the answer, however long they take, if somebody is at work on them."""
        idle = Idleness(self._beside, supervisors=[self._process.pid])
        begin = time.monotonic()
        self._channel.settimeout(LOOK_SECONDS)
        while True:
            try:
                return self._channel.recv(1 << 16)
            except TimeoutError:
                if idle.look():
                    raise self._late() from None
                if time.monotonic() - begin > self._patience_seconds:
                    raise EnvironmentFailure(
                        f"no answer from a candidate's process in {self._patience_seconds:g} s, though it is not idle"
                    ) from None

    def _late(self) -> CandidateFailure:
        self._process.kill()
        return CandidateFailure(FailureKind.LATE, "the candidate waits for something that never comes")

    def _ended(self) -> CandidateFailure:
        try:
            ending = self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            ending = self._process.kill()  # it has closed its channel without ending
        if ending.limit == "cpu":
            return CandidateFailure(
                FailureKind.LATE, "the candidate's host code exceeded its limit of processor time"
            )
        trouble = self._surroundings.trouble(self._log.parent)
        if trouble:
            raise EnvironmentFailure(f"the process that runs a candidate failed: {trouble}")
        return CandidateFailure(
            FailureKind.DISTURBED if from_outside(ending) or ending.limit == "killed" else FailureKind.ENDED,
            f"the candidate's process ended: {ending.describe()}{self._log_tail()}",
        )

    def _log_tail(self) -> str:
        try:
            with self._log.open("rb") as file:
                text = file.read(_MOST_LOG_BYTES).decode(errors="replace").strip()
        except OSError:
            return ""
        return f"\nIt printed:\n{text}" if text else ""


def span_bytes(tensor: Mapping[str, Any]) -> int:
    """From the first to the last element that a returned tensor reaches; 0 for one that makes no sense."""
    sizes, strides = tensor["sizes"], tensor["strides"]
    if 0 in sizes or min([0, *sizes, *strides]) < 0:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return int(last + 1) * ELEMENT_BYTES.get(tensor["dtype"], 0)


def _extent(tensor: Mapping[str, Any]) -> Extent:
    """Where a returned tensor begins and ends."""
    return int(tensor["address"]), int(tensor["address"]) + span_bytes(tensor)


def _inside(one: Extent, others: Sequence[Extent]) -> bool:
    return any(start <= one[0] and one[1] <= end for start, end in others)


def _overlap(one: Extent, other: Extent) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def no_forward(functions: Sequence[str]) -> CandidateFailure:
    """The library has functions, but not the one that is called."""
    named = ", ".join(functions) or "nothing"
    return CandidateFailure(FailureKind.NAME, f'PYBIND11_MODULE must define "forward"; it defines {named}')


def _failure(line: str) -> CandidateFailure:
    try:
        _, kind, code, message = line.split()
        return CandidateFailure(FailureKind(int(kind)), _text(message), int(code))
    except ValueError:
        return CandidateFailure(FailureKind.NONSENSE, f"malformed error: {line[:200]!r}")


def _tensor(line: str) -> dict[str, Any]:
    try:
        words = line.split()[2:]
        dtype, dimensions = int(words[0]), int(words[1])
        if not 0 <= dimensions <= _MOST_DIMENSIONS:
            raise ValueError("dimensions")
        sizes = [int(word) for word in words[2 : 2 + dimensions]]
        strides = [int(word) for word in words[2 + dimensions : 2 + 2 * dimensions]]
        address = int(words[-2])
        if max([0, address >> 64, *(abs(each) >> _MOST_BITS for each in (*sizes, *strides))]) or address < 0:
            raise ValueError("no such tensor fits into any memory")
        return {"dtype": dtype, "sizes": sizes, "strides": strides, "address": address, "device": words[-1]}
    except (ValueError, IndexError) as error:
        raise CandidateFailure(FailureKind.NONSENSE, f"malformed output: {line[:200]!r}") from error


def _text(word: str) -> str:
    return bytes.fromhex(word[1:]).decode(errors="replace")
