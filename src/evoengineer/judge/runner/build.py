"""Building the runner: once per machine and CUDA version, into the cache.

The same program serves both kinds of device: it links libcudart dynamically, and the environment it starts
with says whose.
"""

from __future__ import annotations

from pathlib import Path

from evoengineer.kernel.support import HEADERS
from evoengineer.toolchain.compilers import Toolchain, find_toolchain
from evoengineer.toolchain.native_build import Part, build
from evoengineer.toolchain.toolkit import toolkit_of

_SOURCES = Path(__file__).parent
_FLAGS = ("-O2", "-std=c++17", "-pthread")


def runner_program() -> Path:
    """The runner, built if need be."""
    return build(runner_part(find_toolchain()))


def runner_part(toolchain: Toolchain) -> Part:
    """The host compiler makes it alone; nvcc takes no file that ends in `.so.13`."""
    toolkit = toolkit_of(toolchain)
    return Part(
        "runner",
        tuple(sorted(_SOURCES.glob("*.cpp"))),
        (*_FLAGS, f"-I{toolkit.include}"),
        ("-Wl,--export-dynamic", str(toolkit.cudart()), "-ldl"),
        includes=(HEADERS,),
        toolchain=toolchain,
    )
