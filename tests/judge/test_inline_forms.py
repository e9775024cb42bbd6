"""Python files with ModelNew and load_inline: judged as their one-file form is, or refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evoengineer.judge import JudgeOptions, Outcome, Verdict, open_judge
from evoengineer.judge.pool import JudgePool
from evoengineer.kernel.inline.writing import model_file

HERE = Path(__file__).parent / "inline_forms"
SHAPES = ("separate", "listed", "bound", "two", "autograd")


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgePool]:
    pytest.importorskip("torch")
    with open_judge(HERE / "problem.py", JudgeOptions(run_seed=1, workers=1)) as opened:
        yield opened


def read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def judged(judge: JudgePool, source: str) -> Verdict:
    return judge.judge(source).result()


def test_every_file_is_judged_here() -> None:
    assert {path.stem for path in HERE.glob("*.py")} == {*SHAPES, "problem"}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_is_judged_as_its_one_file_form(judge: JudgePool, shape: str) -> None:
    one, other = judged(judge, read("one_file.cu")), judged(judge, read(f"{shape}.py"))
    assert one.outcome is Outcome.VALID
    assert other.outcome is Outcome.VALID, (other.summary, other.evidence)
    assert one.timing is not None
    assert other.timing is not None
    if shape not in ("listed", "two"):  # those launch two kernels
        assert other.timing.time_us == pytest.approx(one.timing.time_us, rel=0.01)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_wrong_file_is_wrong(judge: JudgePool, shape: str) -> None:
    one = judged(judge, read("one_file.cu").replace("fmaxf(a, 0.0f)", "a"))
    text = read(f"{shape}.py")
    changed = (
        text.replace("fmaxf(a, 0.0f)", "a")
        .replace("fmaxf(x[i], {zero})", "x[i]")
        .replace("fmaxf(x[i], 0.0f)", "x[i]")
    )
    assert changed != text
    assert judged(judge, changed).outcome is one.outcome is Outcome.WRONG


def test_what_is_exported_in_pythons_form_is_judged_alike(judge: JudgePool) -> None:
    source = read("one_file.cu")
    written = model_file(source, "kernel", "relu", ["x", "shift"], read("problem.py"))
    one, other = judged(judge, source), judged(judge, written)
    assert other.outcome is one.outcome is Outcome.VALID
    assert one.timing is not None
    assert other.timing is not None
    assert other.timing.time_us == one.timing.time_us


def test_computing_with_pytorch_is_forbidden(judge: JudgePool) -> None:
    text = read("separate.py")
    for line, operation in (
        ("x = torch.relu(x)", "torch.relu"),
        ("x = x + 1.0", "operator + on tensors"),
        ("x = nn.functional.linear(x, self.linear.weight)", "torch.nn.functional.linear"),
        ("x = self.linear(x)", "nn.Linear"),
        ("x = x.sum(dim=1)", "Tensor.sum"),
        ("x = x @ self.linear.weight.T", "operator @ on tensors"),
    ):
        verdict = judged(judge, text.replace("x = x.contiguous().cuda()", line))
        assert verdict.outcome is Outcome.FORBIDDEN, (line, verdict.summary)
        assert operation in verdict.summary
        assert "write it as a CUDA kernel" in verdict.summary


def test_what_cannot_be_read_is_unparsable_with_the_reason(judge: JudgePool) -> None:
    text = read("separate.py")
    for old, new, reason in (
        ("cuda_sources=source", 'cuda_sources=open("kernel.cu").read()', "open"),
        ("class ModelNew", "class Fast", "no class ModelNew"),
        ('functions=["fused_cuda"]', 'functions=["fused"]', "no function fused_cuda"),
        ("self.fused.fused_cuda(", "torch.ops.mine.fused_cuda(", "torch.ops.mine.fused_cuda"),
        ("self.shift = ", "self.other = nn.LSTM(3, 4)\n        self.more = self.shift = ", "1 inputs"),
        ("def forward(self, x: torch.Tensor)", "def forward(self, x: torch.Tensor, y)", "2 inputs"),
        ("batch, features = x.shape", "while True: pass", "while"),
        ("import torch\n", "import torch(\n", "no Python"),
    ):
        assert old in text
        verdict = judged(judge, text.replace(old, new, 1))
        assert verdict.outcome is Outcome.UNPARSABLE, (new, verdict.outcome, verdict.summary)
        assert reason in verdict.summary, verdict.summary
