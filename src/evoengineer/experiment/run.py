"""Run: a run in an archive, as an object. Made from settings, worked through, resumed, read.

Shared by `evolve`, `resume` and `bench`, on the command line and in Python. Opens the judge, has problem and proposer
opened (`tasks.py`, `proposers.py`), and owns what a run's record holds besides the search.
"""

from __future__ import annotations

import platform
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoengineer.archive import reading
from evoengineer.archive.managing import check_run_name, delete_run, is_untouched
from evoengineer.archive.reading import RunSummary, Trial
from evoengineer.archive.store import Archive, RunRecord, new_run_name
from evoengineer.card.name import DeviceName
from evoengineer.errors import UsageError
from evoengineer.experiment import experience
from evoengineer.experiment.journal import RunJournal
from evoengineer.experiment.proposers import check_proposer, open_proposer, price_known, proposer_name
from evoengineer.experiment.tasks import describe, gather_task
from evoengineer.files import digest
from evoengineer.judge.protocol import OnCluster
from evoengineer.search.budget import Budget
from evoengineer.search.endings import LoopOptions, Result
from evoengineer.search.loop import Loop
from evoengineer.search.methods import Method, blaming, find_method
from evoengineer.search.settings import Settings, resolve
from evoengineer.search.state import SearchState
from evoengineer.search.task import Task
from evoengineer.user_files import check_writable, is_file
from evoengineer.version import __version__

if TYPE_CHECKING:
    from evoengineer.cluster.pool import Cluster
    from evoengineer.judge import JudgeOptions
    from evoengineer.judge.protocol import Judge
    from evoengineer.propose.protocol import Proposer
    from evoengineer.search.progress import Observer

NO_CLUSTER = "none"  # in place of an address, for a run that is resumed on this machine
_FILES = ("replay", "prices", "baseline")  # settings that name files which must be there


class Run:
    """One run in an archive.

    What it tells is read from the file whenever it is asked, so that a run under way can be watched from elsewhere.
    """

    def __init__(self, id: str, archive: Path) -> None:
        self.id = id
        self.archive = archive

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {str(self.archive)!r})"

    @classmethod
    def create(cls, settings: Settings, archive: Path, name: str | None = None) -> Run:
        """Write a new run into the archive; nothing is called or judged yet."""
        method, fingerprint = resolved_method(settings)  # a wrong name is refused before anything is opened
        check_files(settings)
        settings = with_absolute_paths(settings)
        check_proposer(settings)
        if name is not None:
            check_run_name(name)
        task = gather_task(settings)
        lessons = experience.lessons_for(settings, method, task, archive)
        with Archive(archive) as opened:
            record = opened.create_run(
                id=name or new_run_name(task.name, settings.method),
                problem=task.name,
                method=method.name,
                proposer=proposer_name(settings),
                device=settings.device,
                seed=settings.seed,
                trials=settings.trials,
                settings={
                    **settings.to_json(),
                    "method_fingerprint": fingerprint,
                    "problem_fingerprint": problem_fingerprint(settings),
                    "price_known": price_known(settings),
                    **experience.recorded(lessons),
                },
                task=task.to_json(),
                environment=environment(task),
            )
        return cls(record.id, archive)

    # -- reading ------------------------------------------------------------------------------------------

    @property
    def record(self) -> RunRecord:
        """What was asked for (problem, method, proposer, device, seed, settings …) and how it stands."""
        with self._open() as archive:
            return archive.run(self.id)

    @property
    def status(self) -> str:
        """`running`, `finished`, `stopped` or `interrupted`; `record.reason` says why."""
        with self._open() as archive:
            return reading.status(archive, archive.run(self.id))

    @property
    def summary(self) -> RunSummary:
        """The totals: trials, outcomes, duplicates, tokens, cost, times."""
        with self._open() as archive:
            return reading.summary(archive, self.id)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every charged proposal with its verdict, in order."""
        with self._open() as archive:
            return tuple(reading.trials(archive, self.id))

    @property
    def best(self) -> Trial | None:
        """The trial with the fastest kernel; None while nothing beats the baseline."""
        return next((trial for trial in reversed(self.trials) if trial.improved), None)

    @property
    def speedup(self) -> float | None:
        """Of the best kernel over the baseline (1.0: the baseline itself); None without a baseline."""
        return self.summary.best_speedup

    @property
    def source(self) -> str | None:
        """Text of the best kernel, the baseline's if nothing beats it; None while nothing is valid."""
        with self._open() as archive:
            best = reading.best_kernel(archive, self.id)
        return None if best is None else best[1]

    def _open(self) -> Archive:
        return Archive(self.archive, read_only=True)

    # -- working ------------------------------------------------------------------------------------------

    def work(
        self,
        changes: Mapping[str, Any] | None = None,
        *,
        observer: Observer | None = None,
        on_loop: Callable[[Loop], None] | None = None,
        total: Budget | None = None,
        proposer: Proposer | None = None,
        judge: Judge | None = None,
        learns: bool = True,
    ) -> Result:
        """Take the run from wherever it stands to its end. `changes` are settings that differ from now on.

        `on_loop` gets the loop, whose `interrupt` ends it cleanly. A proposer and a judge that are given stay open. A
        run whose method declares experience adds to the library what it proved, if it `learns`.
        """
        with Archive(self.archive, create=False) as archive, ExitStack() as opened:
            record = archive.run(self.id)
            opened.enter_context(_no_ghost(archive, record.id))
            settings = changed(settings_of(record), changes or {})
            check_files(settings)
            check_problem(settings, record)
            if settings.trials < record.trials:
                raise UsageError(
                    f"run {record.id} has {record.trials} trials; they can only be more, not {settings.trials}"
                )
            opened.enter_context(archive.lock(record.id))
            if settings.trials != record.trials:
                archive.set_trials(record.id, settings.trials)
            if proposer is None:
                proposer = open_proposer(settings)
                opened.callback(proposer.close)
            in_time = True
            if judge is None:
                judge = own = open_judge(settings)
                opened.callback(lambda: _close(own, wait=in_time))
            loop = _loop(archive, record, settings, proposer, judge, observer, total)
            loop.progress.price_known = bool(record.settings.get("price_known", True))
            if on_loop is not None:
                on_loop(loop)
            with blaming(settings.method):
                result = loop.run()
            in_time = not loop.out_of_time
            if learns:
                experience.keep(settings, loop.state.method, archive, self.id)
            return result


def resolved_method(settings: Settings) -> tuple[Method, str]:
    """The method with its switches, and a fingerprint of the user's file it comes from."""
    method, fingerprint = find_method(settings.method)
    switched = method.with_switches(
        repair=settings.repair, knowledge=settings.knowledge, lookahead=settings.lookahead
    )
    return switched, fingerprint


def open_judge(settings: Settings) -> Judge:
    """A judge of the settings' problem on their device, here or on their cluster."""
    from evoengineer.judge import open_judge as open_pool

    cluster = open_cluster(settings)
    if cluster is None:
        return open_pool(describe(settings), judge_options(settings))
    from evoengineer.cluster.pool import ClusterPool

    try:
        return ClusterPool(cluster, describe(settings), own=True)
    except BaseException:
        cluster.close()
        raise


def open_cluster(settings: Settings) -> Cluster | None:
    """The cluster that the settings name; None when kernels are judged on this machine."""
    if settings.cluster in (None, NO_CLUSTER):
        return None
    from evoengineer.cluster.pool import Cluster

    assert settings.cluster is not None
    return Cluster(
        settings.cluster, judge_options(settings), card=settings.card or "", cpus=settings.judge_cores
    )


def judge_options(settings: Settings) -> JudgeOptions:
    """How the settings want kernels to be judged."""
    from evoengineer.judge import JudgeOptions

    return JudgeOptions(
        device=DeviceName.parse(settings.device),
        run_seed=settings.judge_seed,
        workers=settings.judge_workers,
        unsafe=settings.unsafe,
    )


def settings_of(run: RunRecord) -> Settings:
    """The settings that a run was started with."""
    known = {each.name for each in fields(Settings)}
    settings = Settings(**{name: value for name, value in run.settings.items() if name in known})
    return replace(settings, trials=run.trials)  # it may have been extended since


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Settings for a resumed run; only those may change that no prompt depends on."""
    for each in fields(Settings):
        if each.name in changes and not each.metadata["resume"]:
            raise UsageError(f"{each.name} cannot be changed when a run is resumed")
    return resolve({**settings.to_json(), **changes})


def check_files(settings: Settings) -> None:
    """Files that a run needs, before anything costs time."""
    for name in _FILES:
        value = getattr(settings, name)
        if value is not None and not is_file(Path(value)):
            raise UsageError(f"{name} {value}: no such file")
    if settings.record is not None:
        check_writable(Path(settings.record), "record")
    device = DeviceName.parse(settings.device)
    if device.simulated:
        _ = device.profile  # there must be such a card


def problem_fingerprint(settings: Settings) -> str:
    """Changes when the problem's file does; empty for one that is not in a file."""
    from evoengineer.problem.catalog import locate

    try:
        return digest(locate(settings.problem)[1].read_bytes())
    except (UsageError, OSError):
        return ""


def check_problem(settings: Settings, run: RunRecord) -> None:
    """A run goes on with the problem and the baseline that it began with: times of others mean nothing beside them."""
    began = run.settings.get("problem_fingerprint")
    if began is None:  # of an older program
        return
    now = gather_task(settings)
    file = problem_fingerprint(settings)
    changes = [what for what, same in (
        ("the file of its problem", file == began),
        ("its baseline kernel", now.baseline == run.task.get("baseline")),
    ) if not same]  # fmt: skip
    if changes:
        raise UsageError(
            f"run {run.id}: {' and '.join(changes)} ({settings.baseline or settings.problem}) changed since the run "
            "began. Put back what it was, or start a new run."
        )


def _close(judge: Judge, *, wait: bool) -> None:
    """When the time of a run is over, a kernel that is being judged is not waited for."""
    if wait:
        judge.close()
    else:
        threading.Thread(target=judge.close, name="closing", daemon=True).start()


@contextmanager
def _no_ghost(archive: Archive, run: str) -> Iterator[None]:
    """A run that fails before anything was tried leaves nothing behind, and its name is free again."""
    try:
        yield
    except BaseException:
        if archive.connection.in_transaction:
            archive.connection.execute("ROLLBACK")
        if is_untouched(archive, run):
            delete_run(archive, run)
        raise


def with_absolute_paths(settings: Settings) -> Settings:
    """So that a run can be resumed from another folder."""
    changes: dict[str, Any] = {}
    for name in (*_FILES, "record", "library"):
        value = getattr(settings, name)
        if value is not None:
            changes[name] = str(Path(value).resolve())
    if Path(settings.problem).exists():
        changes["problem"] = str(Path(settings.problem).resolve())
    file, colon, attribute = settings.method.rpartition(":")
    if colon and file.endswith(".py"):
        changes["method"] = f"{Path(file).resolve()}:{attribute}"
    return replace(settings, **changes)


def _loop(
    archive: Archive,
    run: RunRecord,
    settings: Settings,
    proposer: Proposer,
    judge: Judge,
    observer: Observer | None,
    total: Budget | None,
) -> Loop:
    method, fingerprint = resolved_method(settings)
    if fingerprint != run.settings.get("method_fingerprint", ""):
        raise UsageError(
            f"run {run.id}: the method's file {settings.method} has changed since the run began; start a new run"
        )
    budget = Budget(
        trials=settings.trials,
        tokens=settings.max_tokens_total,
        usd=settings.max_cost,
        seconds=settings.max_seconds,
        total=total,
    )
    return Loop(
        run=run.id,
        state=SearchState(method, Task.from_json(run.task), run.seed, experience.recorded_lessons(run)),
        journal=RunJournal(archive, run),
        proposer=proposer,
        judge=judge,
        budget=budget,
        options=LoopOptions(
            workers=settings.concurrency,
            stall_trials=settings.stop_after,
            target_speedup=settings.target,
            tune=settings.tune,
            enough_light=settings.enough,
        ),
        observer=observer,
        ended=run.ending,
        standing=judge.standing if isinstance(judge, OnCluster) else None,
    )


def environment(task: Task) -> dict[str, Any]:
    """Versions, card and commit, for whoever wants to repeat the run."""
    return {
        "evoengineer": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "cuda": task.cuda,
        "card": list(task.card),
    }


def _commit() -> str:
    """Of the package's own checkout; empty for an installed one."""
    folder = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
