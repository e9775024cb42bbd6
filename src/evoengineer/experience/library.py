"""Library: the file `experience.db`, a set of proofs by their identity.

It lies beside the archive whose runs it learns from. A set has no order and no duplicates: importing a library, an
archive or a list of proofs again changes nothing, and it does not matter which of two libraries is merged into which.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.experience.proofs import Proof
from evoengineer.user_files import check_writable

NAME = "experience.db"
VERSION = 1
_BUSY_SECONDS = 30.0
_TABLES = (
    "CREATE TABLE IF NOT EXISTS experience (version INTEGER PRIMARY KEY) STRICT",
    "CREATE TABLE IF NOT EXISTS proofs (id TEXT PRIMARY KEY, proof TEXT NOT NULL) STRICT, WITHOUT ROWID",
)


def library_beside(archive: Path) -> Path:
    """The library that belongs to an archive."""
    return archive.with_name(NAME)


class Library:
    """A library's file. It is made when the first proof is added; one that is not there is empty."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_writable(path, "library")

    def proofs(self) -> tuple[Proof, ...]:
        """All of them, in the order of their identities."""
        if not self.path.exists():
            return ()
        with self._open(write=False) as db:
            rows = db.execute("SELECT proof FROM proofs ORDER BY id").fetchall()
        return tuple(Proof.from_json(json.loads(row[0])) for row in rows)

    def add(self, proofs: Iterable[Proof]) -> int:
        """How many were new."""
        rows = [(each.id, json.dumps(each.to_json(), sort_keys=True)) for each in proofs]
        if not rows:
            return 0
        with self._open(write=True) as db:
            before = db.total_changes
            db.executemany("INSERT OR IGNORE INTO proofs VALUES (?, ?)", rows)
            return db.total_changes - before

    def forget(self, identities: Iterable[str]) -> int:
        """How many were there."""
        if not self.path.exists():
            return 0
        with self._open(write=True) as db:
            before = db.total_changes
            db.executemany("DELETE FROM proofs WHERE id = ?", [(each,) for each in identities])
            return db.total_changes - before

    @contextmanager
    def _open(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """A transaction; what is no library is refused and left as it is."""
        fresh = not self.path.exists()
        if fresh:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        mode = "rwc" if write else "ro"
        try:
            db = sqlite3.connect(
                f"file:{quote(str(self.path.resolve()))}?mode={mode}", uri=True, timeout=_BUSY_SECONDS
            )
        except sqlite3.Error as error:
            raise EvoEngineerError(f"library {self.path}: {error}") from error
        try:
            with db:
                if write:
                    db.execute("BEGIN IMMEDIATE")
                self._check(db, write=write)
                yield db
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error):
                raise UsageError(f"{self.path} is not an experience library, and is left as it is") from error
            raise EvoEngineerError(f"library {self.path}: {error}") from error
        finally:
            db.close()

    def _check(self, db: sqlite3.Connection, *, write: bool) -> None:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and not tables >= {"experience", "proofs"}:
            raise UsageError(f"{self.path} is not an experience library, and is left as it is")
        if not tables and write:
            for statement in _TABLES:
                db.execute(statement)
            db.execute("INSERT INTO experience VALUES (?)", (VERSION,))
        elif not tables:
            raise UsageError(f"{self.path} is not an experience library: it is empty")
        version = db.execute("SELECT max(version) FROM experience").fetchone()[0]
        if version != VERSION:
            raise EvoEngineerError(
                f"library {self.path} has version {version}; this program knows {VERSION}. Update the program."
            )


def is_library(path: Path) -> bool:
    """Whether a file is one; whatever else it may be is not asked."""
    try:
        Library(path).proofs()
    except EvoEngineerError:
        return False
    return path.is_file()
