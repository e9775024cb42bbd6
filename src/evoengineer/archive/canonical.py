"""A run without what differs between two equal runs: wall-clock times, process ids, the run's own name.

Two runs with the same settings, seed and answers have the same canonical form, whatever the number of workers
and however often they were killed and resumed. Failed calls are left out: a call that was under way when a
process died is made again, and fails or succeeds as the endpoint pleases. So is what is known of a duplicate beyond
being one: it may have been built, or even judged, before the proposal that it repeats arrived.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from evoengineer.archive.store import Archive

_TABLES = {
    "runs": "id",
    "proposals": "number",
    "replies": "number",
    "verdicts": "number",
    "lineage": "child, place",
    "insights": "number",
    "insight_uses": "number, place",
    "tunings": "number, place",
}
# A recording of a run gives the same run, though another proposer answers and reserves nothing.
_OF_THE_RUN = ("id", "environment", "settings", "proposer", "note")


def canonical(archive: Archive, run: str) -> dict[str, list[dict[str, Any]]]:
    """Rows by table, in order, with prompts and kernels in place of their hashes."""
    form: dict[str, list[dict[str, Any]]] = {}
    for table, order in _TABLES.items():
        key = "id" if table == "runs" else "run"
        rows = archive.connection.execute(f"SELECT * FROM {table} WHERE {key} = ? ORDER BY {order}", (run,))
        form[table] = [{name: row[name] for name in row.keys() if _kept(table, name)} for row in rows]  # noqa: SIM118
    duplicates = {row["number"] for row in form["proposals"] if row["kind"] == "duplicate"}
    for row in form["proposals"]:
        if row["number"] in duplicates:
            row["build"] = ""
    form["verdicts"] = [row for row in form["verdicts"] if row["number"] not in duplicates]
    return form


def digest(archive: Archive, run: str) -> str:
    """Hash of the canonical form."""
    return hashlib.sha256(json.dumps(canonical(archive, run), sort_keys=True).encode()).hexdigest()


def _kept(table: str, column: str) -> bool:
    own = column == "run" or (table == "runs" and column in _OF_THE_RUN)
    return not own and not column.startswith("reserved_") and not column.endswith(("_at", "seconds"))
