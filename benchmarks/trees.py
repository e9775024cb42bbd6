"""Two trees side by side: a benchmark's measurements, made with another checkout's simulator as well, in turn.

A benchmark that compares trees imports `evoengineer` inside its functions only: `in_tree` runs it as a child whose
`evoengineer` is the other tree's, while the benchmark and what it measures stay this one's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
REPORT = ROOT / "docs" / "simulator-speed.md"


def in_tree(tree: Path, benchmark: str, *arguments: str) -> Any:
    """What the benchmark's child prints as JSON in its last line; in a process of its own, with that tree's simulator
    and nothing compiled yet."""
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}:{ROOT}"}
    command = [sys.executable, "-m", f"benchmarks.{benchmark}", *arguments]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} fails in {tree}:\n{run.stdout}{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def ptx_of(text: str) -> str:
    """What nvcc makes of device code."""
    from evoengineer.toolchain.compilers import find_toolchain

    toolchain = find_toolchain()
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "kernel.cu", Path(folder) / "kernel.ptx"
        source.write_text(text, encoding="utf-8")
        target = ("-gencode", "arch=compute_89,code=compute_89", "-lineinfo")
        command = [str(toolchain.nvcc), *toolchain.flags, "-ptx", *target, str(source), "-o", str(output)]
        subprocess.run(command, check=True)
        return output.read_text(encoding="utf-8")


def report(benchmark: str, text: str) -> None:
    """Put a benchmark's table into the page, between its marks."""
    begin, end = f"<!-- {benchmark} -->", f"<!-- /{benchmark} -->"
    head, _, rest = REPORT.read_text(encoding="utf-8").partition(begin)
    _, _, tail = rest.partition(end)
    REPORT.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")
