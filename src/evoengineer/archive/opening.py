"""Before an archive is opened: is the file one, and how to read it without writing.

An empty or foreign file must never become an archive because somebody listed its runs.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from evoengineer.errors import EvoEngineerError, UsageError

BUSY_SECONDS = 30.0
_OURS = {"schema", "runs", "proposals"}


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that cannot write.

    SQLite keeps an index of its log beside the file. Where that can neither be found nor made (a read-only disk or
    folder) the file is read as it is, which is right when there is no log.
    """
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    log = path.with_name(path.name + "-wal")
    try:
        return _connected(address)
    except sqlite3.Error as error:
        if log.exists() and log.stat().st_size:
            raise EvoEngineerError(
                f"archive {path}: {error}. Its last changes lie in {log.name}, which cannot be read in a folder that "
                "cannot be written: copy both files elsewhere."
            ) from error
    try:
        return _connected(address + "&immutable=1")
    except sqlite3.Error as error:
        raise EvoEngineerError(f"archive {path}: {error}. --archive FILE chooses another.") from error


def refuse_foreign(path: Path, *, may_be_empty: bool) -> None:
    """UsageError unless the file is an archive, or empty where one may be made of it."""
    if not path.is_file():
        raise UsageError(f"archive {path} is not a file. --archive FILE chooses another.")
    if path.stat().st_size == 0:
        if may_be_empty:
            return
        raise UsageError(
            f"archive {path} is empty: no run was ever kept there. --archive FILE chooses another."
        )
    not_ours = (
        f"{path} is not an archive of EvoEngineer, and is left as it is. --archive FILE chooses another; "
        "`evoengineer archive check` says what is wrong with a damaged one."
    )
    try:
        connection = connect_to_read(path)
    except EvoEngineerError as error:
        if isinstance(error.__cause__, sqlite3.DatabaseError) and "not a database" in str(error.__cause__):
            raise UsageError(not_ours) from error
        raise
    try:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    finally:
        connection.close()
    being_made = may_be_empty and tables <= {"schema"}  # by another process, at this moment
    if not being_made and not tables >= _OURS:
        raise UsageError(not_ours)


def _connected(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
