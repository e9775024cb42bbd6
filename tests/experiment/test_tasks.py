"""I1's facts of real problems: what a prompt says of a folder's problem and of a KernelBench file."""

from __future__ import annotations

from pathlib import Path

import pytest

from evoengineer.experiment.tasks import gather_task
from evoengineer.search.guidance import View
from evoengineer.search.operators import FREE
from evoengineer.search.settings import Settings

pytest.importorskip("torch")

MODEL = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, channels, stride):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, stride=stride)
        self.norm = nn.BatchNorm2d(channels)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.norm(self.conv(x))), x.sum()

batch, channels, stride = 4, 8, 2

def get_inputs():
    return [torch.randn(batch, channels, 16, 16)]

def get_init_inputs():
    return [channels, stride]
"""


def test_a_folder_s_problem() -> None:
    task = gather_task(Settings(problem="layer_norm"))
    assert task.declaration == (
        "torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps)"
    )
    assert task.bench == "rows=4096,columns=2048"
    assert "rows=7,columns=33: x [7, 33], weight [33], bias [33]" in task.cases
    assert any("x [61, 127] (not contiguous)" in case for case in task.cases)
    assert (
        "at most 0.0001, and no more than 4 times the error that PyTorch makes in float32 or 3e-05"
        in task.tolerance
    )
    assert "must come out exactly" in task.tolerance
    assert task.light_us is not None
    assert task.reach_us is not None
    assert task.light_us < task.reach_us < 1.3 * task.light_us
    assert task.least_bytes == 4 * (2 * 4096 * 2048 + 2 * 2048)
    assert task.notes == ()
    assert type(task).from_json(task.to_json()) == task


def test_results_that_are_whole_numbers_have_no_tolerance() -> None:
    task = gather_task(Settings(problem="argmax"))
    assert task.tolerance.endswith("int64 results must be exact.")


def test_a_kernelbench_file_says_where_its_state_goes_and_which_mode_its_layers_are_in(
    tmp_path: Path,
) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    task = gather_task(Settings(problem=str(path)))
    assert task.declaration.startswith(
        "std::vector<torch::Tensor> forward(torch::Tensor x, torch::Tensor conv_weight, torch::Tensor conv_bias, "
    )
    prompt = FREE.prompt(View(task))[0].user
    for part in ("parameters and buffers, in the order of its `state_dict()`", "the same in all cases",
                 "BatchNorm2d is in training mode and uses the statistics of its input", "Dropout is off",
                 "as get_inputs draws them"):  # fmt: skip
        assert part in prompt, part
    assert all(": x [" in case for case in task.cases)
