"""RunJournal: writing one run event by event, and restoring it.

    planned   before the proposer is called        replied   before the answer is parsed and judged
    judged    before the verdict is used           settled   before the next proposal is planned

Events are written at once and committed by `flush`, which the loop calls before it acts on them: before a call,
before judging, before it waits. `restore` gives back the plans in order and, for each, what is known of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from sqlite3 import Connection, Row

from evoengineer.archive.store import Archive, RunRecord
from evoengineer.judge.verdict import Verdict
from evoengineer.propose.parse import Parsed
from evoengineer.propose.protocol import Attempt, Estimate, Reply, Usage
from evoengineer.propose.uses import used_insights
from evoengineer.search.insights import Use
from evoengineer.search.records import BASELINE_NUMBER, Kind, Plan, Prompt, Restored, Settled, Tuned

_GIVEN_UP = "given_up"  # a setting that was not judged, in the place of an outcome


class RunJournal:
    """The journal of one run in an archive; see `search.journal.Journal`."""

    def __init__(self, archive: Archive, run: RunRecord) -> None:
        self.archive = archive
        self.run = run
        self._session: int | None = None
        self._seen_at = 0.0

    def open_session(self) -> None:
        """This process works on the run from now on."""
        now = time.time()
        with self.archive.transaction() as db:
            db.execute(
                "UPDATE runs SET status = 'running', ending = '', reason = '' WHERE id = ?", (self.run.id,)
            )
            self._session = db.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, ?)",
                (self.run.id, now, now, os.getpid(), socket.gethostname()),
            ).lastrowid

    def elapsed_seconds(self) -> float:
        """Of earlier sessions."""
        row = self.archive.connection.execute(
            "SELECT coalesce(sum(seen_at - started_at), 0) FROM sessions WHERE run = ? AND rowid IS NOT ?",
            (self.run.id, self._session),
        ).fetchone()
        return float(row[0])

    # -- events -------------------------------------------------------------------------------------------

    def baseline(self, source: str, verdict: Verdict) -> Settled:
        """The baseline kernel, judged: planned, judged and settled in one."""
        settled = Settled(
            BASELINE_NUMBER, Kind.BASELINE, None, source, "baseline", "", verdict, improved=True
        )
        now = time.time()
        db = self.archive.begin()
        db.execute(
            "INSERT INTO proposals (run, number, after, operator, guidance, knowledge, island, occurrence,"
            " reserved_tokens, reserved_nano_usd, kernel, name, planned_at)"
            " VALUES (?, ?, 0, 'baseline', '', '[]', 0, 0, 0, 0, ?, 'baseline', ?)",
            (self.run.id, BASELINE_NUMBER, _keep_kernel(db, source), now),
        )
        self._verdict(db, BASELINE_NUMBER, verdict)
        self._settle(db, settled, verdict.build)
        return settled

    def planned(self, plan: Plan, estimate: Estimate) -> None:
        prompt = plan.prompt
        db = self.archive.begin()
        db.execute(
            "INSERT OR IGNORE INTO prompts VALUES (?, ?, ?, ?)",
            (prompt.id, prompt.version, prompt.system, prompt.user),
        )
        db.execute(
            "INSERT INTO proposals (run, number, after, operator, guidance, knowledge, island, prompt,"
            " occurrence, reserved_tokens, reserved_nano_usd, planned_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                *(self.run.id, plan.number, plan.after, plan.operator, ",".join(plan.guidance)),
                *(json.dumps(plan.knowledge), plan.island, prompt.id, plan.occurrence),
                *(estimate.tokens, estimate.nano_usd, time.time()),
            ),
        )
        if plan.parents:
            db.executemany(
                "INSERT INTO lineage VALUES (?, ?, ?, ?)",
                [(self.run.id, plan.number, place, parent) for place, parent in enumerate(plan.parents)],
            )
        if plan.insights:
            db.executemany(
                "INSERT INTO insight_uses (run, number, place, insight) VALUES (?, ?, ?, ?)",
                [(self.run.id, plan.number, place, insight) for place, insight in enumerate(plan.insights)],
            )

    def attempted(self, attempt: Attempt) -> None:
        self.archive.begin().execute(
            "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(self.run.id, attempt.number, attempt.kind, attempt.status, attempt.message[:1000]),
                *(attempt.tokens, attempt.nano_usd, attempt.wait_seconds, time.time()),
            ),
        )

    def replied(self, number: int, reply: Reply, parsed: Parsed) -> None:
        usage = reply.usage
        db = self.archive.begin()
        db.execute(
            "INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(self.run.id, number, reply.text, reply.model, reply.finish),
                *(usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.nano_usd),
                *(reply.seconds, time.time()),
            ),
        )
        db.execute(
            "UPDATE proposals SET kernel = ?, name = ?, thought = ? WHERE run = ? AND number = ?",
            (_keep_kernel(db, parsed.code), parsed.name, parsed.thought, self.run.id, number),
        )

    def judged(self, number: int, verdict: Verdict) -> None:
        self._verdict(self.archive.begin(), number, verdict)

    def settled(self, plan: Plan, settled: Settled, build: str, use: Use | None) -> None:
        """The end of a proposal, with what it teaches about the insights that it used and the one it gives."""
        db = self.archive.begin()
        self._settle(db, settled, build)
        if use is not None:
            outcome = str(use.outcome)
            said = [(outcome, use.gain, self.run.id, plan.number, insight) for insight in settled.used]
            if plan.insights and said:  # those that were shown only keep no outcome
                db.executemany(
                    "UPDATE insight_uses SET outcome = ?, gain = ? WHERE run = ? AND number = ? AND insight = ?",
                    said,
                )
            if settled.thought:
                db.execute(
                    "INSERT INTO insights VALUES (?, ?, ?, ?, ?, ?)",
                    (self.run.id, plan.number, settled.thought, outcome, use.gain, int(use.gain is None)),
                )

    def tuned(self, tuned: Tuned) -> None:
        verdict = tuned.verdict
        data = verdict and verdict.to_json()
        seconds = json.dumps(data.pop("seconds") if data else {})
        timing = verdict and verdict.timing
        db = self.archive.begin()
        db.execute(
            "INSERT INTO tunings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(self.run.id, tuned.number, tuned.place, _keep_kernel(db, tuned.source)),
                str(verdict.outcome) if verdict else _GIVEN_UP,
                *(timing and timing.time_us, timing and timing.speedup),
                *(json.dumps(data, sort_keys=True), seconds, time.time(), tuned.foreseen_us),
            ),
        )

    def tunings(self, number: int) -> tuple[Tuned, ...]:
        """Settings of a proposal's knobs that were evaluated before."""
        rows = self.archive.connection.execute(
            "SELECT t.place, t.verdict, t.seconds, t.foreseen_us, k.source"
            " FROM tunings t JOIN kernels k ON k.id = t.kernel WHERE t.run = ? AND t.number = ? ORDER BY t.place",
            (self.run.id, number),
        )
        return tuple(
            Tuned(number, row["place"], row["source"], _verdict_of(row), foreseen_us=row["foreseen_us"])
            for row in rows.fetchall()
        )

    def flush(self, *, paid: bool = False) -> None:
        """Commit the events since the last time. `paid`: an answer is among them."""
        self.archive.flush(durable=paid)

    def ended(self, status: str, ending: str, reason: str) -> None:
        with self.archive.transaction() as db:
            db.execute(
                "UPDATE runs SET status = ?, ending = ?, reason = ? WHERE id = ?",
                (status, ending, reason, self.run.id),
            )
            self._seen(db, always=True)

    def _verdict(self, db: Connection, number: int, verdict: Verdict) -> None:
        data = verdict.to_json()
        seconds = json.dumps(data.pop("seconds"))
        db.execute(
            "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?)",
            (self.run.id, number, json.dumps(data, sort_keys=True), seconds, time.time()),
        )

    def _settle(self, db: Connection, settled: Settled, build: str) -> None:
        timing = None if settled.verdict is None else settled.verdict.timing
        db.execute(
            "UPDATE proposals SET kind = ?, trial = ?, duplicate_of = ?, build = ?, outcome = ?, time_us = ?,"
            " speedup = ?, improved = ?, tokens = ?, nano_usd = ?, settled_at = ? WHERE run = ? AND number = ?",
            (
                *(str(settled.kind), settled.trial, settled.duplicate_of, build),
                None if settled.outcome is None else str(settled.outcome),
                *((None, None) if timing is None else (timing.time_us, timing.speedup)),
                *(int(settled.improved), settled.tokens, settled.nano_usd),
                *(time.time(), self.run.id, settled.number),
            ),
        )
        self._seen(db)

    def _seen(self, db: Connection, *, always: bool = False) -> None:
        """A sign of life, once a second."""
        now = time.time()
        if self._session is not None and (always or now - self._seen_at > 1.0):
            self._seen_at = now
            db.execute("UPDATE sessions SET seen_at = ? WHERE rowid = ?", (now, self._session))

    # -- restoring ----------------------------------------------------------------------------------------

    def restore(self) -> Iterator[Restored]:
        """Every proposal in order, the baseline first."""
        db = self.archive.connection
        parents = _grouped(
            db, "SELECT child, parent FROM lineage WHERE run = ? ORDER BY child, place", self.run.id
        )
        insights = _grouped(
            db, "SELECT number, insight FROM insight_uses WHERE run = ? ORDER BY number, place", self.run.id
        )
        # A reply that is known settles the matter of failed attempts before it; they were billed once.
        billed = {
            row[0]: (row[1], row[2])
            for row in db.execute(
                "SELECT number, sum(tokens), sum(nano_usd) FROM calls WHERE run = ? GROUP BY number",
                (self.run.id,),
            )
        }
        rows = db.execute(
            "SELECT p.*, q.version, q.system, q.user, k.source, r.text, r.model, r.finish, r.input_tokens,"
            " r.output_tokens, r.cached_tokens, r.nano_usd AS reply_nano_usd, r.seconds AS reply_seconds,"
            " v.verdict, v.seconds AS verdict_seconds"
            " FROM proposals p LEFT JOIN prompts q ON q.id = p.prompt LEFT JOIN kernels k ON k.id = p.kernel"
            " LEFT JOIN replies r ON r.run = p.run AND r.number = p.number"
            " LEFT JOIN verdicts v ON v.run = p.run AND v.number = p.number"
            " WHERE p.run = ? ORDER BY p.number",
            (self.run.id,),
        ).fetchall()
        for row in rows:
            number = row["number"]
            yield _restored(
                row, parents.get(number, ()), insights.get(number, ()), billed.get(number, (0, 0))
            )

    def sources(self, numbers: tuple[int, ...]) -> tuple[str, ...]:
        """Texts of proposals, in that order; only those that have one."""
        found = []
        for number in numbers:
            row = self.archive.connection.execute(
                "SELECT k.source FROM proposals p JOIN kernels k ON k.id = p.kernel WHERE p.run = ? AND p.number = ?",
                (self.run.id, number),
            ).fetchone()
            if row is not None:
                found.append(str(row[0]))
        return tuple(found)


def _keep_kernel(db: Connection, source: str) -> str | None:
    if not source:
        return None
    identity = hashlib.sha256(source.encode()).hexdigest()[:24]
    db.execute("INSERT OR IGNORE INTO kernels VALUES (?, ?)", (identity, source))
    return identity


def _verdict_of(row: Row) -> Verdict | None:
    """Of a row with `verdict` and `seconds`."""
    data = json.loads(row["verdict"])
    return data and Verdict.from_json({**data, "seconds": json.loads(row["seconds"])})


def _grouped(db: Connection, query: str, run: str) -> dict[int, tuple[int, ...]]:
    groups: dict[int, list[int]] = {}
    for key, value in db.execute(query, (run,)):
        groups.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in groups.items()}


def _restored(
    row: Row, parents: tuple[int, ...], insights: tuple[int, ...], billed: tuple[int, int]
) -> Restored:
    plan = Plan(
        number=row["number"],
        after=row["after"],
        operator=row["operator"],
        guidance=tuple(filter(None, row["guidance"].split(","))),
        parents=parents,
        insights=insights,
        knowledge=tuple(json.loads(row["knowledge"])),
        island=row["island"],
        prompt=Prompt(row["system"] or "", row["user"] or "", row["prompt"] or "", row["version"] or ""),
        occurrence=row["occurrence"],
    )
    reply = None
    if row["text"] is not None:
        usage = Usage(row["input_tokens"], row["output_tokens"], row["cached_tokens"], row["reply_nano_usd"])
        reply = Reply(row["text"], row["model"], usage, row["finish"], row["reply_seconds"])
    verdict = None
    if row["verdict"] is not None:
        verdict = Verdict.from_json(json.loads(row["verdict"]))
        verdict = replace(verdict, seconds=json.loads(row["verdict_seconds"]))
    settled = None
    if row["kind"] is not None:
        settled = Settled(
            number=row["number"],
            kind=Kind(row["kind"]),
            trial=row["trial"],
            source=row["source"] or "",
            name=row["name"],
            thought=row["thought"],
            verdict=verdict,
            duplicate_of=row["duplicate_of"],
            tokens=row["tokens"],
            nano_usd=row["nano_usd"],
            improved=bool(row["improved"]),
            used=used_insights(row["text"]) if row["text"] else (),
        )
    return Restored(
        plan=plan,
        estimate=Estimate(row["reserved_tokens"], row["reserved_nano_usd"]),
        reply=reply,
        source=row["source"] or "",
        verdict=verdict,
        settled=settled,
        build=row["build"],
        failed_tokens=billed[0],
        failed_nano_usd=billed[1],
    )
