"""Our libcudart as a file: built on first use, in a folder to link against, in the environment of a program."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from evoengineer.errors import UsageError
from evoengineer.sim.runtime import native

SOCKET_VARIABLE = "EVOENGINEER_SIM_FD"
CUDART_SOURCES = Path(__file__).parent
SONAMES = {13: "libcudart.so.13", 12: "libcudart.so.12", 11: "libcudart.so.11.0"}
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-Wall", "-pthread", "-fvisibility=hidden")


@cache
def client_library(cuda_major: int = 13) -> Path:
    """Our libcudart for programs built with that version of CUDA, compiled if need be."""
    soname = SONAMES[cuda_major]
    versions = CUDART_SOURCES / f"exports-{cuda_major}.map"
    link = (f"-Wl,-soname,{soname}", f"-Wl,--version-script={versions}")
    sources = sorted(CUDART_SOURCES.glob("*.cpp"))
    return native.build_shared(sources, soname, (*_FLAGS, f"-DEVO_CUDART_MAJOR={cuda_major}"), link)


@cache
def cudart_directory(cuda_major: int = 13) -> Path:
    """A directory to link programs against: libcudart.so and libcuda.so are ours."""
    library = client_library(cuda_major)
    # The driver's functions are in the same library; the loader knows it again by its file.
    for name in ("libcudart.so", "libcuda.so", "libcuda.so.1"):
        with suppress(FileExistsError):
            (library.parent / name).symlink_to(library.name)
    return library.parent


def linked_cuda(program: Path) -> int:
    """The CUDA major version whose libcudart an executable asks for; 13 if it names none."""
    try:
        data = program.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {program}: {error.strerror}") from error
    for major, soname in SONAMES.items():
        if soname.encode() + b"\0" in data:
            return major
    if b"libcudart_static" in data or b"cudart_static" in data:
        raise UsageError(
            f"{program} has NVIDIA's runtime built in (the default of nvcc), so ours cannot take its place. "
            "Link it with: nvcc --cudart shared"
        )
    return 13


def client_environment(
    fd: int, cuda_major: int = 13, around: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What a program must find in its environment to use the device behind `fd`, whatever it was linked with.

    Preloading wins over any RPATH; the directory serves programs that open libcuda.so.1 themselves.
    """
    variables = dict(around or {})
    ours = {
        "LD_PRELOAD": (client_library(cuda_major), " "),
        "LD_LIBRARY_PATH": (cudart_directory(cuda_major), ":"),
    }
    for name, (path, separator) in ours.items():
        variables[name] = separator.join(filter(None, [str(path), variables.get(name)]))
    return {**variables, SOCKET_VARIABLE: str(fd)}
