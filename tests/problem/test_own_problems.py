"""Problems of a user's own: the template, and the example of docs/problems.md, from nothing to a faster kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from evoengineer import JudgeOptions, judge
from evoengineer.cli import main
from evoengineer.problem.catalog import find_problem
from evoengineer.propose.fake_endpoint import Answer, FakeEndpoint, by_number

PAGE = Path(__file__).parents[2] / "docs" / "problems.md"
TEXTS = dict(
    re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
)


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVOENGINEER_HOME", str(tmp_path / "home"))


def test_the_template_passes_the_check_with_all_its_mutants(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["problems", "new", "distance"]) == 0
    assert "evoengineer problems check distance" in capsys.readouterr().out
    assert main(["problems", "check", "distance"]) == 0, capsys.readouterr().out
    out = capsys.readouterr().out
    assert "distance: baseline is valid" in out
    found = re.search(r"(\d+) of (\d+) mutants of the baseline are found out", out)
    assert found is not None
    assert found[1] == found[2] != "0"


def test_the_template_names_the_problem_and_overwrites_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["problems", "new", "mine", "--out", "there/it"]) == 0
    assert (tmp_path / "there/it/problem.py").read_text(encoding="utf-8").startswith('"""mine: ')
    assert main(["problems", "new", "mine", "--out", "there/it"]) == 2
    assert "there/it is there already" in capsys.readouterr().err
    assert main(["problems", "new", "../evil"]) == 2
    assert "it names a folder" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["problems", "new", "mine", "--out", "file/below"]) == 2
    assert "file/below" in capsys.readouterr().err
    assert main(["problems", "new", "mine", "--out", "x" * 300]) == 2
    assert "no folder can be made" in capsys.readouterr().err


def test_a_problem_called_like_one_of_ours_is_named_by_its_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["problems", "new", "softmax"]) == 0
    assert "evoengineer evolve ./softmax" in capsys.readouterr().out
    assert find_problem("./softmax").problem.path.is_relative_to(Path.cwd())


def test_the_example_goes_from_nothing_to_an_evolved_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(TEXTS) == {"problem.py", "baseline.cu", "fused.cu"}
    assert main(["problems", "new", "bias_gelu_sum"]) == 0
    for name in ("problem.py", "baseline.cu"):
        (tmp_path / "bias_gelu_sum" / name).write_text(TEXTS[name], encoding="utf-8")
    assert main(["problems", "check", "bias_gelu_sum", "--no-mutants"]) == 0
    reply = f"name: fused\nthought: one pass over the input\ncode:\n```cpp\n{TEXTS['fused.cu']}```\n"
    with FakeEndpoint(by_number([Answer(reply)])) as model:
        flags = ["--model", "m", "--base-url", model.url, "--trials", "1", "--name", "example"]
        assert main(["evolve", "bias_gelu_sum", *flags, "--method", "free", "--no-repair"]) == 0
    out = capsys.readouterr().out
    speedup = re.search(r"best +[\d.]+ us simulated, ([\d.]+)x the baseline's speed \(proposal 1\)", out)
    assert speedup is not None, out
    assert float(speedup[1]) > 1.5
    best = (tmp_path / "home" / "best" / "example.cu").read_text(encoding="utf-8")
    assert judge(best, str(tmp_path / "bias_gelu_sum"), options=JudgeOptions(run_seed=1)).valid
