"""The runner with a toolkit laid out as NVIDIA's wheels are."""

from __future__ import annotations

from pathlib import Path

import pytest

from evoengineer.judge.runner import build as runner_build
from evoengineer.judge.runner.build import runner_part
from evoengineer.toolchain.compilers import HostCompiler, Toolchain
from evoengineer.toolchain.toolkit import Toolkit


def test_the_runner_links_a_libcudart_that_only_has_its_versioned_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "lib" / "libcudart.so.13"
    library.parent.mkdir()
    library.touch()
    toolkit = Toolkit(tmp_path, tmp_path / "include", (tmp_path / "lib",), None)
    monkeypatch.setattr(runner_build, "toolkit_of", lambda _: toolkit)
    host = HostCompiler(("ccache", "g++"), "test")
    part = runner_part(Toolchain(tmp_path / "bin" / "nvcc", (13, 0), "test", host, ()))
    assert "-lcudart" not in part.link_flags
    assert str(library) in part.link_flags
