"""Finding the compilers: NVIDIA's nvcc and a host C++ compiler.

Order for nvcc: `$CUDA_HOME` (or `$CUDA_PATH`), then `PATH`, then NVIDIA's wheels from PyPI in this Python
environment, then /usr/local/cuda. For the host compiler: `$NVCC_CCBIN`, `$CXX`, `g++`, `clang++`. Each
choice keeps its reason. Nothing is installed here; a missing compiler is a ToolchainError that says how to get it.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evoengineer.errors import ToolchainError

MINIMUM_CUDA = (12, 0)
HANG_SECONDS = 600  # asking nvcc for facts takes a moment; a machine may be very busy
_DEFAULT_INSTALL = Path("/usr/local/cuda")


@dataclass(frozen=True, slots=True)
class HostCompiler:
    """A C++ compiler; `command` may carry options, as `$CXX` may (`ccache g++`, `clang++ --gcc-…`)."""

    command: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Everything needed to call nvcc. `flags` go on every command line, before the caller's own."""

    nvcc: Path
    version: tuple[int, int]
    reason: str
    host: HostCompiler
    flags: tuple[str, ...]

    def lowest_architecture(self) -> int:
        """The oldest target that this nvcc still compiles for (CUDA 13 dropped Maxwell to Volta)."""
        return 75 if self.version >= (13, 0) else 50


def find_toolchain(environ: Mapping[str, str] | None = None) -> Toolchain:
    """The compilers to use, found anew at each call; raises ToolchainError when there are none."""
    environ = os.environ if environ is None else environ
    host = find_host_compiler(environ)
    nvcc, reason = _find_nvcc(environ)
    version = _version_of(nvcc)
    if version < MINIMUM_CUDA:
        raise ToolchainError(
            f"{nvcc} ({reason}) is CUDA {version[0]}.{version[1]}; EvoEngineer needs "
            f"{MINIMUM_CUDA[0]}.{MINIMUM_CUDA[1]} or newer. Set CUDA_HOME to a newer toolkit."
        )
    return Toolchain(nvcc, version, reason, host, (*_host_flags(host), *_library_flags(nvcc)))


def find_host_compiler(environ: Mapping[str, str] | None = None) -> HostCompiler:
    """The C++ compiler for host code and for our own runtime."""
    environ = os.environ if environ is None else environ
    path = environ.get("PATH")
    for variable in ("NVCC_CCBIN", "CXX"):
        command = tuple(shlex.split(environ.get(variable, "")))
        if command:
            if shutil.which(command[0], path=path) is None:
                raise ToolchainError(
                    f"{variable} is {environ[variable]!r}, but there is no such program. "
                    f"Set {variable} to a C++ compiler, or unset it to use g++."
                )
            return HostCompiler(command, f"from ${variable}")
    for name in ("g++", "clang++"):
        found = shutil.which(name, path=path)
        if found:
            return HostCompiler((found,), f"{name} on PATH")
    raise ToolchainError(
        "no host C++ compiler: neither g++ nor clang++ is on PATH. "
        "Install one (Debian, Ubuntu: apt-get install g++) or set CXX."
    )


def _find_nvcc(environ: Mapping[str, str]) -> tuple[Path, str]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        home = environ.get(variable)
        if home:
            nvcc = Path(home) / "bin" / "nvcc"
            if not nvcc.is_file():
                raise ToolchainError(
                    f"{variable} is {home!r}, but there is no bin/nvcc in it. "
                    f"Set {variable} to a CUDA toolkit, or unset it to search PATH and PyPI's wheels."
                )
            return nvcc, f"from ${variable}"
    on_path = shutil.which("nvcc", path=environ.get("PATH"))
    if on_path:
        return Path(on_path), "on PATH"
    for root in _wheel_roots():
        nvcc = root / "bin" / "nvcc"
        if nvcc.is_file():
            _repair_wheel(root)
            return nvcc, "NVIDIA's wheels from PyPI"
    nvcc = _DEFAULT_INSTALL / "bin" / "nvcc"
    if nvcc.is_file():
        return nvcc, f"in {_DEFAULT_INSTALL}"
    raise ToolchainError(
        "no CUDA compiler: nvcc is neither in $CUDA_HOME nor on PATH, and NVIDIA's wheels are not installed. "
        "No GPU is needed, only the compiler: pip install 'evoengineer[cuda-compiler]'"
    )


def _wheel_roots() -> list[Path]:
    """Toolkits that wheels put into `nvidia/cu13`, newest first."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except ValueError:  # a namespace package whose __spec__ was removed by an importer
        return []
    locations = list(spec.submodule_search_locations or []) if spec else []
    return sorted((root for place in locations for root in Path(place).glob("cu[0-9]*")), reverse=True)


def _repair_wheel(root: Path) -> None:
    """Some installers drop the executable bits that nvcc and the programs it calls need."""
    for program in (*(root / "bin").iterdir(), *(root / "nvvm" / "bin").glob("*")):
        mode = program.stat().st_mode
        if program.is_file() and program.suffix != ".profile" and not mode & 0o100:
            try:
                program.chmod(mode | 0o755)
            except OSError as error:
                raise ToolchainError(f"{program} is not executable and cannot be made so: {error}") from error


@cache
def _version_of(nvcc: Path) -> tuple[int, int]:
    try:
        run = subprocess.run(
            [nvcc, "--version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=HANG_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{nvcc} does not run: {error}") from error
    found = re.search(r"release (\d+)\.(\d+)", run.stdout)
    if run.returncode != 0 or found is None:
        raise ToolchainError(f"{nvcc} --version fails or is not NVIDIA's compiler", run.stdout + run.stderr)
    return int(found[1]), int(found[2])


def _host_flags(host: HostCompiler) -> tuple[str, ...]:
    if host.command == (shutil.which("g++"),):
        return ()  # what nvcc takes by itself
    launched = len(host.command) > 1 and not host.command[1].startswith("-")  # "ccache g++"
    compiler, *options = host.command[1:] if launched else host.command
    return ("-ccbin", compiler, *(f"-Xcompiler={option}" for option in options))


def _library_flags(nvcc: Path) -> tuple[str, ...]:
    """nvcc looks for libraries in `lib64` or `targets`, which the wheels do not have."""
    root = nvcc.parent.parent
    complete = (root / "lib64").exists() or (root / "targets").exists()
    wrapper = not (nvcc.parent / "nvcc.profile").exists()  # a script that calls the real one
    return () if complete or wrapper else ("-L", str(root / "lib"))
