"""The report's files: the same figures in all of them, and hostile text shows as text."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from tests.report.made import Made, add_run

from evoengineer.cli import main
from evoengineer.judge.verdict import Outcome

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    file = tmp_path / "archive.db"
    add_run(file, "b/x/free/0", [Made(50), Made(outcome=Outcome.WRONG)], problem="s/f/x")
    add_run(file, "b/x/full/0", [Made(40)], problem="s/f/x", method="full")
    add_run(
        file,
        "other",
        [Made(25, source=f"// {HOSTILE}\nint x;\n", name=HOSTILE, thought=HOSTILE)],
        problem=f"=cmd|{HOSTILE}",
        method=HOSTILE,
    )
    return file


def written(archive: Path, *words: str) -> Path:
    out = archive.parent / "out"
    assert main(["report", *words, "--archive", str(archive), "--out", str(out)]) == 0
    return out


def test_all_formats_say_the_same(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = written(archive, "b")
    names = [Path(line).name for line in capsys.readouterr().out.split()]
    assert names[:3] == ["report.html", "report.md", "report.json"]
    data = json.loads((out / "report.json").read_text())
    assert [(each["method"], each["mean_speedup"]["value"]) for each in data["groups"]] == [
        ("free", 2.0),
        ("full", 2.5),
    ]
    with (out / "methods.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["method"], float(row["mean_speedup.value"])) for row in rows] == [
        ("free", 2.0),
        ("full", 2.5),
    ]
    assert float(rows[0]["over.1.1"]) == 1.0
    assert "| free | toy-model | sim:rtx4090 | 1 | 2.00x | 2.00x | 2.00x |" in (out / "report.md").read_text()
    page = (out / "report.html").read_text()
    assert page.count('<td class="right">2.00x</td>') >= 3
    assert "cannot reach p = 0.05" in page
    assert "averaged median speedup" in page
    assert "RTX 4090 (measured)" in page


def test_a_bench_is_chosen_by_its_name_and_an_archive_by_its_file(archive: Path) -> None:
    def runs(out: Path) -> list[str]:
        return [run["id"] for run in json.loads((out / "report.json").read_text())["runs"]]

    assert runs(written(archive, "b")) == ["b/x/free/0", "b/x/full/0"]
    assert runs(written(archive, "other")) == ["other"]
    assert runs(written(archive, "b/x/full")) == ["b/x/full/0"]
    assert (
        runs(written(archive, str(archive)))
        == runs(written(archive))
        == ["b/x/free/0", "b/x/full/0", "other"]
    )


def test_hostile_text_is_text_in_every_format(archive: Path) -> None:
    out = written(archive)
    page = (out / "report.html").read_text()
    assert "<img src=x" not in page
    assert page.count("<script") == page.count("</script>") == 3 + 2  # three figures' data, two scripts
    assert "&lt;img src=x onerror=alert(2)&gt;" in page
    assert 'http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;' in page
    assert not re.search(
        r"(src|href)=\"?(https?:)?//", page.split("<script>")[0]
    )  # nothing comes from elsewhere
    for row in re.findall(r"^\|.*\|$", (out / "report.md").read_text(), re.M):
        assert "<script" not in row.replace("\\<", "")
    with (out / "problems.csv").open() as file:
        assert all(not row["problem"].startswith("=") for row in csv.DictReader(file))


def test_wrong_requests_are_refused(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "nothing", "--archive", str(archive)]) == 2
    assert "no run 'nothing'" in capsys.readouterr().err
    assert main(["report", "--archive", str(archive), "--out", str(archive)]) == 2
    assert "is not a folder" in capsys.readouterr().err
    empty = archive.parent / "empty.db"
    empty.write_bytes(b"")
    assert main(["report", str(empty)]) == 2
    assert "is empty" in capsys.readouterr().err
    assert empty.read_bytes() == b""
