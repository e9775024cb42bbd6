"""An archive that is damaged: what is wrong with it, and a new one with all that can still be read.

A disk that failed, a copy made while a run went on, a file cut short: SQLite then refuses a page here and there, and
with it often the whole file. `check` reads everything and says what it met; `recover` reads each table from both ends
towards the damage, row by row, and writes what it got into a new archive. The damaged file is never written to.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoengineer.archive.schema import BY_CONTENT, OF_A_RUN
from evoengineer.archive.store import Archive
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.files import scratch_folder
from evoengineer.user_files import check_writable, is_file

TABLES = ("runs", *BY_CONTENT, *OF_A_RUN)
_LATER = {"tunings"}  # not in the files of older versions
_MOST_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class Recovered:
    """What came over."""

    rows: dict[str, int]  # by table
    lost: tuple[str, ...]  # tables of which some rows could not be read
    runs: tuple[str, ...]


def check(path: Path) -> list[str]:
    """What is wrong with an archive; nothing if it is whole."""
    _require(path)
    with scratch_folder() as scratch:
        try:
            with closing(_open_copy(path, scratch)) as db:
                found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})")]
                findings = [] if found == ["ok"] else found
                present = {
                    row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                }
                missing = [table for table in TABLES if table not in present | _LATER]
                findings += [f"table {table} is missing" for table in missing]
                return findings if missing else findings + _dangling(db)
        except sqlite3.Error as error:
            return [str(error)]


def _dangling(db: sqlite3.Connection) -> list[str]:
    """Rows that refer to others which are not there, and trials without a verdict."""
    findings = []
    for table, _, parent, _ in db.execute("PRAGMA foreign_key_check").fetchmany(_MOST_FINDINGS):
        findings.append(f"a row of {table} refers to {parent}, where there is none")
    query = (
        "SELECT p.run, p.number FROM proposals p LEFT JOIN verdicts v ON v.run = p.run AND v.number = p.number"
        " WHERE p.kind = 'trial' AND v.run IS NULL"
    )
    for run, number in db.execute(query).fetchmany(_MOST_FINDINGS):
        findings.append(f"run {run}: trial of proposal {number} has no verdict")
    return findings


def recover(path: Path, output: Path) -> Recovered:
    """A new archive with all that can be read from a damaged one."""
    _require(path)
    check_writable(output, "output")
    if output.exists():
        raise UsageError(f"output {output}: there is a file already; choose another with --output")
    rows: dict[str, int] = {}
    lost = []
    with scratch_folder() as scratch, Archive(output) as new:
        try:
            old = _open_copy(path, scratch)
            old.execute("SELECT name FROM sqlite_master").fetchall()
        except sqlite3.Error as error:
            new.close()
            _remove(output)
            raise EvoEngineerError(f"archive {path}: nothing can be read from it ({error})") from error
        with closing(old):
            new.connection.execute("PRAGMA foreign_keys = OFF")
            for table in TABLES:
                rows[table], whole = _carry_over(old, new.connection, table)
                if not whole:
                    lost.append(table)
            _drop_dangling(new.connection)
        runs = tuple(row[0] for row in new.connection.execute("SELECT id FROM runs ORDER BY created_at, id"))
    return Recovered(rows, tuple(lost), runs)


def _carry_over(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> tuple[int, bool]:
    """Rows of a table that came over, and whether all of them did."""
    about = new.execute(f"PRAGMA table_info({table})").fetchall()
    columns = [row["name"] for row in about]
    keys = [row["name"] for row in sorted(about, key=lambda row: row["pk"]) if row["pk"]]
    seen: set[tuple[Any, ...]] = set()
    whole = True
    for order in ("ASC", "DESC"):
        reader = _readable(old, table, keys, order)
        while True:
            try:
                row = next(reader)
            except StopIteration:
                break
            except sqlite3.Error:
                whole = False
                break
            names = [name for name in row.keys() if name in columns]  # noqa: SIM118 - a Row yields its values
            values = tuple(row[name] for name in names)
            if values in seen:
                continue
            marks = ", ".join("?" * len(names))
            with suppress(sqlite3.Error):  # a damaged value that the table does not take
                new.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", values)
                seen.add(values)
        if whole:
            break
    return len(seen), whole


def _readable(db: sqlite3.Connection, table: str, keys: list[str], order: str) -> Iterator[sqlite3.Row]:
    """In the order in which the rows lie in the file, so that SQLite need not read them all before the first."""
    try:
        rows = db.execute(f"SELECT * FROM {table} NOT INDEXED ORDER BY rowid {order}")
    except sqlite3.OperationalError as error:
        if table in _LATER and "no such table" in str(error):
            return
        if "no such column" not in str(error):
            raise
        by = ", ".join(f"{key} {order}" for key in keys)
        rows = db.execute(f"SELECT * FROM {table} ORDER BY {by}")
    yield from rows


def _drop_dangling(db: sqlite3.Connection) -> None:
    """A proposal without its run tells nothing; one whose end lacks its evidence is taken up again by `resume`."""
    db.execute("BEGIN IMMEDIATE")
    for table in OF_A_RUN:
        db.execute(f"DELETE FROM {table} WHERE run NOT IN (SELECT id FROM runs)")
    # From the first proposal that is not whole on, a run is as if it had been interrupted there.
    db.execute(
        "CREATE TEMP TABLE firsts AS SELECT run, min(number) AS number FROM ("
        " SELECT p.run, p.number FROM proposals p"
        " LEFT JOIN prompts q ON q.id = p.prompt LEFT JOIN kernels k ON k.id = p.kernel"
        " LEFT JOIN verdicts v ON v.run = p.run AND v.number = p.number"
        " LEFT JOIN proposals b ON b.run = p.run AND b.number = p.number - 1"
        " WHERE (p.prompt IS NOT NULL AND q.id IS NULL) OR (p.kernel IS NOT NULL AND k.id IS NULL)"
        " OR (p.kind IN ('trial', 'baseline') AND v.run IS NULL) OR (p.number > 1 AND b.run IS NULL)"
        ") GROUP BY run"
    )
    for table in OF_A_RUN:
        if table == "sessions":
            continue
        column = "child" if table == "lineage" else "number"
        db.execute(
            f"DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM firsts f WHERE f.run = {table}.run"
            f" AND {table}.{column} >= f.number)"
        )
    db.execute("UPDATE runs SET status = 'stopped', ending = 'interrupted', reason = 'recovered; `resume` continues'"
               " WHERE id IN (SELECT run FROM firsts)")  # fmt: skip
    db.execute("DROP TABLE firsts")
    db.execute("COMMIT")


def _require(path: Path) -> None:
    if not is_file(path):
        raise UsageError(f"archive {path}: no such file. --archive FILE chooses another.")


def _open_copy(path: Path, scratch: Path) -> sqlite3.Connection:
    """The file and its log, copied: opening a database in WAL mode writes to it."""
    for suffix in ("", "-wal"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            shutil.copyfile(source, scratch / f"copy.db{suffix}")
    db = sqlite3.connect(scratch / "copy.db", isolation_level=None)
    db.row_factory = sqlite3.Row
    return db


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
