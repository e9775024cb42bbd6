"""Exact totals: every block of every launch is counted, alike in the fast, the slow and the counted form."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import numpy as np
import pytest

from evoengineer.sim.engine.engine import Engine
from evoengineer.sim.options import DeviceOptions, Limits
from evoengineer.sim.runtime import structs
from evoengineer.sim.timing.profile import LaunchProfile
from evoengineer.toolchain.compilers import find_toolchain

KERNELS = r"""
extern "C" __global__ void straight(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 2.0f;
}

extern "C" __global__ void rounds(const float* in, float* out, int n) {  // a loop of one block
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < n; k++) sum += in[k * 32 + threadIdx.x % 32];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void diverging(const float* in, float* out, int n) {  // lanes leave the loop one by one
    int lane = threadIdx.x % 32;
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < n + lane; k++) sum = sum * 0.5f + in[lane];
    if (lane % 3 == 0) sum += in[lane + 1];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void meeting(const float* in, float* out, int n) {  // from barrier to barrier
    __shared__ float tile[256];
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < n; k++) {
        tile[threadIdx.x] = in[(k * 7 + threadIdx.x) % 256];
        __syncthreads();
        #pragma unroll 1
        for (int j = 0; j < 5; j++) sum += tile[(threadIdx.x + j) % 256];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void one_for_all(const float* in, float* out, int n) {  // a single block does the work
    if (blockIdx.x != 5) return;
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < n; k++) sum += in[k % 256];
    out[threadIdx.x] = sum;
}

extern "C" __global__ void one_of_many(const float* in, float* out, int worker) {
    if (blockIdx.x != worker) return;
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < 20000; k++) sum = sum * 0.5f + 1.0f;
    out[threadIdx.x] = sum + in[threadIdx.x];
}

extern "C" __global__ void late(const float* in, float* out, int n) {  // cheap accesses first, then all of memory
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < 8192; k++) sum += in[threadIdx.x + (k & 1)];
    #pragma unroll 1
    for (int k = 0; k < n; k++) sum += in[(size_t(blockIdx.x) * n + k) * 256 + threadIdx.x];
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

extern "C" __global__ void pass(const float* in, float* out) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1.0f;
}

extern "C" __global__ void stepping(float* out, unsigned n) {  // as if it waited, but for what a round leaves in memory
    __shared__ unsigned steps[256];
    unsigned *mine = &steps[threadIdx.x], step;
    *mine = 0;
    do {
        step = atomicOr(mine, 0u);
        atomicCAS(mine, step, step + 1);
    } while (step != n);
    out[blockIdx.x * blockDim.x + threadIdx.x] = step;
}

extern "C" __global__ void clocks(const float* in, float* out, int n) {
    long long start = clock64();
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < n; k++) sum += in[k % 256];
    long long middle = clock64();
    if (threadIdx.x % 2) sum += in[3];
    reinterpret_cast<long long*>(out)[blockIdx.x * blockDim.x + threadIdx.x] =
        (middle - start) * 1000003 + (clock64() - start) + (sum == 0.5f);
}
"""
NAMES = ("straight", "rounds", "diverging", "meeting", "one_for_all", "clocks")
GRID, BLOCK, ROUNDS = 24, 256, 37


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("totals")
    source, output = folder / "kernels.cu", folder / "kernels.ptx"
    source.write_text(KERNELS)
    toolchain = find_toolchain()
    command = [str(toolchain.nvcc), *toolchain.flags, "-arch=compute_89", "-lineinfo", "-ptx", str(source)]
    subprocess.run([*command, "-o", str(output)], check=True)
    return output.read_text()


class Ran:
    """One launch: how often each basic block ran, by warps and by lanes, and what it wrote."""

    def __init__(self, ptx: str, kernel: str, **options: object) -> None:
        engine = Engine(DeviceOptions(**{"sample_blocks": 0, **options}))  # type: ignore[arg-type]
        module = engine.load_module([ptx])
        data, out = (engine.memory.allocate(structs.DEVICE, 8 * GRID * BLOCK) for _ in range(2))
        params = data.to_bytes(8, "little") + out.to_bytes(8, "little") + ROUNDS.to_bytes(4, "little")
        result = engine.launch(module, kernel, (GRID, 1, 1), (BLOCK, 1, 1), 0, params)
        (image,) = module.images.values()
        request = image.request
        assert request is not None
        self.executions = request.totals[: image.block_count]
        self.lanes = request.total_lanes[: image.block_count]
        self.instructions = int(request.instructions)
        self.busiest = [(int(b.block), int(b.instructions)) for b in request.busiest]
        self.sizes = [image.functions[0].blocks[i].instructions for i in range(image.block_count)]
        self.profile = result.profile
        self.output = np.ctypeslib.as_array((structs.c.c_uint8 * (8 * GRID * BLOCK)).from_address(out)).copy()


@pytest.mark.parametrize("kernel", NAMES)
def test_all_forms_count_alike(ptx: str, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = Ran(ptx, kernel, threads=1)
    assert fast.instructions == sum(n * size for n, size in zip(fast.executions, fast.sizes, strict=True)) > 0
    others = [Ran(ptx, kernel, threads=2), Ran(ptx, kernel, threads=1, sample_blocks=GRID)]
    monkeypatch.setenv("EVOENGINEER_SIM_MODE", "varying")
    others.append(Ran(ptx, kernel, threads=1))
    for other in others:
        assert other.executions == fast.executions
        assert other.lanes == fast.lanes
        assert other.instructions == fast.instructions
        assert other.busiest == fast.busiest
        np.testing.assert_array_equal(other.output, fast.output)  # clocks included


def test_the_busiest_block_is_known(ptx: str) -> None:
    ran = Ran(ptx, "one_for_all", threads=2)
    assert ran.busiest[0][0] == 5
    assert ran.busiest[0][1] > 10 * ran.busiest[1][1]


def test_a_limit_in_instructions_does_not_depend_on_workers(ptx: str) -> None:
    from evoengineer.errors import DeviceError

    needed = Ran(ptx, "rounds", threads=1).instructions
    reports = set()
    for threads in (1, 2):
        Ran(ptx, "rounds", threads=threads, limits=Limits(max_instructions=needed))
        with pytest.raises(DeviceError) as error:
            Ran(ptx, "rounds", threads=threads, limits=Limits(max_instructions=needed - 1))
        reports.add(error.value.report)
    assert len(reports) == 1
    assert str(needed - 1) in reports.pop()


class Timed:
    """Launches one after the other on one device, and what the timing model says of them."""

    def __init__(self, ptx: str) -> None:
        self.engine = Engine(DeviceOptions(threads=1, sample_blocks=12))
        self.module = self.engine.load_module([ptx])

    def buffer(self, size: int) -> int:
        return self.engine.memory.allocate(structs.DEVICE, size)

    def run(self, kernel: str, blocks: int, *arguments: int) -> LaunchProfile:
        info = self.module.kernels[kernel]
        sizes = info.param_sizes
        params = b"".join(
            value.to_bytes(size, "little") for value, size in zip(arguments, sizes, strict=True)
        )
        profile = self.engine.launch(
            self.module, kernel, (blocks, 1, 1), (256, 1, 1), 0, params.ljust(info.param_bytes, b"\0")
        ).profile
        assert profile is not None
        return profile


def test_work_in_a_block_that_was_not_counted_takes_its_time(ptx: str) -> None:
    timed = Timed(ptx)
    data, out = timed.buffer(4096), timed.buffer(4096)
    alone = timed.run("one_of_many", 1, data, out, 0)
    many = timed.run("one_of_many", 20000, data, out, 7777)
    idle = timed.run("one_of_many", 20000, data, out, -1 % 2**32)
    assert alone.time_ns > 10 * idle.time_ns
    assert many.time_ns > 0.8 * alone.time_ns
    assert many.disagreement > 0.1
    timed.engine.configure(replace(timed.engine.options, reuse_profiles=False))
    again = timed.run("one_of_many", 20000, data, out, 7777)  # now with the busiest block among those counted
    assert again.disagreement < 0.1
    assert 0.8 * alone.time_ns < again.time_ns < 10 * alone.time_ns  # the others tell little of its pace


def test_a_loop_that_goes_on_from_round_to_round_in_memory_does_not_wait(ptx: str) -> None:
    """Its rounds once counted as one."""
    timed = Timed(ptx)
    out = timed.buffer(512 * 1024)
    few, many = (timed.run("stepping", 512, out, rounds) for rounds in (10, 1000))
    assert many.time_ns > 20 * few.time_ns


def test_a_footprint_does_not_end_with_the_trace(ptx: str) -> None:
    timed = Timed(ptx)
    blocks, rounds = 256, 1024
    size = blocks * rounds * 1024
    profile = timed.run("late", blocks, timed.buffer(size), timed.buffer(blocks * 1024), rounds)
    assert profile.dram_bytes > 0.9 * size


def test_a_launch_on_new_memory_finds_nothing_in_l2(ptx: str) -> None:
    """A layer norm in four chunks once came out faster than its data can be read."""
    timed = Timed(ptx)
    size = 128 << 20
    data, out = timed.buffer(size), timed.buffer(size)
    whole = timed.run("pass", size // 1024, data, out)
    data, out = timed.buffer(size), timed.buffer(size)
    chunk = size // 8
    parts = [timed.run("pass", chunk // 1024, data + k * chunk, out + k * chunk) for k in range(8)]
    assert sum(part.dram_bytes for part in parts) > 0.95 * whole.dram_bytes
    again = timed.run("pass", chunk // 1024, data + 7 * chunk, out + 7 * chunk)
    assert again.dram_bytes < 0.5 * parts[7].dram_bytes
