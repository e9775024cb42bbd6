"""The examples of docs/python.md run, in order, as one session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

PAGE = Path(__file__).parents[1] / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

FOLDER = '''"""Twice the input."""
from evoengineer.problem import Case
cases = [Case.check(size=1), Case.check(size=33), Case.check(size=1000), Case.bench(size=4096)]
def make_inputs(case, generator): return {"x": generator.values(case.size)}
def reference(x): return 2 * x
'''
KERNELBENCH = """import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.relu(x)
batch_size, dim = 16, 64
def get_inputs(): return [torch.randn(batch_size, dim)]
def get_init_inputs(): return []
"""


def test_every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVOENGINEER_HOME", str(tmp_path))
    (tmp_path / "problems" / "scale").mkdir(parents=True)
    (tmp_path / "problems" / "scale" / "problem.py").write_text(FOLDER)
    (tmp_path / "19_ReLU.py").write_text(KERNELBENCH)
    text = PAGE.read_text(encoding="utf-8")
    session: dict[str, Any] = {"__name__": "docs_python"}
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) >= 7
    for block in blocks:
        lines_above = text.count(
            "\n", 0, block.start(1)
        )  # so that a failure, and inspect, find the page's lines
        exec(compile("\n" * lines_above + block[1], str(PAGE), "exec"), session)
