"""Merging archives: the runs of one file brought into another, as several drivers leave them.

Prompts and kernels are addressed by their content, so that equal ones become one. A run that is there already, equal
in its canonical form, is left alone: merging twice changes nothing. A run of the same name that is not equal is the
same run, taken further in one of the files, or another one: the first is brought up to date, the second refused.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from evoengineer.archive.canonical import canonical, digest
from evoengineer.archive.schema import BY_CONTENT, OF_A_RUN
from evoengineer.archive.store import Archive
from evoengineer.errors import UsageError

_EVENTS = ("proposals", "replies", "verdicts")


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of a merge: names of runs."""

    added: tuple[str, ...]
    updated: tuple[str, ...]
    equal: tuple[str, ...]


def merge(target: Path, source: Path) -> Merged:
    """Bring the runs of `source` into `target`, all or none. The target is made if it is not there."""
    if not source.is_file():
        raise UsageError(f"archive {source}: no such file")
    if target.exists() and target.samefile(source):
        raise UsageError(f"{source} cannot be merged into itself")
    with Archive(source, create=False) as other, Archive(target) as archive:
        names = [row[0] for row in other.connection.execute("SELECT id FROM runs ORDER BY created_at, id")]
        known = {row[0] for row in archive.connection.execute("SELECT id FROM runs")}
        for name in names:
            for each in (other, archive):
                if each.lock(name).held_elsewhere():
                    raise UsageError(f"run {name} is being worked on in {each.path}; merge when it has ended")
        added, updated, equal = [], [], []
        with archive.transaction() as db:
            for table in BY_CONTENT:
                _copy(other.connection, db, table, f"SELECT * FROM {table}", (), ignore=True)
            for name in names:
                if name not in known:
                    _copy_run(other.connection, db, name)
                    added.append(name)
                elif digest(archive, name) == digest(other, name):
                    equal.append(name)
                elif _continues(other, archive, name):
                    for table in reversed(OF_A_RUN):
                        db.execute(f"DELETE FROM {table} WHERE run = ?", (name,))
                    db.execute("DELETE FROM runs WHERE id = ?", (name,))
                    _copy_run(other.connection, db, name)
                    updated.append(name)
                elif _continues(archive, other, name):
                    equal.append(name)  # ours is further
                else:
                    raise UsageError(
                        f"run {name!r} is in both archives and differs: they are two runs of one name. "
                        "Nothing was merged."
                    )
    return Merged(tuple(added), tuple(updated), tuple(equal))


def _continues(longer: Archive, shorter: Archive, run: str) -> bool:
    """Whether one is the same run, further on: all that the other has settled is in it."""
    have, want = canonical(longer, run), canonical(shorter, run)
    if len(have["proposals"]) < len(want["proposals"]):
        return False
    fixed = ("problem", "method", "device", "seed", "task")
    if any(have["runs"][0][name] != want["runs"][0][name] for name in fixed):
        return False
    settled = {row["number"] for row in want["proposals"] if row["kind"] is not None}
    for table in _EVENTS:
        rows = {row["number"]: json.dumps(row, sort_keys=True) for row in have[table]}
        for row in want[table]:
            if row["number"] in settled and rows.get(row["number"]) != json.dumps(row, sort_keys=True):
                return False
    return True


def _copy_run(source: sqlite3.Connection, target: sqlite3.Connection, run: str) -> None:
    _copy(source, target, "runs", "SELECT * FROM runs WHERE id = ?", (run,))
    for table in OF_A_RUN:
        _copy(source, target, table, f"SELECT * FROM {table} WHERE run = ?", (run,))


def _copy(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    table: str,
    query: str,
    values: tuple[str, ...],
    *,
    ignore: bool = False,
) -> None:
    """Rows of a table, by the names of its columns."""
    rows = source.execute(query, values)
    columns = [each[0] for each in rows.description]
    places = ", ".join("?" * len(columns))
    verb = "INSERT OR IGNORE" if ignore else "INSERT"
    target.executemany(
        f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({places})", (tuple(row) for row in rows)
    )
