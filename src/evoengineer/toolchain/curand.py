"""The headers of cuRAND for code on the device (`curand_kernel.h`), which smaller CUDA installations lack.

They come with NVIDIA's wheel nvidia-curand. Beside them lie headers of other wheels, maybe of another version than
nvcc's, so they are copied to a folder of their own. The library itself is not linked: it computes on the host's word.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from functools import cache
from pathlib import Path

from evoengineer.files import Folders, digest, private_folder
from evoengineer.toolchain.compilers import Toolchain
from evoengineer.toolchain.toolkit import file_identity, toolkit_of

HINT = "curand_kernel.h is not in this CUDA installation: pip install nvidia-curand"
_KERNEL_HEADER = "curand_kernel.h"
_INCLUDES = re.compile(r"#\s*include\s*[<\"]curand_\w+\.h[>\"]")
_COPIES = Folders("curand")


def includes_curand(source: str) -> bool:
    """Whether a text asks for these headers."""
    return _INCLUDES.search(source) is not None


@cache
def curand_folders(toolchain: Toolchain) -> tuple[Path, ...] | None:
    """What has to be added to the include path: nothing where nvcc finds them; None when they are nowhere."""
    if (toolkit_of(toolchain).include / _KERNEL_HEADER).exists():
        return ()
    for place in _wheels():
        headers = sorted(place.glob("curand*.h"))
        key = digest(*map(file_identity, headers))
        folder = _COPIES.find(key)
        if folder is None:
            folder = private_folder()
            for header in headers:
                shutil.copyfile(header, folder / header.name)
            folder = _COPIES.keep(key, folder)
        return (folder,)
    return None


def _wheels() -> list[Path]:
    """Include folders of wheels with these headers: nvidia/cu13/include, and nvidia/curand/include before it."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except ValueError:  # a namespace package whose __spec__ was removed by an importer
        return []
    places = list(spec.submodule_search_locations or []) if spec else []
    return [
        found.parent for place in places for found in sorted(Path(place).glob(f"*/include/{_KERNEL_HEADER}"))
    ]
