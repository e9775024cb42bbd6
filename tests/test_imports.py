"""The package's promise that importing it, and starting its command line, is cheap."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    [
        *("evoengineer", "evoengineer.cli", "evoengineer.cli.sim", "evoengineer.card.profile"),
        *("evoengineer.experiment.bench", "evoengineer.cluster.pool"),  # the driver never imports Ray
    ],
)
def test_import_is_light(module: str) -> None:
    script = f"import sys, {module}; print(*[m for m in ('torch', 'llvmlite', 'numpy', 'ray') if m in sys.modules])"
    heavy = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert heavy == []
