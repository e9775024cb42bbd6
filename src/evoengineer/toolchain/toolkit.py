"""The CUDA installation around an nvcc: its headers, libraries and ptxas, from what nvcc says of itself.

nvcc may be a script, a link or a wheel's; its own `--dryrun` tells where it looks and what it would call. So the
ptxas named here is the one that nvcc itself starts.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evoengineer.errors import ToolchainError
from evoengineer.files import Cache, digest
from evoengineer.toolchain.compilers import HANG_SECONDS, Toolchain

_ASSIGNMENT = re.compile(r"^(?P<name>\w+)=(?P<value>.*)$")
_SURROUNDINGS = (
    *("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"),
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"),
)
_DRYRUNS = Cache("dryruns")


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Places of the CUDA installation that nvcc itself uses."""

    root: Path
    include: Path
    libraries: tuple[Path, ...]
    assembler: Path | None

    def cudart(self) -> Path:
        """NVIDIA's own runtime library. By its file: the wheels have no libcudart.so for `-lcudart` to find."""
        for directory in self.libraries:
            for library in sorted(directory.glob("libcudart.so*")):
                return library
        places = ", ".join(str(directory) for directory in self.libraries)
        raise ToolchainError(
            f"no libcudart.so in {places}. Install CUDA's runtime: pip install 'evoengineer[cuda-compiler]'"
        )

    def ptxas(self) -> Path:
        """NVIDIA's assembler: for builds, for registers and spills, and for the simulated time."""
        if self.assembler is None:
            raise ToolchainError(
                f"no ptxas in {self.root / 'bin'} or on PATH. It belongs to every CUDA toolkit and to NVIDIA's "
                "wheel nvidia-cuda-nvcc: install that again."
            )
        return self.assembler


@cache
def toolkit_of(toolchain: Toolchain) -> Toolkit:
    """The toolkit that an nvcc belongs to."""
    said = dict(filter(None, map(assigned, dryrun(toolchain, toolchain.flags))))
    root = Path(said["TOP"]).resolve() if said.get("TOP") else toolchain.nvcc.resolve().parent.parent
    includes = [Path(word[2:]) for word in shlex.split(said.get("INCLUDES", "")) if word.startswith("-I")]
    libraries = [Path(word[2:]) for word in shlex.split(said.get("LIBRARIES", "")) if word.startswith("-L")]
    libraries += [root / "lib64", root / "lib"]
    include = next((place for place in includes if (place / "cuda_runtime_api.h").exists()), root / "include")
    path = os.pathsep.join([said.get("PATH", ""), str(root / "bin"), str(toolchain.nvcc.parent)])
    assembler = shutil.which("ptxas", path=path)
    return Toolkit(
        root,
        include.resolve(),
        tuple(dict.fromkeys(p.resolve() for p in libraries if p.exists() and p.name != "stubs")),
        Path(assembler) if assembler else None,
    )


@cache
def toolchain_digest(toolchain: Toolchain) -> str:
    """Changes when one of the compilers is replaced: nvcc, cicc, ptxas or the host's. Costs a few look-ups."""
    toolkit = toolkit_of(toolchain)
    programs = [toolchain.nvcc, *(toolkit.root / name for name in ("bin/nvcc", "nvvm/bin/cicc"))]
    programs += [Path(shutil.which(word) or word) for word in toolchain.host.command]
    programs += [toolkit.assembler] if toolkit.assembler else []
    identities = (file_identity(program) for program in programs)
    return digest(str(toolchain.version), *toolchain.flags, *toolchain.host.command, *identities)


def file_identity(path: Path) -> str:
    """Of a file too large to be read each time: the file itself, its size and when it was written."""
    try:
        state = path.stat()
    except OSError:
        return f"no {path}"
    return f"{path.resolve()} {state.st_size} {state.st_mtime_ns}"


def assigned(line: str) -> tuple[str, str] | None:
    """Name and value, if a line of `dryrun` sets a variable."""
    assignment = _ASSIGNMENT.match(line)
    return (assignment["name"], assignment["value"].strip()) if assignment else None


def dryrun(toolchain: Toolchain, flags: tuple[str, ...]) -> list[str]:
    """What nvcc would do for `nvcc -c kernel.cu`; kept on disk, since it is asked for in every process."""
    nvcc = toolchain.nvcc
    surroundings = (os.environ.get(name, "") for name in _SURROUNDINGS)
    key = digest(file_identity(nvcc), str(toolchain.version), *flags, "", *surroundings)
    kept = _DRYRUNS.get(key)
    if kept is not None:
        return kept.decode().splitlines()
    command = [str(nvcc), "--dryrun", "--keep", *flags, "-c", "kernel.cu", "-o", "kernel.o"]
    try:
        run = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=HANG_SECONDS,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{nvcc} does not run: {error}") from error
    if run.returncode != 0:
        raise ToolchainError(f"{nvcc} --dryrun fails", run.stdout + run.stderr)
    lines = [line.removeprefix("#$ ").strip() for line in run.stderr.splitlines() if line.startswith("#$ ")]
    _DRYRUNS.put(key, "\n".join(lines).encode())
    return lines
