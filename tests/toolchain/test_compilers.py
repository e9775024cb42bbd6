"""Finding compilers: the order of precedence, and messages that say what to do."""

import os
from pathlib import Path

import pytest

from evoengineer.errors import ToolchainError
from evoengineer.toolchain import compilers as toolchain
from evoengineer.toolchain.compilers import find_host_compiler, find_toolchain


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def nvcc(directory: Path, version: str = "13.0") -> Path:
    return program(
        directory / "bin" / "nvcc",
        f"#!/bin/sh\necho 'Cuda compilation tools, release {version}, V{version}.1'\n",
    )


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A directory for PATH that holds a g++ and nothing else."""
    return program(tmp_path / "host" / "g++").parent


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(toolchain, "_wheel_roots", lambda: [])
    monkeypatch.setattr(toolchain, "_DEFAULT_INSTALL", tmp_path / "default")


def test_cuda_home_wins_over_path(host: Path, tmp_path: Path) -> None:
    on_path = nvcc(tmp_path / "a")
    in_home = nvcc(tmp_path / "b", "12.4")
    environ = {"PATH": f"{host}:{on_path.parent}", "CUDA_HOME": str(tmp_path / "b")}
    found = find_toolchain(environ)
    assert (found.nvcc, found.version, found.reason) == (in_home, (12, 4), "from $CUDA_HOME")
    del environ["CUDA_HOME"]
    assert find_toolchain(environ).nvcc == on_path


def test_wheels_come_after_path_and_before_the_default_place(
    host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvcc(tmp_path / "default")
    environ = {"PATH": str(host)}
    assert find_toolchain(environ).nvcc == tmp_path / "default" / "bin" / "nvcc"
    root = tmp_path / "nvidia" / "cu13"
    nvcc(root)
    program(root / "bin" / "nvcc.profile")
    (root / "lib").mkdir()
    (root / "bin" / "nvcc").chmod(0o644)  # as some installers leave it
    monkeypatch.setattr(toolchain, "_wheel_roots", lambda: [root])
    found = find_toolchain(environ)
    assert found.nvcc == root / "bin" / "nvcc"
    assert os.access(found.nvcc, os.X_OK)
    assert found.flags[-2:] == ("-L", str(root / "lib"))  # the wheels have no lib64
    assert "NVIDIA's wheels" in found.reason


def test_no_nvcc_says_how_to_get_one(host: Path) -> None:
    with pytest.raises(ToolchainError, match=r"pip install 'evoengineer\[cuda-compiler\]'"):
        find_toolchain({"PATH": str(host)})


def test_wrong_cuda_home_is_named(host: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"CUDA_HOME is '.*nowhere', but there is no bin/nvcc"):
        find_toolchain({"PATH": str(host), "CUDA_HOME": str(tmp_path / "nowhere")})


def test_old_nvcc_is_refused(host: Path, tmp_path: Path) -> None:
    nvcc(tmp_path / "old", "11.4")
    with pytest.raises(ToolchainError, match=r"is CUDA 11\.4; EvoEngineer needs 12\.0"):
        find_toolchain({"PATH": str(host), "CUDA_HOME": str(tmp_path / "old")})


def test_nvcc_that_is_none_is_refused(host: Path, tmp_path: Path) -> None:
    program(tmp_path / "odd" / "bin" / "nvcc", "#!/bin/sh\necho no; exit 3\n")
    with pytest.raises(ToolchainError, match="not NVIDIA's compiler"):
        find_toolchain({"PATH": str(host), "CUDA_HOME": str(tmp_path / "odd")})


def test_no_host_compiler_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"no host C\+\+ compiler.*apt-get install g\+\+"):
        find_host_compiler({"PATH": str(tmp_path)})


def test_cxx_may_carry_options(tmp_path: Path, host: Path) -> None:
    program(host / "my-g++")
    nvcc(tmp_path / "a")
    environ = {"PATH": str(host), "CXX": "my-g++ -pthread", "CUDA_HOME": str(tmp_path / "a")}
    assert find_toolchain(environ).flags[:3] == ("-ccbin", "my-g++", "-Xcompiler=-pthread")
    with pytest.raises(ToolchainError, match="CXX is 'absent'"):
        find_host_compiler({"PATH": str(host), "CXX": "absent"})


def test_wheels_are_found_where_pip_puts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for name in ("cu12", "cu13", "cudnn"):
        (tmp_path / "nvidia" / name).mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = [root.name for root in toolchain._wheel_roots() if tmp_path in root.parents]
    assert names == ["cu13", "cu12"]
