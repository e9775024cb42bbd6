"""Summary, the paper's table, export."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from tests.search.runs import Answers, Outcomes, evolve
from tests.search.scripted import reply, task

from evoengineer.archive.reading import summaries, summary
from evoengineer.errors import UsageError
from evoengineer.propose.protocol import Attempt, ProposerError, Request
from evoengineer.report.export import best_source, export_run, write_best
from evoengineer.report.paper_table import paper_table
from evoengineer.report.summary import summary_text
from evoengineer.report.text import duration


def answer(request: Request) -> str | Exception:
    if request.number == 3:
        request.on_attempt(Attempt(3, "rate_limited", "HTTP 429", 429, 0.1))
        return ProposerError("no")
    if request.number == 4:
        return reply("k1", time=50, outcome="valid")
    outcome = "wrong" if request.number in (2, 6) else "compile_error" if request.number == 5 else "valid"
    return reply(
        f"k{request.number}",
        f"idea {request.number}",
        time=50 if request.number == 1 else 80,
        outcome=outcome,
    )


def run(tmp_path: Path) -> Outcomes:
    return evolve(tmp_path, Answers(answer), trials=8, about=task(name="starter/toy"))


def test_the_summary_tells_everything(tmp_path: Path) -> None:
    done = run(tmp_path)
    text = summary_text(summary(done.archive, "run"), write_best(done.archive, "run"))
    assert "8 of 8 charged; 1 duplicates and 1 unanswered proposals not charged" in text
    assert "valid 5  compile_error 1  wrong 2" in text
    assert "functional 62.5%, compile 87.5%" in text
    assert "rate_limited 1" in text
    assert "best      50.00 us simulated, 2.00x the baseline's speed (proposal 1)" in text
    assert f"kernel    {tmp_path}/best/run.cu" in text
    assert (tmp_path / "best" / "run.cu").read_text() == best_source(done.archive, "run")[1]


def test_the_papers_table(tmp_path: Path) -> None:
    done = run(tmp_path)
    text = paper_table(summaries(done.archive))
    row = text.splitlines()[1].split()
    assert row[:5] == ["full", "answers", "1", "8", "2.00"]
    assert row[6:8] == ["62.5%", "87.5%"]
    assert "speedups are simulated (sim:rtx4090)" in text


def test_an_export_is_a_package_with_evidence(tmp_path: Path) -> None:
    done = run(tmp_path)
    folder = tmp_path / "out"
    written = export_run(done.archive, "run", folder)
    assert {path.name for path in written} == {
        "kernel.cu", "model_new.py", "setup.py", "pyproject.toml", "test_kernel.py", "reference.py", "evidence.json",
        "README.md",
    }  # fmt: skip
    assert (folder / "kernel.cu").read_text() == best_source(done.archive, "run")[1]
    for name in ("setup.py", "test_kernel.py", "model_new.py"):
        ast.parse((folder / name).read_text())
        assert "$" not in (folder / name).read_text()
    assert 'CUDAExtension("toy_kernel", ["kernel.cu"]' in (folder / "setup.py").read_text()
    evidence = json.loads((folder / "evidence.json").read_text())
    assert evidence["verdict"]["timing"]["time_us"] == 50
    assert evidence["lineage"][0]["proposal"] == evidence["proposal"] == 1
    assert "# Task" in evidence["prompt"]["user"]
    assert "50.00 us (simulated, sim:rtx4090), 2.00x" in (folder / "README.md").read_text()


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path)
    with pytest.raises(UsageError, match="proposal 2 is no valid kernel"):
        export_run(done.archive, "run", tmp_path / "out", 2)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(UsageError, match="is not empty"):
        export_run(done.archive, "run", tmp_path / "full")


@pytest.mark.parametrize(("seconds", "text"), [(5, "5 s"), (65, "1 min 05 s"), (3700, "1 h 01 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
