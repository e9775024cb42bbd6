"""A short run of the differential fuzzer; `python -m tests.fuzz.runner` makes long ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.execution import CHECKED, MODES
from tests.fuzz.generator import kernels_from, make_program
from tests.fuzz.runner import emulate_only, fuzz

SEEDS = (1, 11, 21, 31)
KERNELS = 10


def test_a_seed_always_gives_the_same_program() -> None:
    assert make_program(kernels_from(5, 3)) == make_program(kernels_from(5, 3))


def test_generated_programs_run_in_the_emulation(tmp_path: Path) -> None:
    emulate_only(500, 10, tmp_path, None)


@pytest.mark.parametrize("seed", SEEDS)
def test_simulated_gpu_agrees_with_emulation(seed: int, tmp_path: Path) -> None:
    _, differences = fuzz(seed, KERNELS, MODES, tmp_path)
    assert not differences, "\n".join(map(str, differences))


def test_checks_find_nothing_in_correct_kernels(tmp_path: Path) -> None:
    _, differences = fuzz(100, KERNELS, (CHECKED,), tmp_path)
    assert not differences, "\n".join(map(str, differences))
