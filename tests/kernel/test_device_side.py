"""Copies, conversions and fills on a device: the support library's own kernels, on the simulated GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from evoengineer.kernel.program import Program, compile_program
from evoengineer.kernel.support import header_folders, support_archive
from evoengineer.sim.cudart.library import cudart_directory
from evoengineer.toolchain.compilers import find_toolchain

EXPECTED = """\
arange Float: 0 1 2 3 4 5
transposed Float: 0 3 1 4 2 5
flattened Float: 0 3 1 4 2 5
half Half: 0 3 1 4 2 5
bfloat16 BFloat16: 3.14062 3.14062
long Long: -2 -2
bool Bool: 0 1 1 1 1 1
double Double: 1 1
zeros Float: 0 0
parts Float: 0 7 7 1 0 7 7 2 0 0 0 3
channels last Float: 0 4 1 5 2 6 3 7
row Float: 3 4 5 3 4 5
item 12
padded Float: -1 -1 -1 -1
bytes Byte: 200 200 200
back Float: 1.5 2.5
live 0
"""


def test_elements_move_as_in_pytorch(tmp_path: Path) -> None:
    toolchain = find_toolchain()
    program = Program(
        (Path(__file__).parent / "device_side.cu", support_archive(toolchain)),
        ("-std=c++17", *(f"-I{folder}" for folder in header_folders()), "--expt-relaxed-constexpr"),
    )
    compile_program(program, tmp_path / "device_side", toolchain, 89, cudart_directory())
    command = [sys.executable, "-m", "evoengineer", "sim", "exec", str(tmp_path / "device_side")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == EXPECTED
