"""The lean headers at work: a build is loaded and its functions called over the C boundary, without a device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from boundary import CallError, Dtype, Runner

from evoengineer.kernel.build import Build, build_kernel

HERE = Path(__file__).parent / "extensions"


@pytest.fixture(scope="module")
def runner() -> Runner:
    build = build_kernel((HERE / "cpu.cu").read_text(), sm=89)
    assert isinstance(build, Build), build.text
    return Runner(build.library)


def numbers(count: int) -> list[float]:
    return [float(i) for i in range(count)]


def test_views_share_storage_and_keep_the_order_of_elements(runner: Runner) -> None:
    results = runner.call("views", runner.tensor("float32", (2, 3, 4), numbers(24)))
    shapes = [(each.sizes, each.strides) for each in results]
    assert shapes == [
        ((6, 4), (4, 1)),
        ((24,), (1,)),
        ((3, 8), (8, 1)),
        ((4, 2, 3), (1, 12, 4)),
        ((4, 3, 2), (1, 4, 12)),
        ((2, 4), (12, 1)),
        ((3, 4), (4, 1)),
        ((2, 3, 2), (12, 4, 2)),
        ((2, 2, 4), (12, 4, 1)),
        ((1, 2, 3, 4), (24, 12, 4, 1)),
        ((2, 3, 4), (12, 4, 1)),
        ((2, 12), (12, 1)),
        ((6, 4), (4, 1)),
        ((3, 4, 2), (8, 2, 1)),
        ((5, 2, 3, 4), (0, 12, 4, 1)),
        ((2, 12), (12, 1)),
        ((4, 3), (1, 4)),
        ((2, 2), (1, 2)),
        ((3, 4, 2), (4, 1, 12)),
        ((2, 3, 2, 2), (12, 4, 2, 1)),
    ]
    assert results[5].elements == (8, 9, 10, 11, 20, 21, 22, 23)
    assert results[7].elements[:4] == (1, 3, 5, 7)
    assert results[13].elements[:4] == (0, 12, 1, 13)
    assert results[15].elements[:6] == (0, 4, 8, 1, 5, 9)
    assert results[17].elements == (3, 5, 4, 6)


def test_indexing_gives_views(runner: Runner) -> None:
    results = runner.call("indexed", runner.tensor("float32", (2, 3, 4), numbers(24)))
    assert [(each.sizes, each.elements[:3]) for each in results] == [
        ((3, 4), (0, 1, 2)),
        ((2, 4), (4, 5, 6)),
        ((2, 3, 3), (1, 2, 3)),
        ((2, 3), (2, 6, 10)),
        ((1, 2, 4), (12, 13, 14)),
    ]


def test_factories_give_the_types_of_pytorch(runner: Runner) -> None:
    results = runner.call("factories", runner.tensor("float32", (2, 2), numbers(4)))
    assert [(each.dtype, each.sizes, each.elements) for each in results] == [
        ("float32", (2, 3), (0.0,) * 6),
        ("int32", (4,), (1,) * 4),
        ("float32", (2,), (2.5, 2.5)),
        ("float64", (2, 2), (7.0,) * 4),
        ("float32", (2, 2), (0.0,) * 4),
        ("int64", (2, 2), (1,) * 4),
        ("float32", (2, 2), (-1.0,) * 4),
        ("int64", (5,), (0, 1, 2, 3, 4)),
        ("float32", (4,), (0.0, 0.25, 0.5, 0.75)),
        ("float32", (2,), (1.5, 2.5)),
        ("int64", (3,), (1, 2, 3)),
        ("bool", (), (True,)),
        ("float32", (), (3.0,)),
        ("float32", (3,), (0.0,) * 3),
        ("float32", (2,), (4.0, 4.0)),
        ("float32", (2, 2), (2.0,) * 4),
        ("bool", (3,), (False,) * 3),
        ("int32", (2, 2), (0,) * 4),
        ("float32", (2, 2), (0.0,) * 4),
        ("float32", (2,), (4.0, 5.0)),
        ("bfloat16", (2,), (1.0, 1.0)),
        ("float16", (2,), (1.0, 1.0)),
    ]


def test_conversions_round_as_pytorch_does(runner: Runner) -> None:
    values = [0.1, -2.7, 3.9, 65520.0]
    results = runner.call("conversions", runner.tensor("float32", (2, 2), values))
    by_type = [(each.dtype, each.elements) for each in results]
    assert by_type[1] == ("int32", (0, -2, 3, 65520))
    assert by_type[2][0] == "float16"
    assert by_type[2][1][:3] == pytest.approx((0.1, -2.7, 3.9), rel=1e-3)
    assert by_type[2][1][3] == float("inf")
    assert by_type[3] == ("float32", (0.10009765625, -2.703125, 3.90625, 65536.0))
    assert by_type[4] == ("bool", (True,) * 4)
    assert by_type[5] == ("float64", (0.0, 0.0, 9.0, 9.0))
    assert by_type[6][1] == pytest.approx((0.1, 3.9, -2.7, 65520.0), rel=1e-6)
    assert by_type[8] == ("int64", (0, -2, 3, 65520))


def test_half_precision_rounds_like_numpy(runner: Runner) -> None:
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)[::7]
    between = (halves[1:] + halves[:-1]) / 2  # ties
    draws = np.random.default_rng(1).normal(size=500).astype(np.float32) * np.float32(10.0) ** np.arange(
        -9, 1
    ).repeat(50)
    values = np.concatenate([halves, between, draws, -draws, np.float32([65519, 65520, 1e-8, 2.98e-8, 3e-8])])
    values = values[: len(values) // 2 * 2].astype(np.float32)
    results = runner.call("conversions", runner.tensor("float32", (2, len(values) // 2), values.tolist()))
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    assert np.array_equal(np.array(results[2].elements, dtype=np.float16), expected)


def test_what_a_tensor_says_of_itself(runner: Runner) -> None:
    facts = runner.call("facts", runner.tensor("float32", (2, 3), numbers(6)))
    assert facts == [2, 6, 24, 4, 4, 3, 4, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, -1, 1, 1, 1, 1, 2, 2, 0]
    assert runner.call("items", runner.tensor("float32", (2, 2), (0.5, 0.0, 2.0, 4.0))) == 6.5
    assert runner.call("texts", runner.tensor("float32", (2, 3), numbers(6))) == (
        "Float cpu CPUFloatType n=6 [2, 3]"
    )
    parts = runner.call("parts", runner.tensor("float32", (2, 4), numbers(8)))
    assert [each.elements for each in parts[:3]] == [(0, 1, 4, 5), (2, 3, 6, 7), (0, 1, 2, 3)]


def test_arguments_of_every_kind_and_defaults(runner: Runner) -> None:
    assert runner.call("echo", 3) == (3, 2.0, True, "text", None)
    assert runner.call("echo", 3, 1, d="häh", c=False) == (3, 1.0, False, "häh", None)
    result = runner.call("echo", 1, e=runner.tensor("int64", (1,), (5,)))
    assert result[4].elements == (5,)
    one = runner.tensor("float32", (1,), (1.0,))
    assert runner.call("lists", [1, 2], (1.5, 2), [one], [], None) == 22109
    assert runner.call("lists", [], [], [], [], [1, 2]) == 2
    filled = runner.call(
        "with_dtype", runner.tensor("float32", (1,), (0,)), Dtype("float64"), None, "cpu:0", 4
    )
    assert (filled.dtype, filled.elements) == ("float64", (4.0, 4.0))
    assert runner.call("with_dtype", runner.tensor("float32", (1,), (0,)), Dtype("float64")).elements == (
        1,
        1,
    )
    tensors = {"a": runner.tensor("int64", (1,), (1,)), "b": runner.tensor("int64", (1,), (2,))}
    assert runner.call("mapped", tensors, 0).elements == (2,)
    assert runner.call("objects", None, [1, 2], {"key": 7}) == (2, 7, "none")
    assert runner.call("objects", 1, [1, 2], {}) == [1, 2]
    assert (runner.call("overload", 1), runner.call("overload", "x")) == (1, 2)
    assert (runner.call("captured", 2), runner.call("twice", x=4), runner.call("nothing")) == (42, 8, None)
    assert runner.call("undefined") is None
    assert runner.signatures["echo"] == [
        ("a", "int", False),
        ("b", "float", True),
        ("c", "bool", True),
        ("d", "str", True),
        ("e", "Optional[Tensor]", True),
    ]
    assert [kind for _, kind, _ in runner.signatures["lists"]] == [
        *("List[int]", "List[float]", "List[Tensor]", "List[Tensor]", "Optional[List[int]]")
    ]


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        (0, 1, "how is 0, 2.5 1 Float text"),
        (1, 1, "Expected how == 0 to be true, but got false."),
        (2, 4, "thrown"),
        (3, 1, "at error"),
        (4, 2, "CUDA error: invalid argument (cudaErrorInvalidValue) in cudaErrorInvalidValue"),
        (5, 1, "expected scalar type Double but found Float"),
        (6, 1, "this tensor is undefined"),
        (7, 1, "shape '[4]' is invalid for input of size 6"),
        (8, 4, "an exception that is no std::exception"),
        (9, 1, "internal"),
    ],
)
def test_failures_come_back_as_data(runner: Runner, how: int, kind: int, message: str) -> None:
    with pytest.raises(CallError) as failure:
        runner.call("fails", how)
    assert failure.value.kind == kind
    assert failure.value.message.startswith(message)


def test_wrong_calls_say_what_the_function_takes(runner: Runner) -> None:
    with pytest.raises(CallError, match=r"echo\(a: int, b: float = …") as failure:
        runner.call("echo", 1.5)
    assert failure.value.kind == 3
    assert "called with: (float)" in failure.value.message
    for arguments, named in [((), {}), ((1, 2, True, "x", None, 6), {}), ((1,), {"a": 2}), ((1,), {"z": 2})]:
        with pytest.raises(CallError) as wrong:
            runner.call("echo", *arguments, **named)
        assert wrong.value.kind == 3
    with pytest.raises(CallError, match="no function missing; it has: forward"):
        runner.call("missing")


def test_nothing_is_leaked(runner: Runner) -> None:
    before = runner.live_storages
    runner.call("views", runner.tensor("float32", (2, 3, 4), numbers(24)))
    runner.call("factories", runner.tensor("float32", (2, 2), numbers(4)))
    runner.call("objects", None, [1, 2], {"key": 7})
    with pytest.raises(CallError):
        runner.call("fails", 7)
    assert runner.live_storages == before


def test_arguments_are_changed_in_place_and_warnings_reach_the_host(runner: Runner) -> None:
    tensor = runner.tensor("float32", (2,), (0, 0))
    assert runner.call("forward", tensor).elements == (1.5, 1.5)
    runner.call("fails", 10)
    assert runner.warnings == ["warned 10"]
