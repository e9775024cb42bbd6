"""Learning: proofs out of the runs of an archive. Every run teaches, whatever its method and proposer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from evoengineer.archive import reading
from evoengineer.archive.reading import Proposal
from evoengineer.archive.store import Archive, RunRecord
from evoengineer.errors import UsageError
from evoengineer.experience.library import Library, is_library
from evoengineer.experience.proofs import Proof
from evoengineer.experience.structure import structure_of
from evoengineer.experience.techniques import excerpt, introduced
from evoengineer.judge.verdict import Verdict
from evoengineer.kernel.text import Kernel
from evoengineer.user_files import read_text

_THOUGHT = 400  # characters of a thought that are kept


def family_of(problem: str) -> str:
    """The group of a suite that a problem belongs to; a problem of its own is its own family."""
    parts = problem.rstrip("/").split("/")
    return "/".join(parts[:-1]) if len(parts) > 2 else parts[-1]


def reference_digest(reference: str) -> str:
    """Two problems with one reference are the same, whatever they are called."""
    return hashlib.sha256(" ".join(reference.split()).encode()).hexdigest()[:16]


def proofs_of(archive: Archive, run: RunRecord) -> Iterator[Proof]:
    """What each charged proposal of a run proves about the techniques that it introduced."""
    proposals = reading.proposals(archive, run.id)
    verdicts = {each.number: reading.verdict(archive, run.id, each.number) for each in proposals}
    known = {each.number: each for each in proposals}
    reference = str(run.task.get("reference", ""))
    for child in proposals:
        verdict = verdicts[child.number]
        if child.trial is None or verdict is None or not child.source:
            continue
        times = [
            (_time_us(verdicts.get(number)), number) for number in _ancestors(child.parents, known, verdicts)
        ]
        before, number = min(((time, each) for time, each in times if time is not None), default=(None, 0))
        if before is None or number not in known:
            continue  # nothing to compare with
        parent = known[number]
        parent_verdict = verdicts[number]
        assert parent_verdict is not None
        assert parent_verdict.timing is not None
        launches = parent_verdict.timing.launches
        structure = structure_of(reference, max(launches, key=lambda each: each.time_ns, default=None))
        after = _time_us(verdict)
        made = verdict.timing.launches if verdict.timing else ()
        counted = (len(launches), len(made)) if launches and made else None
        names = introduced(parent.source, child.source, counted)
        for name in names:
            yield Proof(
                technique=name,
                problem=run.problem,
                family=family_of(run.problem),
                reference=reference_digest(reference),
                device=run.device,
                structure=structure,
                together=len(names),
                parent=Kernel(parent.source).id,
                child=Kernel(child.source).id,
                outcome=str(verdict.outcome),
                gain=None if after is None else before / after,
                thought=" ".join(child.thought.split())[:_THOUGHT],
                excerpt=excerpt(child.source, name) if after is not None else "",
            )


def _ancestors(
    parents: tuple[int, ...], known: Mapping[int, Proposal], verdicts: Mapping[int, Verdict | None]
) -> tuple[int, ...]:
    """The parents; of a failure that was mended, what it was made from: that is what the idea changed."""
    found: list[int] = []
    for number in parents or (0,):
        failed = number in known and number != 0 and _time_us(verdicts.get(number)) is None
        found += _ancestors(known[number].parents, known, verdicts) if failed else (number,)
    return tuple(dict.fromkeys(found))


def learn(library: Library, archive: Archive, run: str) -> int:
    """Add what a run proves; how much of it was new."""
    return library.add(proofs_of(archive, archive.run(run)))


def import_file(library: Library, path: Path) -> int:
    """Add what a file holds: a library, an archive, or proofs as lines of JSON. How much was new."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    if is_library(path):
        return library.add(Library(path).proofs())
    if path.read_bytes()[:15] == b"SQLite format 3":
        with Archive(path, read_only=True) as archive:
            return sum(learn(library, archive, each.run.id) for each in reading.summaries(archive))
    return library.add(_lines(path))


def _lines(path: Path) -> list[Proof]:
    proofs = []
    for number, line in enumerate(read_text(path, "experience").splitlines(), 1):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"experience {path}, line {number}: {error}") from error
        if not isinstance(data, dict):
            raise UsageError(f"experience {path}, line {number}: not a proof")
        try:
            proofs.append(Proof.from_json(data))
        except UsageError as error:
            raise UsageError(f"experience {path}, line {number}: {error}") from error
    return proofs


def _time_us(verdict: Verdict | None) -> float | None:
    return None if verdict is None or verdict.timing is None else verdict.timing.time_us
