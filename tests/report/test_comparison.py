"""`compare` on the simulated GPU and its text; the sparkline and differences of `show`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.made import Made, add_run
from tests.search.scripted import kernel, verdict_of

from evoengineer.cli import main
from evoengineer.report.comparison import comparison_text
from evoengineer.report.text import sparkline

ROOT = Path(__file__).parents[2]


def test_two_columns_and_who_is_faster() -> None:
    fast, slow = (
        verdict_of(kernel("fast", time=40, profile="bound_by_DRAM")),
        verdict_of(kernel("slow", time=80)),
    )
    wrong = verdict_of(kernel("wrong", outcome="wrong"))
    text = comparison_text(
        ("a.cu", "b.cu"), {"sim:rtx4090": (slow, fast), "sim:l4": (fast, wrong), "x": (wrong, wrong)}
    )
    lines = text.splitlines()
    assert lines[1].split("  ")[0] == "sim:rtx4090"
    assert "80.00 us simulated" in lines[1]
    assert lines[1].endswith("b.cu is 2.00x as fast")
    assert lines[2].endswith("only a.cu is valid")
    assert lines[3].endswith("neither is valid")
    assert "bound by DRAM" in text
    assert max(map(len, lines)) <= 110
    assert comparison_text(("a", "b"), {"d": (fast, fast)}).splitlines()[1].endswith("equally fast")


def test_kernels_on_several_cards(capsys: pytest.CaptureFixture[str]) -> None:
    """How would my kernel do on an H100? There is an answer without one."""
    pytest.importorskip("torch")
    kernels = [
        str(ROOT / "examples" / "softmax_warp.cu"),
        str(ROOT / "src/evoengineer/suites/starter/softmax/baseline.cu"),
    ]
    command = [
        "compare",
        *kernels,
        "--problem",
        "softmax",
        "--devices",
        "sim:rtx4090,sim:h100-sxm",
        "--seed",
        "1",
    ]
    assert main([*command, "--diff"]) == 0
    out = capsys.readouterr().out
    rows = out.splitlines()[1:3]
    assert [row.split()[0] for row in rows] == ["sim:rtx4090", "sim:h100-sxm"]
    assert all("softmax_warp.cu is" in row for row in rows)
    assert "---- sim:h100-sxm ----" in out
    assert "+++ baseline.cu" in out


def test_wrong_requests(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "a.cu"
    file.write_text("x")
    assert main(["compare", str(file), str(tmp_path / "b.cu"), "--problem", "softmax"]) == 2
    assert "no such file" in capsys.readouterr().err
    assert main(["compare", str(file), str(file), "--problem", "softmax", "--devices", "sim:rtx9999"]) == 2
    assert "unknown device" in capsys.readouterr().err
    assert main(["compare", str(file), str(file), "--problem", "softmax", "--devices", ","]) == 2


def test_sparkline() -> None:
    assert sparkline([1, 2, 3, 4, 5, 6, 7, 8]) == "▁▂▃▄▅▆▇█"
    assert sparkline([None, 1.0, 1.0]) == "·▁▁"
    assert sparkline([]) == ""
    assert len(sparkline(list(range(1000)), 40)) == 40
    assert sparkline(list(range(1000)), 40)[-1] == "█"


def test_show_draws_a_curve_and_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "archive.db"
    add_run(file, "r", [Made(80), Made(50, parents=(1,))])
    assert main(["show", "r", "--archive", str(file)]) == 0
    assert "best so far, by trial  ▁▃█  1.00x to 2.00x" in capsys.readouterr().out
    assert main(["show", "r", "--diff", "--archive", str(file)]) == 0
    out = capsys.readouterr().out
    assert "--- baseline\n+++ proposal 2" in out
    assert "--- proposal 1\n+++ proposal 2" in out
    assert "+// kernel 2 of r" in out
    assert main(["show", "r", "--diff", "--proposal", "7", "--archive", str(file)]) == 2
