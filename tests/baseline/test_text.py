"""Baselines from traces: what is written, without judging it."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from evoengineer.baseline.generate import baseline_text
from evoengineer.baseline.operations.writing import Unsupported
from evoengineer.baseline.trace import Untraceable
from evoengineer.kernel.forbidden import forbidden_in_text
from evoengineer.problem.live import open_live

FILES = Path(__file__).parents[1] / "problem" / "kernelbench"


def text_of(path: Path) -> str:
    return baseline_text(open_live(path, path.stem))


def model(folder: Path, forward: str, init: str = "pass") -> Path:
    path = folder / "model.py"
    path.write_text(
        f"import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        {init}\n    def forward(self, x):\n        {forward}\n"
        "rows = 64\ncolumns = 96\ndef get_inputs():\n    return [torch.randn(rows, columns)]\n"
        "def get_init_inputs():\n    return []\n"
    )
    return path


def test_sizes_follow_from_the_arguments(tmp_path: Path) -> None:
    """No size of a case may be in the text: it has to hold for all of them."""
    text = text_of(model(tmp_path, "return x.reshape(-1).view(x.size(1), x.size(0)).softmax(1)"))
    body = text[text.index("forward(") :]
    assert "x.size(0)" in body
    assert "x.size(1)" in body
    assert "softmax_of(" in body
    assert "__global__ void softmax_kernel" in text


def test_a_number_that_the_model_keeps_is_found_among_the_sizes(tmp_path: Path) -> None:
    path = FILES / "level1" / "instance_norm.py"
    body = text_of(path).partition(" forward(")[2]
    assert "batch_normalised(" in body
    assert ".size(0) * " in body or ".size(1)" in body


def test_only_what_is_used_is_in_the_text(tmp_path: Path) -> None:
    text = text_of(model(tmp_path, "return torch.relu(x)"))
    assert "apply(Relu{}, x)" in text
    assert "convolution" not in text
    assert "matmul" not in text


def test_an_operation_without_a_kernel_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"no kernel for .*sort"):
        text_of(model(tmp_path, "return torch.sort(x, dim=1).values"))


def test_a_tensor_that_no_kernel_receives_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Untraceable, match="neither an input nor a parameter"):
        text_of(model(tmp_path, "return x + self.secret", "self.secret = torch.arange(96.0)[: columns]"))


def test_scalars_are_arguments() -> None:
    text = text_of(FILES / "level1" / "matrix_scalar.py")
    assert "forward(torch::Tensor A, double s)" in text


def test_the_text_breaks_no_rule(tmp_path: Path) -> None:
    assert not forbidden_in_text(text_of(FILES / "level2" / "conv2d_relu_bias.py"))
