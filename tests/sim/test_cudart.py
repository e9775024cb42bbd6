"""Our libcudart in real programs: what the programs under tests/programs cannot show.

Those check the API from inside; here it is layouts, messages, exit codes and processes, seen from outside.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evoengineer.card.profile import load_profile, profile_names
from evoengineer.errors import UsageError
from evoengineer.kernel.program import Program, compile_program
from evoengineer.sim.cudart.library import CUDART_SOURCES, client_library, cudart_directory, linked_cuda
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.process.properties import device_attributes, device_properties
from evoengineer.toolchain.compilers import find_toolchain

OPTIONS = DeviceOptions(threads=1)

SOURCE = r"""
#include <cstdio>
#include <cstring>
#include <cstdlib>
#include <unistd.h>
__global__ void print() { printf("device %d\n", threadIdx.x); }
__global__ void bad(int* p) { *p = 1; }
int main(int argc, char** argv) {
    const char* what = argv[1];
    int* p = nullptr;
    cudaError_t first = cudaMalloc(&p, 400);
    if (!strcmp(what, "order")) {
        printf("host 1\n");
        print<<<1, 2>>>();
        printf("host 2\n");
        cudaDeviceSynchronize();
        printf("host 3\n");
    } else if (!strcmp(what, "unsynchronised")) {
        print<<<1, 1>>>();
    } else if (!strcmp(what, "ignored")) {
        bad<<<1, 1>>>(nullptr);
    } else if (!strcmp(what, "dereference")) {
        p[25] = 1;
    } else if (!strcmp(what, "abort")) {
        abort();
    } else if (!strcmp(what, "fork")) {
        if (fork() == 0) _exit(cudaMalloc(&p, 4) == cudaErrorInitializationError ? 0 : 1);
    } else if (!strcmp(what, "first")) {
        printf("%s\n", cudaGetErrorName(first));
    } else if (!strcmp(what, "ipc")) {
        cudaIpcMemHandle_t handle;
        for (int i = 0; i < 2; ++i) printf("%s\n", cudaGetErrorName(cudaIpcGetMemHandle(&handle, p)));
    } else {
        return atoi(what);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cudart")
    source = folder / "program.cu"
    source.write_text(SOURCE)
    executable = folder / "program"
    compile_program(Program((source,)), executable, find_toolchain(), 89, cudart_directory())
    return executable


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = (
        "import sys; from evoengineer.sim.session import run_program; "
        "from evoengineer.sim.options import DeviceOptions; "
        "sys.exit(run_program(sys.argv[1:], DeviceOptions(threads=1)))"
    )
    command = [sys.executable, "-c", script, str(program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_device_output_keeps_its_place(program: Path) -> None:
    outcome = run(program, "order")
    assert outcome.stdout == "host 1\nhost 2\ndevice 0\ndevice 1\nhost 3\n"
    assert outcome.returncode == 0


def test_work_in_flight_is_finished_at_exit(program: Path) -> None:
    assert run(program, "unsynchronised").stdout == "device 0\n"


def test_exit_code_passes_through(program: Path) -> None:
    assert run(program, "42").returncode == 42


def test_ignored_device_error_fails_the_run(program: Path) -> None:
    outcome = run(program, "ignored")
    assert outcome.returncode == 1
    assert "Invalid __global__ write of size 4 bytes" in outcome.stderr


def test_host_dereference_names_the_allocation(program: Path) -> None:
    outcome = run(program, "dereference")
    assert outcome.returncode == 128 + signal.SIGSEGV
    assert "invalid host write of device memory at 0x3" in outcome.stderr
    assert "100 bytes into the allocation of 400 bytes" in outcome.stderr


def test_signals_become_exit_codes(program: Path) -> None:
    assert run(program, "abort").returncode == 128 + signal.SIGABRT


def test_a_fork_has_no_context(program: Path) -> None:
    assert run(program, "fork").returncode == 0


def test_unsupported_calls_fail_by_name_once(program: Path) -> None:
    outcome = run(program, "ipc")
    assert outcome.stdout == "cudaErrorNotSupported\n" * 2
    assert outcome.stderr.count("cudaIpcGetMemHandle is not supported by the simulated GPU") == 1


def test_without_a_device_process(program: Path) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(client_library())}
    outcome = subprocess.run(
        [program, "first"], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert outcome.stdout == "cudaErrorNoDevice\n"
    assert "evoengineer sim exec" in outcome.stderr


def test_every_function_of_libcudart_is_exported() -> None:
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", client_library()], capture_output=True, text=True, check=True
    ).stdout
    ours = {line.split()[-1] for line in symbols.splitlines()}
    assert all(name.endswith("@@libcudart.so.13") for name in ours if name.startswith("cuda"))
    bare = {name.partition("@")[0] for name in ours}
    for table in ("export_names.h", "driver_names.h"):
        wanted = set(re.findall(r"EXPORT\((\w+)\)", (CUDART_SOURCES / table).read_text()))
        assert wanted <= bare
    assert not [name for name in bare if not name.startswith(("cu", "__cuda", "libcudart"))]


def test_linked_version_is_recognised(program: Path, tmp_path: Path) -> None:
    assert linked_cuda(program) == 13
    old = tmp_path / "old"
    old.write_bytes(b"\x7fELF...\0libcudart.so.12\0...")
    assert linked_cuda(old) == 12
    with pytest.raises(UsageError, match="cannot read"):
        linked_cuda(tmp_path / "absent")


@pytest.mark.parametrize("major, size", [(11, 728), (12, 1032), (13, 1008)])
def test_size_of_device_properties(major: int, size: int) -> None:
    for name in profile_names():
        assert len(device_properties(load_profile(name), major)) == size


def test_properties_match_the_headers(tmp_path: Path) -> None:
    """Our packed cudaDeviceProp read with CUDA's own struct."""
    profile = load_profile("rtx4090")
    (tmp_path / "properties.bin").write_bytes(device_properties(profile, 13))
    fields = {
        "totalGlobalMem": profile.dram_bytes,
        "warpSize": 32,
        "maxThreadsDim[2]": 64,
        "major": 8,
        "minor": 9,
        "multiProcessorCount": profile.sm_count,
        "maxSurface3D[2]": 16384,
        "surfaceAlignment": profile.surface_align_bytes,
        "l2CacheSize": profile.l2_bytes,
        "sharedMemPerMultiprocessor": profile.shared_bytes_per_sm,
        "sharedMemPerBlockOptin": profile.shared_bytes_per_block_optin,
        "reservedSharedMemPerBlock": profile.shared_reserved_bytes,
        "memoryPoolsSupported": 1,
        "hostNumaId": -1,
    }
    prints = "".join(f'std::printf("%lld\\n", (long long)p.{name});' for name in fields)
    source = tmp_path / "read.cu"
    source.write_text(
        "#include <cstdio>\n#include <cuda_runtime_api.h>\nint main(int, char** a) { cudaDeviceProp p; "
        'FILE* f = std::fopen(a[1], "rb"); if (std::fread(&p, sizeof p, 1, f) != 1) return 1; '
        f"{prints} return 0; }}"
    )
    executable = tmp_path / "read"
    compile_program(Program((source,)), executable, find_toolchain(), 89, cudart_directory())
    environment = {**os.environ, "LD_LIBRARY_PATH": str(cudart_directory())}
    output = subprocess.run(
        [executable, tmp_path / "properties.bin"], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert dict(zip(fields, map(int, output.split()), strict=True)) == fields


def test_attributes_follow_the_profile() -> None:
    profile = load_profile("rtx4090")
    attributes = device_attributes(profile)
    assert attributes[1] == profile.max_threads_per_block
    assert attributes[16] == profile.sm_count
    assert (attributes[75], attributes[76]) == profile.compute_capability
    assert attributes[97] == profile.shared_bytes_per_block_optin
