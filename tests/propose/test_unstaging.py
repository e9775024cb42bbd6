"""Products with tiles in shared memory are read as plain sums, tiled anew, and valid; other uses are left alone."""

from __future__ import annotations

import re
from random import Random

import pytest

from evoengineer.propose.rewriter.change import Task
from evoengineer.propose.rewriter.tiling import Tiling
from evoengineer.propose.syntax.plain import plain
from evoengineer.propose.syntax.unstaging import unstaged

pytest.importorskip("torch")

from tests.propose.corpus import Specimen
from tests.propose.further import STAGED

PRODUCT = plain(STAGED[0].source)


def squeezed(source: str) -> str:
    return "".join(source.split())


@pytest.mark.parametrize(
    ("specimen", "sum_of"),
    [
        (STAGED[0], "sum+=A[row*K+place_in_sum]*B[place_in_sum*N+col];"),
        (STAGED[1], "{acc=fmaf(x[r*k+place_in_sum],y[place_in_sum*m+c],acc);}"),
        (STAGED[2], "value+=a[row*k+place_in_sum]*b[col*k+place_in_sum];"),
    ],
    ids=[each.name for each in STAGED],
)
def test_tiles_are_read_as_the_loads_that_fill_them(specimen: Specimen, sum_of: str) -> None:
    found = unstaged(plain(specimen.source))
    assert sum_of in squeezed(found)
    assert "__shared__ float" not in found
    assert unstaged(found) == found


@pytest.mark.parametrize("specimen", STAGED, ids=lambda each: each.name)
def test_what_is_tiled_anew_is_valid(specimen: Specimen) -> None:
    sizes = ("a: float32 tensor [512, 512]", "b: float32 tensor [512, 512]")
    change = next(iter(Tiling().changes(plain(specimen.source), Task(sizes, 128), Random(0))))
    verdict = specimen.judged(change.source)
    assert verdict.outcome == "valid", verdict.evidence
    assert verdict.timing is not None
    assert verdict.timing.speedup is not None
    assert verdict.timing.speedup > 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("As[ty][tx] = 0.0f", "As[ty][tx] = 1.0f"),  # the last tile counts
        ("As[ty][k]", "As[ty][k] * As[0][0]"),  # what another thread has put there
        ("sum += As", "sum += 1.0f + As"),
        ("sum += As[ty][k] * Bs[k][tx]", "sum += As[ty][k] * Bs[k][tx] * t"),
        ("As[ty][tx] = A[", "As[ty][tx ^ 1] = A["),
        ("if (row < M && col < N) C", "if (row >= M) C[0] = 0; else if (col < N) C"),
    ],
)
def test_other_uses_of_tiles_are_left_alone(old: str, new: str) -> None:
    assert old in PRODUCT
    changed = PRODUCT.replace(old, new, 1)
    assert unstaged(changed) == changed


def test_tiles_of_one_dimension_are_read_alike() -> None:
    flat = re.sub(r"s\[(\w+)\]\[(\w+)\]", r"s[\1 * TILE + \2]", PRODUCT).replace(
        "s[TILE * TILE + TILE]", "s[TILE * TILE]"
    )
    assert "As[ty * TILE + k] * Bs[k * TILE + tx]" in flat
    assert unstaged(flat) == unstaged(PRODUCT)


def test_one_operand_that_is_filled_up_with_zeros_is_enough() -> None:
    found = unstaged(PRODUCT.replace("&& t * TILE + tx < K", ""))
    assert "place_in_sum < (K)" in found
