"""The lean headers, and the library behind them that is linked into every build.

A static archive, so that a candidate carries only what it uses: the kernels behind copies and fills come along
only with texts that copy or fill. Most names under which PyTorch's headers are included lead to a header of ours;
`forwarding.txt` says which, and the files are made of it when they are needed.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from evoengineer.files import Folders, contents, digest, private_folder
from evoengineer.toolchain.compilers import Toolchain
from evoengineer.toolchain.native_build import Part, build
from evoengineer.toolchain.toolkit import toolkit_of

HEADERS = Path(__file__).parent / "headers"
SOURCES = Path(__file__).parent / "support"
_FORWARDING = (
    Path(__file__).parent / "forwarding.txt"
)  # of a line: a header's name, and those that it includes
_FORWARDED = Folders("headers")
_COMMON_FLAGS = ("-std=c++17", "-O2", "-w")
_HOST_FLAGS = (*_COMMON_FLAGS, "-fPIC", "-fvisibility=hidden", "-g0")
_CUDA_FLAGS = (
    *_COMMON_FLAGS,
    "--expt-relaxed-constexpr",
    "--no-compress",
    "-Xcompiler",
    "-fPIC,-fvisibility=hidden",
)


@cache
def headers_digest() -> str:
    """Of every file that takes part in a build and is ours."""
    return digest(_FORWARDING.read_bytes(), *contents(HEADERS), "", *contents(SOURCES))


def header_folders() -> tuple[Path, Path]:
    """For -I: our headers, and those that lead to them."""
    table = _FORWARDING.read_bytes()
    key = digest(table)
    folder = _FORWARDED.find(key)
    if folder is None:
        folder = private_folder()
        for line in table.decode().splitlines():
            name, *included = line.split()
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("#pragma once\n" + "".join(f"#include <{each}>\n" for each in included))
        folder = _FORWARDED.keep(key, folder)
    return HEADERS, folder


def support_archive(toolchain: Toolchain) -> Path:
    """libevo.a, built if need be (a few seconds, once)."""
    lowest = toolchain.lowest_architecture()
    sources = sorted(path for path in SOURCES.iterdir() if path.suffix in (".cpp", ".cu"))
    return build(
        Part(
            "libevo.a",
            tuple(sources),
            (*_HOST_FLAGS, f"-I{toolkit_of(toolchain).include}"),
            includes=(HEADERS,),
            toolchain=toolchain,
            cuda=("-gencode", f"arch=compute_{lowest},code=compute_{lowest}", *_CUDA_FLAGS),
        )
    )
