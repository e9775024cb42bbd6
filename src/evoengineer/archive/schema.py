"""The tables of the archive and how an older file is brought up to date.

Each migration is applied once, in order, in a transaction of its own; `schema` says which ones were. A file
that a newer program wrote is refused. Money is in billionths of a dollar. Columns named `…_at` and
`…seconds` hold wall-clock times; everything else follows from the settings, the seed and the answers.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from evoengineer.errors import EvoEngineerError

_FIRST = """
CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  problem TEXT NOT NULL,
  method TEXT NOT NULL,
  proposer TEXT NOT NULL,
  device TEXT NOT NULL,
  seed INTEGER NOT NULL,
  trials INTEGER NOT NULL,            -- how many may be charged
  settings TEXT NOT NULL,             -- JSON, as resolved
  task TEXT NOT NULL,                 -- JSON, I1's facts
  environment TEXT NOT NULL,          -- JSON: versions, card, commit of the package
  status TEXT NOT NULL DEFAULT 'running',  -- running, finished, stopped
  ending TEXT NOT NULL DEFAULT '',    -- why, as one word of `search.endings.Ending`
  reason TEXT NOT NULL DEFAULT '',
  created_at REAL NOT NULL
) STRICT;

CREATE TABLE sessions (               -- one per process that worked on a run
  run TEXT NOT NULL REFERENCES runs(id),
  started_at REAL NOT NULL,
  seen_at REAL NOT NULL,              -- last sign of life
  process INTEGER NOT NULL,
  host TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_by_run ON sessions(run);

CREATE TABLE prompts (
  id TEXT PRIMARY KEY,                -- hash of both texts
  version TEXT NOT NULL,              -- of the templates
  system TEXT NOT NULL,
  user TEXT NOT NULL
) STRICT;

CREATE TABLE kernels (
  id TEXT PRIMARY KEY,                -- hash of the text as it is
  source TEXT NOT NULL
) STRICT;

CREATE TABLE proposals (
  run TEXT NOT NULL REFERENCES runs(id),
  number INTEGER NOT NULL,            -- 0 is the baseline
  after INTEGER NOT NULL,             -- proposals settled when it was planned
  operator TEXT NOT NULL,
  guidance TEXT NOT NULL,             -- "I1,I2"
  knowledge TEXT NOT NULL,            -- JSON: names of the techniques shown
  island INTEGER NOT NULL,
  prompt TEXT REFERENCES prompts(id),
  occurrence INTEGER NOT NULL,
  reserved_tokens INTEGER NOT NULL,
  reserved_nano_usd INTEGER NOT NULL,
  kernel TEXT REFERENCES kernels(id), -- from here on: what came of it
  name TEXT NOT NULL DEFAULT '',
  thought TEXT NOT NULL DEFAULT '',
  kind TEXT,                          -- baseline, trial, duplicate, failed; NULL until settled
  trial INTEGER,                      -- 1…N when charged
  duplicate_of INTEGER,
  build TEXT NOT NULL DEFAULT '',
  outcome TEXT,
  time_us REAL,
  speedup REAL,
  improved INTEGER NOT NULL DEFAULT 0,  -- the best of the run when it was settled
  tokens INTEGER NOT NULL DEFAULT 0,
  nano_usd INTEGER NOT NULL DEFAULT 0,
  planned_at REAL NOT NULL,
  settled_at REAL,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX proposals_by_kind ON proposals(run, kind, outcome);
CREATE INDEX proposals_by_improvement ON proposals(run, number) WHERE improved;

CREATE TABLE replies (
  run TEXT NOT NULL,
  number INTEGER NOT NULL,
  text TEXT NOT NULL,
  model TEXT NOT NULL,
  finish TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  nano_usd INTEGER NOT NULL,
  seconds REAL NOT NULL,
  received_at REAL NOT NULL,
  PRIMARY KEY (run, number),
  FOREIGN KEY (run, number) REFERENCES proposals(run, number)
) STRICT;

CREATE TABLE verdicts (
  run TEXT NOT NULL,
  number INTEGER NOT NULL,
  verdict TEXT NOT NULL,              -- JSON without its wall times
  seconds TEXT NOT NULL,              -- JSON: those
  judged_at REAL NOT NULL,
  PRIMARY KEY (run, number),
  FOREIGN KEY (run, number) REFERENCES proposals(run, number)
) STRICT;

CREATE TABLE lineage (
  run TEXT NOT NULL,
  child INTEGER NOT NULL,
  place INTEGER NOT NULL,             -- 0 is the best parent
  parent INTEGER NOT NULL,
  PRIMARY KEY (run, child, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX lineage_by_parent ON lineage(run, parent);

CREATE TABLE insights (
  run TEXT NOT NULL,
  number INTEGER NOT NULL,            -- the proposal it came from
  text TEXT NOT NULL,
  outcome TEXT NOT NULL,
  gain REAL,                          -- over the best parent; NULL when not valid
  failed INTEGER NOT NULL,            -- 1 when its own proposal failed
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE insight_uses (
  run TEXT NOT NULL,
  number INTEGER NOT NULL,            -- the proposal whose prompt showed it
  place INTEGER NOT NULL,
  insight INTEGER NOT NULL,
  outcome TEXT,                       -- NULL unless that proposal is settled and says it used it
  gain REAL,
  PRIMARY KEY (run, number, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX insight_uses_by_insight ON insight_uses(run, insight);

CREATE TABLE calls (                  -- attempts that gave no usable answer
  run TEXT NOT NULL,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL,
  status INTEGER,
  message TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  nano_usd INTEGER NOT NULL,
  wait_seconds REAL NOT NULL,
  called_at REAL NOT NULL
) STRICT;
CREATE INDEX calls_by_run ON calls(run, number);

CREATE VIEW costs AS
  SELECT run, count(*) AS proposals, count(trial) AS trials, sum(tokens) AS tokens, sum(nano_usd) / 1e9 AS usd
  FROM proposals GROUP BY run;
"""

# What the user wrote down about a run.
_NOTES = "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT '';"

_TUNINGS = """
CREATE TABLE tunings (                -- evaluations of knob settings: no trials
  run TEXT NOT NULL,
  number INTEGER NOT NULL,            -- the proposal whose knobs were turned
  place INTEGER NOT NULL,             -- 1…K
  kernel TEXT NOT NULL REFERENCES kernels(id),
  outcome TEXT NOT NULL,
  time_us REAL,
  speedup REAL,
  verdict TEXT NOT NULL,              -- JSON without its wall times
  seconds TEXT NOT NULL,              -- JSON: those
  judged_at REAL NOT NULL,
  PRIMARY KEY (run, number, place),
  FOREIGN KEY (run, number) REFERENCES proposals(run, number)
) STRICT;
"""

# Settings that were given up unjudged: their outcome is `given_up`, their verdict null.
_FORESEEN = "ALTER TABLE tunings ADD COLUMN foreseen_us REAL;"

MIGRATIONS: tuple[str, ...] = (_FIRST, _NOTES, _TUNINGS, _FORESEEN)
VERSION = len(MIGRATIONS)

# Tables of rows that belong to a run, those that others refer to first; and those that runs share.
OF_A_RUN = (
    "proposals", "sessions", "replies", "verdicts", "lineage", "insights", "insight_uses", "calls", "tunings",
)  # fmt: skip
BY_CONTENT = ("prompts", "kernels")


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the present version; several processes may try at once."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS schema (version INTEGER PRIMARY KEY, applied_at REAL NOT NULL) STRICT"
    )
    if schema_version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        present = schema_version(connection)
        if present > VERSION:
            raise EvoEngineerError(
                f"archive {path} was written by a newer EvoEngineer (schema {present}, this program knows {VERSION}). "
                "Update the program, or choose another file with --archive."
            )
        for version in range(present + 1, VERSION + 1):
            for statement in _statements(MIGRATIONS[version - 1]):
                connection.execute(statement)
            connection.execute("INSERT INTO schema VALUES (?, ?)", (version, time.time()))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def schema_version(connection: sqlite3.Connection) -> int:
    """How many migrations the file has had."""
    return int(connection.execute("SELECT coalesce(max(version), 0) FROM schema").fetchone()[0])


def _statements(script: str) -> list[str]:
    """One by one, since executescript would end the transaction."""
    statements: list[str] = []
    pending = ""
    for line in script.splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            statements.append(pending.strip())
            pending = ""
    return statements
