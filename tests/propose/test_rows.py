"""Rewrites of rows: on copies with other names, layout and macros, judged; and what is left alone, with its reason."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

import evoengineer
from evoengineer.problem.model import Case
from evoengineer.propose.rewriter.change import Rewrite, Task
from evoengineer.propose.rewriter.keep_row import KeepRow
from evoengineer.propose.rewriter.one_pass import in_one_pass
from evoengineer.propose.rewriter.row_split import RowSplit, split
from evoengineer.propose.rewriter.shuffle_scan import ShuffleScan
from evoengineer.propose.rewriter.shuffle_tail import ShuffleTail
from evoengineer.propose.syntax.kernels import kernels
from evoengineer.propose.syntax.knobs import allowed
from evoengineer.propose.syntax.reductions import block_reductions
from evoengineer.propose.syntax.rows import Rows, rows_of
from evoengineer.propose.syntax.tree import NotUnderstood, parse, walk

pytest.importorskip("torch")

from tests.propose.corpus import TAIL, Specimen

SUITE = Path(evoengineer.__file__).parent / "suites/kernels91"
NORMS = SUITE / "normalisation_reduction"


def baseline(name: str) -> str:
    return next(SUITE.glob(f"*/{name}/baseline.cu")).read_text()


def rows(source: str) -> Rows:
    return rows_of(source, kernels(source)[0])


def kinds(source: str) -> str:
    return " ".join(type(item).__name__ for item in rows(source).items if type(item).__name__ != "Plain")


# A normalisation as somebody else would write it: shuffles, macros, a thread's number with a name.
DISGUISED = """
#define NT 64
#define FULL 0xffffffffu
#define SQ(v) ((v) * (v))

__device__ inline float everybody(float v) {
    __shared__ float s[NT / 32];
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(FULL, v, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < NT / 32 ? s[threadIdx.x] : 0.f;
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(FULL, v, o);
    __syncthreads();
    if (threadIdx.x == 0) s[0] = v;
    __syncthreads();
    return s[0];
}

__global__ void nrm(const float *in, float *out, float *mu, int w) {
    const int me = threadIdx.x;
    const float *row = in + (int64_t)blockIdx.x * w;
    float *to = out + (int64_t)blockIdx.x * w;
    float acc = 0.f;
    for (int c = me; c < w; c += NT)
        acc = row[c] + acc;
    const float m = everybody(acc) / w;
    float dev = 0.f;
    for (int c = me; c < w; c += NT) { DEVIATION }
    const float inv = rsqrtf(everybody(dev) / w + 1e-5f);
    for (int c = me; c < w; c += NT) to[c] = (row[c] - m) * inv;
    if (me == 0) mu[blockIdx.x] = m;
}
"""
HOST = """
torch::Tensor forward(torch::Tensor a) {
    a = a.contiguous();
    auto c = torch::empty_like(a);
    auto mean = torch::empty({a.size(0)}, a.options());
    nrm<<<a.size(0), NT>>>(a.data_ptr<float>(), c.data_ptr<float>(), mean.data_ptr<float>(), a.size(1));
    return c;
}
"""


def three_rows(case: Case, generator: Any) -> dict[str, Any]:
    return {"a": generator.values(3, case.n)}


def disguised(deviation: str) -> Specimen:
    return Specimen(
        "disguised_norm",
        DISGUISED.replace("DEVIATION", deviation),
        HOST,
        "a: torch.nn.functional.layer_norm(a, a.shape[1:], eps=1e-5)",
        three_rows,
        (1, 7, 200, 1000),
        5000,
    )


PLAIN = "float d = row[c] - m; dev += d * d;"
MACRO = "dev += SQ(row[c] - m);"


def test_a_disguised_row_is_split_over_blocks_and_right() -> None:
    specimen = disguised(PLAIN)
    text = split(specimen.source, in_one_pass(rows(specimen.source)), 64, 4, 2)
    assert text.count("__global__") == 1 + 2, "the original stays"
    verdict = specimen.judged(text)
    assert verdict.outcome == "valid", verdict.evidence


def test_a_square_behind_a_macro_leaves_two_passes() -> None:
    found = rows(disguised(MACRO).source)
    with pytest.raises(NotUnderstood, match="no square"):
        in_one_pass(found)
    assert split(disguised(MACRO).source, found, 64, 4, 2).count("__global__") == 1 + 3


def test_a_disguised_row_is_kept_in_registers_and_right() -> None:
    specimen = disguised(PLAIN)
    text = specimen.source.replace("const float *row = in +", "in +=").replace("row[c]", "in[c]")
    change = next(KeepRow().changes(text, Task(("a: float32 tensor [3, 200]",)), Random(0)))
    assert "sums in one pass" in change.what
    verdict = specimen.judged(change.source)
    assert verdict.outcome == "valid", verdict.evidence


@pytest.mark.parametrize("name", ["batch_norm", "group_norm", "layer_norm", "instance_norm"])
def test_mean_and_variance_take_one_pass(name: str) -> None:
    assert kinds(baseline(name)) == "Walk Whole Walk Whole Walk"
    fused = in_one_pass(rows(baseline(name)))
    assert sum(type(item).__name__ == "Walk" for item in fused.items) == 2


@pytest.mark.parametrize(
    ("name", "rewrite", "arguments"),
    [
        ("batch_norm", RowSplit(), "[16, 64, 128, 128]"),
        ("softmax", RowSplit(), "[64, 65536]"),
        ("cross_entropy", RowSplit(), "[64, 65536]"),
        ("softmax", KeepRow(), "[4096, 4096]"),
        ("softmax_fp16", KeepRow(), "[8192, 2048]"),
        ("rms_norm", KeepRow(), "[16, 64, 128, 128]"),
        ("reverse_cumsum", ShuffleScan(), "[4096, 4096]"),
        ("cumprod", ShuffleScan(), "[4096, 4096]"),
    ],
)
def test_copies_with_other_names_and_layout_are_rewritten_alike(
    name: str, rewrite: Rewrite, arguments: str
) -> None:
    source = baseline(name)
    copy = source
    for old in (
        "scratch",
        "thread\\b",
        "columns",
        "channel\\b",
        "sum\\b",
        "largest",
        "half",
        "scan\\b",
        "plane",
    ):
        copy = re.sub(rf"\b{old}", f"q_{old.strip(chr(92) + 'b')}9", copy)
    copy = copy.replace("constexpr int THREADS = 256;", "#define THREADS (256)").replace("(256)", "256")
    copy = copy.replace(" = ", " =\n        ").replace("/= 2", ">>= 1").replace("++", " ++ ")
    task = Task((f"x: float32 tensor {arguments}",))
    before, after = (list(rewrite.changes(text, task, Random(0))) for text in (source, copy))
    assert len(before) == len(after) > 0
    for change in after:
        assert not any(node.type == "ERROR" for node in walk(parse(change.source).root_node))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("float sum = 0.0f;", "float sum = 1.0f;", "does not start with zero"),
        ("sum += x[i];", "sum += x[i] * sum;", "in a walk"),
        ("sum += x[i];", "{ if (x[i] > 9) break; sum += x[i]; }", "break statement"),
        ("sum += x[i];", "sum += x[i] + threadIdx.x;", "knows its thread"),
        ("sum += x[i];", "{ sum += x[i]; y[i] = y[0]; }", "read at another place"),
        ("float squares = 0.0f;", "float squares = 0.0f + sum * 0;", "sum differs between threads"),
        ("float mean = block_sum(sum) / plane;", "float mean = sum / plane;", "differs between threads"),
        ("scratch[0];", "scratch[0] / THREADS;", "differs between threads"),
        ("<<<planes, THREADS>>>", "<<<dim3(planes, 2), THREADS>>>", "more than one axis"),
    ],
)
def test_what_is_not_understood_is_left_alone_with_the_reason(old: str, new: str, reason: str) -> None:
    source = baseline("instance_norm")
    assert old in source
    with pytest.raises(NotUnderstood, match=reason):
        rows(source.replace(old, new, 1))


def test_a_load_that_not_every_round_makes_is_not_kept() -> None:
    source = baseline("rms_norm").replace("squares += value * value;", "if (value > 0) continue;")
    task = Task(("x: float32 tensor [16, 64, 128, 128]",))
    assert list(KeepRow().changes(baseline("rms_norm"), task, Random(0)))
    assert not list(KeepRow().changes(source, task, Random(0)))


def test_functions_that_reduce_over_a_block_are_known_by_what_they_do() -> None:
    assert block_reductions(DISGUISED) == {"everybody": "+"}
    assert block_reductions(DISGUISED.replace("return s[0];", "return s[0] / NT;")) == {}
    assert block_reductions(DISGUISED.replace("__shfl_down_sync", "__shfl_up_sync")) == {}
    assert block_reductions(baseline("cross_entropy")) == {"block_max": "fmaxf", "block_sum": "+"}


def test_knobs_keep_to_what_the_text_asserts() -> None:
    text = split(baseline("layer_norm"), rows(baseline("layer_norm")), 64, 4, 2)
    assert allowed(text, {"LAYER_NORM_SPLIT_THREADS": 32})
    assert not allowed(text, {"LAYER_NORM_SPLIT_THREADS": 16})
    tail = next(ShuffleTail().changes(baseline("softmax"), Task(), Random(0))).source
    assert allowed(tail, {"THREADS": 32})
    assert not allowed(tail, {"THREADS": 16})


def test_short_rows_are_not_split() -> None:
    task = Task(("x: float32 tensor [65536, 512]",))
    assert not list(RowSplit().changes(baseline("softmax"), task, Random(0)))


SCAN = Specimen(
    "scan",
    baseline("cumsum").partition("constexpr")[2].partition("torch::Tensor")[0].join(("constexpr", "")),
    """torch::Tensor forward(torch::Tensor a) {
    a = a.contiguous();
    auto c = torch::empty_like(a);
    cumsum<<<a.size(0), THREADS>>>(a.data_ptr<float>(), c.data_ptr<float>(), a.size(1));
    return c;
}
""",
    "a: a.cumsum(1)",
    three_rows,
    (1, 40, 300),
    1000,
)


def test_a_scan_by_shuffles_is_right() -> None:
    (change,) = ShuffleScan().changes(SCAN.source, Task(), Random(0))
    assert TAIL in change.source
    verdict = SCAN.judged(change.source)
    assert verdict.outcome == "valid", verdict.evidence
