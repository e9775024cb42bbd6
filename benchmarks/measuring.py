"""Building and running the benchmark programs: the CUDA kernels on the simulated GPU, the loops in C."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from evoengineer.kernel.program import Program, compile_program
from evoengineer.toolchain.compilers import find_toolchain

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Timing:
    """Seconds as the CUDA program itself measured them."""

    first: float  # includes translation and compilation
    second: float
    best: float
    error: float  # largest deviation of a result from the host's

    @property
    def jit(self) -> float:
        return max(self.first - self.best, 0.0)


def build_kernels(scratch: Path) -> Path:
    from evoengineer.sim.cudart.library import cudart_directory

    program = scratch / "kernels"
    compile_program(
        Program((HERE / "kernels.cu",), ("-O3",)), program, find_toolchain(), 89, cudart_directory()
    )
    return program


def build_loops(scratch: Path) -> Path:
    compiler = shutil.which(os.environ.get("CC", "gcc")) or shutil.which("cc")
    if compiler is None:
        raise SystemExit("no C compiler: set CC or install gcc")
    program = scratch / "loops"
    subprocess.run(
        [compiler, "-O3", "-march=native", str(HERE / "loops.c"), "-o", str(program), "-lm"], check=True
    )
    return program


def instruction_counts(scratch: Path) -> dict[str, int]:
    """PTX instructions of each kernel, by the kernel's name in the source."""
    toolchain = find_toolchain()
    output = scratch / "kernels.ptx"
    command = [
        str(toolchain.nvcc),
        "-ptx",
        "-O3",
        "-gencode",
        "arch=compute_89,code=compute_89",
        *toolchain.flags,
    ]
    subprocess.run([*command, str(HERE / "kernels.cu"), "-o", str(output)], check=True)
    counts = {}
    for entry in re.finditer(
        r"\.entry _Z\d+([a-z_0-9]+?)PKf.*?^\{(.*?)^\}", output.read_text(), re.DOTALL | re.MULTILINE
    ):
        lines = (line.strip() for line in entry[2].splitlines())
        counts[entry[1]] = sum(line.endswith(";") and not line.startswith(".") for line in lines)
    return counts


def run_kernel(program: Path, name: str, launches: int, cache: Path, cores: Collection[int]) -> Timing:
    """One benchmark in a process of its own, a thread for each core given, with memory checks on."""
    command = [sys.executable, "-m", "evoengineer", "sim", "exec", str(program), "--threads", str(len(cores))]
    command += ["--", name, str(launches)]
    run = _run(command, {**os.environ, "EVOENGINEER_CACHE_DIR": str(cache)}, cores)
    answer = json.loads(run.stdout.strip().splitlines()[-1])
    return Timing(answer["first"], answer["second"], answer["best"], answer["error"])


def cache_files(cache: Path) -> set[Path]:
    """Compiled kernels that are kept on disk."""
    return {path for path in (cache / "kernels").rglob("*") if path.is_file()}


def run_loop(program: Path, name: str, runs: int, cores: Collection[int]) -> float:
    return float(_run([str(program), name, str(runs)], dict(os.environ), cores).stdout)


def _run(
    command: list[str], environment: dict[str, str], cores: Collection[int]
) -> subprocess.CompletedProcess[str]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(cores))  # children inherit it
    try:
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    finally:
        os.sched_setaffinity(0, before)
    if run.returncode != 0:
        raise SystemExit(
            f"{' '.join(command)} fails with exit code {run.returncode}:\n{run.stdout}{run.stderr}"
        )
    return run
