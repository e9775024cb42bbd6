"""What pages ask of the archive: a part of a list, one proposal, what is new since. Made for large runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evoengineer.archive.reading import Proposal
from evoengineer.archive.store import Archive
from evoengineer.errors import UsageError

_COLUMNS = [name for name in Proposal.__slots__ if name not in ("parents", "source")]
_SORTS = {"number": "number", "fastest": "time_us IS NULL, time_us, number", "newest": "number DESC"}


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of many."""

    rows: Sequence[Any]
    total: int
    page: int
    pages: int


def proposal(archive: Archive, run: str, number: int) -> Proposal:
    """One proposal, with its text."""
    row = archive.connection.execute(
        "SELECT p.*, k.source FROM proposals p LEFT JOIN kernels k ON k.id = p.kernel WHERE p.run = ? AND number = ?",
        (run, number),
    ).fetchone()
    if row is None:
        raise UsageError(f"run {run} has no proposal {number}")
    parents = archive.connection.execute(
        "SELECT parent FROM lineage WHERE run = ? AND child = ? ORDER BY place", (run, number)
    )
    return Proposal(
        **{name: row[name] for name in _COLUMNS},
        parents=tuple(parent for (parent,) in parents),
        source=row["source"] or "",
    )


def proposals_part(
    archive: Archive,
    run: str,
    *,
    outcome: str = "",
    text: str = "",
    sort: str = "number",
    page: int = 1,
    size: int = 50,
) -> Part:
    """Settled and open proposals without their texts, filtered by outcome and by words in name or thought."""
    where, values = "run = ?", [run]
    if outcome:
        where += " AND coalesce(outcome, kind, 'open') = ?"
        values.append(outcome)
    if text:
        where += " AND (instr(lower(name), lower(?)) OR instr(lower(thought), lower(?)))"
        values += [text, text]
    total = archive.connection.execute(f"SELECT count(*) FROM proposals WHERE {where}", values).fetchone()[0]
    pages = max(1, -(-total // size))
    page = min(max(1, page), pages)
    order = _SORTS.get(sort, "number")
    rows = archive.connection.execute(
        f"SELECT {', '.join(_COLUMNS)} FROM proposals WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?",
        (*values, size, (page - 1) * size),
    ).fetchall()
    return Part(rows, total, page, pages)


def points(archive: Archive, run: str, after: int = -1) -> dict[str, Any]:
    """Every settled proposal from number `after` + 1 on, as charts want it; proposals settle in order.

    nodes   number, trial, speedup, outcome or kind, improved, tokens, billionths of a dollar
    edges   child, parent; also those of children that are no trials
    """
    nodes = archive.connection.execute(
        "SELECT number, coalesce(trial, 0), speedup, coalesce(outcome, kind), improved, tokens, nano_usd"
        " FROM proposals WHERE run = ? AND number > ? AND kind IN ('baseline', 'trial') ORDER BY number",
        (run, after),
    ).fetchall()
    last = nodes[-1][0] if nodes else after
    edges = archive.connection.execute(
        "SELECT child, parent FROM lineage WHERE run = ? AND child > ? AND child <= ?", (run, after, last)
    ).fetchall()
    return {"nodes": [tuple(row) for row in nodes], "edges": [tuple(row) for row in edges]}


def sessions(archive: Archive, run: str) -> list[tuple[int, str]]:
    """Process and host of everybody who worked on a run, the last one last."""
    rows = archive.connection.execute(
        "SELECT process, host FROM sessions WHERE run = ? ORDER BY started_at, rowid", (run,)
    )
    return [(int(process), str(host)) for process, host in rows]


def open_runs_of(archive: Archive, process: int, host: str) -> list[str]:
    """Runs that say they are running and whose last session is this process."""
    rows = archive.connection.execute(
        "SELECT DISTINCT r.id FROM runs r JOIN sessions s ON s.run = r.id"
        " WHERE r.status = 'running' AND s.process = ? AND s.host = ?",
        (process, host),
    )
    return [str(id) for (id,) in rows]
