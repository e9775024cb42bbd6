"""The rewriter: deterministic, no repeats that it could foresee, and rewrites that keep off what they do not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.propose.fresh import FRESH
from tests.propose.further import SCANS, SHARED
from tests.propose.unseen import UNSEEN

import evoengineer
from evoengineer.kernel.text import Kernel
from evoengineer.propose.parse import parse_reply
from evoengineer.propose.protocol import Asked, ProposerError, Request, Tried
from evoengineer.propose.rewriter import Rewriter
from evoengineer.propose.rewriter.block_shape import BlockShape
from evoengineer.propose.rewriter.block_size import BlockSize
from evoengineer.propose.rewriter.catalogue import REWRITES
from evoengineer.propose.rewriter.change import Change, Rewrite, Task
from evoengineer.propose.rewriter.choice import ranked
from evoengineer.propose.rewriter.fast_math import FastMath
from evoengineer.propose.rewriter.grouped_launch import GroupedLaunch
from evoengineer.propose.rewriter.reciprocal import Reciprocal
from evoengineer.propose.rewriter.restrict import Restrict
from evoengineer.propose.rewriter.shuffle_tail import ShuffleTail
from evoengineer.propose.rewriter.tiling import Tiling
from evoengineer.propose.rewriter.unroll import Unroll
from evoengineer.propose.rewriter.warp_per_row import WarpPerRow
from evoengineer.propose.syntax.plain import plain

PACKAGE = Path(evoengineer.__file__).parent
ROWS = (Path(__file__).parents[2] / "examples" / "softmax_thread_per_row.cu").read_text()
SOFTMAX = (PACKAGE / "suites/starter/softmax/baseline.cu").read_text()
FROBENIUS = (PACKAGE / "suites/kernels91/normalisation_reduction/frobenius_norm/baseline.cu").read_text()
SCAN = (PACKAGE / "suites/kernels91/cumulative/cumsum/baseline.cu").read_text()
PRODUCT = (PACKAGE / "suites/kernels91/matmul/square/baseline.cu").read_text()


def request(number: int = 1, source: str = SOFTMAX, under_way: int = 0) -> Request:
    return Request(
        *("run", number, "", "", "prompt", 0, 3),
        parents=(source,),
        baseline=source,
        under_way=tuple(Asked(each, 0, (source,), ()) for each in range(1, under_way + 1)),
    )


def changes(rewrite: Rewrite, source: str) -> Iterator[Change]:
    return rewrite.changes(source, Task(), Random(0))


def test_the_same_request_gives_the_same_text() -> None:
    assert Rewriter().propose(request(4)) == Rewriter().propose(request(4))


@pytest.mark.parametrize("source", [SOFTMAX, PRODUCT], ids=["softmax", "product"])
def test_proposals_that_are_under_way_together_differ(source: str) -> None:
    replies = [Rewriter().propose(request(n, source, n - 1)) for n in range(1, 13)]
    sources = [parse_reply(reply.text).code for reply in replies]
    assert len({Kernel(source).id for source in sources}) == len(sources)
    assert all("PYBIND11_MODULE" in each and each.strip() != source.strip() for each in sources)


def test_what_was_tried_is_not_proposed_again() -> None:
    tried: list[Tried] = []
    for number in range(1, 16):
        asked = Request(
            *("run", number, "", "", "prompt", 0, 3),
            parents=(PRODUCT,),
            baseline=PRODUCT,
            after=number - 1,
            tried=tuple(tried),
        )
        parsed = parse_reply(Rewriter().propose(asked).text)
        assert Kernel(parsed.code).id not in {Kernel(each.source).id for each in tried}
        tried.append(Tried(parsed.code, parsed.name, 1.0))


def test_it_does_not_matter_how_much_is_settled_when_a_call_is_made_again() -> None:
    first = request(3, PRODUCT, under_way=2)
    sources = [parse_reply(Rewriter().propose(request(n, PRODUCT, n - 1)).text).code for n in (1, 2)]
    later = Request(
        *("run", 3, "", "", "prompt", 0, 3),
        parents=(PRODUCT,),
        baseline=PRODUCT,
        after=0,
        tried=tuple(Tried(source, "tile: …", 2.0) for source in sources),
    )
    assert Rewriter().propose(first) == Rewriter().propose(later)


def test_a_reply_says_what_was_done_and_why() -> None:
    parsed = parse_reply(Rewriter([BlockSize()]).propose(request()).text)
    assert parsed.name.startswith("block size: block of")
    assert "block size" in parsed.thought


def test_nothing_to_start_from_or_to_change_is_fatal() -> None:
    for source in ("", "int main() {}"):
        with pytest.raises(ProposerError) as error:
            Rewriter().propose(request(source=source))
        assert error.value.fatal


def test_a_rewrite_that_pays_is_chosen_more_often_than_one_that_breaks_kernels() -> None:
    rewrites = [BlockSize(), Unroll()]
    tried = [Tried("", "block size: …", 1.5)] * 8 + [Tried("", "unroll: …", None)] * 8
    first = [ranked(rewrites, tried, (), Random(seed))[0].name for seed in range(50)]
    assert first.count("block size") > 45


def test_a_rewrite_that_treats_the_bottleneck_comes_first() -> None:
    rewrites = [Restrict(), FastMath()]
    first = [ranked(rewrites, (), ("sfu_bound",), Random(seed))[0].name for seed in range(50)]
    assert first.count("fast math") > 30


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.name)
def test_every_rewrite_applies_to_something(rewrite: Rewrite) -> None:
    texts = [SOFTMAX, ROWS, PRODUCT, SCAN, FROBENIUS, next(changes(Tiling(), PRODUCT)).source]
    texts += [each.source for each in (SHARED[0], SCANS[0])]
    texts += [plain(each.source) for each in UNSEEN if "atomic" in each.name]
    texts += [plain(each.source) for each in FRESH if "chain" in each.name]
    task = Task(("x: float32 tensor [64, 8192]",))
    assert any(
        change.source not in texts for text in texts for change in rewrite.changes(text, task, Random(0))
    )


def test_a_thread_per_row_becomes_a_warp_per_row() -> None:
    warps, blocks = changes(WarpPerRow(), ROWS)
    text = warps.source
    assert "row = (static_cast<int64_t>(blockIdx.x) * SOFTMAX_ROWS_THREADS + threadIdx.x) / 32;" in text
    assert text.count("column = lane_of_row; column < columns; column += 32") == 3
    assert "largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step))" in text
    assert "sum = sum + __shfl_xor_sync(0xffffffffu, sum, step)" in text
    assert "* 32 + SOFTMAX_ROWS_THREADS - 1) / SOFTMAX_ROWS_THREADS, SOFTMAX_ROWS_THREADS>>>" in text
    assert "sum = softmax_rows_sum(sum);" in blocks.source
    assert list(changes(WarpPerRow(), text)) == [], "once is enough"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("++column) sum", "column += 2) sum"),  # another walk
        ("sum += expf(x[column] - largest)", "if (sum > 0) sum += x[column]"),
        ("sum += expf(x[column] - largest)", "sum = sum * 0.5f + x[column]"),
        ("y[column] = ", "y[0] = "),
        ("float sum = 0.0f;", "float sum = threadIdx.x;"),
        ("float sum = 0.0f;", "__syncthreads(); float sum = 0.0f;"),
        ("softmax<<<", "launch("),
    ],
)
def test_what_is_not_understood_is_left_alone(old: str, new: str) -> None:
    assert old in ROWS
    assert list(changes(WarpPerRow(), ROWS.replace(old, new))) == []


def test_a_store_behind_the_loops_is_one_lanes_business() -> None:
    text = ROWS.replace("float sum = 0.0f;", "y[0] = largest;\n    float sum = 0.0f;")
    change = next(changes(WarpPerRow(), text))
    assert "if (lane_of_row == 0) y[0] = largest;" in change.source


@given(st.text(alphabet="forint(){}<>=;+*/,.[] \n#_x12THREADS", max_size=200))
def test_rewrites_take_any_text(text: str) -> None:
    for rewrite in REWRITES:
        assert all(isinstance(change, Change) for change in changes(rewrite, text))


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("#define BLOCK_SIZE 256\n", "#define BLOCK_SIZE 128\n"),
        ("const int threads = 256;", "const int threads = 128;"),
        ("dim3 block(256);", "dim3 block(128);"),
        ("run<<<grid, 256, 0, stream>>>(x);", "run<<<grid, 128, 0, stream>>>(x);"),
    ],
)
def test_block_sizes_are_found(text: str, changed: str) -> None:
    assert changed in [change.source for change in changes(BlockSize(), text)]


def test_a_block_size_that_the_grid_repeats_is_left_alone() -> None:
    assert list(changes(BlockSize(), "run<<<(n + 255) / 256, 256>>>(x);")) == []


def test_loops_that_are_unrolled_whole_or_scaled_are_not_unrolled_by_factors() -> None:
    for loop in ("#pragma unroll\n    for (int k = 0; k < 8; ++k)", "for (int k = 128; k > 0; k /= 2)"):
        assert not list(changes(Unroll(), f"__global__ void run(float* y) {{\n    {loop} y[k] = 0;\n}}\n"))


def test_unrolling_replaces_an_earlier_factor() -> None:
    text = "__global__ void f(float* x) { float a = 0; for (int i = 0; i < n; ++i) a += x[i]; }\nvoid g() { HOST }"
    once = next(changes(Unroll(), text.replace("HOST", "for (int i = 0; i < 9; ++i) f();"))).source
    again = [change.source for change in changes(Unroll(), once)]
    assert again, "wherever the loop stands in its line"
    assert all(text.count("#pragma unroll") == 1 for text in again), "loops of the host are left alone"


def test_what_was_tried_by_itself_is_combined_before_anything_is_repeated() -> None:
    text = "__global__ void f(float* x, int n) { for (int i = 0; i < n; ++i) x[i] = expf(x[i]); }"
    rewrites = [Restrict(), FastMath()]
    single = [next(changes(rewrite, text)).source for rewrite in rewrites]
    asked = Request(
        *("run", 3, "", "", "prompt", 0, 3),
        parents=(text,),
        baseline=text,
        after=2,
        tried=tuple(Tried(source, "…", 1.0) for source in single),
    )
    code = parse_reply(Rewriter(rewrites).propose(asked).text).code
    assert "__restrict__" in code
    assert "__expf" in code


def test_a_block_has_another_shape_only_where_threads_share_nothing() -> None:
    found = [change.source for change in changes(BlockShape(), PRODUCT)]
    assert any("BLOCK_X = 32;" in text and "BLOCK_Y = 8;" in text for text in found)
    for old, new in (
        ("float sum = 0.0f;", "float sum = threadIdx.x;"),
        ("float sum = 0.0f;", "__shared__ float s[9]; float sum = 0.0f;"),
        ("if (row >= n || column >= n) return;", "if (row >= n) return;"),
        ("blockIdx.x * blockDim.x", "blockIdx.x * 16"),
    ):
        assert old in PRODUCT
        assert not list(changes(BlockShape(), PRODUCT.replace(old, new)))


def test_restrict_touches_the_heads_of_kernels_only() -> None:
    text = "__global__ void f(const float* x, float *y, int n) { float* z = y; }"
    changed = next(changes(Restrict(), text)).source
    assert (
        changed
        == "__global__ void f(const float* __restrict__ x, float * __restrict__ y, int n) { float* z = y; }"
    )
    assert next(changes(Restrict(), changed)).source == changed


def test_fast_math_leaves_other_names_alone() -> None:
    text = "y = expf(x) + std::exp(x) + my_exp(x) + logf(x);"
    assert next(changes(FastMath(), text)).source == "y = __expf(x) + std::exp(x) + my_exp(x) + __logf(x);"


def test_only_quotients_of_floats_become_products() -> None:
    text = "int n = a / b; float sum = 0; y = x / sum;"
    assert [change.source for change in changes(Reciprocal(), text)] == [
        text.replace("/ sum", "* (1.0f / sum)")
    ]


def test_a_tree_reduction_gets_a_shuffle_tail() -> None:
    changed = next(changes(ShuffleTail(), SOFTMAX)).source
    assert changed.count("__shfl_xor_sync") == 2
    assert changed.count("half > 0; half /= 2") == 2, "only within the warp"


def test_a_kernel_begins_where_an_earlier_one_ended() -> None:
    found = list(changes(GroupedLaunch(), FROBENIUS))
    assert {change.what.split()[0] for change in found} == {"divide"}, "a single block has no groups"
    assert all("(blockIdx.x + first_block)" in change.source for change in found)
    alone = FROBENIUS.replace("partial_squares<<<", "//").replace("norm_of<<<", "//")
    assert not list(changes(GroupedLaunch(), alone)), "nobody has read its input before"
