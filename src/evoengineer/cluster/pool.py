"""The judge of `judge/protocol.py` on a cluster, in the driver's process: asks the gateway, keeps verdicts.

    with Cluster("local", JudgeOptions()) as cluster:
        pool = ClusterPool(cluster, find_problem("softmax"))
        verdict = pool.judge(source).result()

Several problems share a cluster. What has been judged before is answered from this machine's cache, as by the local
judge. When the cluster goes away, everything under way ends with EnvironmentFailure, and a run can be resumed.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from itertools import count
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Self

from evoengineer.cluster.address import check_address
from evoengineer.cluster.crew import BuildReport, Trouble
from evoengineer.cluster.parcel import pack_problem
from evoengineer.errors import EnvironmentFailure, EvoEngineerError
from evoengineer.files import digest
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.plan import secret_seed
from evoengineer.judge.protocol import Built, Standing
from evoengineer.judge.verdict import Verdict
from evoengineer.judge.verdict_cache import VerdictCache
from evoengineer.kernel.text import Kernel
from evoengineer.problem.catalog import Description

if TYPE_CHECKING:
    from evoengineer.cluster.facts import Node

_SILENT_SECONDS = 180.0  # of a gateway that tells something every second
_END_SECONDS = 120.0
_CREW = "evoengineer.cluster.crew"


class Cluster:
    """A connection to a Ray cluster. Close it, or use it as a context manager.

    `address` is `HOST:PORT`, `auto` (the one that runs on this machine) or `local` (a new one on this machine's
    cores). `notify` is told in a sentence of every node that is refused.
    """

    def __init__(
        self,
        address: str,
        options: JudgeOptions,
        *,
        card: str = "",
        cpus: int = 1,
        patience_seconds: float = 60.0,
        crew: str = _CREW,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        seed = secret_seed() if options.run_seed is None else options.run_seed
        self.address, self.options = address, replace(options, run_seed=seed)
        self.standing = Standing()
        self.home = ""  # the node through which this machine belongs to the cluster
        self._notify = notify or _print_note
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._futures: dict[int, Future[Any]] = {}
        self._problems: set[str] = set()
        self._ended = ""  # why nothing more can be asked
        self._gateway = _Process(
            {"address": address, "options": self.options, "card": card, "cpus": cpus, "crew": crew,
             "patience_seconds": patience_seconds}
        )  # fmt: skip
        try:
            self._opened(self._gateway.receive())
        except BaseException:
            self._gateway.close()
            raise
        self._reader = threading.Thread(target=self._read, name="cluster", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Judges on the cluster are ended; a local cluster, too."""
        with self._lock:
            self._ended = self._ended or "it was closed"
        self._gateway.close()
        self._reader.join()

    def ask(self, name: str, problem: str, *arguments: Any) -> Future[Any]:
        """A request to the gateway, with a future for its answer."""
        answer: Future[Any] = Future()
        with self._lock:
            if not self._ended:
                number = next(self._numbers)
                self._futures[number] = answer
                try:
                    self._gateway.connection.send((name, number, problem, *arguments))
                except OSError:
                    del self._futures[number]
                    self._ended = self._ended or "it went away"
            if self._ended:
                answer.set_exception(self._gone())
        return answer

    def send_problem(self, data: bytes) -> str:
        """Its key; it travels once."""
        key = digest(data)
        with self._lock:
            if key not in self._problems and not self._ended:
                self._problems.add(key)
                try:
                    self._gateway.connection.send(("problem", key, data))
                except OSError:
                    self._ended = "it went away"
        return key

    def _opened(self, message: tuple[Any, ...] | None) -> None:
        if message is None:
            raise EvoEngineerError(
                f"the cluster {self.address} cannot be used\n{self._gateway.said()}".strip()
            )
        kind, *values = message
        if kind == "fatal":
            raise EvoEngineerError(values[0])
        self.standing, notes, self.home = values
        for note in notes:
            self._notify(note)

    def _read(self) -> None:
        """Until the gateway ends."""
        why = "it went away"
        while (message := self._gateway.receive(_SILENT_SECONDS)) is not None:
            kind, *values = message
            if kind == "answer":
                self._settle(*values)
            elif kind == "standing":
                self.standing = values[0]
                for note in values[1]:
                    self._notify(note)
            elif kind == "fatal":
                why = values[0]
        with self._lock:
            self._ended = self._ended or why
            lost, self._futures = self._futures, {}
        self.standing = Standing()
        for future in lost.values():
            future.set_exception(self._gone())

    def _settle(self, number: int, result: BuildReport | Verdict | Trouble) -> None:
        with self._lock:
            future = self._futures.pop(number, None)
        if future is None:
            return
        if isinstance(result, Trouble):
            kind = EnvironmentFailure if result.machine else EvoEngineerError
            future.set_exception(kind(f"on the cluster {self.address}: {result.text}"))
        else:
            future.set_result(result)

    def _gone(self) -> EnvironmentFailure:
        return EnvironmentFailure(
            f"the cluster {self.address} cannot be used any more: {self._ended} "
            "(`--cluster none` judges on this machine)"
        )


class ClusterPool:
    """Judges kernels for one problem on a cluster, which stays open."""

    def __init__(self, cluster: Cluster, description: Description, *, own: bool = False) -> None:
        """`own`: the cluster is closed with the pool."""
        self.description, self.options = description, cluster.options
        self._cluster, self._own = cluster, own
        self._problem = cluster.send_problem(pack_problem(description))
        self._cache = self._open_cache()
        self._builds: dict[str, str] = {}  # identity of the machine code by that of the text
        self._lock = threading.Lock()
        self._baseline: Future[Verdict] | None = None

    def standing(self) -> Standing:
        """Who judges at this moment."""
        return self._cluster.standing

    def close(self) -> None:
        if self._own:
            self._cluster.close()

    # -- what the search asks for ------------------------------------------------------------------

    def build(self, source: str) -> Future[Built]:
        """Compile only: the identity of the machine code, or the verdict that ends it here."""
        kernel = Kernel(source).id

        def tell(report: BuildReport) -> Built:
            if report.verdict is None:
                self._builds[kernel] = report.build
            return Built(kernel, report.build, report.verdict)

        return _then(self._cluster.ask("build", self._problem, kernel, source), tell)

    def judge(self, source: str) -> Future[Verdict]:
        """The verdict on a text."""
        kernel = Kernel(source).id
        known = self._known(kernel)
        if known is not None:
            return _done(known)
        path = self.description.problem.baseline
        baseline_source = None if path is None else path.read_text(encoding="utf-8")
        if baseline_source is None:
            return self._examined(kernel, source, None, None)
        baseline = Kernel(baseline_source)
        if baseline.id == kernel:
            return self._judged_baseline(baseline)
        answer: Future[Verdict] = Future()

        def go_on(verdict: Verdict) -> None:
            text = (baseline.id, baseline.source)
            _pass_on(self._examined(kernel, source, verdict, text), answer)

        _when(_then(self._judged_baseline(baseline), self._checked_baseline), go_on, answer)
        return answer

    def judge_baseline(self) -> Verdict:
        """The verdict on the problem's own baseline, whatever it is."""
        assert self.description.problem.baseline is not None
        return self.judge(self.description.problem.baseline.read_text(encoding="utf-8")).result()

    # -- inside ------------------------------------------------------------------------------------

    def _examined(
        self, kernel: str, source: str, baseline: Verdict | None, baseline_text: tuple[str, str] | None
    ) -> Future[Verdict]:
        asked = self._cluster.ask("judge", self._problem, kernel, source, baseline, baseline_text)
        return _then(asked, lambda verdict: self._kept(kernel, verdict))

    def _kept(self, kernel: str, verdict: Verdict) -> Verdict:
        if not verdict.device:  # it has no machine code that was run to an end
            return replace(verdict, problem=self.description.problem.name, device=str(self.options.device))
        if self._cache is not None:
            self._cache.keep(kernel, verdict)
            if verdict.build:
                self._cache.keep(verdict.build, verdict)
        return verdict

    def _judged_baseline(self, kernel: Kernel) -> Future[Verdict]:
        """Judged once, unless the machine failed."""
        with self._lock:
            if self._baseline is None or (self._baseline.done() and self._baseline.exception() is not None):
                known = self._known(kernel.id)
                self._baseline = (
                    _done(known) if known else self._examined(kernel.id, kernel.source, None, None)
                )
            return self._baseline

    def _checked_baseline(self, verdict: Verdict) -> Verdict:
        """An invalid baseline is an error."""
        if verdict.timing is None:
            problem = self.description.problem
            raise EvoEngineerError(
                f"the baseline of {problem.name} ({problem.baseline}) is not valid: {verdict.outcome}: "
                f"{verdict.summary}\n{verdict.evidence}"
            )
        return verdict

    def _known(self, kernel: str) -> Verdict | None:
        """By the text, or by the machine code of another text."""
        if self._cache is None:
            return None
        known = self._cache.find(kernel)
        if known is None and kernel in self._builds:
            alike = self._cache.find(self._builds[kernel])
            known = None if alike is None else replace(alike, kernel=kernel)
        return known

    def _open_cache(self) -> VerdictCache | None:
        """Measured times belong to a card of some node: they are not kept here."""
        if not self.options.use_cache or not self.options.device.simulated:
            return None
        assert self.options.run_seed is not None
        return VerdictCache(self.description.problem, self.options.device, self.options.run_seed)


def survey(address: str, options: JudgeOptions) -> list[Node]:
    """The nodes of a cluster with their facts."""
    gateway = _Process({"address": address, "options": options, "survey": True})
    try:
        message = gateway.receive()
        if message is None:
            raise EvoEngineerError(f"the cluster {address} cannot be used\n{gateway.said()}".strip())
        if message[0] == "fatal":
            raise EvoEngineerError(message[1])
        nodes: list[Node] = message[1]
        return nodes
    finally:
        gateway.close()


class _Process:
    """The gateway's process, and the socket to it."""

    def __init__(self, opening: dict[str, Any]) -> None:
        check_address(opening["address"])
        if importlib.util.find_spec("ray") is None:
            raise EvoEngineerError("--cluster needs Ray: pip install 'evoengineer[ray]'")
        ours, theirs = socket.socketpair()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        # A session of its own: Ctrl-C is for the driver, which then closes the socket.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "evoengineer.cluster.gateway", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
        )  # fmt: skip
        theirs.close()
        self.connection = Connection(ours.detach())
        self.connection.send(opening)

    def receive(self, seconds: float | None = None) -> tuple[Any, ...] | None:
        """The next message; None when the process has ended, or said nothing for so long."""
        try:
            if not self.connection.poll(seconds):
                return None
            message: tuple[Any, ...] = self.connection.recv()
            return message
        except (EOFError, OSError):
            return None

    def said(self) -> str:
        """The end of what it wrote."""
        self._log.seek(0)
        return "\n".join(self._log.read().decode(errors="replace").strip().splitlines()[-10:])

    def close(self) -> None:
        """It ends when its socket is closed."""
        _shut(self.connection)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def _shut(connection: Connection) -> None:
    """Also for a thread that reads from it, which closing alone would leave waiting."""
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as shared:
        shared.shutdown(socket.SHUT_RDWR)


def _print_note(text: str) -> None:
    print(f"evoengineer: {text}", file=sys.stderr, flush=True)


# -- futures ---------------------------------------------------------------------------------------------


def _done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def _when(future: Future[Any], go_on: Callable[[Any], None], answer: Future[Any]) -> None:
    """`go_on` with the result; errors, also of its own, go to `answer`."""

    def done(ended: Future[Any]) -> None:
        error = ended.exception()
        if error is None:
            try:
                go_on(ended.result())
            except Exception as own:
                error = own
        if error is not None:
            answer.set_exception(error)

    future.add_done_callback(done)


def _then(future: Future[Any], make: Callable[[Any], Any]) -> Future[Any]:
    """What is made of a result that is to come."""
    answer: Future[Any] = Future()
    _when(future, lambda value: answer.set_result(make(value)), answer)
    return answer


def _pass_on(future: Future[Any], answer: Future[Any]) -> None:
    _when(future, answer.set_result, answer)
