"""Regions under a mask: lanes that part meet again without leaving compiled code, and all is as if they had left it.

Every kernel runs twice, in the optimised translation and in the "everything varying" one, which has no regions.
Results, executions of every basic block and lanes that took part must be the same.
"""

from __future__ import annotations

import ctypes as c
import struct
import subprocess

import numpy as np
import pytest

from evoengineer.errors import DeviceError
from evoengineer.sim.engine.engine import MODE_VARIABLE, Engine
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.runtime import structs
from evoengineer.toolchain.compilers import find_toolchain

KERNELS = r"""
#define KERNEL extern "C" __global__ void
KERNEL padded(const int* in, int* out, int n) {  // guards in loops, as in a convolution
    int i = blockIdx.x * 64 + threadIdx.x, row = i / 19, column = i % 19, sum = 0;
    #pragma unroll 1
    for (int ky = 0; ky < n; ++ky) {
        int y = row - 1 + ky;
        if (y < 0 || y >= 6) continue;
        #pragma unroll 1
        for (int kx = 0; kx < 3; ++kx) {
            int x = column - 1 + kx;
            if (x < 0 || x >= 19) continue;
            sum += in[y * 19 + x] * in[ky * 3 + kx];
        }
    }
    out[i] = sum;
}
KERNEL trips(const int* in, int* out, int n) {  // lanes leave loops one after another
    int lane = threadIdx.x % 32, sum = in[lane];
    #pragma unroll 1
    for (int k = 0; k < lane % 5 + n; ++k) {
        #pragma unroll 1
        for (int j = lane; j > k; j -= 3) sum = sum * 5 + in[j];
        if (sum % 7 == 0) break;
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}
KERNEL tangled(const int* in, int* out, int n) {  // conditions that share their branches
    int lane = threadIdx.x % 32, a = in[lane], b = in[lane + 32], r = n;
    if ((a % 3 == 0 && b % 2) || (a % 5 == 0 && !(b % 3))) { r = a; if (b > a) r = b * 2; else out[300 + lane] = b; }
    else if (a < b) r = a - b;
    switch (r & 3) { case 0: r += 17; break; case 1: r *= 3; case 2: r -= lane; }
    out[blockIdx.x * 64 + threadIdx.x] = r;
}
KERNEL counters(const int* in, int* out, int n) {  // a counter that lanes share is read after they part
    int lane = threadIdx.x % 32, k = 0;
    #pragma unroll 1
    while (k < 40) { if (in[k] % 37 == lane) break; ++k; }
    out[blockIdx.x * 64 + threadIdx.x] = k * n;
}
KERNEL shuffled(const int* in, int* out, int n) {  // what lanes do together stands in a region
    int lane = threadIdx.x % 32, v = in[lane];
    if (lane < 16) {
        v += in[lane + 1];
        v += __shfl_xor_sync(0xffff, v, 3);
        #pragma unroll 1
        for (int k = 0; k < lane; ++k) v = v * 3 + k;
    }
    out[blockIdx.x * 64 + threadIdx.x] = v;
}
KERNEL staged(const int* in, int* out, int n) {  // guards before, between and after barriers
    __shared__ int tile[64];
    int t = threadIdx.x, sum = 0;
    #pragma unroll 1
    for (int k = 0; k < n; ++k) {
        int at = k * 64 + t;
        tile[t] = at < n * 50 ? in[at % 128] : 0;
        if (t % 3 == 0) tile[t] += k;
        __syncthreads();
        #pragma unroll 1
        for (int j = 0; j < t % 4; ++j) sum += tile[(t + j) % 64];
        __syncthreads();
    }
    if (t < 50) out[blockIdx.x * 64 + t] = sum;
}
KERNEL edges(const int* in, int* out, int n) {  // threads beyond the edge end first
    int i = blockIdx.x * 64 + threadIdx.x, sum = 0;
    if (i >= n * 29) return;
    #pragma unroll 1
    for (int k = 0; k < i % 6; ++k) sum += in[(i + k) % 128];
    out[i] = sum;
}
KERNEL patient(const int* in, int* out, int n) {  // one lane takes so long that the others would starve
    int lane = threadIdx.x % 32, v = in[lane];
    if (lane == 3) {
        #pragma unroll 1
        for (int k = 0; k < 3000; ++k) { v = v * 3 + k; if (v % 5 == 0) v += in[k % 64]; }
    }
    out[blockIdx.x * 64 + threadIdx.x] = v;
}
KERNEL wrapping(const int* in, int* out, int n) {  // an index of the lane wraps around in a region
    unsigned lane = threadIdx.x % 32, v = 0;
    if (in[lane] % 2) v = ((const unsigned char*)in)[(unsigned long long)(lane - n) & 127];
    out[blockIdx.x * 64 + threadIdx.x] = v;
}
KERNEL outside(const int* in, int* out, int n) {  // only lanes 5, 10 … read, and far away
    int lane = threadIdx.x % 32, v = 0;
    if (lane % 5 == 0 && lane) { v = in[n << 20]; v = v * 3 + in[lane]; if (v > 7) v += in[lane + 1]; }
    out[blockIdx.x * 64 + threadIdx.x] = v;
}
"""
RIGHT = ("padded", "trips", "tangled", "counters", "shuffled", "staged", "edges", "patient", "wrapping")
N = 3


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("masked")
    source, output = folder / "kernels.cu", folder / "kernels.ptx"
    source.write_text(KERNELS, encoding="utf-8")
    toolchain = find_toolchain()
    command = [str(toolchain.nvcc), *toolchain.flags, "-ptx", "-lineinfo", "-gencode",
               "arch=compute_89,code=compute_89", str(source), "-o", str(output)]  # fmt: skip
    subprocess.run(command, check=True)
    return output.read_text(encoding="utf-8")


def launch(engine: Engine, ptx: str, kernel: str) -> tuple[np.ndarray, list[int], list[int], int, bool]:
    """Results, executions and lanes of each block, instructions; and whether a region has been compiled."""
    module = engine.load_module([ptx])
    values = np.random.default_rng(5).integers(0, 1000, 128, dtype=np.int32)
    out = np.zeros(512, np.int32)
    source, result = (engine.memory.allocate(structs.DEVICE, each.nbytes) for each in (values, out))
    c.memmove(source, values.ctypes.data, values.nbytes)
    c.memmove(result, out.ctypes.data, out.nbytes)
    params = struct.pack("QQi", source, result, N)
    try:
        engine.launch(module, kernel, (3, 1, 1), (64, 1, 1), 0, params)
    finally:
        c.memmove(
            out.ctypes.data, result, out.nbytes
        )  # and kept: other tests of this process expect new memory
    (image,) = module.images.values()
    request, blocks = image.request, image.functions[0].blocks
    assert request is not None
    count = request.count_total
    regions = any(blocks[i].region_fn for i in range(image.functions[0].block_count))
    return out, request.totals[:count], request.total_lanes[:count], request.instructions, regions


@pytest.mark.parametrize("kernel", RIGHT)
def test_a_region_does_what_lanes_do_on_their_own(
    ptx: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = DeviceOptions(threads=1, sample_blocks=0)
    masked = launch(Engine(options), ptx, kernel)
    monkeypatch.setenv(MODE_VARIABLE, "varying")
    alone = launch(Engine(options), ptx, kernel)
    assert masked[0].any()
    np.testing.assert_array_equal(masked[0], alone[0])
    # The two translations cut blocks in different places, where a value might wrap (unit.py).
    if len(masked[1]) == len(alone[1]):
        assert masked[1:3] == alone[1:3]
    assert masked[3] == alone[3]
    assert not alone[4]
    if kernel not in ("counters", "wrapping"):
        assert masked[4], "no region was run"


def test_a_bad_access_in_a_region_names_the_lane(ptx: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = DeviceOptions(threads=1, sample_blocks=0)
    with pytest.raises(DeviceError) as masked:
        launch(Engine(options), ptx, "outside")
    monkeypatch.setenv(MODE_VARIABLE, "varying")
    with pytest.raises(DeviceError) as alone:
        launch(Engine(options), ptx, "outside")
    assert "thread (5,0,0)" in masked.value.details
    assert _without_addresses(masked.value.details) == _without_addresses(alone.value.details)


def _without_addresses(report: str) -> list[str]:
    return [line for line in report.splitlines() if "0x" not in line]
