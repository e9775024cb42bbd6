"""Loading problems: shipped ones, folders, KernelBench files; refusing bad and degenerate ones."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from evoengineer.errors import UsageError
from evoengineer.problem.catalog import find_problem, find_problems, locate, shipped
from evoengineer.problem.model import Case, CaseKind, Tolerance

GOOD = '''"""Twice the values."""
import torch
from evoengineer.problem import Case
cases = [Case.check(n=1), Case.check(n=7), Case.check(n=33), Case.bench(n=1000)]
flops = "n"
def make_inputs(case, generator):
    return {"x": generator.values(case.n)}
def reference(x: torch.Tensor) -> torch.Tensor:
    return 2 * x
'''

KERNELBENCH_LINEAR = '''
import torch
import torch.nn as nn

class Model(nn.Module):
    """
    A linear layer with batch normalisation.
    """
    def __init__(self, features, outputs):
        super().__init__()
        self.linear = nn.Linear(features, outputs)
        self.norm = nn.BatchNorm1d(outputs)
        self.eval()

    def forward(self, x, scale: float = 2.0):
        return self.norm(self.linear(x)) * scale

batch_size = 128
features = 2048
outputs = 512

def get_inputs():
    return [torch.rand(batch_size, features, device="cuda"), 3.0]

def get_init_inputs():
    return [features, outputs]
'''

KERNELBENCH_POOL = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int):
        super(Model, self).__init__()
        self.pool = nn.AvgPool2d(kernel_size=kernel_size, stride=stride, padding=padding)
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)

batch_size = 16
channels = 64
height = 2048
width = 2048
kernel_size = 11
stride = 11
padding = 5
def get_inputs():
    return [torch.rand(batch_size, channels, height, width)]
def get_init_inputs():
    return [kernel_size, stride, padding]
"""


def folder(tmp_path: Path, text: str) -> str:
    (tmp_path / "problem.py").write_text(text, encoding="utf-8")
    return str(tmp_path)


def test_what_ships_can_be_found() -> None:
    names = list(shipped())
    assert {"vector_add", "softmax", "layer_norm", "matmul", "conv2d"} <= set(names)
    assert locate("softmax")[0] == "softmax"
    assert sum(name.startswith("kernels91/") and "/extra/" not in name for name in names) == 91


def test_a_name_that_is_nearly_right() -> None:
    with pytest.raises(UsageError, match="did you mean softmax"):
        locate("sofmax")


def test_a_folder(tmp_path: Path) -> None:
    found = find_problem(folder(tmp_path, GOOD))
    assert found.problem.title == "Twice the values."
    assert found.problem.baseline is None
    assert found.problem.bench_case == Case.bench(n=1000)
    assert found.arguments[0]["shape"] == [1000]
    assert found.moved_bytes() == 8000
    assert found.flops() == 1000
    (tmp_path / "baseline.cu").write_text("…", encoding="utf-8")
    assert find_problem(str(tmp_path)).problem.baseline == tmp_path / "baseline.cu"


@pytest.mark.parametrize(
    "change, message",
    [
        (("def reference", "def other"), "no `reference`"),
        (("Case.bench(n=1000)", "Case.check(n=1000)"), "0 bench cases"),
        (("Case.check(n=7), Case.check(n=33), ", ""), "at least three"),
        (("n=33", "n=7"), "same sizes"),
        (("import torch\n", "import torch\nimport no_such_module\n"), "no_such_module"),
        (("return 2 * x", "return 'x'"), "must return a tensor"),
        (('{"x": generator.values(case.n)}', "[1]"), "must return a dict"),
        (("case.n)", "case.m)"), "no size 'm'"),
    ],
)
def test_broken_problems_are_refused(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    text = GOOD.replace(*change)
    assert text != GOOD
    with pytest.raises(UsageError, match=message):
        find_problem(folder(tmp_path, text))


def test_kernelbench_files(tmp_path: Path) -> None:
    linear, pool = tmp_path / "1_linear.py", tmp_path / "2_pool.py"
    linear.write_text(KERNELBENCH_LINEAR, encoding="utf-8")
    pool.write_text(KERNELBENCH_POOL, encoding="utf-8")
    first, second = find_problems([str(linear), str(pool)])
    assert first.problem.title == "A linear layer with batch normalisation."
    assert [argument["name"] for argument in first.arguments] == [
        "x", "scale", "linear_weight", "linear_bias", "norm_weight", "norm_bias", "norm_running_mean",
        "norm_running_var", "norm_num_batches_tracked",
    ]  # fmt: skip
    assert first.outputs[0]["shape"] == [128, 512]
    for found in (first, second):
        checks = [case for case in found.problem.cases if case.kind is CaseKind.CHECK]
        assert len(checks) >= 3
    # 17 GB of inputs do not fit: the bench case is smaller, and says so.
    assert second.moved_bytes() < 256 << 20
    assert "scaled down" in second.problem.title


def degenerate(tmp_path: Path, text: str) -> str:
    from evoengineer.experiment.suite import findings_of

    folder(tmp_path, text)
    return "\n".join(findings_of("p", tmp_path / "problem.py"))


def test_sound_problems_pass_the_check(tmp_path: Path) -> None:
    assert degenerate(tmp_path, GOOD) == ""


@pytest.mark.parametrize(
    "body, finding",
    [
        ("return x * 1e-4 + 1", "nearly constant"),
        ("return torch.zeros_like(x)", "nearly constant"),
        ("return x / 0", "not finite"),
        ("return x + torch.rand_like(x)", "differ"),
        ("return x.abs().clamp(max=0) + x", "copy of 'x'"),
    ],
)
def test_degenerate_problems_are_found(body: str, finding: str, tmp_path: Path) -> None:
    assert finding in degenerate(tmp_path, GOOD.replace("return 2 * x", body))


def test_an_input_without_influence_is_found(tmp_path: Path) -> None:
    text = GOOD.replace(
        '"x": generator.values(case.n)', '"x": generator.values(case.n), "y": generator.values(3)'
    )
    assert "'y'" in degenerate(tmp_path, text.replace("x: torch.Tensor)", "x, y)"))


def test_a_tolerance_needs_a_reason() -> None:
    with pytest.raises(UsageError, match="reason"):
        Tolerance(relative={"float32": 1e-2})
    with pytest.raises(UsageError, match="unknown dtype"):
        Tolerance(relative={"float31": 1e-2}, reason="…")
    assert Tolerance(relative={"float32": 1e-2}, reason="…").bound("float16") == 1e-2


def test_the_command_lists_and_shows() -> None:
    def run(*words: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "evoengineer", "problems", *words],
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert "softmax" in run()
    shown = run("show", "softmax")
    assert "rows=65536,columns=128" in shown
    assert "torch.softmax" in shown
    assert "67.1 MB moved at least" in shown
