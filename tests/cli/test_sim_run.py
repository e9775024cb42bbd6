"""`sim run` and `sim exec` from end to end, as a user calls them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evoengineer.sim.cudart.library import cudart_directory
from evoengineer.toolchain.compilers import find_toolchain

EXAMPLES = Path(__file__).parents[2] / "examples"
ECHO = r"""
#include <cstdio>
#include <cstdlib>
__global__ void twice(int* value) { *value *= 2; }
int main(int count, char** words) {
    int value = 0, *device;
    if (scanf("%d", &value) != 1) return 9;
    cudaMalloc(&device, sizeof value);
    cudaMemcpy(device, &value, sizeof value, cudaMemcpyHostToDevice);
    twice<<<1, 1>>>(device);
    cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost);
    printf("%d", value);
    for (int i = 1; i < count; ++i) fprintf(stderr, "[%s]", words[i]);
    return count > 1 ? atoi(words[1]) : 0;
}
"""
COUNTER = r"""
#include <cstdio>
__global__ void count(int* blocks) { if (threadIdx.x == 0) atomicAdd(blocks, 1); }
int main() {
    int blocks = 0, *device;
    cudaMalloc(&device, sizeof blocks);
    cudaMemset(device, 0, sizeof blocks);
    count<<<500, 32>>>(device);
    cudaMemcpy(&blocks, device, sizeof blocks, cudaMemcpyDeviceToHost);
    printf("%d", blocks);
}
"""
SLEEPER = r"""
#include <cstdio>
#include <unistd.h>
int main() { cudaFree(nullptr); puts("ready"); fflush(stdout); sleep(60); }
"""


def sim(*words: object, **settings: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evoengineer", "sim", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **settings)


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    (tmp_path / "echo.cu").write_text(ECHO)
    return tmp_path / "echo.cu"


def test_streams_arguments_and_exit_code_pass_through(echo: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    run = sim("run", echo, "--", "7", "-x", "--", input="21", env={**os.environ, "TMPDIR": str(scratch)})
    assert (run.stdout, run.stderr, run.returncode) == ("42", "[7][-x][--]", 7)
    assert list(scratch.iterdir()) == []  # nothing is left behind


def test_an_executable_built_by_hand_runs(echo: Path, tmp_path: Path) -> None:
    toolchain = find_toolchain()
    program = tmp_path / "echo"
    flags = ["-gencode", "arch=compute_75,code=compute_75", "--cudart", "shared"]
    libraries = ["-L", cudart_directory(toolchain.version[0]), *toolchain.flags]
    subprocess.run([toolchain.nvcc, *flags, *libraries, echo, "-o", program], check=True)
    run = sim("exec", "echo", input="4", cwd=tmp_path)
    assert (run.stdout, run.stderr, run.returncode) == ("8", "", 0)


def test_options_of_the_device_take_effect(tmp_path: Path) -> None:
    (tmp_path / "count.cu").write_text(COUNTER)
    assert sim("run", tmp_path / "count.cu").stdout == "500"
    assert sim("run", tmp_path / "count.cu", "--sampled-only", "--sample-blocks", "9").stdout == "9"


def test_a_signal_becomes_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "fall.cu").write_text("#include <cstdlib>\nint main() { cudaFree(nullptr); abort(); }\n")
    assert sim("run", tmp_path / "fall.cu").returncode == 128 + signal.SIGABRT


def test_nvcc_warnings_are_shown(tmp_path: Path) -> None:
    (tmp_path / "warn.cu").write_text("int main() { int unused = 1; return 0; }\n")
    run = sim("run", tmp_path / "warn.cu")
    assert run.returncode == 0
    assert 'variable "unused" was declared but never referenced' in run.stderr


def test_being_terminated_ends_the_program_too(tmp_path: Path) -> None:
    (tmp_path / "sleeper.cu").write_text(SLEEPER)
    (tmp_path / "scratch").mkdir()
    command = [sys.executable, "-m", "evoengineer", "sim", "run", tmp_path / "sleeper.cu"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "scratch")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        started = time.monotonic()
        run.send_signal(signal.SIGTERM)
        assert run.wait(30) == 128 + signal.SIGTERM
    assert time.monotonic() - started < 20
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("device", "card"),
    [
        ("sim:rtx4090", "NVIDIA GeForce RTX 4090, compute capability 8.9, 128 SMs"),
        ("sim:h100-sxm", "NVIDIA H100 80GB HBM3, compute capability 9.0, 132 SMs"),
        ("sim:v100", "Tesla V100-SXM2-16GB, compute capability 7.0, 80 SMs"),
    ],
)
def test_the_demo_verifies_itself(device: str, card: str) -> None:
    run = sim("run", EXAMPLES / "softmax.cu", "--device", device)
    assert run.returncode == 0, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    assert lines[0] == card
    assert lines[-1] == "all results verified"
