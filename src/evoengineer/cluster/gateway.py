"""`python -m evoengineer.cluster.gateway FD`: the process that is connected to Ray, for the driver at FD's other end.

Reads an `Opening`, as a dictionary, then requests; writes what has come of them, and once a second how the cluster
stands. It ends when the driver closes its end, however that happens, and takes its judges with it: nothing is left on
the cluster. Ray ends this process when the cluster has gone, which the driver sees as a closed pipe.
"""

from __future__ import annotations

import os
import queue
import shutil
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import ray

from evoengineer.cluster.address import AUTO, LOCAL
from evoengineer.cluster.dispatch import Dispatcher, Text
from evoengineer.cluster.facts import Node, refusals, versions_here
from evoengineer.cluster.fleet import RayFleet, alive_nodes, cause_of, look_at
from evoengineer.errors import EvoEngineerError
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.worker import Target, target_of

_KNOCK_SECONDS = 20
_STARTS = 3
# What every process of a cluster writes down about itself, for a dashboard that a cluster of ours does not have.
UNWATCHED = {"task_events_report_interval_ms": 0, "enable_metrics_collection": False}
_BEAT_SECONDS = 1.0
_LEAVE_SECONDS = 10.0
_SHORT = 40  # Ray's sockets lie below its folder, and their names must not be long


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a driver wants of a cluster."""

    address: str
    options: JudgeOptions
    card: str = ""  # the type of GPU; empty: there must be one type only
    cpus: int = 1  # cores for each judge on a simulated GPU
    patience_seconds: float = 60.0  # without any node, before the cluster is given up
    survey: bool = False  # only look at the nodes
    crew: str = "evoengineer.cluster.crew"  # the module with `build` and `Judge`


class Gateway:
    """One driver's way to a cluster."""

    def __init__(self, connection: Connection, opening: Opening) -> None:
        self._connection, self._opening = connection, opening
        self._events: queue.SimpleQueue[tuple[str, tuple[Any, ...]]] = queue.SimpleQueue()
        self._known: set[str] = set()  # nodes that have been looked at, or are
        self._used: set[str] = set()
        self._card = opening.card
        self._fleet: RayFleet | None = None
        self._dispatcher: Dispatcher | None = None
        self._refused: list[str] = []

    def run(self) -> None:
        """Until the driver has gone, or the cluster."""
        nodes = self._survey()
        if self._opening.survey:
            self._connection.send(("survey", nodes))
            return
        self._open(nodes)
        threading.Thread(target=self._listen, name="requests", daemon=True).start()
        threading.Thread(target=self._watch, name="nodes", daemon=True).start()
        assert self._fleet is not None
        try:
            self._work()
        finally:
            self._fleet.close(_LEAVE_SECONDS)

    # -- opening -------------------------------------------------------------------------------------

    def _survey(self) -> list[Node]:
        """Every node that is there now, with its facts."""
        nodes = alive_nodes()
        answers: queue.SimpleQueue[Node] = queue.SimpleQueue()
        for node in nodes.values():
            look_at(node, answers.put)
        found = [answers.get() for _ in nodes]
        self._known |= nodes.keys()
        return sorted(found, key=lambda node: node.name)

    def _open(self, nodes: list[Node]) -> None:
        opening = self._opening
        target = self._target(nodes)
        post = lambda name, *arguments: self._events.put((name, arguments))  # noqa: E731
        self._fleet = RayFleet(opening.options, target, opening.cpus, post, opening.crew)
        self._dispatcher = Dispatcher(
            self._fleet,
            self._send_answer,
            limit_seconds=2 * opening.options.patience_seconds,
            both_builds=not opening.options.device.simulated,
        )
        self._dispatcher.most_judges = opening.options.workers
        for node in sorted(nodes, key=lambda each: -each.free):  # other drivers may hold the rest
            self._consider(node)
        if not self._used:
            reasons = "\n".join(self._refused) or "it has no node that is alive"
            raise EvoEngineerError(f"no node of the cluster {opening.address} can be used:\n{reasons}")
        home = ray.get_runtime_context().get_node_id()
        self._connection.send(("opened", self._dispatcher.standing, self._take_notes(), home))

    def _target(self, nodes: list[Node]) -> Target:
        """What to compile for. On real GPUs: the one card type that there is, or that was chosen."""
        device = self._opening.options.device
        if device.simulated:
            return target_of(device)
        kinds = sorted({node.card for node in nodes if node.gpus >= 1})
        if not self._card and len(kinds) > 1:
            raise EvoEngineerError(
                f"the cluster has several types of GPU: {', '.join(each or 'unknown' for each in kinds)}. Times of "
                "different cards cannot be compared: choose one with --card"
            )
        if not kinds or (self._card and self._card not in kinds):
            there = ", ".join(kinds) if kinds else "none"
            raise EvoEngineerError(
                f"no node has a GPU {self._card or 'at all'} for {device}; there are: {there}. "
                "`evoengineer doctor --cluster` lists the nodes"
            )
        self._card = self._card or kinds[0]
        for node in nodes:
            if node.card == self._card and node.facts is not None and node.facts.cards:
                return Target("cuda", node.facts.cards[0].sm)
        raise EvoEngineerError(f"no node with a {self._card} has a working nvidia-smi: its driver is missing")

    def _consider(self, node: Node) -> None:
        """Use the node, or say why not."""
        assert self._fleet is not None
        assert self._dispatcher is not None
        options = self._opening.options
        found = refusals(
            node, versions_here(), gpu=not options.device.simulated, card=self._card, unsafe=options.unsafe
        )
        places = self._fleet.use(node)
        if not found and places.judges < 1:
            found = ["it has no CPU for judges"]
        if found:
            self._refused.append(f"node {node.name} is refused: {'; '.join(found)}")
            return
        self._used.add(node.id)
        self._dispatcher.node_joined(node.id, places.judges, places.build_cores)

    # -- working -------------------------------------------------------------------------------------

    def _work(self) -> None:
        assert self._dispatcher is not None
        beat = lonely = time.monotonic()
        while True:
            name, arguments = self._next_event(beat + _BEAT_SECONDS)
            if name == "gone":
                return
            if name:
                self._handle(name, arguments)
            now = time.monotonic()
            if self._used:
                lonely = now
            elif now - lonely > self._opening.patience_seconds:
                raise EvoEngineerError(f"the cluster {self._opening.address} has no node left that can judge")
            if now >= beat + _BEAT_SECONDS:
                beat = now
                self._dispatcher.tick(now)
                self._connection.send(("standing", self._dispatcher.standing, self._take_notes()))

    def _next_event(self, until: float) -> tuple[str, tuple[Any, ...]]:
        try:
            return self._events.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return "", ()

    def _handle(self, name: str, arguments: tuple[Any, ...]) -> None:
        assert self._fleet is not None
        assert self._dispatcher is not None
        match name:
            case "problem":
                self._fleet.keep_problem(*arguments)
            case "build":
                number, problem, kernel, source = arguments
                self._dispatcher.submit_build(number, Text(problem, kernel, source))
            case "judge":
                number, problem, kernel, source, baseline, baseline_text = arguments
                other = None if baseline_text is None else Text(problem, *baseline_text)
                self._dispatcher.submit_judge(number, Text(problem, kernel, source), baseline, other)
            case "nodes":
                self._nodes_now(*arguments)
            case "looked":
                (node,) = arguments
                if node.id in self._known:
                    self._consider(node)
            case _:
                getattr(self._dispatcher, name)(*arguments)

    def _nodes_now(self, alive: dict[str, Node]) -> None:
        assert self._fleet is not None
        assert self._dispatcher is not None
        for gone in self._known - alive.keys():
            self._known.discard(gone)
            if gone in self._used:
                self._used.discard(gone)
                self._dispatcher.node_left(gone)
        for new in alive.keys() - self._known:
            self._known.add(new)
            look_at(alive[new], lambda node: self._events.put(("looked", (node,))))

    def _listen(self) -> None:
        """Requests of the driver."""
        try:
            while True:
                name, *arguments = self._connection.recv()
                self._events.put((name, tuple(arguments)))
        except (EOFError, OSError):
            self._events.put(("gone", ()))

    def _watch(self) -> None:
        """Which nodes there are."""
        with suppress(Exception):  # Ray ends this process when its cluster does not come back
            while True:
                self._events.put(("nodes", (alive_nodes(),)))
                time.sleep(_BEAT_SECONDS)

    def _send_answer(self, number: int, result: object) -> None:
        self._connection.send(("answer", number, result))

    def _take_notes(self) -> list[str]:
        notes, self._refused = self._refused, []
        return notes


def connect(opening: Opening) -> str | None:
    """Join the cluster, or start one here; the folder of one that was started."""
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    if opening.address != LOCAL:
        _knock(opening.address)
        ray.init(address=opening.address, **quiet)
        return None
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # it would call home
    os.environ.pop("RAY_ADDRESS", None)  # a new one, whatever else there is
    folder = tempfile.mkdtemp(prefix="evo-ray-")
    place = {"_temp_dir": folder} if len(folder) <= _SHORT else {}
    for left in reversed(range(_STARTS)):
        try:
            ray.init(include_dashboard=False, _system_config=UNWATCHED, **place, **quiet)
            break
        except Exception as error:  # Ray gives a new node half a minute, which a busy machine may not have
            ray.shutdown()
            if not left:
                shutil.rmtree(folder, ignore_errors=True)
                raise EvoEngineerError(f"no cluster can be started here: {cause_of(error)}") from error
    return folder


def _knock(address: str) -> None:
    """Ray tries for minutes at an address where nothing is."""
    if address == AUTO or "://" in address:
        return
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_KNOCK_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise EvoEngineerError(
            f"the cluster {address} cannot be reached: {error}. `ray start --head` starts one"
        ) from error


def main(handle: int) -> int:
    """Serve the driver at the other end of a socket."""
    connection = Connection(handle)
    opening = Opening(**connection.recv())
    folder = None
    try:
        folder = connect(opening)
        Gateway(connection, opening).run()
    except EvoEngineerError as error:
        _tell(connection, str(error))
    except (ConnectionError, ValueError, RuntimeError, AssertionError) as error:
        _tell(connection, f"the cluster {opening.address} cannot be reached: {cause_of(error)}")
    finally:
        ray.shutdown()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def _tell(connection: Connection, text: str) -> None:
    with suppress(OSError):
        connection.send(("fatal", text))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
