"""The toolkit around an nvcc, and the one ptxas that everybody names."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from evoengineer.errors import ToolchainError
from evoengineer.experiment.machine import examine
from evoengineer.files import CACHE_VARIABLE
from evoengineer.kernel.build import build_kernel
from evoengineer.kernel.command import Command, Finished
from evoengineer.sim.timing import ptxas as timing
from evoengineer.toolchain import compilers
from evoengineer.toolchain.compilers import HostCompiler, Toolchain, find_toolchain
from evoengineer.toolchain.ptxas import Usage, parse_usage
from evoengineer.toolchain.toolkit import dryrun, toolchain_digest, toolkit_of

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z3addPf' for 'sm_89'
ptxas info    : Function properties for _Z3addPf
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers, 16 bytes cumulative stack size, 512 bytes smem
ptxas info    : Function properties for helper
    99 bytes stack frame, 99 bytes spill stores, 99 bytes spill loads
ptxas info    : Compiling entry function '_Z3subPf' for 'sm_89'
ptxas info    : Used 8 registers, used 0 barriers, 128+4 bytes smem
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toolkit whose nvcc says where it is, and a cache of its own."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    root = tmp_path / "toolkit"
    lines = [f"TOP={root}/bin/..", f"PATH={root}/bin:/usr/bin", f'INCLUDES="-I{root}/include"', "LIBRARIES="]
    text = "\n".join(f"echo '#$ {line}' >&2" for line in lines)
    for name in ("bin", "lib"):
        (root / name).mkdir(parents=True)
    for name in ("nvcc", "ptxas"):
        (root / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (root / "bin" / name).chmod(0o755)
    return root


def toolchain_of(root: Path) -> Toolchain:
    return Toolchain(root / "bin" / "nvcc", (13, 0), "test", HostCompiler(("g++",), "test"), ())


def test_everybody_names_the_ptxas_that_nvcc_calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "ptxas"  # first on PATH, but not of this nvcc
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    timing.find_ptxas.cache_clear()
    ours = toolkit_of(find_toolchain()).ptxas()
    assert ours != other
    assert timing.find_ptxas() == ours
    assert next(each for each in examine() if each.name == "ptxas").found == str(ours)
    scripts = []

    def look(command: Command) -> Finished:
        scripts.append((command.directory / "build.sh").read_text())
        return Finished(-9, timed_out=True)

    build_kernel(f"// {tmp_path}\n__global__ void f() {{}}\n", sm=89, runner=look)
    assert f"{ours} -v" in scripts[0]
    timing.find_ptxas.cache_clear()


def test_what_nvcc_says_is_kept_and_checked(root: Path, tmp_path: Path) -> None:
    toolchain = toolchain_of(root)
    said = dryrun(toolchain, ())
    assert f"TOP={root}/bin/.." in said
    (kept,) = (tmp_path / "cache" / "dryruns").iterdir()
    kept.write_bytes(b"")
    assert dryrun(toolchain, ()) == said
    assert kept.read_bytes()


def test_without_ptxas_or_libcudart_the_remedy_is_named(root: Path) -> None:
    (root / "bin" / "ptxas").unlink()
    toolkit = replace(toolkit_of(toolchain_of(root)), assembler=None)
    with pytest.raises(ToolchainError, match="nvidia-cuda-nvcc"):
        toolkit.ptxas()
    with pytest.raises(ToolchainError, match=r"no libcudart\.so in .*lib"):
        toolkit.cudart()
    (root / "lib" / "libcudart.so.13").touch()
    assert toolkit.cudart() == root / "lib" / "libcudart.so.13"


@pytest.mark.parametrize("name", ["bin/nvcc", "bin/ptxas", "nvvm/bin/cicc"])
def test_a_replaced_compiler_changes_the_digest(root: Path, name: str) -> None:
    before = toolchain_digest(toolchain_of(root))
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + "# another\n")
    path.chmod(0o755)
    for function in (toolchain_digest, toolkit_of):
        function.cache_clear()  # as in another process
    assert toolchain_digest(toolchain_of(root)) != before


def test_another_version_or_host_compiler_changes_the_digest(root: Path) -> None:
    toolchain = toolchain_of(root)
    others = (
        replace(toolchain, version=(13, 1)),
        replace(toolchain, host=HostCompiler(("clang++",), "test")),
        replace(toolchain, flags=("-L", str(root))),
    )
    assert len({toolchain_digest(each) for each in (toolchain, *others)}) == 4


def test_resources_are_read_for_each_kernel() -> None:
    assert parse_usage(LOG) == [
        Usage("_Z3addPf", 12, 4, 8, 16, 512),
        Usage("_Z3subPf", 8, 0, 0, 0, 128),
    ]
    assert parse_usage("") == []


def test_no_toolchain_means_no_ptxas(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(environ: object) -> tuple[Path, str]:
        raise ToolchainError("no nvcc")

    monkeypatch.setattr(compilers, "_find_nvcc", none)
    timing.find_ptxas.cache_clear()
    assert timing.find_ptxas() is None
    timing.find_ptxas.cache_clear()
