"""What the rewriter learnt from kernels that were written after it: they are read, and what is first proposed is valid
and faster."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from evoengineer.propose.protocol import Exhausted, Request, Tried
from evoengineer.propose.rewriter import Rewriter
from evoengineer.propose.rewriter.block_shape import BlockShape
from evoengineer.propose.rewriter.block_size import BlockSize
from evoengineer.propose.rewriter.change import Change, Rewrite, Task
from evoengineer.propose.rewriter.collected import Collected
from evoengineer.propose.rewriter.fusing import Fusing
from evoengineer.propose.rewriter.keep_row import KeepRow
from evoengineer.propose.rewriter.restrict import Restrict
from evoengineer.propose.rewriter.shared_sum import SharedSum
from evoengineer.propose.rewriter.short_rows import ShortRows
from evoengineer.propose.rewriter.tiling import Tiling
from evoengineer.propose.syntax.covering import fixed
from evoengineer.propose.syntax.kernels import kernels
from evoengineer.propose.syntax.knobs import knobs
from evoengineer.propose.syntax.nest import nest_of
from evoengineer.propose.syntax.plain import plain
from evoengineer.propose.syntax.spreading import spread
from evoengineer.propose.syntax.unreducing import unreduced

pytest.importorskip("torch")

from tests.propose.corpus import Specimen
from tests.propose.fresh import FRESH
from tests.propose.unseen import drawn

FOUND = {each.name: each for each in FRESH}
SQUARE = ("a: float32 tensor [512, 512]", "b: float32 tensor [512, 512]")
ROWS = ("x: float32 tensor [1024, 4096]", "g: float32 tensor [4096]", "b: float32 tensor [4096]")


def changes(
    rewrite: Rewrite, specimen: Specimen, arguments: tuple[str, ...] = (), source: str = ""
) -> list[Change]:
    return list(rewrite.changes(plain(source or specimen.source), Task(arguments, 128), Random(0)))


@pytest.mark.parametrize(
    ("name", "rewrite", "arguments", "least"),
    [
        ("permute_0213", Tiling(), ("x: float32 tensor [4, 512, 8, 64]",), 2),
        ("linear_accessor", Tiling(), SQUARE, 6),
        ("triplet_loss_atomic", SharedSum(), ("a: float32 tensor [4096, 512]",) * 3, 3),
        ("swish_chain", Fusing(), ("x: float32 tensor [1024, 2048]", "b: float32 tensor [2048]"), 1.8),
        ("bilinear_upsample", Tiling(), ("x: float32 tensor [2, 16, 64, 64]",), 1.3),
        ("mse_doubling", Collected(), ("a: float32 tensor [1024, 1024]",) * 2, 1.1),
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


def test_sums_in_one_pass_keep_their_digits_where_the_first_element_is_far_from_the_others() -> None:
    found = changes(ShortRows(), FOUND["layer_norm_dynamic"], ROWS)
    change = next(each for each in found if "one pass" in each.what)
    verdict = FOUND["layer_norm_dynamic"].judged(change.source)
    assert verdict.outcome == "valid", f"{change.what}: {verdict.evidence}"


def test_rows_that_have_a_pointer_of_their_own_are_kept() -> None:
    found = changes(KeepRow(), FOUND["layer_norm_dynamic"], ROWS)
    assert any("kept_0[k] = x[" in "".join(each.source.splitlines()) for each in found)


def test_what_a_later_kernel_needs_only_is_computed_there() -> None:
    found = changes(Fusing(), FOUND["batch_norm_relu_pool"])[0].source
    assert found.count("<<<") == 1
    verdict = FOUND["batch_norm_relu_pool"].judged(found)
    assert verdict.outcome == "valid", verdict.evidence


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return y;", "return t;"),  # somebody else needs it
        ("auto t = torch::empty_like(x);", "auto t = x;"),  # it is not made for this
        ("t[idx] = x[idx]", "t[idx / 2] = x[idx]"),  # not one element for each output
        ("y[idx] = t[idx]", "t[idx] += 1; y[idx] = t[idx]"),  # changed later
        ("auto y =", "x = x + 1; auto y ="),  # the host does something in between
    ],
)
def test_a_tensor_that_others_have_to_do_with_is_kept(old: str, new: str) -> None:
    specimen = FOUND["swish_chain"]
    source = specimen.source.replace(old, new)
    assert source != specimen.source
    if "x + 1" in new:
        moved = source.replace("  x = x + 1;", "").replace("  sigmoid_k<<<", "  x = x + 1;\n  sigmoid_k<<<")
        source = moved.replace("x = x + 1; ", "")
    assert all(
        "t," not in f"{each.what},".split(" computed")[0] + ","
        for each in changes(Fusing(), specimen, source=source)
    )


def test_what_is_written_in_between_is_not_read_later() -> None:
    """The second kernel changes what the first one has read."""
    specimen = FOUND["swish_chain"]
    source = specimen.source.replace("s.data_ptr<float>(), t", "x.data_ptr<float>(), t").replace(
        "auto s = torch::empty_like(x);", "auto s = x;"
    )
    assert "t computed where needed" not in [each.what for each in changes(Fusing(), specimen, source=source)]


IN_PLACE = """__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && col < n) {
    float s = 0.f;
    for (int i = 0; i < k; ++i) s += a[row * k + i] * b[i * n + col];
    c[row * n + col] = s;
  }
}
__global__ void leaky(float* c, const float* bias, int total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < total) {
    float v = c[i] * 0.5f + bias[i % n];
    c[i] = v > 0.f ? v : 0.1f * v;
  }
}
"""
IN_PLACE_HOST = """torch::Tensor forward(torch::Tensor a, torch::Tensor b, torch::Tensor bias) {
  int m = a.size(0), k = a.size(1), n = b.size(1);
  auto c = torch::empty({m, n}, a.options());
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  product<<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, k);
  int total = m * n;
  leaky<<<(total + 255) / 256, 256>>>(c.data_ptr<float>(), bias.data_ptr<float>(), total, n);
  return c;
}"""
CHANGED_IN_PLACE = Specimen(
    "changed_in_place",
    IN_PLACE,
    IN_PLACE_HOST,
    "a, b, bias: torch.nn.functional.leaky_relu((a @ b) * 0.5 + bias, 0.1)",
    drawn(a="case.n, 8", b="8, case.n", bias="case.n"),
    (1, 5, 33),
    64,
)


def test_a_kernel_that_changes_a_tensor_in_place_becomes_a_part_of_the_one_before() -> None:
    found = changes(Fusing(), CHANGED_IN_PLACE)[0].source
    assert "product_then_leaky<<<" in found
    verdict = CHANGED_IN_PLACE.judged(found)
    assert verdict.outcome == "valid", verdict.evidence


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("c[i] * 0.5f", "c[i ^ 1] * 0.5f"),  # another output's element
        ("c[row * n + col] = s;", "c[col * m + row] = s;"),  # numbered otherwise
        ("  int total = m * n;", "  a = a + 1;\n  int total = m * n;"),  # something in between
        ("c[row * n + col] = s;", "c[row * n + col] += s;"),
    ],
)
def test_a_kernel_that_does_more_than_that_stays(old: str, new: str) -> None:
    source = CHANGED_IN_PLACE.source.replace(old, new)
    assert source != CHANGED_IN_PLACE.source
    assert not changes(Fusing(), CHANGED_IN_PLACE, source=source)


def test_fusing_comes_first() -> None:
    source = FOUND["swish_chain"].source
    for seed in range(4):
        request = Request("run", 1, "", "", "p", 0, seed, (source,), source, device="sim:rtx4090")
        assert "fuse:" in Rewriter().propose(request).text


def test_rewrites_that_start_afresh_start_from_what_fusing_has_made() -> None:
    specimen = FOUND["swish_chain"]
    fused = changes(Fusing(), specimen)[0].source
    tried = (Tried(fused, "fuse: t, s computed where needed", 2.0),)
    request = Request(
        "run", 2, "", "", "p", 0, 0, (fused,), specimen.source, device="sim:rtx4090", after=1, tried=tried
    )
    reply = Rewriter([Tiling()]).propose(request)
    assert "mul_k_tiled" in reply.text
    assert "sigmoid_k<<<" not in reply.text


def test_a_rewriter_with_nothing_left_says_so() -> None:
    """It proposed known texts instead, twenty-five in a row."""
    source = FOUND["gemv_tree"].source
    tried = tuple(
        Tried(each.source, f"restrict: {each.what}", 1.0) for each in changes(Restrict(), FOUND["gemv_tree"])
    )
    request = Request("run", 2, "", "", "p", 0, 0, (source,), source, after=len(tried), tried=tried)
    with pytest.raises(Exhausted):
        Rewriter([Restrict()]).propose(request)


def test_a_rewriter_whose_texts_are_all_known_machine_code_ends() -> None:
    source = FOUND["swish_chain"].source
    tried = tuple(Tried(f"{source}// {number}", "tile: again", None, charged=False) for number in range(5))
    request = Request("run", 6, "", "", "p", 0, 0, (source,), source, after=5, tried=tried)
    with pytest.raises(Exhausted):
        Rewriter().propose(request)
    Rewriter().propose(replace(request, tried=tried[:4], after=4, number=5))


def test_blocks_that_are_numbered_along_an_axis_keep_their_number() -> None:
    """`channel = blockIdx.y` beside an index of threads: three of four channels were left out."""
    for change in changes(BlockShape(), FOUND["avg_pool1d_strided"]):
        assert "BLOCK_Y = 1;" in change.source, change.what


def test_threads_with_arrays_stay_in_blocks_that_can_start() -> None:
    """With 1024 threads of 96 registers the launch fails."""
    specimen = FOUND["swish_chain"]
    arrays = specimen.source.replace("if (idx < n) y[idx]", "float own[4] = {0}; if (idx < n) y[idx]")
    found = [each.what for each in changes(BlockShape(), specimen, source=arrays)]
    assert [each for each in found if each.startswith("mul_k in blocks of 256")]
    assert not [
        each for each in found if each.startswith(("mul_k in blocks of 512", "mul_k in blocks of 1024"))
    ]


def test_a_block_whose_grid_was_made_for_it_keeps_its_size() -> None:
    specimen = FOUND["log_softmax_block"]
    assert "128" in fixed(plain(specimen.source))
    assert not changes(BlockSize(), specimen)
    named = specimen.source.replace("(rows + 3) / 4, 128>>>", "(rows + 3) / 4, threads>>>").replace(
        "auto out", "const int threads = 128;\n  auto out"
    )
    assert not [each for each in knobs(plain(named)) if each.name == "threads"]
    counted = specimen.source.replace("blockIdx.x * (blockDim.x / 32)", "blockIdx.x * 4")
    assert "128" in fixed(plain(counted))
    followed = named.replace("(rows + 3) / 4", "(rows + threads / 32 - 1) / (threads / 32)")
    assert [each for each in knobs(plain(followed)) if each.name == "threads"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("c[i * 8 + j] = sum;", "c[i * 8 + j / 2] = sum;"),  # two iterations store at one place
        ("c[i * 8 + j] = sum;", "c[i * 8] = sum;"),
        ("float sum = 0;", "float sum = c[0];"),  # reads what another one stores
    ],
)
def test_a_loop_whose_iterations_are_not_apart_is_no_dimension(old: str, new: str) -> None:
    source = plain(FOUND["batched_small"].source)
    (kernel,) = kernels(source)
    assert len(spread(nest_of(source, kernel)).dims) == 3
    changed = plain(FOUND["batched_small"].source.replace(old, new))
    (kernel,) = kernels(changed)
    dims = spread(nest_of(changed, kernel)).dims
    assert len(dims) < 3 or not changes(Tiling(), FOUND["batched_small"], source=changed)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tid % (2 * s) == 0", "tid % (2 * s) == 1"),
        ("sdata[tid] += sdata[tid + s]", "sdata[tid] += sdata[tid + 1]"),
        ("sdata[0] / n", "sqrtf(sdata[0])"),  # not the sum of what the parts would give
        ("if (tid == 0) atomicAdd", "if (tid == 1) atomicAdd"),
    ],
)
def test_a_tree_that_is_no_sum_stays(old: str, new: str) -> None:
    source = FOUND["mse_doubling"].source
    assert unreduced(plain(source)) != plain(source)
    changed = plain(source.replace(old, new))
    assert unreduced(changed) == changed


def test_a_window_that_is_cut_at_borders_is_one_that_skips() -> None:
    found = "".join(plain(FOUND["max_pool"].source).split())
    assert "for(inth_of_window=0;h_of_window<kernel;++h_of_window){" in found
    assert "if(h<0||h>=height)continue;" in found
    other = FOUND["max_pool"].source.replace(
        "min(hstart + kernel, height)", "min(hstart * 2 + kernel, height)"
    )
    assert "h_of_window" not in plain(other)
