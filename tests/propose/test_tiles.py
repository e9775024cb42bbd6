"""Tiles of outputs: on kernels outside the suites, on disguised copies, and what is left alone with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import evoengineer
from evoengineer.propose.rewriter.change import Task
from evoengineer.propose.rewriter.tile import Schedule, Split, analysed, tiled
from evoengineer.propose.rewriter.tiling import Tiling
from evoengineer.propose.syntax.host import host_values
from evoengineer.propose.syntax.kernels import kernels, only_launch
from evoengineer.propose.syntax.nest import nest_of
from evoengineer.propose.syntax.tree import NotUnderstood, parse, walk

pytest.importorskip("torch")

from tests.propose.corpus import CORPUS, Specimen

SUITE = Path(evoengineer.__file__).parent / "suites/kernels91"
PRODUCT = (SUITE / "matmul/square/baseline.cu").read_text()
CONVOLUTION = (SUITE / "convolution/conv2d_square_input_square_kernel/baseline.cu").read_text()
UNDERSTOOD = {each.name for each in CORPUS} - {"row_sums"}


def texts(source: str) -> Iterator[str]:
    return (change.source for change in Tiling().changes(source, Task(), Random(0)))


@pytest.mark.parametrize("each", CORPUS, ids=lambda each: each.name)
def test_tiles_of_kernels_outside_the_suites_are_code(each: Specimen) -> None:
    found = list(texts(each.source))
    assert bool(found) == (each.name in UNDERSTOOD)
    for text in found:
        plain = text.replace("__align__(16) ", "")  # which the grammar does not know
        assert not any(node.type == "ERROR" for node in walk(parse(plain).root_node))


@pytest.mark.parametrize("name", ["squared_distances", "causal_scores", "band_product", "blur"])
def test_tiles_are_right_at_every_edge(name: str) -> None:
    """Masks, loops whose bounds differ between outputs, halos, and staged operands, judged in full."""
    specimen = next(each for each in CORPUS if each.name == name)
    kernel = kernels(specimen.source)[0]
    nest = nest_of(specimen.source, kernel)
    found = analysed(specimen.source, nest)
    fastest, other = nest.dims[0].name, nest.dims[1].name
    sides = (Split(fastest, 8, 2), Split(other, 4, 4, adjacent=True))
    step = 8 if name == "squared_distances" else 0
    text = tiled(specimen.source, nest, found, Schedule(sides, step))
    verdict = evoengineer.judge(text, specimen.problem)
    assert verdict.outcome == "valid", verdict.evidence


def test_a_copy_with_other_names_and_layout_is_tiled_alike() -> None:
    disguised = PRODUCT.replace("row", "q7").replace("column", "zz").replace("matmul", "f")
    disguised = disguised.replace("sum", "s_").replace(" = ", "\n=\n").replace("int i", "int   i")
    disguised = "#define RANGE(v, e) for (int v = 0; v < (e); ++v)\n" + disguised
    assert len(list(texts(disguised))) == len(list(texts(PRODUCT)))


def test_the_original_stays_for_sizes_that_a_tile_does_not_take() -> None:
    text = next(texts(CONVOLUTION))
    assert "if (size < (1LL << 31) && size % (" in text
    assert text.count("conv2d<<<") == 1


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("sum += a", "__syncthreads(); sum += a", "call of __syncthreads"),
        ("sum += a", "sum += c[i] + a", "output is read"),
        ("sum += a", "if (sum > 9) break; sum += a", "break statement"),
        ("float sum = 0.0f;", "float sum = threadIdx.x;", "threadIdx"),
        ("if (row >= n || column >= n) return;", "", "no bound"),
        ("matmul<<<", "for (int twice = 0; twice < 2; ++twice) matmul<<<", ""),
        ("= sum;", "+= sum;", "read before"),
    ],
)
def test_what_is_not_understood_is_left_alone_with_the_reason(old: str, new: str, reason: str) -> None:
    text = PRODUCT.replace(old, new, 1) if old != "= sum;" else re.sub(r"= sum;", "+= sum;", PRODUCT)
    if not reason:  # a launch in a loop stays one
        assert list(texts(text))
        return
    with pytest.raises(NotUnderstood, match=reason):
        tile_product(text)


def tile_product(text: str) -> str:
    nest = nest_of(text, kernels(text)[0])
    schedule = Schedule((Split("column", 16, 2), Split("row", 16, 2)))
    return tiled(text, nest, analysed(text, nest), schedule)


def test_sizes_are_followed_through_the_host_function() -> None:
    kernel = kernels(CONVOLUTION)[0]
    values = host_values(
        only_launch(CONVOLUTION, kernel),
        (
            "x: float32 tensor [8, 16, 112, 112]",
            "weight: float32 tensor [32, 16, 3, 3]",
            "stride: int 2",
            "padding: int 1",
        ),
    )
    assert (values["s.kernel"], values["s.out_width"], values["size"]) == (3, 56, 8 * 32 * 56 * 56)
