"""Long sums and scans of one thread are shared by many: valid at awkward sizes, faster, and only where they may be."""

from __future__ import annotations

from random import Random

import pytest

from evoengineer.propose.rewriter.block_scan import BlockScan
from evoengineer.propose.rewriter.block_shape import BlockShape
from evoengineer.propose.rewriter.change import Change, Rewrite, Task
from evoengineer.propose.rewriter.grouped_launch import GroupedLaunch
from evoengineer.propose.rewriter.shared_sum import SharedSum
from evoengineer.propose.rewriter.unroll import Unroll
from evoengineer.propose.syntax.knobs import knobs
from evoengineer.propose.syntax.plain import plain

pytest.importorskip("torch")

from tests.propose.corpus import CORPUS, Specimen
from tests.propose.further import SCANS, SHARED

TALL = ("x: float32 tensor [4096, 1024]", "t: int64 tensor [4096]")
SIZES = {
    "middle_means": ("x: float32 tensor [3, 1536, 768]",),
    "channel_means": ("x: float32 tensor [8, 32, 9216]",),
}
COLUMNS, ROW_MAX = (
    next(each for each in SHARED if each.name == name) for name in ("column_sums", "row_arg_max")
)


def changes(rewrite: Rewrite, specimen: Specimen, source: str | None = None) -> list[Change]:
    task = Task(SIZES.get(specimen.name, TALL), 128)
    return list(rewrite.changes(plain(source or specimen.source), task, Random(0)))


@pytest.mark.parametrize("specimen", [*SHARED, *SCANS], ids=lambda each: each.name)
def test_what_threads_share_is_valid_and_faster(specimen: Specimen) -> None:
    """The first proposal, and one with another number of blocks per output where there is one."""
    found = changes(BlockScan() if specimen in SCANS else SharedSum(), specimen)
    parted = [each for each in found if "blocks" in each.what]
    chosen = {each.source: each for each in (found[0], *parted[-1:])}
    speedups = []
    for each in chosen.values():
        verdict = specimen.judged(each.source)
        assert verdict.outcome == "valid", f"{each.what}: {verdict.evidence}"
        assert verdict.timing is not None
        speedups.append(verdict.timing.speedup or 0)
    assert max(speedups) > (1 if specimen.name == "middle_means" else 2)


@pytest.mark.parametrize(
    ("specimen", "old", "new"),
    [
        (COLUMNS, "s += x", "s = s * 0.5f + x"),  # the order matters
        (COLUMNS, "s += x[r * columns + c]", "s += x[r * columns + c] * s"),
        (COLUMNS, "s += x", "if (s > 9) break; s += x"),
        (COLUMNS, "s += x[r * columns + c];", "{ s += x[r * columns + c]; y[c] = s; }"),
        (COLUMNS, "s += x[r * columns + c]", "atomicAdd(y + c, x[r * columns + c])"),
        (ROW_MAX, "where = c", "where = where + c"),
        (ROW_MAX, "where = c", "where = rows - c"),
        (ROW_MAX, "best = v", "best = v * 2"),
    ],
)
def test_a_loop_that_does_more_is_left_alone(specimen: Specimen, old: str, new: str) -> None:
    assert old in specimen.source
    assert not changes(SharedSum(), specimen, specimen.source.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("s += x", "s = 0.5f * s + x"),
        ("s += x", "if (c > 3) s += x"),
        ("[r * columns + c] = s", "[c * c + 2 * r] = s"),  # nobody's neighbours are neighbours
    ],
)
def test_a_value_that_does_not_run_along_a_row_is_left_alone(old: str, new: str) -> None:
    scan = SCANS[0]
    assert old in scan.source
    assert not changes(BlockScan(), scan, scan.source.replace(old, new, 1))


def test_products_are_not_shared() -> None:
    """Outputs share what they load: a tile pays more."""
    product = next(each for each in CORPUS if each.name == "gemm_fma")
    assert not list(SharedSum().changes(plain(product.source), Task(), Random(0)))


def test_many_outputs_fill_a_card_by_themselves() -> None:
    many = Task(("x: float32 tensor [512, 1000000]",), 128)
    assert not list(SharedSum().changes(plain(COLUMNS.source), many, Random(0)))


def test_nothing_is_done_to_what_only_a_fallback_runs() -> None:
    """A change to the original kernel, which stays for other sizes, would be the same machine code for these."""
    text = changes(SharedSum(), COLUMNS)[0].source
    assert "run<<<" in text
    assert not list(BlockShape().changes(text, Task(TALL, 128), Random(0)))
    assert not list(GroupedLaunch().changes(text, Task(TALL, 128), Random(0)))
    for each in Unroll().changes(text, Task(TALL, 128), Random(0)):
        assert each.source.index("#pragma unroll") > each.source.index("run_shared(")


def test_only_sizes_that_decide_something_are_knobs() -> None:
    whole, parted = (
        next(each.source for each in changes(SharedSum(), ROW_MAX) if ("blocks" in each.what) == split)
        for split in (False, True)
    )
    assert {knob.name for knob in knobs(whole)} == {"RUN_SHARED_THREADS"}
    assert {knob.name for knob in knobs(parted)} == {"RUN_SHARED_THREADS", "RUN_SHARED_PARTS"}
