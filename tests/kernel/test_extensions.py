"""PyTorch extensions in the styles that people and models write: each compiles unmodified with the lean headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from evoengineer.kernel.build import Build, build_kernel

HERE = Path(__file__).parent / "extensions"
# How many __global__ functions (counting instances of templates) each file must yield.
KERNELS = {
    "accessors": 3,
    "bindings": 7,
    "convolution": 4,
    "cpu": 0,
    "dispatch": 23,
    "elementwise": 5,
    "halves": 13,
    "helpers": 1,
    "inline": 1,
    "legacy": 3,
    "less_usual": 1,
    "library": 1,
    "native_helpers": 2,
    "network": 1,
    "odd": 5,
    "random": 1,
    "reductions": 5,
    "registered": 3,
    "streams": 1,
    "toolkit": 3,  # one is an empty kernel of CUB
}


def test_every_file_is_listed() -> None:
    assert {path.stem for path in HERE.glob("*.cu")} == set(KERNELS)


@pytest.mark.parametrize("name", KERNELS)
def test_compiles_unmodified(name: str) -> None:
    build = build_kernel((HERE / f"{name}.cu").read_text(), sm=89)
    assert isinstance(build, Build), build.text
    assert build.log == ""
    assert len(build.resources) == KERNELS[name]
    assert build.exports == (name != "inline")
    assert build.ptx.read_text().count(".entry") == KERNELS[name]


def test_copies_bring_their_kernels_only_where_they_are_used() -> None:
    plain = build_kernel((HERE / "inline.cu").read_text(), sm=89)
    copying = build_kernel((HERE / "library.cu").read_text(), sm=89)
    assert isinstance(plain, Build)
    assert isinstance(copying, Build)
    assert b"evo_copy" not in plain.library.read_bytes()
    assert b"evo_copy" in copying.library.read_bytes()
