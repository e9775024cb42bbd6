"""Operations of PTX instructions, and the rates of tensor cores."""

from __future__ import annotations

import pytest

from evoengineer.card.profile import load_profile
from evoengineer.sim.ptx.model import Instr
from evoengineer.sim.timing.arithmetic import HALF_SUMS, multiply_adds, operations, tensor_rate


def _instr(name: str) -> Instr:
    op, *mods = name.split(".")
    return Instr(op, tuple(mods), (), None, False, (0, 0), name)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("fma.rn.f32", ("f32", 2)),
        ("fma.rn.f16x2", ("f16x2", 4)),
        ("add.f64", ("f64", 1)),
        ("add.s32", ("", 0)),
        ("ld.global.f32", ("", 0)),
    ],
)
def test_operations(name: str, found: tuple[str, int]) -> None:
    assert operations(_instr(name)) == found


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", ("f16", 2048)),
        ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", (HALF_SUMS, 2048)),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", ("tf32", 1024)),
        ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", ("s8", 4096)),
        ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", ("f16", 1024)),  # four products at once
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", ("f64", 256)),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", ("f16", 4096)),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16", (HALF_SUMS, 4096)),
        ("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", ("", 0)),
    ],
)
def test_multiply_adds(name: str, found: tuple[str, int]) -> None:
    assert multiply_adds(_instr(name)) == found


def test_geforce_halves_only_fp32_sums() -> None:
    card = load_profile("rtx4090")
    assert tensor_rate(card, HALF_SUMS) == 2 * tensor_rate(card, "f16")
    assert tensor_rate(load_profile("a100-40gb"), HALF_SUMS) == tensor_rate(load_profile("a100-40gb"), "f16")
