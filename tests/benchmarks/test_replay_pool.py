"""The offline evaluation: pools from recordings, draws without replacement, the same for the same seed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.replay_pool import main, read_pools, run
from tests.search.scripted import kernel, reply

from evoengineer.errors import UsageError
from evoengineer.propose.recording import FORMAT


def make(folder: Path) -> None:
    rows = ["run\tproposal\toperator\tkind\tverdict\ttime_us_simulated\tspeedup\tname"]
    for method in ("free", "full"):
        lines = [json.dumps(FORMAT)]
        for number in range(1, 5):
            failed = number == 4
            rows.append(f"toy-{method}\t{number}\tfree\ttrial\t{'wrong' if failed else 'valid'}\t"
                        f"{'' if failed else 50 - number}\t{'' if failed else 100 / (50 - number)}\tk")  # fmt: skip
            user = f"improve\n```cuda\n{kernel('baseline')}```\n"
            text = reply(f"{method}{number}")
            said = {"text": text, "model": "m", "usage": {}, "finish": "", "seconds": 0}
            asked = {"number": number, "prompt": "p", "occurrence": 0, "system": "", "user": user}
            lines.append(json.dumps({**asked, "reply": said}))
        (folder / f"toy-{method}.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "trials.tsv").write_text("\n".join(rows) + "\n")


def test_a_pool_is_drawn_to_its_end_and_repeatably(tmp_path: Path) -> None:
    make(tmp_path)
    (pool,) = read_pools(tmp_path)
    assert (pool.problem, len(pool.answers), pool.best_us) == ("toy", 8, 47.0)
    assert pool.baseline_us == pytest.approx(100.0)
    first = run(pool, "full", 3, tmp_path)
    (tmp_path / "again").mkdir()
    assert run(pool, "full", 3, tmp_path / "again") == first
    assert 1 <= first[0] <= 8


def test_a_folder_without_recordings_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="name a folder of recordings"):
        read_pools(tmp_path)
    assert main([str(tmp_path)]) == 2
    assert "no such file" in capsys.readouterr().err
