"""What the commands ask of the archive: lists of runs, the trials of one, its best kernel, its totals."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from sqlite3 import Row
from typing import Any

from evoengineer.archive.store import Archive, RunRecord, record_of
from evoengineer.judge.verdict import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class ModelTotals:
    """What one of a run's models answered and cost."""

    model: str  # empty: proposals that nobody answered
    proposals: int
    trials: int
    valid: int
    improved: int  # new bests
    tokens: int
    nano_usd: int


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run and its totals."""

    run: RunRecord
    trials: int
    proposals: int
    duplicates: int
    failed: int
    outcomes: Counter[Outcome]
    tokens: int
    nano_usd: int
    baseline_us: float | None
    best_number: int | None
    best_us: float | None
    best_speedup: float | None
    attempts: Counter[str]  # failed calls by kind
    seconds: float
    tuned: int = 0  # evaluations of knob settings, apart from the trials
    given_up: int = 0  # of these: not judged, as they could not win
    best_setting: int | None = None  # the evaluation that gave the best kernel, if one did
    models: tuple[ModelTotals, ...] = ()  # where `summary` was asked, not `summaries`

    @property
    def valid(self) -> int:
        return self.outcomes[Outcome.VALID]

    @property
    def price_known(self) -> bool:
        """Whether `nano_usd` is the cost, and not just all that is known of it."""
        return bool(self.run.settings.get("price_known", True))

    @property
    def compiled(self) -> int:
        """Trials that got past the compiler."""
        return sum(count for outcome, count in self.outcomes.items() if outcome.compiled)


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposal as `show` and `export` want it."""

    number: int
    trial: int | None
    kind: str | None
    operator: str
    guidance: str
    name: str
    thought: str
    outcome: str | None
    time_us: float | None
    speedup: float | None
    improved: int
    duplicate_of: int | None
    tokens: int
    nano_usd: int
    parents: tuple[int, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One charged proposal and its verdict."""

    number: int  # 1…N
    proposal: int  # its number among all proposals of the run
    operator: str
    parents: tuple[int, ...]  # proposals; 0 is the baseline
    name: str
    thought: str
    source: str
    verdict: Verdict
    improved: bool  # the best of the run when it was settled
    tokens: int
    nano_usd: int

    @property
    def outcome(self) -> Outcome:
        return self.verdict.outcome

    @property
    def time_us(self) -> float | None:
        return None if self.verdict.timing is None else self.verdict.timing.time_us

    @property
    def speedup(self) -> float | None:
        """Over the baseline; None where there is none, and for a kernel that is not valid."""
        return None if self.verdict.timing is None else self.verdict.timing.speedup


def summaries(archive: Archive) -> list[RunSummary]:
    """All runs, the newest last, from one pass over each table."""
    db = archive.connection
    totals = {row["run"]: row for row in db.execute(_TOTALS + " GROUP BY run")}
    outcomes: dict[str, Counter[Outcome]] = {}
    for run, outcome, count in db.execute(
        "SELECT run, outcome, count(*) FROM proposals WHERE kind = 'trial' GROUP BY run, outcome"
    ):
        outcomes.setdefault(run, Counter())[Outcome(outcome)] = count
    attempts: dict[str, Counter[str]] = {}
    for run, kind, count in db.execute("SELECT run, kind, count(*) FROM calls GROUP BY run, kind"):
        attempts.setdefault(run, Counter())[kind] = count
    seconds = dict(db.execute("SELECT run, sum(seen_at - started_at) FROM sessions GROUP BY run").fetchall())
    bests = {row["run"]: row for row in db.execute(_BEST + " GROUP BY run")}
    tunings = {row["run"]: row for row in db.execute(_TUNED + " GROUP BY run")}
    return [
        _summary(record_of(row), totals, outcomes, attempts, seconds, bests, tunings)
        for row in db.execute("SELECT * FROM runs ORDER BY created_at, id").fetchall()
    ]


def summary(archive: Archive, run: str) -> RunSummary:
    """The totals of one run."""
    db = archive.connection
    record = archive.run(run)
    where = " WHERE run = ?"
    totals = {row["run"]: row for row in db.execute(_TOTALS + where + " GROUP BY run", (record.id,))}
    found = db.execute(
        "SELECT outcome, count(*) FROM proposals WHERE run = ? AND kind = 'trial' GROUP BY outcome",
        (record.id,),
    )
    outcomes = {record.id: Counter({Outcome(outcome): count for outcome, count in found})}
    calls = db.execute("SELECT kind, count(*) FROM calls WHERE run = ? GROUP BY kind", (record.id,))
    attempts = {record.id: Counter(dict(calls.fetchall()))}
    spent = db.execute(
        "SELECT sum(seen_at - started_at) FROM sessions WHERE run = ?", (record.id,)
    ).fetchone()[0]
    bests = {row["run"]: row for row in db.execute(_BEST + " AND run = ? GROUP BY run", (record.id,))}
    tunings = {row["run"]: row for row in db.execute(_TUNED + " WHERE run = ? GROUP BY run", (record.id,))}
    whole = _summary(record, totals, outcomes, attempts, {record.id: spent or 0.0}, bests, tunings)
    return replace(whole, models=models(archive, record.id))


def models(archive: Archive, run: str) -> tuple[ModelTotals, ...]:
    """By model, in the order in which they first answered."""
    rows = archive.connection.execute(
        "SELECT coalesce(r.model, '') AS model, count(*), count(p.trial), coalesce(sum(p.outcome = 'valid'), 0),"
        " sum(p.improved), sum(p.tokens), sum(p.nano_usd) FROM proposals p"
        " LEFT JOIN replies r ON r.run = p.run AND r.number = p.number"
        " WHERE p.run = ? AND p.number > 0 AND p.kind IS NOT NULL GROUP BY 1 ORDER BY min(p.number)",
        (run,),
    )
    return tuple(ModelTotals(*row) for row in rows.fetchall())


_TOTALS = (
    "SELECT run, count(trial) AS trials, sum(kind = 'duplicate') AS duplicates, sum(kind = 'failed') AS failed,"
    " sum(number > 0) AS proposals, sum(tokens) AS tokens, sum(nano_usd) AS nano_usd,"
    " max(CASE WHEN number = 0 THEN time_us END) AS baseline_us FROM proposals"
)
# The last improvement is the best kernel. With max(), SQLite takes the other columns from that row.
_BEST = "SELECT run, max(number) AS number, time_us, speedup FROM proposals WHERE improved"

# … and with min() from the row of the fastest setting.
_TUNED = (
    "SELECT run, count(*) AS count, sum(outcome = 'given_up') AS given_up, min(time_us) AS time_us, number, place,"
    " speedup FROM tunings"
)


def _summary(
    record: RunRecord,
    totals: dict[str, Any],
    outcomes: dict[str, Counter[Outcome]],
    attempts: dict[str, Counter[str]],
    seconds: dict[str, float],
    bests: dict[str, Any],
    tunings: dict[str, Any],
) -> RunSummary:
    row, best, tuned = totals.get(record.id), bests.get(record.id), tunings.get(record.id)
    setting = None
    if tuned is not None and tuned["time_us"] is not None and best and tuned["time_us"] < best["time_us"]:
        best, setting = tuned, tuned["place"]
    return RunSummary(
        run=record,
        trials=row["trials"] if row else 0,
        proposals=row["proposals"] if row else 0,
        duplicates=(row["duplicates"] or 0) if row else 0,
        failed=(row["failed"] or 0) if row else 0,
        outcomes=outcomes.get(record.id, Counter()),
        tokens=row["tokens"] if row else 0,
        nano_usd=row["nano_usd"] if row else 0,
        baseline_us=row["baseline_us"] if row else None,
        best_number=best["number"] if best else None,
        best_us=best["time_us"] if best else None,
        best_speedup=best["speedup"] if best else None,
        attempts=attempts.get(record.id, Counter()),
        seconds=float(seconds.get(record.id) or 0.0),
        tuned=tuned["count"] if tuned else 0,
        given_up=tuned["given_up"] or 0 if tuned else 0,
        best_setting=setting,
    )


def proposals(archive: Archive, run: str) -> list[Proposal]:
    """All proposals of a run in order, without the texts of those that were not kept."""
    db = archive.connection
    parents: dict[int, list[int]] = {}
    for child, parent in db.execute(
        "SELECT child, parent FROM lineage WHERE run = ? ORDER BY child, place", (run,)
    ):
        parents.setdefault(child, []).append(parent)
    rows = db.execute(
        "SELECT p.*, k.source FROM proposals p LEFT JOIN kernels k ON k.id = p.kernel WHERE p.run = ? ORDER BY number",
        (run,),
    )
    kept = [name for name in Proposal.__slots__ if name not in ("parents", "source")]
    return [
        Proposal(
            **{name: row[name] for name in kept},
            parents=tuple(parents.get(row["number"], ())),
            source=row["source"] or "",
        )
        for row in rows
    ]


def trials(archive: Archive, run: str) -> list[Trial]:
    """The charged proposals of a run with their verdicts, in order."""
    judged = {
        row["number"]: _verdict(row)
        for row in archive.connection.execute("SELECT * FROM verdicts WHERE run = ?", (run,))
    }
    same = ("operator", "parents", "name", "thought", "source", "tokens", "nano_usd")
    return [
        Trial(
            number=each.trial,
            proposal=each.number,
            verdict=judged[each.number],
            improved=bool(each.improved),
            **{name: getattr(each, name) for name in same},
        )
        for each in proposals(archive, run)
        if each.trial is not None
    ]


def status(archive: Archive, run: RunRecord) -> str:
    """A run whose process died without a word says `running` in its row, but nobody holds its lock."""
    if run.status == "running" and not archive.lock(run.id).held_elsewhere():
        return "interrupted"
    return run.status


def verdict(archive: Archive, run: str, number: int) -> Verdict | None:
    """The verdict on one proposal; None where it was not judged."""
    row = archive.connection.execute(
        "SELECT verdict, seconds FROM verdicts WHERE run = ? AND number = ?", (run, number)
    ).fetchone()
    return None if row is None else _verdict(row)


def _verdict(row: Row) -> Verdict:
    return Verdict.from_json({**json.loads(row["verdict"]), "seconds": json.loads(row["seconds"])})


def best_verdict(archive: Archive, run: str) -> Verdict | None:
    """The verdict on the best kernel; None while nothing is valid."""
    found = summary(archive, run)
    if found.best_number is None:
        return None
    if found.best_setting is None:
        return verdict(archive, run, found.best_number)
    row = archive.connection.execute(
        "SELECT verdict, seconds FROM tunings WHERE run = ? AND number = ? AND place = ?",
        (found.run.id, found.best_number, found.best_setting),
    ).fetchone()
    return _verdict(row)


def best_kernel(archive: Archive, run: str) -> tuple[int, str] | None:
    """Number and text of the best kernel, the baseline if nothing beats it; None while nothing is valid."""
    row = archive.connection.execute(
        "SELECT p.number, k.source FROM proposals p JOIN kernels k ON k.id = p.kernel"
        " WHERE p.run = ? AND p.improved ORDER BY p.number DESC LIMIT 1",
        (run,),
    ).fetchone()
    found = summary(archive, run)
    if found.best_setting is None:
        return None if row is None else (int(row[0]), str(row[1]))
    row = archive.connection.execute(
        "SELECT t.number, k.source FROM tunings t JOIN kernels k ON k.id = t.kernel"
        " WHERE t.run = ? AND t.number = ? AND t.place = ?",
        (found.run.id, found.best_number, found.best_setting),
    ).fetchone()
    return int(row[0]), str(row[1])


def exchange(archive: Archive, run: str, number: int) -> tuple[str, str, str | None]:
    """System text, prompt and reply of a proposal."""
    row = archive.connection.execute(
        "SELECT q.system, q.user, r.text FROM proposals p LEFT JOIN prompts q ON q.id = p.prompt"
        " LEFT JOIN replies r ON r.run = p.run AND r.number = p.number WHERE p.run = ? AND p.number = ?",
        (run, number),
    ).fetchone()
    return ("", "", None) if row is None else (row[0] or "", row[1] or "", row[2])


def insight_uses(archive: Archive, run: str) -> list[tuple[int, str, str, float | None, int]]:
    """Insights of a run: origin, text, outcome, gain, number of later proposals that say they used it."""
    return [
        tuple(row)
        for row in archive.connection.execute(
            "SELECT i.number, i.text, i.outcome, i.gain, count(u.number) FROM insights i"
            " LEFT JOIN insight_uses u ON u.run = i.run AND u.insight = i.number AND u.outcome IS NOT NULL"
            " WHERE i.run = ? GROUP BY i.number ORDER BY i.number",
            (run,),
        )
    ]
