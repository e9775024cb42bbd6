"""Tiles of outputs: on kernels outside the suites, on disguised copies, and what is left alone with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import evoengineer
from evoengineer.propose.rewriter.change import Task
from evoengineer.propose.rewriter.splitting import split
from evoengineer.propose.rewriter.tile import Schedule, Split, analysed, tiled
from evoengineer.propose.rewriter.tiling import Tiling
from evoengineer.propose.syntax.addresses import has_unit_stride, is_affine
from evoengineer.propose.syntax.host import host_values
from evoengineer.propose.syntax.kernels import kernels, only_launch
from evoengineer.propose.syntax.knobs import allowed
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


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("squared_distances", {"step": 8}),
        ("squared_distances", {"step": 8, "ahead": False, "wide": False}),
        ("causal_scores", {"step": 8}),
        ("skip_zeros", {"step": 8}),
        ("causal_scores", {"preload": True, "edges_apart": True}),
        ("band_product", {}),
        ("band_product", {"step": 8}),
        ("blur", {"edges_apart": True}),
        ("gemm_bias_relu", {"step": 8, "parts": 4}),
    ],
)
def test_tiles_are_right_at_every_edge(name: str, how: dict[str, Any]) -> None:
    """Masks, loops whose bounds differ between outputs, halos, staged and preloaded operands, sums in parts; judged in
    full."""
    specimen = next(each for each in CORPUS if each.name == name)
    source, kernel = specimen.source, kernels(specimen.source)[0]
    nest = nest_of(source, kernel)
    fastest, other = nest.dims[0].name, nest.dims[1].name
    if "parts" in how:
        source, part = split(source, nest, how["parts"])
        nest = nest_of(source, next(each for each in kernels(source) if each.name == part))
    sides = (Split(fastest, 8, 2), Split(other, 4, 4, adjacent=True))
    text = tiled(source, nest, analysed(source, nest), Schedule(sides, **how))
    verdict = specimen.judged(text)
    assert verdict.outcome == "valid", verdict.evidence


@pytest.mark.parametrize("name", ["gemm_bias_relu", "channel_mix"])
def test_neighbours_are_stored_at_once_where_they_are_aligned(name: str) -> None:
    """Sizes that four divides and others; also outputs that are numbered by one index."""
    specimen = next(each for each in CORPUS if each.name == name)
    nest = nest_of(specimen.source, kernels(specimen.source)[0])
    fastest, other = nest.dims[0].name, nest.dims[1].name
    sides = (Split(fastest, 8, 8, adjacent=True), Split(other, 4, 4, adjacent=True))
    text = tiled(specimen.source, nest, analysed(specimen.source, nest), Schedule(sides, step=8))
    assert "*reinterpret_cast<float4*>(run_at) = " in text
    verdict = specimen.judged(text)
    assert verdict.outcome == "valid", verdict.evidence


def disguised(source: str) -> str:
    """Other names, another layout, sizes of blocks and the start of sums behind macros."""
    for old, new in (("filter", "q7"), ("column", "zz"), ("row", "rr"), ("channel", "c_c"), ("sum", "acc"),
                     ("conv2d", "f"), ("conv_transpose2d", "g"), ("plane", "from_"), ("taps", "with_")):  # fmt: skip
        source = re.sub(rf"\b{old}\b", new, source)
    source = source.replace(" = ", "\n=\n").replace("0.0f", "ZERO").replace("= 256", "= BLOCK_SIZE")
    return "#define ZERO 0.0f\n#define BLOCK_SIZE 256\n" + source


@pytest.mark.parametrize("name", ["conv2d_square_input_square_kernel", "conv_transpose2d_strided_padded"])
def test_a_disguised_convolution_is_tiled_alike(name: str) -> None:
    source = (SUITE / "convolution" / name / "baseline.cu").read_text()
    sizes = (
        "x: float32 tensor [8, 16, 32, 32]", "weight: float32 tensor [16, 16, 3, 3]",
        *(("bias: float32 tensor [16]",) if "transpose" in name else ()), "stride: int 1", "padding: int 1",
        "output_padding: int 0",
    )  # fmt: skip
    plain, other = (
        list(Tiling().changes(text, Task(sizes), Random(0))) for text in (source, disguised(source))
    )
    assert len(plain) == len(other) > 20
    assert [each.what.split(", ")[1:] for each in plain] == [each.what.split(", ")[1:] for each in other]
    assert "preloaded" in plain[0].what
    assert "table_bytes" in plain[0].source


def test_an_operand_that_does_not_fit_into_shared_memory_is_not_preloaded() -> None:
    for channels, fits in ((16, True), (1024, False)):
        sizes = (f"x: float32 tensor [8, {channels}, 56, 56]", f"weight: float32 tensor [64, {channels}, 3, 3]",
                 "stride: int 1", "padding: int 1")  # fmt: skip
        found = [each.what for each in Tiling().changes(CONVOLUTION, Task(sizes), Random(0))]
        assert found
        assert any("preloaded" in what for what in found) == fits


def test_groups_share_what_all_their_outputs_read() -> None:
    """`filter / group_filters` is one number in a tile whose side divides the size of a group."""
    source = (SUITE / "convolution/conv_transpose2d_strided_padded_dilated_grouped/baseline.cu").read_text()
    nest = nest_of(source, kernels(source)[0])
    found = analysed(source, nest)
    assert found.dims["x"] == {"image"}
    sides = (Split("column", 32, 1), Split("filter", 1, 8, adjacent=True))
    text = tiled(source, nest, found, Schedule(sides))
    assert "(s.group_filters) % CONV_TRANSPOSE2D_TILED_FILTER_TILE == 0" in text
    text = tiled(source, nest, found, Schedule(sides, assumed=(("s.group_filters", 16),)))
    assert allowed(text, {"CONV_TRANSPOSE2D_TILED_FILTER_EACH": 4})
    assert not allowed(text, {"CONV_TRANSPOSE2D_TILED_FILTER_EACH": 6})


def test_a_part_of_an_index_over_several_dimensions_is_no_group() -> None:
    """`i / width / height % channels` is no `dim / size`: one version took it for one, and its code did not compile.
    It differs with the planes alone, which `i / width / height` counts."""
    source = (SUITE / "convolution/conv2d_depthwise_square_kernel/baseline.cu").read_text()
    nest = nest_of(source, kernels(source)[0])
    found = analysed(source, nest)
    assert not found.groups
    assert found.dims["channel"] == {"plane"}
    sides = (Split("column", 32, 1), Split("row", 1, 4, adjacent=True))
    assert "channel = plane % s.channels;" in tiled(source, nest, found, Schedule(sides))


@pytest.mark.parametrize(
    ("address", "affine", "unit"),
    [
        ("a[row_at * n + k_at]", True, True),
        ("(a + row_at * n)[static_cast<int64_t>(k_at) * 2]", True, False),
        ("a[row_at * k_at]", False, False),
        ("a[(row_at + k_at) % n]", False, False),
        ("a[n - k_at]", False, False),
        ("a[index[k_at]]", False, False),
    ],
)
def test_four_elements_are_loaded_at_once_along_lines_only(address: str, affine: bool, unit: bool) -> None:
    assert is_affine(address, {"row_at", "k_at"}) == affine
    assert has_unit_stride(address, "k_at") == unit


def test_sizes_that_four_does_not_divide_are_staged_one_element_at_a_time() -> None:
    for size, wide in ((1536, True), (1537, False)):
        sizes = (f"a: float32 tensor [{size}, {size}]", f"b: float32 tensor [{size}, {size}]")
        text = next(iter(Tiling().changes(PRODUCT, Task(sizes), Random(0)))).source
        assert "MATMUL_TILED_AHEAD = true" in text
        assert ("float4" in text) == wide


def test_tiles_share_the_work_out_evenly_among_multiprocessors() -> None:
    sizes = ("a: float32 tensor [1536, 1536]", "b: float32 tensor [1536, 1536]")
    what = next(iter(Tiling().changes(PRODUCT, Task(sizes, 128), Random(0)))).what
    found = re.search(r"blocks of (\d+) column × (\d+) row", what)
    assert found is not None
    blocks = -(-1536 // int(found[1])) * -(-1536 // int(found[2]))
    assert blocks % 128 == 0


def test_planes_fit_extents_and_strides() -> None:
    """34 outputs in tiles of 32 would be computed as 64; every second one takes another path."""
    source = (SUITE / "convolution/conv_transpose2d_strided_padded/baseline.cu").read_text()
    sizes = (
        "x: float32 tensor [8, 16, 17, 17]", "weight: float32 tensor [16, 16, 3, 3]",
        "bias: float32 tensor [16]", "stride: int 2", "padding: int 1", "output_padding: int 1",
    )  # fmt: skip
    what = next(iter(Tiling().changes(source, Task(sizes, 128), Random(0)))).what
    found = re.search(r"blocks of (\d+) \w+ × (\d+) \w+ × \d+ \w+, (\d+) × (\d+)", what)
    assert found is not None
    width, height, each_column, each_row = map(int, found.groups())
    assert -(-34 // width) * width * -(-34 // height) * height < 1.35 * 34 * 34
    assert each_column % 2 == 0
    assert each_row % 2 == 0


def test_a_long_sum_is_shared_by_more_blocks_where_there_are_few() -> None:
    sizes = ("a: float32 tensor [128, 9000]", "b: float32 tensor [9000, 128]")
    source = (SUITE / "matmul/large_k/baseline.cu").read_text()
    assert "parts" in next(iter(Tiling().changes(source, Task(sizes), Random(0)))).what
    enough = tuple(each.replace("128", "2048") for each in sizes)
    assert not any("parts" in each.what for each in Tiling().changes(source, Task(enough), Random(0)))


def test_sums_are_also_shared_where_multiprocessors_would_be_left_without_a_block() -> None:
    sizes = ("a: float32 tensor [512, 512]", "b: float32 tensor [512, 512]")
    source = next(each for each in CORPUS if each.name == "gemm_reordered").source
    assert "in 4 parts" in next(iter(Tiling().changes(source, Task(sizes, 128), Random(0)))).what
    enough = tuple(each.replace("512", "2048") for each in sizes)
    assert not any("parts" in each.what for each in Tiling().changes(source, Task(enough, 128), Random(0)))


def test_all_kernels_of_a_text_are_tiled_together() -> None:
    source = (SUITE / "convolution/conv2d_depthwise_separable/baseline.cu").read_text()
    change = next(iter(Tiling().changes(source, Task(), Random(0))))
    assert "depthwise_conv2d_tiled" in change.source
    assert "pointwise_conv2d_tiled" in change.source


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


def test_an_index_without_a_bound_ends_with_its_blocks() -> None:
    """Where blocks overlap or leave gaps, that is not told by how many there are."""
    free = PRODUCT.replace("if (row >= n || column >= n) return;", "", 1)
    assert "int extent_of_row" in tile_product(free)
    with pytest.raises(NotUnderstood, match="no bound"):
        tile_product(free.replace("blockDim.x", "8", 1))


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
