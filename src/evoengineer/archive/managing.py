"""Runs as things to keep in order: delete one, give it another name, or a note.

A run that a process works on is left alone. Prompts and kernels are shared between runs, and go when the last run
that has them does.
"""

from __future__ import annotations

from evoengineer.archive.schema import OF_A_RUN
from evoengineer.archive.store import Archive
from evoengineer.errors import UsageError

_LONGEST_NAME = 200
_LONGEST_NOTE = 10_000


def check_run_name(name: str) -> None:
    """Refuse a name that could not be written on a command line or in a file's name."""
    wrong = ""
    if not name.strip() or name != name.strip():
        wrong = "is empty or begins or ends with a space"
    elif not name.isprintable():
        wrong = "has characters that cannot be printed"
    elif name.startswith("-"):
        wrong = "begins with a dash, as options do"
    elif len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        wrong = f"is longer than {_LONGEST_NAME} bytes"
    if wrong:
        raise UsageError(f"a run cannot be called {name[:40]!r}: the name {wrong}")


def is_untouched(archive: Archive, run: str) -> bool:
    """Nothing was proposed, judged or called yet, not even the baseline."""
    found = archive.connection.execute("SELECT 1 FROM proposals WHERE run = ? LIMIT 1", (run,)).fetchone()
    return found is None


def delete_run(archive: Archive, run: str) -> None:
    """Remove a run and what only it has."""
    with archive.transaction() as db:
        for table in reversed(OF_A_RUN):
            db.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
        db.execute("DELETE FROM runs WHERE id = ?", (run,))
        db.execute(
            "DELETE FROM prompts WHERE id NOT IN (SELECT prompt FROM proposals WHERE prompt IS NOT NULL)"
        )
        db.execute(
            "DELETE FROM kernels WHERE id NOT IN (SELECT kernel FROM proposals WHERE kernel IS NOT NULL)"
            " AND id NOT IN (SELECT kernel FROM tunings)"
        )


def rename_run(archive: Archive, run: str, name: str) -> None:
    """Give a run another name."""
    check_run_name(name)
    if archive.connection.execute("SELECT 1 FROM runs WHERE id = ?", (name,)).fetchone():
        raise UsageError(f"there is a run {name!r} already: choose another name")
    with archive.transaction() as db:
        db.execute("PRAGMA defer_foreign_keys = ON")  # rows follow their run within the transaction
        db.execute("UPDATE runs SET id = ? WHERE id = ?", (name, run))
        for table in OF_A_RUN:
            db.execute(f"UPDATE {table} SET run = ? WHERE run = ?", (name, run))


def note_run(archive: Archive, run: str, note: str) -> None:
    """Keep a line of the user's with a run; an empty one removes it."""
    if len(note) > _LONGEST_NOTE or "\0" in note:
        raise UsageError(f"a note is text of at most {_LONGEST_NOTE} characters")
    with archive.transaction() as db:
        db.execute("UPDATE runs SET note = ? WHERE id = ?", (note, run))
