"""Merging archives of several drivers: by content, all or nothing, the same when it is done again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.search.runs import Answers, evolve
from tests.search.scripted import reply

from evoengineer.archive.canonical import digest
from evoengineer.archive.merge import merge
from evoengineer.archive.store import Archive
from evoengineer.cli import main
from evoengineer.errors import UsageError


def made(folder: Path, run: str, *, trials: int = 6, faster: int = 0) -> Path:
    """An archive with a run of that name."""
    folder.mkdir(exist_ok=True)
    answers = Answers(lambda request: reply(f"k{request.number}", time=100 / (request.number + faster)))
    evolve(folder, answers, trials=trials, run=run).archive.close()
    return folder / "archive.db"


def digests(path: Path) -> dict[str, str]:
    with Archive(path, create=False) as archive:
        names = [row[0] for row in archive.connection.execute("SELECT id FROM runs")]
        return {name: digest(archive, name) for name in names}


def dump(path: Path) -> list[str]:
    with sqlite3.connect(path) as db:
        return sorted(db.iterdump())


def test_runs_of_two_drivers_come_together(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one", "a"), made(tmp_path / "other", "b", faster=3)
    target = tmp_path / "all.db"
    assert main(["archive", "merge", str(one), str(other), "--archive", str(target)]) == 0
    assert digests(target) == {**digests(one), **digests(other)}


def test_merging_again_changes_nothing(tmp_path: Path) -> None:
    one, target = made(tmp_path / "one", "a"), tmp_path / "all.db"
    assert merge(target, one).added == ("a",)
    before = dump(target)
    assert merge(target, one).equal == ("a",)
    assert dump(target) == before


def test_the_order_makes_no_difference(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one", "a"), made(tmp_path / "other", "b", faster=3)
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    for target, files in ((first, (one, other)), (second, (other, one))):
        for file in files:
            merge(target, file)
    tables = [line for line in dump(first) if not line.startswith('INSERT INTO "schema"')]
    assert tables == [line for line in dump(second) if not line.startswith('INSERT INTO "schema"')]


def test_equal_texts_become_one(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one", "a"), made(tmp_path / "other", "b")
    target = tmp_path / "all.db"
    merge(target, one)
    merge(target, other)
    with sqlite3.connect(target) as merged, sqlite3.connect(one) as single:
        query = "SELECT count(*) FROM kernels"
        assert merged.execute(query).fetchone() == single.execute(query).fetchone()


def test_a_run_that_went_on_elsewhere_is_brought_up_to_date(tmp_path: Path) -> None:
    path = made(tmp_path / "one", "a", trials=4)
    target = tmp_path / "all.db"
    merge(target, path)
    early = tmp_path / "early.db"
    merge(early, path)
    with Archive(path) as archive:
        archive.set_trials("a", 8)
    made(tmp_path / "one", "a", trials=8)
    assert merge(target, path).updated == ("a",)
    assert digests(target) == digests(path)
    assert merge(target, early).equal == ("a",)  # an older copy takes nothing away
    assert digests(target) == digests(path)


def test_two_runs_of_one_name_are_refused_and_nothing_is_merged(tmp_path: Path) -> None:
    target, other = made(tmp_path / "one", "a"), made(tmp_path / "other", "a", faster=5)
    before = dump(target)
    with pytest.raises(UsageError, match="two runs of one name"):
        merge(target, other)
    assert dump(target) == before


def test_no_file_and_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(tmp_path / "one", "a")
    assert main(["archive", "merge", str(tmp_path / "none.db"), "--archive", str(path)]) == 2
    assert "no such file" in capsys.readouterr().err
    assert main(["archive", "merge", str(path), "--archive", str(path)]) == 2
    assert "into itself" in capsys.readouterr().err
