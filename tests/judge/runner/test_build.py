"""The runner's command line with a toolkit laid out as NVIDIA's wheels are."""

from __future__ import annotations

from pathlib import Path

import pytest

from evoengineer.judge.runner import build as runner_build
from evoengineer.judge.runner.build import nvidia_library_folder, runner_command
from evoengineer.kernel.steps import Toolkit
from evoengineer.toolchain.compilers import HostCompiler, Toolchain


def test_the_runner_links_a_libcudart_that_only_has_its_versioned_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "lib" / "libcudart.so.13"
    for file in (tmp_path / "bin" / "nvcc", library):
        file.parent.mkdir()
        file.touch()
    toolkit = Toolkit(tmp_path, tmp_path / "include", (tmp_path / "lib",))
    monkeypatch.setattr(runner_build, "toolkit_of", lambda _: toolkit)
    host = HostCompiler(("ccache", "g++"), "test")
    toolchain = Toolchain(tmp_path / "bin" / "nvcc", (13, 0), "test", host, ())
    command = runner_command(toolchain, [Path("main.cpp")])
    assert command[:2] == ["ccache", "g++"]
    assert "-lcudart" not in command
    assert command.index("main.cpp") < command.index(str(library))
    assert nvidia_library_folder(toolchain) == tmp_path / "lib"
