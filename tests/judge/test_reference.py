"""The reference process: one that does not answer is stopped, and the problem is named."""

from dataclasses import replace
from pathlib import Path

import pytest

from evoengineer.errors import EvoEngineerError
from evoengineer.judge.reference import client
from evoengineer.problem.catalog import SECONDS_VARIABLE, find_problem
from evoengineer.problem.model import Distribution


def test_a_reference_that_does_not_end_is_stopped_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was loaded before: what hangs is a draw."""
    pytest.importorskip("torch")
    path = tmp_path / "problem.py"
    path.write_text(
        "import time, torch\n"
        "from evoengineer.problem import Case\n"
        "cases = [Case.check(n=1), Case.check(n=2), Case.check(n=3), Case.bench(n=4)]\n"
        "def make_inputs(case, generator):\n"
        "    if case['n'] == 3:\n"
        "        time.sleep(1000)\n"
        "    return {'x': generator.values(case['n'])}\n"
        "def reference(x):\n"
        "    return torch.relu(x)\n"
    )
    problem = replace(find_problem("vector_add").problem, name="sleepy", path=path)
    process = client.ReferenceProcess()
    try:
        process.load(problem)
        assert process.stage(process.prepare(0, Distribution.NORMAL, 0)).count == 1
        monkeypatch.setattr(client, "START_SECONDS", 0.0)  # PyTorch has been imported
        monkeypatch.setenv(SECONDS_VARIABLE, "0.2")
        with pytest.raises(EvoEngineerError, match=r"sleepy \(.*problem.py\) does not end"):
            process.stage(process.prepare(2, Distribution.NORMAL, 0))
    finally:
        process.close()
