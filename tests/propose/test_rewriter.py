"""The rewriter: deterministic, a change every time, and rules that keep off what they do not understand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evoengineer
from evoengineer.propose.parse import parse_reply
from evoengineer.propose.protocol import ProposerError, Request
from evoengineer.propose.rewriter import Change, Rewriter
from evoengineer.propose.rules import (
    RULES,
    BlockSize,
    FastMath,
    Reciprocal,
    Restrict,
    ShuffleTail,
    Unroll,
    WarpPerRow,
)

ROWS = (Path(__file__).parents[2] / "examples" / "softmax_thread_per_row.cu").read_text()
SOFTMAX = (Path(evoengineer.__file__).parent / "suites/starter/softmax/baseline.cu").read_text()


def request(number: int = 1, source: str = SOFTMAX) -> Request:
    return Request("run", number, "", "", "prompt", 0, 3, parents=(source,))


def test_the_same_request_gives_the_same_text() -> None:
    assert Rewriter().propose(request(4)) == Rewriter().propose(request(4))


def test_proposals_differ_and_are_kernels() -> None:
    sources = {parse_reply(Rewriter().propose(request(number)).text).code for number in range(40)}
    assert len(sources) > 15
    assert all("PYBIND11_MODULE" in source and source.strip() != SOFTMAX.strip() for source in sources)


def test_a_reply_says_what_was_done_and_why() -> None:
    parsed = parse_reply(Rewriter([BlockSize()]).propose(request()).text)
    assert parsed.name.startswith("block of")
    assert "block size" in parsed.thought


def test_nothing_to_start_from_or_to_change_is_fatal() -> None:
    for source in ("", "int main() {}"):
        with pytest.raises(ProposerError) as error:
            Rewriter().propose(request(source=source))
        assert error.value.fatal


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_applies_to_a_softmax(rule: object) -> None:
    texts = (SOFTMAX, ROWS)
    assert any(change.source not in texts for text in texts for change in rule.changes(text))  # type: ignore[attr-defined]


def test_a_thread_per_row_becomes_a_warp_per_row() -> None:
    (change,) = WarpPerRow().changes(ROWS)
    text = change.source
    assert "row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;" in text
    assert text.count("column = lane_of_row; column < columns; column += 32") == 3
    assert "largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step))" in text
    assert "sum = sum + __shfl_xor_sync(0xffffffffu, sum, step)" in text
    assert "<<<((rows + threads - 1) / threads) * 32, threads>>>" in text
    assert list(WarpPerRow().changes(text)) == [], "once is enough"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("float sum = 0.0f", "float sum = 1.0f"),  # it would be counted 32 times
        ("++column) sum", "column += 2) sum"),  # another walk
        ("sum += expf(x[column] - largest)", "if (x[column] > 0) sum += x[column]"),
        ("float sum = 0.0f;", "float sum = threadIdx.x;"),
        ("float sum = 0.0f;", "__syncthreads(); float sum = 0.0f;"),
        ("softmax<<<", "launch("),
    ],
)
def test_what_is_not_understood_is_left_alone(old: str, new: str) -> None:
    assert old in ROWS
    assert list(WarpPerRow().changes(ROWS.replace(old, new))) == []


def test_a_store_behind_the_loops_is_one_lanes_business() -> None:
    text = ROWS.replace("float sum = 0.0f;", "y[0] = largest;\n    float sum = 0.0f;")
    (change,) = WarpPerRow().changes(text)
    assert "if (lane_of_row == 0) y[0] = largest;" in change.source


@given(st.text(alphabet="forint(){}<>=;+*/,.[] \n#_x12THREADS", max_size=200))
def test_rules_take_any_text(text: str) -> None:
    for rule in RULES:
        assert all(isinstance(change, Change) for change in rule.changes(text))


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("#define BLOCK_SIZE 256\n", "#define BLOCK_SIZE 128\n"),
        ("const int threads = 256;", "const int threads = 128;"),
        ("dim3 block(256);", "dim3 block(128);"),
        ("run<<<n / 256, 256>>>(x);", "run<<<n / 256, 128>>>(x);"),
        ("run<<<grid, 256, 0, stream>>>(x);", "run<<<grid, 128, 0, stream>>>(x);"),
    ],
)
def test_block_sizes_are_found(text: str, changed: str) -> None:
    assert changed in [change.source for change in BlockSize().changes(text)]


def test_unrolling_replaces_an_earlier_factor() -> None:
    once = next(iter(Unroll().changes("    for (int i = 0; i < n; ++i) a += x[i];\n"))).source
    again = [change.source for change in Unroll().changes(once)]
    assert all(text.count("#pragma unroll") == 1 for text in again)


def test_restrict_touches_the_heads_of_kernels_only() -> None:
    text = "__global__ void f(const float* x, float *y, int n) { float* z = y; }"
    changed = next(iter(Restrict().changes(text))).source
    assert (
        changed
        == "__global__ void f(const float* __restrict__ x, float * __restrict__ y, int n) { float* z = y; }"
    )
    assert next(iter(Restrict().changes(changed))).source == changed


def test_fast_math_leaves_other_names_alone() -> None:
    text = "y = expf(x) + std::exp(x) + my_exp(x) + logf(x);"
    assert (
        next(iter(FastMath().changes(text))).source == "y = __expf(x) + std::exp(x) + my_exp(x) + __logf(x);"
    )


def test_only_quotients_of_floats_become_products() -> None:
    text = "int n = a / b; float sum = 0; y = x / sum;"
    assert [change.source for change in Reciprocal().changes(text)] == [
        text.replace("/ sum", "* (1.0f / sum)")
    ]


def test_a_tree_reduction_gets_a_shuffle_tail() -> None:
    changed = next(iter(ShuffleTail().changes(SOFTMAX))).source
    assert changed.count("__shfl_xor_sync") == 2
    assert changed.count("half > 0; half /= 2") == 2, "only within the warp"
