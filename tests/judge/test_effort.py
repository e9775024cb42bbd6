"""Limits in work: far above what kernels need, and far below what keeps the judge for minutes."""

from types import SimpleNamespace
from typing import cast

from evoengineer.judge.effort import effort_of
from evoengineer.problem.catalog import Description

SIZE = 1024
PRODUCT = cast(
    Description,
    SimpleNamespace(
        problem=SimpleNamespace(cases=["bench"]), flops_of=lambda case: 2 * SIZE**3, outputs=[{"bytes": 4 * SIZE**2}]
    ),
)  # fmt: skip


def test_a_product_may_be_naive_but_not_by_single_lanes() -> None:
    limit = effort_of(PRODUCT, 0, 2 * 4 * SIZE**2).instructions
    assert limit > 30 * (8 * SIZE**3 / 32), (
        "thirty times what a naive kernel takes: eight instructions, all lanes"
    )
    assert limit < 12 * SIZE**3, "a lane at a time, with a dozen instructions for each multiply-add"


def test_elements_alone_leave_room() -> None:
    nothing_to_multiply = cast(
        Description,
        SimpleNamespace(problem=SimpleNamespace(cases=["bench"]), flops_of=lambda case: 0, outputs=[]),
    )
    assert effort_of(nothing_to_multiply, 0, 4 << 20).instructions > 60 * (1 << 20)
