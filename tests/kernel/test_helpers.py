"""Helpers of ATen and pybind11 beyond tensors themselves, called over the C boundary without a device."""

from __future__ import annotations

from pathlib import Path

import pytest
from boundary import CallError, Runner

from evoengineer.kernel.build import Build, build_kernel

SOURCE = Path(__file__).parent / "extensions" / "helpers.cu"


@pytest.fixture(scope="module")
def runner() -> Runner:
    build = build_kernel(SOURCE.read_text(), sm=89)
    assert isinstance(build, Build), build.text
    return Runner(build.library)


def test_tensor_info_walks_strides(runner: Runner) -> None:
    assert runner.call("offsets", runner.tensor("float32", (2, 3), range(6))) == [1, 0, 1, 2, 3, 4, 5]
    tensor = runner.tensor("float32", (2, 3), range(6))
    tensor.strides[0], tensor.strides[1] = 1, 2
    assert runner.call("offsets", tensor) == [1, 0, 2, 4, 1, 3, 5]


def test_products_and_dimensions(runner: Runner) -> None:
    assert runner.call("numbers", runner.tensor("float32", (2, 3), range(6))) == [6, 5, 1, 4]
    assert [runner.call("wrapped", dimension) for dimension in (-2, -1, 0, 1)] == [0, 1, 0, 1]
    for outside in (-3, 2):
        with pytest.raises(CallError, match="Dimension out of range"):
            runner.call("wrapped", outside)


def test_names_of_devices_and_types(runner: Runner) -> None:
    assert runner.call("described", runner.tensor("float32", (1,), (0,))) == "cpu float"
    assert runner.call("described", runner.tensor("float64", (1,), (0,))) == "cpu other"


def test_slices_may_be_open(runner: Runner) -> None:
    results = runner.call("open_slices", runner.tensor("float32", (2, 3), range(6)))
    assert [each.elements for each in results] == [(0, 1, 2), (1, 2, 4, 5), (0, 1, 3, 4), (0, 1, 2)]
    assert [each.sizes for each in results] == [(1, 3), (2, 2), (2, 2), (1, 3)]


def test_objects_hold_tensors(runner: Runner) -> None:
    for function in ("unwrapped", "own_data"):
        plain = runner.tensor("float32", (2,), (1, 2))
        assert runner.call(function, plain).elements == (1, 2)
        held = {"data": runner.tensor("float32", (2,), (1, 2))}
        assert runner.call(function, held).elements == (1, 2)
    with pytest.raises(CallError, match="expected a tensor"):
        runner.call("unwrapped", 3)
    with pytest.raises(CallError, match="data") as failure:
        runner.call("own_data", {"other": 1})
    assert failure.value.kind == 3
    assert runner.call("entries", {"a": 1, "b": 2}) == ["a=1", "b=2"]


def test_checks_name_the_argument(runner: Runner) -> None:
    def call(dtype: str, sizes: tuple[int, ...], like: tuple[int, ...]) -> None:
        runner.call(
            "checked", runner.tensor("float32", like, range(4)), runner.tensor(dtype, sizes, range(6))
        )

    call("float32", (2, 2), (2, 2))
    with pytest.raises(CallError, match="checked: a and b differ in type"):
        call("float64", (2, 2), (2, 2))
    with pytest.raises(CallError, match="checked: a and b differ in size"):
        call("float32", (2, 3), (2, 2))
    with pytest.raises(CallError, match="a must have 2 dimensions, got 1"):
        call("float32", (4,), (4,))


def test_errors_of_torch_and_python(runner: Runner) -> None:
    for how, message in enumerate(("type 0", "value", "python's")):
        with pytest.raises(CallError, match=message):
            runner.call("refuses", how)
