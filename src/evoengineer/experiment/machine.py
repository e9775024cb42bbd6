"""What `evoengineer doctor` looks at, one function per subject.

Nothing heavy is imported: packages are asked for their version, not for their services. Nothing is installed
or changed, except that our own C++ parts are built into the cache, as the first judging would.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from evoengineer.errors import EvoEngineerError, ToolchainError
from evoengineer.version import __version__

_TIMEOUT_SECONDS = 20
_NEEDED = ("python", "compilers", "simulator", "sandbox", "torch")


@dataclass(frozen=True, slots=True)
class Finding:
    """`missing` with `needed` means that judging on the simulated GPU does not work."""

    name: str
    status: Literal["ok", "missing", "note"]
    found: str
    reason: str = ""
    remedy: str = ""
    needed: bool = False


def examine() -> list[Finding]:
    """Everything, in the order in which it is needed."""
    subjects: tuple[Callable[[], list[Finding]], ...] = (
        _python,
        _compilers,
        _simulator,
        _sandbox,
        _torch,
        _gpu,
        _endpoints,
        _cache,
        _archive,
    )
    return [finding for subject in subjects for finding in _asked(subject)]


def _asked(subject: Callable[[], list[Finding]]) -> list[Finding]:
    """Whoever asks what is wrong with a machine must not fail because of it."""
    try:
        return subject()
    except Exception as error:
        name = subject.__name__.strip("_")
        said = f"cannot be looked at: {type(error).__name__}: {error}"
        return [Finding(name, "missing", said, needed=name in _NEEDED)]


def examine_cluster(address: str) -> list[Finding]:
    """The nodes of a Ray cluster: cards, versions, and what would be refused and why."""
    from evoengineer.cluster.facts import refusals, versions_here
    from evoengineer.cluster.pool import survey
    from evoengineer.judge.options import JudgeOptions

    here = versions_here()
    told = ", ".join(f"{name} {version}" for name, version in here.items())
    nodes = survey(address, JudgeOptions())
    findings = [Finding("this machine", "note", told, "what every node must have")]
    usable = 0
    for node in nodes:
        found = refusals(node, here, gpu=False, card="", unsafe=False)
        usable += not found
        cards = f"{node.gpus:g} × {node.card or 'GPU of an unknown type'}" if node.gpus else "no GPU"
        size = f"{node.name}: {node.cpus:g} cores, {cards}"
        refused = "It is not used until that is the same." if found else ""
        findings.append(Finding("node", "missing" if found else "ok", size, "; ".join(found), refused))
    types = sorted({node.card or "unknown" for node in nodes if node.gpus})
    if len(types) > 1:
        findings.append(
            Finding(
                "cards",
                "note",
                f"several types: {', '.join(types)}",
                remedy="For cuda devices choose one with --card.",
            )
        )
    summary = f"{usable} of {len(nodes)} nodes of {address} can judge"
    findings.append(Finding("cluster", "ok" if usable else "missing", summary, needed=True))
    return findings


def _python() -> list[Finding]:
    found = f"{platform.python_version()}, evoengineer {__version__}"
    findings = [Finding("Python", "ok", found, sys.executable, needed=True)]
    for package in ("llvmlite", "numpy", "zstandard"):
        if _version(package) is None:
            remedy = f"pip install {package}"
            findings.append(Finding(package, "missing", "not installed", remedy=remedy, needed=True))
    return findings


def _compilers() -> list[Finding]:
    from evoengineer.toolchain.compilers import find_host_compiler, find_toolchain
    from evoengineer.toolchain.toolkit import toolkit_of

    findings = []
    try:
        host = find_host_compiler()
        banner = _first_line([*host.command, "--version"])
        found = f"{shlex.join(host.command)}: {banner}"
        findings.append(Finding("host compiler", "ok", found, host.reason, needed=True))
    except ToolchainError as error:
        return [Finding("host compiler", "missing", "none", remedy=str(error), needed=True)]
    try:
        tools = find_toolchain()
    except ToolchainError as error:
        return [*findings, Finding("nvcc", "missing", "none", remedy=str(error), needed=True)]
    version = ".".join(map(str, tools.version))
    findings.append(Finding("nvcc", "ok", f"{version}: {tools.nvcc}", tools.reason, needed=True))
    try:
        ptxas = toolkit_of(tools).ptxas()
        findings.append(Finding("ptxas", "ok", str(ptxas), "the one that nvcc calls", needed=True))
    except ToolchainError as error:
        findings.append(Finding("ptxas", "missing", "none", remedy=str(error), needed=True))
    return findings


def _simulator() -> list[Finding]:
    try:
        from evoengineer.sim.cudart.library import client_library
        from evoengineer.sim.runtime.native import load_runtime

        load_runtime()
        library = client_library()
    except ImportError as error:
        return [Finding("simulated GPU", "missing", f"does not load: {error}", needed=True)]
    except EvoEngineerError as error:
        said = error.details.strip().splitlines()
        found = f"{error}: {said[0]}" if said else str(error)
        remedy = "Mend the host compiler, or set CXX to another one (GCC 9 or newer, Clang 10 or newer)."
        return [Finding("simulated GPU", "missing", found, remedy=remedy, needed=True)]
    return [
        Finding(
            "simulated GPU", "ok", f"its parts build and load (LLVM from llvmlite {_version('llvmlite')})",
            str(library), needed=True,
        )
    ]  # fmt: skip


def _sandbox() -> list[Finding]:
    from evoengineer.judge.sandbox import layers
    from evoengineer.judge.sandbox.isolation import missing_isolation

    try:
        found = layers()
        missing = missing_isolation()
    except EvoEngineerError as error:
        return [Finding("sandbox", "missing", f"does not start: {error}", needed=True)]
    active = [each.name for each in found if each.active]
    if missing:
        summary = Finding(
            "sandbox", "missing", f"candidates are not isolated from the {' and the '.join(missing)}",
            f"active: {', '.join(active)}",
            "Enable one of the layers below, or pass --unsafe to judge all the same (in a throw-away machine).",
            needed=True,
        )  # fmt: skip
    else:
        summary = Finding("sandbox", "ok", "candidates reach neither your files nor the network", needed=True)
    return [
        summary,
        *(
            Finding(f"sandbox {each.name}", "ok", each.protects, each.reason)
            if each.active
            else Finding(f"sandbox {each.name}", "missing", f"off: {each.protects}", remedy=each.reason)
            for each in found
        ),
    ]


def _torch() -> list[Finding]:
    version = _version("torch")
    if version is None:
        remedy = "References are PyTorch functions: pip install 'evoengineer[torch]'"
        return [Finding("torch", "missing", "not installed", remedy=remedy, needed=True)]
    cuda = _cuda_of_torch()
    build = f"built for CUDA {cuda}" if cuda else "built for the CPU only"
    reason = "" if cuda else "enough for references; times of PyTorch on a GPU need a CUDA build"
    return [Finding("torch", "ok", f"{version}, {build}", reason, needed=True)]


def _cuda_of_torch() -> str | None:
    """From the text of torch/version.py: importing torch would take a second."""
    try:
        files = metadata.files("torch") or []
        path = next(Path(str(each.locate())) for each in files if str(each) == "torch/version.py")
        found = re.search(
            r"^cuda\b[^=]*= *['\"]([\d.]+)['\"]", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    except (StopIteration, OSError):
        return None
    return found[1] if found else None


def _gpu() -> list[Finding]:
    smi = shutil.which("nvidia-smi")
    if smi:
        query = [smi, "--query-gpu=index,name,driver_version,memory.total", "--format=csv,noheader"]
        lines = _lines(query)
        if lines:
            return [Finding("GPU", "ok", f"cuda:{line}", "nvidia-smi") for line in lines]
    kernel_driver = Path("/proc/driver/nvidia/version")
    if kernel_driver.exists():
        found = kernel_driver.read_text(errors="replace").splitlines()[0]
        remedy = "Install the driver's user-space part (nvidia-smi, libcuda) of the same version."
        return [Finding("GPU", "missing", f"a driver, but no usable nvidia-smi: {found}", remedy=remedy)]
    remedy = (
        "None is needed: --device sim:NAME judges on the simulated GPU. For cuda:N install NVIDIA's driver."
    )
    return [Finding("GPU", "missing", "none", "neither nvidia-smi nor a driver", remedy)]


def _endpoints() -> list[Finding]:
    """Only whether keys are set; never what they are."""
    from evoengineer.propose.prices import find_model, model_names

    names = dict.fromkeys(("EVOENGINEER_API_KEY", *(find_model(name).key for name in model_names())))
    present = [name for name in names if os.environ.get(name)]
    base = os.environ.get("OPENAI_BASE_URL")
    findings = []
    if present:
        findings.append(Finding("LLM keys", "ok", ", ".join(f"{name} is set" for name in present)))
    else:
        remedy = (
            f"To evolve with a model, set one of {', '.join(names)}; recordings and the rewriter need none."
        )
        findings.append(Finding("LLM keys", "missing", "none set", remedy=remedy))
    if base:
        findings.append(Finding("LLM endpoint", "note", _address(base), "$OPENAI_BASE_URL is set"))
    return findings


def _address(url: str) -> str:
    """Without user, password and query, which may be secrets."""
    try:
        parts = urlsplit(url)
        place = parts.hostname or ""
        return f"{parts.scheme}://{place}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "set, but not an address"


def _cache() -> list[Finding]:
    from evoengineer.files import CACHE_VARIABLE, cache_dir

    try:
        root = cache_dir("native").parent
    except OSError as error:
        remedy = (
            f"Everything is compiled anew by each process. Set {CACHE_VARIABLE} to a directory to write to."
        )
        return [Finding("cache", "missing", str(error), remedy=remedy)]
    size = sum(_size(Path(folder) / name) for folder, _, names in os.walk(root) for name in names)
    reason = f"from ${CACHE_VARIABLE}" if os.environ.get(CACHE_VARIABLE) else "the default"
    return [Finding("cache", "note", f"{root}, {size / 1e6:.0f} MB; may be deleted at any time", reason)]


def _archive() -> list[Finding]:
    from evoengineer.archive.store import default_archive
    from evoengineer.errors import UsageError

    remedy = "Set $EVOENGINEER_HOME to a folder that can be written to, or give --archive FILE."
    try:
        path = default_archive()
    except UsageError as error:
        return [Finding("archive", "missing", str(error), remedy=remedy)]
    folder = path if path.exists() else next(each for each in path.absolute().parents if each.exists())
    if not os.access(folder, os.W_OK) or (folder != path and not folder.is_dir()):
        return [Finding("archive", "missing", f"{path} cannot be written", remedy=remedy)]
    return [Finding("archive", "note", str(path), "" if path.exists() else "the first run makes it")]


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:  # another process removed it
        return 0


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _lines(command: list[str]) -> list[str]:
    try:
        run = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return run.stdout.strip().splitlines() if run.returncode == 0 else []


def _first_line(command: list[str]) -> str:
    return next(iter(_lines(command)), "does not tell its version")
