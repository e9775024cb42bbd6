"""From a kernel's text to a Build, or to the reasons why there is none.

    build = build_kernel(source, sm=89, target="sim")

The text is compiled as `kernel.cu` in a private directory against the lean headers, linked with the support
library, and kept in a cache that is addressed by content. A failure is data, and kept, too. This module owns
the options of the compiler; it does not run what it builds.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from evoengineer.files import Folders, digest, private_folder, scratch_folder
from evoengineer.kernel.command import BuildLimits, Command, Runner, run_plain
from evoengineer.kernel.diagnostics import Diagnostic, parse, prompt_text, without_paths
from evoengineer.kernel.forbidden import forbidden_in, forbidden_in_text, foreign_includes
from evoengineer.kernel.identity import build_id, embedded_ptx
from evoengineer.kernel.program import REMOVED_CALLS
from evoengineer.kernel.resources import KernelResources, parse_resources
from evoengineer.kernel.steps import MODULE_ID, Steps, nvcc_steps
from evoengineer.kernel.support import header_folders, headers_digest, support_archive
from evoengineer.kernel.text import NO_HALF_OPERATORS, Kernel, lambda_flags, with_half_operators
from evoengineer.kernel.words import needs_of
from evoengineer.sim.timing.ptxas import OPTIONS, keep_assembly
from evoengineer.toolchain.compilers import Toolchain, find_toolchain
from evoengineer.toolchain.curand import HINT as CURAND_HINT
from evoengineer.toolchain.curand import curand_folders, includes_curand
from evoengineer.toolchain.toolkit import Toolkit, toolchain_digest, toolkit_of

Target = Literal["sim", "cuda"]
FailedOutcome = Literal["forbidden", "compile_error", "timed_out"]

_TORCH_FLAGS = ("--expt-relaxed-constexpr",)  # that torch.utils.cpp_extension gives to nvcc, too
_WITHOUT_SPECIAL_FUNCTIONS = "-D_GLIBCXX_BITS_SPECFUN_H"  # a fifth of a small kernel's build
_RECORD, _RECORD_VERSION = "build.json", "7"  # changes with what is kept, identities included
_BUILDS = Folders("builds")
_OUT_OF_TIME = "CPU time limit exceeded"  # the shell's words, and gcc's


@dataclass(frozen=True, slots=True)
class Build:
    """A compiled kernel. `library` and `ptx` lie in the cache; copy them to change them."""

    id: str  # of the machine code
    kernel: str  # of the text
    sm: int
    target: Target
    library: Path
    ptx: Path
    exports: bool  # whether there is a PYBIND11_MODULE (or TORCH_LIBRARY)
    resources: tuple[KernelResources, ...]
    log: str  # warnings
    seconds: float  # of the compilation, also when it came from the cache


@dataclass(frozen=True, slots=True)
class BuildFailure:
    outcome: FailedOutcome
    kernel: str
    diagnostics: tuple[Diagnostic, ...]
    log: str
    text: str  # what a prompt needs of it
    seconds: float


def build_kernel(
    source: str,
    *,
    sm: int,
    target: Target = "sim",
    fast_math: bool = False,
    half_operators: bool = True,
    limits: BuildLimits | None = None,
    toolchain: Toolchain | None = None,
    runner: Runner = run_plain,
) -> Build | BuildFailure:
    """Compile a candidate, or find it compiled. `sm` is the compute capability, 89 for 8.9.

    `half_operators` counts for texts that do not say themselves (`// half-operators: off`).
    """
    kernel = Kernel(source).id
    toolchain = find_toolchain() if toolchain is None else toolchain
    words = preprocessor_words(source)
    operators = with_half_operators(source, half_operators)
    flags = (*compiler_flags(toolchain, sm, target, fast_math, operators), *lambda_flags(source))
    curand = curand_folders(toolchain) if includes_curand(source) else ()
    compilers = (toolchain_digest(toolchain), headers_digest(), *(folder.name for folder in curand or ()))
    key = digest(*(_RECORD_VERSION, source, *flags, "", *words, "", *compilers))
    found = _BUILDS.find(key)
    if found is not None:
        return _load(found)
    refused = forbidden_in_text(source)
    if refused:
        return _failure("forbidden", kernel, refused, "", 0.0)
    strange = foreign_includes(source)
    if strange:
        return _failure("compile_error", kernel, strange, "", 0.0)
    if curand is None:
        return _failure("compile_error", kernel, (_message(CURAND_HINT),), "", 0.0)
    with scratch_folder() as work:
        outcome = _Compilation(source, kernel, sm, target, flags, words, curand, toolchain, work).run(
            runner, BuildLimits() if limits is None else limits
        )
        if isinstance(outcome, BuildFailure) and outcome.outcome == "timed_out":
            return outcome  # a busy machine may do better next time
        return _load(_BUILDS.keep(key, _record(outcome)))


def compiler_flags(
    toolchain: Toolchain, sm: int, target: Target, fast_math: bool, half_operators: bool = True
) -> tuple[str, ...]:
    """Options for nvcc, without files and folders of ours."""
    sm = max(sm, toolchain.lowest_architecture())
    code = f"compute_{sm}" if target == "sim" else f"[sm_{sm},compute_{sm}]"
    return (
        *("-gencode", f"arch=compute_{sm},code={code}", "-std=c++17", "-O2", "-lineinfo", "--no-compress"),
        *("-Xcompiler", "-fPIC,-fvisibility=hidden,-fno-gnu-unique"),
        *(("--use_fast_math",) if fast_math else ()),
        *(("-Xptxas", "-v") if target == "cuda" else ()),
        *_TORCH_FLAGS,
        *(() if half_operators else NO_HALF_OPERATORS),
        *toolchain.flags,
    )


def preprocessor_words(source: str) -> tuple[str, ...]:
    """What this very text needs to have defined and included before it."""
    needs = needs_of(source)
    return (
        "-DEVO_CHOSEN",
        *(() if needs.special_functions else (_WITHOUT_SPECIAL_FUNCTIONS,)),
        *(f"-DEVO_WITH_{part}" for part in needs.parts),
        *(word for header in needs.headers for word in ("-include", header)),
        *(("-include", str(REMOVED_CALLS)) if needs.removed_calls else ()),
    )


@dataclass(frozen=True)
class _Compilation:
    source: str
    kernel: str
    sm: int
    target: Target
    flags: tuple[str, ...]
    words: tuple[str, ...]
    curand: tuple[Path, ...]  # more folders with headers
    toolchain: Toolchain
    work: Path

    def run(self, runner: Runner, limits: BuildLimits) -> Build | BuildFailure:
        toolkit, work = toolkit_of(self.toolchain), self.work
        archive, headers = support_archive(self.toolchain), (*header_folders(), *self.curand)
        flags = (*self.flags, *(f"-I{folder}" for folder in headers))
        steps = nvcc_steps(self.toolchain, flags, self.words)
        (work / "kernel.cu").write_text(self.source, encoding="utf-8", errors="replace")
        (work / "kernel.module_id").write_text(MODULE_ID)
        (work / "build.sh").write_text(self._script(steps, flags, archive, toolkit, limits))
        ours = (*headers, REMOVED_CALLS.parent, archive.parent)
        readable = (*ours, toolkit.root, toolkit.ptxas().parent, self.toolchain.nvcc.parent)
        environment = {**dict(steps.environment), "TMPDIR": str(work), "LC_ALL": "C"}
        environment.setdefault("PATH", f"{self.toolchain.nvcc.parent}:/usr/bin:/bin")
        start = time.perf_counter()
        finished = runner(Command(("/bin/sh", "build.sh"), work, environment, readable, limits))
        seconds = time.perf_counter() - start
        logs = {
            name: _read(work / f"{name}.log", limits)
            for name in ("host", "device", "compile", "link", "ptxas")
        }
        spent = finished.code == 128 + signal.SIGXCPU or any(_OUT_OF_TIME in log for log in logs.values())
        if finished.timed_out or spent:
            limit = (
                f"{limits.wall_seconds:g} s" if finished.timed_out else f"{limits.cpu_seconds} s of CPU time"
            )
            return _failure(
                "timed_out", self.kernel, (_message(f"the compiler was stopped after {limit}"),), "", seconds
            )
        if finished.code != 0 or not (work / "kernel.so").exists():
            return self._failed(logs, finished.code, seconds)
        resources = parse_resources(logs["device"] if self.target == "cuda" else logs["ptxas"])
        host_object = (work / "kernel.o").read_bytes()
        ptx = (work / "kernel.ptx").read_text(encoding="utf-8", errors="replace")
        library = (work / "kernel.so").read_bytes()
        if self.target == "sim":
            self._keep_assembly(ptx, logs["ptxas"], limits)
        log = without_paths("".join(logs[name] for name in ("host", "compile", "link")))
        return Build(
            build_id(ptx, host_object),
            self.kernel,
            self.sm,
            self.target,
            work / "kernel.so",
            work / "kernel.ptx",
            b"\0evo_open\0" in library,
            resources,
            log,
            seconds,
        )

    def _keep_assembly(self, ptx: str, said: str, limits: BuildLimits) -> None:
        """What ptxas made of the text is what the simulated GPU will ask it for."""
        fat, cubin = self.work / "kernel.fatbin", self.work / "kernel.cubin"
        embedded = embedded_ptx(fat.read_bytes(), ptx) if fat.exists() else None
        if embedded is not None and len(said) < limits.log_bytes:
            keep_assembly(embedded, self.sm, said, cubin.read_bytes())

    def _failed(self, logs: dict[str, str], code: int, seconds: float) -> BuildFailure:
        """The host half sees every error; the device half repeats most of them, and adds its own."""
        for name in ("host", "device", "compile", "link", "ptxas"):
            diagnostics = parse(logs[name], self.source)
            errors = tuple(each for each in diagnostics if each.severity == "error")
            if errors:
                refused = forbidden_in(errors)
                log = without_paths(logs[name])
                if refused:
                    return _failure("forbidden", self.kernel, refused, log, seconds)
                return _failure("compile_error", self.kernel, errors, log, seconds)
        log = without_paths("".join(logs[name] for name in ("host", "device", "compile", "link")))
        last = log.strip().split("\n")[-1] or f"the compiler ended with code {code}"
        return _failure("compile_error", self.kernel, (_message(last),), log, seconds)

    def _script(
        self, steps: Steps, flags: tuple[str, ...], archive: Path, toolkit: Toolkit, limits: BuildLimits
    ) -> str:
        """Both halves at once, then the host compiler beside ptxas, then the linker."""
        sm = max(self.sm, self.toolchain.lowest_architecture())
        # Private directories must not show in the code, nor where these headers lie.
        strip = r"sed -i 's#^\(\s*\.file\s*[0-9]* \)\"\(.*/\)*#\1\"#' kernel.ptx"
        device = list(steps.device)
        for place, step in enumerate(device):
            if "cicc" in step.split(" ")[0]:
                device[place] = f"{step} && {strip}"
        whole = shlex.join(
            [
                *(str(self.toolchain.nvcc), *flags, *self.words),
                *("--keep", "-c", "kernel.cu", "-o", "kernel.o"),
            ]
        )
        halves = (
            f"( {' && '.join(steps.host)} ) > host.log 2>&1 & host=$!\n"
            f"( {' && '.join(device)} ) > device.log 2>&1 || device_failed=$?\n"
            f'wait $host || exit $?\n[ -z "$device_failed" ] || exit $device_failed\n'
            if steps
            else f"{whole} > host.log 2>&1 || exit $?\n"
        )
        ptxas = (
            f"{shlex.quote(str(toolkit.ptxas()))} {shlex.join(OPTIONS)} -arch=sm_{sm} kernel.ptx -o kernel.cubin"
            " > ptxas.log 2>&1"
            if self.target == "sim"
            else ":"
        )
        compile_step = f"{steps.compile} > compile.log 2>&1 || exit $?\n" if steps else ""
        link = shlex.join(
            [
                *self.toolchain.host.command,
                *("-shared", "-fPIC", "kernel.o", str(archive), str(toolkit.cudart())),
                *("-Wl,--no-undefined", "-Wl,--build-id=none", "-o", "kernel.so"),
            ]
        )
        return (
            f"ulimit -S -t {limits.cpu_seconds}; ulimit -H -t {limits.cpu_seconds + 5}; ulimit -c 0\n"
            f"ulimit -v {limits.memory_bytes >> 10}\n"
            f"ulimit -f {limits.file_bytes >> 9}\n"
            f"{halves}"
            f"{ptxas} & ptxas=$!\n"
            f"{compile_step}"
            f"{link} > link.log 2>&1 || exit $?\n"
            f"wait $ptxas || exit $?\n"
        )


def _failure(
    outcome: FailedOutcome, kernel: str, diagnostics: Sequence[Diagnostic], log: str, seconds: float
) -> BuildFailure:
    return BuildFailure(outcome, kernel, tuple(diagnostics), log, prompt_text(diagnostics), seconds)


def _message(text: str) -> Diagnostic:
    return Diagnostic("kernel.cu", 0, 0, "error", text, "")


def _record(result: Build | BuildFailure) -> Path:
    """A folder with all that is kept of a compilation."""
    values = asdict(result)
    folder = private_folder()
    for name in ("library", "ptx"):
        made = values.pop(name, None)
        if made is not None:
            os.rename(made, folder / made.name)
    (folder / _RECORD).write_text(json.dumps({"built": isinstance(result, Build), "values": values}))
    return folder


def _load(folder: Path) -> Build | BuildFailure:
    record = json.loads((folder / _RECORD).read_text())
    values = record["values"]
    if not record["built"]:
        values["diagnostics"] = tuple(Diagnostic(**each) for each in values["diagnostics"])
        return BuildFailure(**values)
    values["resources"] = tuple(KernelResources(**each) for each in values["resources"])
    return Build(library=folder / "kernel.so", ptx=folder / "kernel.ptx", **values)


def _read(path: Path, limits: BuildLimits) -> str:
    try:
        with path.open("rb") as file:
            return file.read(limits.log_bytes).decode(errors="replace")
    except FileNotFoundError:
        return ""
