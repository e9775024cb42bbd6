"""Kernels in other authors' ways are read, and what is first proposed for them is valid and faster."""

from __future__ import annotations

from random import Random

import pytest

from evoengineer.propose.rewriter import untouched
from evoengineer.propose.rewriter.block_scan import BlockScan
from evoengineer.propose.rewriter.change import Change, Rewrite, Task
from evoengineer.propose.rewriter.collected import Collected
from evoengineer.propose.rewriter.grid_size import GridSize
from evoengineer.propose.rewriter.shared_sum import SharedSum
from evoengineer.propose.rewriter.tiling import Tiling
from evoengineer.propose.rewriter.warp_per_row import WarpPerRow
from evoengineer.propose.syntax.host import host_values
from evoengineer.propose.syntax.kernels import kernels, only_launch
from evoengineer.propose.syntax.knobs import knobs
from evoengineer.propose.syntax.plain import plain
from evoengineer.propose.syntax.tree import text
from evoengineer.propose.syntax.unstaging import unstaged

pytest.importorskip("torch")

from tests.propose.corpus import Specimen
from tests.propose.unseen import UNSEEN

FOUND = {each.name: each for each in UNSEEN}
SQUARES = tuple(f"{name}: float32 tensor [512, 512]" for name in "ab")
TALL = ("x: float32 tensor [2048, 1024]",)


def changes(
    rewrite: Rewrite, specimen: Specimen, arguments: tuple[str, ...], source: str = ""
) -> list[Change]:
    return list(rewrite.changes(plain(source or specimen.source), Task(arguments, 128), Random(0)))


@pytest.mark.parametrize(
    ("name", "rewrite", "arguments", "least"),
    [
        ("flat_grid_product", Tiling(), SQUARES, 3),
        ("struct_tiles", Tiling(), SQUARES, 2),
        ("tiles_without_tests", Tiling(), SQUARES, 2),
        ("tiles_walking_pointers", Tiling(), SQUARES, 2),
        ("cdist", Tiling(), ("x: float32 tensor [768, 48]", "y: float32 tensor [768, 48]"), 5),
        ("transpose_3d", Tiling(), ("x: float32 tensor [4, 768, 1536]",), 2),
        (
            "conv_constant_memory",
            Tiling(),
            ("x: float32 tensor [1024, 1024]", "f: float32 tensor [9, 9]"),
            1.5,
        ),
        ("box_filter", Tiling(), ("x: float32 tensor [1024, 1024]",), 1.3),
        ("row_sum_one_thread_of_block", SharedSum(), TALL, 1.2),
        ("column_variance", SharedSum(), ("a: float32 tensor [4096, 1024]",), 4),
        ("kl_rows", SharedSum(), ("a: float32 tensor [2048, 512]", "q: float32 tensor [2048, 512]"), 4),
        ("nbody_separate", SharedSum(), ("x: float32 tensor [4096]",), 8),
        ("exclusive_scan_rows", BlockScan(), TALL, 3),
        ("column_cumsum", BlockScan(), TALL, 1.5),
        ("cumprod_in_memory", BlockScan(), TALL, 3),
        ("sum_atomic_each", Collected(), SQUARES, 8),
        ("histogram", Collected(), SQUARES, 4),
        ("mse_block_atomic", GridSize(), SQUARES, 1.3),
    ],
)
def test_what_is_first_proposed_is_valid_and_faster(
    name: str, rewrite: Rewrite, arguments: tuple[str, ...], least: float
) -> None:
    change = changes(rewrite, FOUND[name], arguments)[0]
    verdict = FOUND[name].judged(change.source)
    assert verdict.outcome == "valid", f"{change.what}: {verdict.evidence}"
    assert verdict.timing is not None
    assert (verdict.timing.speedup or 0) > least


def test_sizes_are_followed_into_a_function_that_launches() -> None:
    source = plain(FOUND["flat_grid_product"].source)
    (kernel,) = kernels(source)
    values = host_values(
        only_launch(source, kernel), ("a: float32 tensor [8, 4]", "b: float32 tensor [4, 2]")
    )
    assert (values["m"], values["k"], values["n"]) == (8, 4, 2)
    assert "blockIdx.x * 256" in text(kernel.body), "the instance does not know the launcher's names"


def test_pointers_that_move_are_places_that_are_counted() -> None:
    found = "".join(unstaged(plain(FOUND["tiles_walking_pointers"].source)).split())
    assert "tmp+=A[place_y*K+place_in_sum]*B[place_x+place_in_sum*N];" in found
    assert "<<<dim3((((N)+(32)-1)/(32)),(((M)+(32)-1)/(32))),dim3(32,32)>>>" in found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A += BLOCKSIZE;", "A += 2 * BLOCKSIZE;"),  # every second tile
        ("A += BLOCKSIZE;", "A += BLOCKSIZE; As[0] = A[0];"),  # used after it has moved
        ("threadIdx.x % BLOCKSIZE", "threadIdx.x % 16"),
        ("C += cRow * BLOCKSIZE * N", "C += cRow * 16 * N"),  # blocks that overlap
    ],
)
def test_pointers_that_move_otherwise_are_left_alone(old: str, new: str) -> None:
    source = FOUND["tiles_walking_pointers"].source
    assert old in source
    changed = plain(source.replace(old, new, 1))
    assert "BLOCKSIZE" not in unstaged(changed).split("sgemm_shared_mem_block_32(")[1].split("}")[0]
    assert "__shared__" in unstaged(changed).split("sgemm_shared_mem_block_32(")[1]


@pytest.mark.parametrize(
    ("name", "rewrite", "old", "new"),
    [
        ("sum_atomic_each", Collected(), "atomicAdd(result", "data[0] == atomicAdd(result"),
        ("sum_atomic_each", Collected(), "if (i < n) {", "if (i < n && *result < 9) {"),  # reads the sum
        ("histogram", Collected(), "bins[data[i]], 1)", "bins[data[i]], 1); bins[0] = 0"),
        ("mse_block_atomic", GridSize(), "cache[0] * scale", "cache[0] * scale * blockIdx.x"),
        ("mse_block_atomic", GridSize(), "i += BLOCK * gridDim.x", "i += 2 * BLOCK * gridDim.x"),
        ("exclusive_scan_rows", BlockScan(), "= acc;", "= acc; acc *= 0.5f;"),
        ("exclusive_scan_rows", BlockScan(), "output[base + i] = acc;", "if (i) output[base + i] = acc;"),
    ],
)
def test_what_does_more_is_left_alone(name: str, rewrite: Rewrite, old: str, new: str) -> None:
    source = FOUND[name].source
    assert old in source
    assert not changes(rewrite, FOUND[name], TALL, source.replace(old, new, 1))


def test_a_size_that_the_text_checks_is_not_enlarged() -> None:
    """`TORCH_CHECK(width % TILE_WIDTH == 0)`: with larger tiles fewer sizes would be taken."""
    (knob,) = knobs(FOUND["tiles_without_tests"].source)
    assert max(knob.values) == knob.value


IMAGE = ("x: float32 tensor [1024, 1024]",)


def test_blocks_inside_are_known_by_their_corners() -> None:
    found = changes(Tiling(), FOUND["box_filter"], IMAGE)[0].source
    assert "WHOLE || !(!((nx[n_x] >= 0) && (nx[n_x] < width)" in found
    (test,) = [line for line in found.splitlines() if line.startswith("    if (first_x")]
    assert "(first_y + (-radius)) >= 0" in test
    assert "((first_y + BOX_FILTER_TILED_Y_TILE - 1) + (radius)) < height" in test


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int nx = x + dx;", "unsigned nx = x + dx;"),  # less than zero is very large
        ("nx >= 0 &&", "in[nx] >= 0 &&"),  # what is not known before
        ("int nx = x + dx;", "int nx = x + dx * dx;"),  # not between its corners
    ],
)
def test_other_tests_are_made_inside_as_well(old: str, new: str) -> None:
    source = FOUND["box_filter"].source
    assert old in source
    assert not any(
        "WHOLE || !" in each.source
        for each in changes(Tiling(), FOUND["box_filter"], IMAGE, source.replace(old, new, 1))
    )


def test_comparisons_are_not_taken_for_templates() -> None:
    found = plain("__global__ void f(int a, int b, float* c) { if (!(a < b && b >= 0)) c[0] = 1; }")
    assert "!((a < b) && (b >= 0))" in found
    assert plain(found) == found


def test_kernels_that_a_change_leaves_alone_can_be_changed_on_top() -> None:
    """Scores, softmax and weighted sum: tiles are for two of them, and rows for the third."""
    specimen = FOUND["attention_three_kernels"]
    baseline = plain(specimen.source)
    tiles = changes(Tiling(), specimen, ())[0].source
    rest = untouched(baseline, tiles)
    assert rest == {"softmax_rows"}
    rows = next(iter(WarpPerRow().changes(tiles, Task((), 128, rest), Random(0)))).source
    assert not untouched(baseline, rows)
    assert not list(WarpPerRow().changes(tiles, Task((), 128, frozenset()), Random(0)))
    assert untouched(baseline, next(iter(WarpPerRow().changes(baseline, Task(), Random(0)))).source) == {
        "scores",
        "weighted",
    }


def test_a_constant_that_an_instance_has_the_value_of_is_no_knob() -> None:
    source = FOUND["flat_grid_product"].source
    assert {each.name for each in knobs(source)} == {"threads"}
    assert not knobs(plain(source))
