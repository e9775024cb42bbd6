"""`evoengineer sim profile`: the explanation on stdout, the program's own output on stderr."""

import json
from pathlib import Path

import pytest

from evoengineer.cli import main

PROGRAM = """
#include <cstdio>
__global__ void scale(float* x, int stride) { x[(blockIdx.x * blockDim.x + threadIdx.x) * stride] *= 2.0f; }
int main() {
    float* x;
    cudaMalloc(&x, 64 << 20);
    for (int i = 0; i < 3; i++) scale<<<1024, 256>>>(x, 1);
    scale<<<1024, 256>>>(x, 32);
    cudaDeviceSynchronize();
    puts("done");
}
"""


def test_profile(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "scale.cu"
    source.write_text(PROGRAM)
    assert main(["sim", "profile", str(source)]) == 0
    shown, said = capfd.readouterr()
    assert "done" in said
    assert "done" not in shown
    assert "scale <<<1024, 256>>>" in shown
    assert "4 launches" in shown
    assert main(["sim", "profile", str(source), "--json", "--device", "sim:v100"]) == 0
    launches = json.loads(capfd.readouterr().out)
    assert [launch["sectors_per_request"] for launch in launches] == [4, 4, 4, 32]
    assert {launch["device"] for launch in launches} == {"sim:v100"}


def test_profiling_needs_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "scale.cu"
    source.write_text(PROGRAM)
    assert main(["sim", "profile", str(source), "--sample-blocks", "0"]) == 2
    assert "--sample-blocks must be at least 1" in capsys.readouterr().err
