"""What the search knows of judging: a text goes in, a verdict comes out, at some later time.

The seam between `search` and `judge`. Two steps, because the search recognises a duplicate by its machine
code before it pays for a run.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from evoengineer.judge.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Built:
    """A text after compilation: either the identity of its machine code, or the verdict that stopped it."""

    kernel: str  # identity of the text
    build: str  # identity of the machine code, empty when `verdict` is set
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """Who judges on a cluster at this moment."""

    nodes: int = 0  # that are used
    judges: int = 0  # that are ready
    places: int = 0  # for judges, whether they are ready or not
    under_way: int = 0  # candidates that are built or judged, or wait for it

    def __str__(self) -> str:
        return f"{self.nodes} nodes, {self.judges} judges, {self.under_way} candidates under way"


@runtime_checkable
class OnCluster(Protocol):
    """A judge that can tell how its cluster stands."""

    def standing(self) -> Standing: ...


@runtime_checkable
class Foreseeing(Protocol):
    """A judge that can tell roughly what time a kernel would take, for less than judging it costs."""

    def foresee(self, source: str) -> Future[float | None]:
        """Microseconds, by the blocks that are counted alone: nothing is checked. For comparing kernels with one
        another. None if the kernel does not come so far, or the device cannot tell."""
        ...


class Judge(Protocol):
    """Any number of submissions may be under way; each future ends with a result, never with an exception
    that the candidate caused."""

    def build(self, source: str) -> Future[Built]:
        """Compile only."""
        ...

    def judge(self, source: str) -> Future[Verdict]:
        """The verdict on a text."""
        ...

    def close(self) -> None: ...
