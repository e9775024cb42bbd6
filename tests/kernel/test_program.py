"""The nvcc command line, and real compiles of small programs against a stand-in for libcudart."""

import subprocess
from pathlib import Path

import pytest

from evoengineer.errors import CompileError, UsageError
from evoengineer.kernel.program import Program, check_program, compile_program, nvcc_command
from evoengineer.toolchain.compilers import HostCompiler, Toolchain, find_host_compiler, find_toolchain

KERNEL = """
#include "answer.h"
extern __device__ int shared_answer;
__device__ int answer();
__global__ void kernel(int* out) { *out = answer() + shared_answer; }
int main() { kernel<<<1, 1>>>(nullptr); return ANSWER; }
"""
OTHER = """
__device__ int shared_answer = 1;
__device__ int answer() { return 41; }
"""
RUNTIME = """
extern "C" {
void** __cudaRegisterFatBinary(void*) { return nullptr; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, unsigned long, int, int) {}
char __cudaInitModule(void**) { return 0; }
unsigned __cudaPushCallConfiguration(...) { return 0; }
int __cudaPopCallConfiguration(...) { return 0; }
int __cudaGetKernel(...) { return 0; }
int __cudaLaunchKernel(...) { return 0; }
int cudaLaunchKernel(...) { return 0; }
}
"""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a libcudart.so that does nothing."""
    directory = tmp_path_factory.mktemp("cudart")
    (directory / "stub.cpp").write_text(RUNTIME)
    command = [
        *find_host_compiler().command,
        "-shared",
        "-fPIC",
        "-o",
        directory / "libcudart.so",
        directory / "stub.cpp",
    ]
    subprocess.run(command, check=True)
    return directory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "answer.h").write_text("#define ANSWER 42\n")
    (tmp_path / "main.cu").write_text(KERNEL)
    (tmp_path / "other.cu").write_text(OTHER)
    return tmp_path


def run(executable: Path, runtime: Path) -> int:
    return subprocess.run([executable], env={"LD_LIBRARY_PATH": str(runtime)}, check=False).returncode


def test_separately_compiled_files_make_one_program(folder: Path, runtime: Path) -> None:
    program = Program((folder / "main.cu", folder / "other.cu"), ("-rdc=true",))
    compile_program(program, folder / "out", find_toolchain(), 89, runtime)
    assert run(folder / "out", runtime) == 42
    assert b"sm_89" in (folder / "out").read_bytes()  # uncompressed PTX


def test_compile_error_keeps_the_log(folder: Path, runtime: Path) -> None:
    (folder / "bad.cu").write_text("int main() { return undeclared; }\n")
    with pytest.raises(CompileError, match=r"nvcc does not compile .*bad\.cu") as caught:
        compile_program(Program((folder / "bad.cu",)), folder / "out", find_toolchain(), 89, runtime)
    assert 'bad.cu(1): error: identifier "undeclared" is undefined' in caught.value.details


def test_options_that_stop_before_linking_are_noticed(folder: Path, runtime: Path) -> None:
    program = Program((folder / "other.cu",), ("--dryrun",))
    with pytest.raises(CompileError, match="made no executable"):
        compile_program(program, folder / "out", find_toolchain(), 89, runtime)


def command(*nvcc_args: str, version: tuple[int, int] = (13, 0), sm: int = 89) -> list[str]:
    toolchain = Toolchain(Path("nvcc"), version, "test", HostCompiler(("g++",), "test"), ())
    return nvcc_command(Program((Path("x/a.cu"),), nvcc_args), Path("out"), toolchain, sm, Path("rt"))


def test_architecture_follows_the_device_unless_chosen() -> None:
    assert "arch=compute_80,code=compute_80" in command(sm=80)
    for chosen in (
        ["-arch=sm_90"],
        ["--gpu-architecture", "sm_90"],
        ["-gencode=arch=compute_90,code=compute_90"],
    ):
        assert not [word for word in command(*chosen) if "compute_89" in word]


def test_volta_is_compiled_as_the_oldest_that_nvcc_knows() -> None:
    assert "arch=compute_75,code=compute_75" in command(sm=70)
    assert "arch=compute_70,code=compute_70" in command(sm=70, version=(12, 4))


def test_libraries_follow_the_sources() -> None:
    words = command("-lm", "-O3")
    assert words.index("x/a.cu") < len(words) - 1 - words[::-1].index("-lm")
    assert words.count("-O3") == 1
    assert words.count("-lineinfo") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-gencode", "arch=compute_80,code=sm_80"], "sm_80 is machine code.*Use code=compute_80"),
        (["-arch=compute_80", "-code=sm_80"], "sm_80 is machine code"),
        (["--cudart=static"], "--cudart is not yours to choose"),
        (["-cudart", "static"], "--cudart is not yours to choose"),
    ],
)
def test_options_that_cannot_work_are_refused(folder: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_program(Program((folder / "main.cu",), tuple(arguments)))


@pytest.mark.parametrize(
    "arguments",
    [
        ["-arch=sm_80"],
        ["-arch=sm_80", "-O3"],
        ["-gencode=arch=compute_80,code=[sm_80,compute_80]"],
        ["-arch", "native"],
    ],
)
def test_options_that_yield_ptx_are_accepted(folder: Path, arguments: list[str]) -> None:
    check_program(Program((folder / "main.cu",), tuple(arguments)))


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent.cu", "no such file"), ("notes.txt", "not a CUDA or C\\+\\+ source"), (".", "is a directory")],
)
def test_files_that_are_no_sources_are_refused(folder: Path, name: str, message: str) -> None:
    (folder / "notes.txt").touch()
    with pytest.raises(UsageError, match=message):
        check_program(Program((folder / name,)))
