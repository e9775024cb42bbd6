"""cuRAND's headers for device code: found in the toolkit, in a wheel, or named as missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from evoengineer.errors import CompileError
from evoengineer.kernel.program import Program, nvcc_command
from evoengineer.toolchain import curand
from evoengineer.toolchain.compilers import find_toolchain
from evoengineer.toolchain.curand import curand_folders, includes_curand


@pytest.fixture(autouse=True)
def _forget() -> None:
    curand_folders.cache_clear()


def test_only_the_headers_of_curand_are_taken_from_a_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    include = tmp_path / "nvidia/cu13/include"
    include.mkdir(parents=True)
    for name in ("curand_kernel.h", "curand.h", "cuda_runtime.h"):
        (include / name).write_text("// of a wheel\n")
    monkeypatch.setattr(curand, "_wheels", lambda: [include])
    monkeypatch.setattr(curand, "_KERNEL_HEADER", "curand_kernel_that_no_toolkit_has.h")
    folders = curand_folders(find_toolchain())
    assert folders is not None
    assert {file.name for file in folders[0].glob("*.h")} == {"curand_kernel.h", "curand.h"}
    curand_folders.cache_clear()


def test_a_program_that_needs_what_is_nowhere_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curand, "_wheels", list)
    monkeypatch.setattr(curand, "_KERNEL_HEADER", "curand_kernel_that_no_toolkit_has.h")
    source = tmp_path / "draw.cu"
    source.write_text('#include "curand_kernel.h"\n')
    with pytest.raises(CompileError, match="pip install nvidia-curand"):
        nvcc_command(Program((source,)), tmp_path / "draw", find_toolchain(), 89, tmp_path)
    curand_folders.cache_clear()


def test_what_asks_for_them() -> None:
    assert includes_curand("# include <curand_kernel.h>")
    assert includes_curand('#include "curand_philox4x32_x.h"')
    assert not includes_curand("// curand_kernel.h")
