"""A run whose model answers with Python files: judged, kept as kernels, and given back in both forms."""

from __future__ import annotations

from pathlib import Path

import pytest

import evoengineer
from evoengineer.archive.store import Archive
from evoengineer.kernel.inline import is_inline
from evoengineer.propose.fake_endpoint import Answer, FakeEndpoint, by_number
from evoengineer.report.export import export_run, write_best

FORMS = Path(__file__).parents[1] / "judge" / "inline_forms"


def test_a_model_that_answers_in_pythons_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("EVOENGINEER_HOME", str(tmp_path))
    file = (FORMS / "separate.py").read_text(encoding="utf-8")
    outside = file.replace("return self.fused", "x = torch.relu(x)\n        return self.fused")
    unread = file.replace("cuda_sources=source", 'cuda_sources=open("k.cu").read()')
    replies = [
        f"name: n{n}\nthought: t\n```python\n{text}```" for n, text in enumerate((file, outside, unread))
    ]
    with FakeEndpoint(by_number([Answer(text) for text in replies])) as endpoint:
        run = evoengineer.evolve(
            str(FORMS / "problem.py"), model="m", base_url=endpoint.url, trials=3, judge_seed=1, name="r"
        )
    assert [str(trial.outcome) for trial in run.trials] == ["valid", "forbidden", "unparsable"]
    best = run.trials[0].source
    assert not is_inline(best)
    assert "model_forward" in best
    with Archive(run.archive) as archive:
        written = export_run(archive, run.id, tmp_path / "out")
        beside = write_best(archive, run.id)
    assert {"kernel.cu", "model_new.py", "original.py"} <= {path.name for path in written}
    assert (tmp_path / "out/kernel.cu").read_text() == best
    assert (tmp_path / "out/original.py").read_text().strip() == file.strip()
    assert is_inline((tmp_path / "out/model_new.py").read_text())
    assert beside is not None
    assert beside.with_suffix(".py").read_text().strip() == file.strip()
    options = evoengineer.JudgeOptions(run_seed=1)
    again = evoengineer.judge(tmp_path / "out/model_new.py", FORMS / "problem.py", options=options)
    assert again.outcome == "valid", again.summary
