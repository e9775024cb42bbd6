"""KernelBench files of our own, adopted: a sample of `make adoption`, through the command."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from evoengineer.cli import main
from evoengineer.errors import UsageError
from evoengineer.problem.catalog import find_problem

FILES = Path(__file__).parents[1] / "problem" / "kernelbench"
SMALL = {  # as large as the sample needs to be: the sizes of the files are scaled down, but not by that much
    "level1/group_norm": ("512", "32"),
    "level2/gemm_divide_sum_scale": ("8192", "96"),
}


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def small(name: str, folder: Path) -> Path:
    text = (FILES / f"{name}.py").read_text(encoding="utf-8")
    before, after = SMALL[name]
    assert before in text
    path = folder / f"{Path(name).name}.py"
    path.write_text(
        text.replace(before, after).replace("batch_size = 1024", "batch_size = 64"), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("name", SMALL)
def test_a_file_becomes_a_folder_with_a_valid_baseline(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = small(name, tmp_path)
    given = find_problem(file).problem
    assert main(["problems", "adopt", str(file), "--out", "made/it"]) == 0, capsys.readouterr()
    assert "made/it: baseline is valid" in capsys.readouterr().out
    made = find_problem(tmp_path / "made/it").problem
    assert made.baseline == tmp_path / "made/it/baseline.cu"
    assert (made.cases, made.distributions) == (given.cases, given.distributions)
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["it"]
    assert main(["problems", "check", "made/it", "--no-mutants"]) == 0, capsys.readouterr().out


def test_cases_and_distributions_can_be_edited(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    path = tmp_path / "p" / "problem.py"
    source = (FILES / "level1" / "relu.py").read_text(encoding="utf-8")
    cases = (
        "Case.check(batch_size=3, dim=7), Case.check(batch_size=2, dim=9), Case.check(batch_size=5, dim=40)"
    )
    settings = (
        "from evoengineer.problem import Case\n" + f"cases = [{cases}, Case.bench(batch_size=64, dim=128)]\n"
    )
    path.write_text(source + settings + 'distributions = ["normal"]\n', encoding="utf-8")
    problem = find_problem(path.parent).problem
    assert [case.name for case in problem.cases][-1] == "batch_size=64,dim=128"
    assert problem.distributions == ("normal",)
    path.write_text(source + settings.replace("dim=7", "width=7"), encoding="utf-8")
    with pytest.raises(UsageError, match="no constant width"):
        find_problem(path.parent)


def test_what_cannot_be_adopted_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there").mkdir()
    file = FILES / "level1" / "relu.py"
    assert main(["problems", "adopt", str(file), "--out", "there"]) == 2
    assert "there is there already" in capsys.readouterr().err
    for place in ("/proc/no/such", f"{file}/below", "x" * 300):
        assert main(["problems", "adopt", str(file), "--out", place]) == 2
        assert "no folder can be made" in capsys.readouterr().err
    sort = tmp_path / "sort.py"
    text = file.read_text(encoding="utf-8").replace("torch.relu(x)", "torch.sort(x, dim=1)[0]")
    sort.write_text(text.replace("393216", "64").replace("4096", "32"), encoding="utf-8")
    assert main(["problems", "adopt", str(sort)]) == 1
    assert "no baseline can be written: no kernel for sort" in capsys.readouterr().err
    assert not (tmp_path / "sort").exists()
    assert main(["problems", "adopt", "nowhere.py"]) == 2
