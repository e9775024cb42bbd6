"""Archive: the SQLite file, its runs, and the lock that keeps a run to one process at a time.

WAL mode, so that readers and writers do not wait for each other. A commit survives the death of the process.
Replies, which were paid for, are also written through to the disk, at most once a second, so that a power cut
costs a second of them. A connection belongs to the thread that opened it.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from evoengineer.archive.opening import BUSY_SECONDS, connect_to_read, refuse_foreign
from evoengineer.archive.schema import VERSION, migrate, schema_version
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.user_files import check_writable, is_file

HOME_VARIABLE = "EVOENGINEER_HOME"
_SYNC_SECONDS = 1.0
_LOOKS = 10  # attempts to take a lock


def default_archive() -> Path:
    """`$EVOENGINEER_HOME/archive.db`, else `$XDG_DATA_HOME/evoengineer/…`, else `~/.local/share/evoengineer/…`."""
    home = os.environ.get(HOME_VARIABLE)
    if home:
        return Path(home) / "archive.db"
    try:
        data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    except RuntimeError as error:
        raise UsageError(
            f"no place for the archive: $HOME is not set. Set it, or ${HOME_VARIABLE}, or give --archive FILE."
        ) from error
    return Path(data) / "evoengineer" / "archive.db"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as it was asked for, and how it stands."""

    id: str
    problem: str
    method: str
    proposer: str
    device: str
    seed: int
    trials: int
    settings: Mapping[str, Any]
    task: Mapping[str, Any]
    environment: Mapping[str, Any]
    status: str
    ending: str
    reason: str
    created_at: float
    note: str = ""


class Archive:
    """An open archive; close it, or use it as a context manager. Made if it is not there, unless `create` is false.

    `read_only`: nothing is made and nothing is written, but for the index of its log that SQLite keeps beside the file.
    """

    def __init__(self, path: Path, *, create: bool = True, read_only: bool = False) -> None:
        self.path = path
        self._synced = 0.0
        create = create and not read_only
        if not create and not is_file(path):
            raise UsageError(
                f"archive {path}: no such file. `evolve` makes it; --archive FILE chooses another."
            )
        if path.exists():
            refuse_foreign(path, may_be_empty=create)
        if read_only:
            self.connection = connect_to_read(path)
            if schema_version(self.connection) == VERSION:
                return
            self.connection.close()  # an older file: brought up to date once, by those who may write it
            with Archive(path, create=False):
                pass
            self.connection = connect_to_read(path)
            return
        check_writable(path, "archive")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS)
            self.connection.row_factory = sqlite3.Row
            self._use_wal()
            self.connection.execute("PRAGMA synchronous = NORMAL")
            self.connection.execute("PRAGMA foreign_keys = ON")
            migrate(self.connection, path)
        except (sqlite3.Error, OSError) as error:
            raise EvoEngineerError(f"archive {path}: {error}.{_advice(error)}") from error

    def _use_wal(self) -> None:
        """Switch to WAL. SQLite does not wait here when another connection is just switching: we do."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    def begin(self) -> sqlite3.Connection:
        """The connection, with a transaction open; `flush` commits it."""
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN IMMEDIATE")
        return self.connection

    def flush(self, *, durable: bool = False) -> None:
        """Commit what was written since `begin`. `durable`: through to the disk, if that is due."""
        if not self.connection.in_transaction:
            return
        self.connection.execute("COMMIT")
        if durable and time.monotonic() - self._synced > _SYNC_SECONDS:
            self._synced = time.monotonic()
            self._sync()

    def _sync(self) -> None:
        """SQLite leaves writing the log through to the system; ask for it."""
        log = self.path.with_name(self.path.name + "-wal")
        with log.open("rb") as file:
            os.fdatasync(file.fileno())

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """What is written inside is committed at the end, or not at all."""
        self.begin()
        try:
            yield self.connection
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.flush()

    def create_run(
        self,
        *,
        id: str,
        problem: str,
        method: str,
        proposer: str,
        device: str,
        seed: int,
        trials: int,
        settings: Mapping[str, Any],
        task: Mapping[str, Any],
        environment: Mapping[str, Any],
    ) -> RunRecord:
        texts = [json.dumps(dict(value), sort_keys=True) for value in (settings, task, environment)]
        try:
            self.connection.execute(
                "INSERT INTO runs (id, problem, method, proposer, device, seed, trials, settings, task, environment,"
                " created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (id, problem, method, proposer, device, seed, trials, *texts, time.time()),
            )
        except sqlite3.IntegrityError as error:
            raise UsageError(
                f"there is a run {id!r} already: `evoengineer resume {id}`, or choose another --name"
            ) from error
        return self.run(id)

    def run(self, id: str) -> RunRecord:
        """A run by its name or the beginning of it."""
        rows = self.connection.execute("SELECT * FROM runs WHERE id = ?", (id,)).fetchall()
        if not rows:
            pattern = id.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
            rows = self.connection.execute(
                "SELECT * FROM runs WHERE id LIKE ? ESCAPE '\\'", (pattern,)
            ).fetchall()
        if not rows:
            raise UsageError(f"no run {id!r} in {self.path}. `evoengineer runs` lists them.")
        if len(rows) > 1:
            raise UsageError(
                f"{id!r} may be any of {', '.join(row['id'] for row in rows[:5])}: write more of it"
            )
        return record_of(rows[0])

    def set_trials(self, run: str, trials: int) -> None:
        """How many trials the run may be charged from now on."""
        self.connection.execute("UPDATE runs SET trials = ? WHERE id = ?", (trials, run))

    def lock(self, run: str) -> RunLock:
        """The lock of a run, not taken yet."""
        return RunLock(self.path, run)


def _advice(error: Exception) -> str:
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        return (
            " `evoengineer archive check` says what is damaged, `archive recover` saves what can be read;"
            " --archive FILE chooses another."
        )
    return " --archive FILE chooses another."


def record_of(row: sqlite3.Row) -> RunRecord:
    """A row of `runs` as a record."""
    held = row.keys()  # a file of an older program that cannot be brought up to date lacks the newest columns
    values = {name: row[name] for name in RunRecord.__slots__ if name in held}
    for name in ("settings", "task", "environment"):
        values[name] = json.loads(values[name])
    return RunRecord(**values)


def new_run_name(problem: str, method: str) -> str:
    """`softmax-full-3f9a1c`: readable, and different each time."""
    stem = Path(method.partition(":")[0]).stem if ":" in method else method
    return f"{problem.rpartition('/')[2]}-{stem}-{secrets.token_hex(3)}"


class RunLock:
    """Held by the process that works on a run; the system gives it back however that process ends."""

    def __init__(self, archive: Path, run: str) -> None:
        self.run = run
        self.path = archive.with_name(archive.name + ".locks") / f"{run.replace('/', '_')}.lock"
        self._file: IO[str] | None = None

    def held_elsewhere(self) -> bool:
        """Whether somebody works on the run. Only looks: makes no file, and shares the lock with others who look."""
        try:
            with self.path.open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # no lock was ever taken
            return False
        return False

    def acquire(self) -> None:
        """Take the lock, or raise if another process has it and keeps it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = self.path.open("a")
        for attempt in range(_LOOKS):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:  # held, or somebody is just looking, who will be gone in a moment
                if attempt == _LOOKS - 1:
                    file.close()
                    raise EvoEngineerError(f"run {self.run} is being worked on by another process") from error
                time.sleep(0.02)
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> RunLock:
        self.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()
