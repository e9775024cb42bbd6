"""Bits of thread indices, strided accesses, runs of arithmetic: whatever FAST makes of them, nothing shows.

Every kernel runs in the optimised translation and in the "everything varying" one, which knows no forms, for several
block shapes, also with a last warp that is not full. Results and instructions must be the same, and so must reports.
"""

from __future__ import annotations

import ctypes as c
import struct
import subprocess

import numpy as np
import pytest

from evoengineer.errors import DeviceError
from evoengineer.sim.codegen.fast import left_out
from evoengineer.sim.codegen.program import build_program, link
from evoengineer.sim.engine import engine as engine_module
from evoengineer.sim.engine.engine import MODE_VARIABLE, Engine
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.runtime import structs
from evoengineer.toolchain.compilers import find_toolchain

KERNELS = r"""
#define KERNEL extern "C" __global__ void
__device__ int thread() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
KERNEL bits(const int* in, int* out, int n) {  // quotients and remainders, signed and unsigned, of sums, too
    int t = thread(), u = t + 96, s = t - n;
    unsigned v = t * 4 + 64;
    int sum = t / 16 * 3 + t % 16 * 5 + t / 4 % 4 * 7 + (t & ~7) * 11 + (t | 512) + (t ^ 1024) + (t ^ 3) * 13;
    sum += u / 32 + u % 32 * 3 + s / 8 * 5 + s % 8 + int(v >> 3) * 7 + int(v & 60) + int(v >> 1);
    sum += (blockIdx.x * blockDim.x + t) % 8 + (t / n) * 3;
    out[blockIdx.x * 256 + t] = sum;
}
KERNEL strided(const int* in, int* out, int n) {  // rows of tiles, every third element, backwards
    __shared__ int4 tile[512];
    int t = thread(), row = t / 16, column = t % 16;
    for (int i = t; i < 512; i += blockDim.x * blockDim.y) {
        int x = in[i % 256];
        tile[i] = make_int4(x, x + 1, x * 3, x - i);
    }
    __syncthreads();
    int4 a = tile[column * 2 + n], b = tile[row * 3 + column * 4];
    int2 d = ((int2*)tile)[t % 8 * 3];
    int e = ((int*)tile)[(t & 31) * 5 + row], f = ((int*)tile)[255 - t % 32 * 2];
    __syncthreads();
    tile[column * 3 + row % 3] = make_int4(a.x, a.w, b.y, t);
    if (row == 0) ((int2*)tile)[column * 5 + 1] = make_int2(e, f);
    __syncthreads();
    out[blockIdx.x * 256 + t] = a.x + a.y * 3 + a.z * 5 + b.w + d.x + d.y * 7 + e + f + tile[t % 64].x + tile[t % 64].w;
}
KERNEL paired(const int* in, int* out, int n) {  // lanes in pairs, a warp's quarters, swizzles; rows that nobody knows
    __shared__ int4 tile[512];
    int t = thread(), row = t % 2 + t / 32 % 4 * 2, column = t / 2 % 16, lane = t % 32;
    for (int i = t; i < 512; i += blockDim.x * blockDim.y) tile[i] = make_int4(in[i % 256], i, in[(i + n) % 256], t);
    __syncthreads();
    int4 a = tile[column * 4 + 1], b = tile[row * 3 + n], d = tile[(lane ^ 5) + lane / 8 * 2];
    int2 e = ((int2*)tile)[(lane & 12) * 3 + 7];
    int f = ((int*)tile)[(lane | 6) * 2 + n], g = ((int*)tile)[512 - (lane & 21) * 4], h = in[row * n + column];
    __syncthreads();
    tile[column * 2 + t % 2] = make_int4(a.x + b.y, d.z, e.x, g);
    ((int*)tile)[256 + (lane ^ 9) + t / 32 * 32] = f + h;
    __syncthreads();
    out[blockIdx.x * 256 + t] = a.w + b.x * 3 + d.y * 5 + e.y + f + g + h * 7 + tile[t % 64].x + tile[t % 64].z;
}
KERNEL edges(const int* in, int* out, int n) {  // a short loop, and much that is run once, by some of the lanes
    int t = thread(), x = t / 2 % 16;
    #pragma unroll 1
    for (int j = 0; j < n * 5; ++j) x = x * 3 + in[(t + j) % 256];
    if (n == 4) x += in[t % 5];
    #pragma unroll
    for (int i = 0; i < 60; ++i) {
        x = (x ^ in[(x + i * 7) & 255]) + i;
        if (in[(x + i) & 255] % 7 == i % 5) out[blockIdx.x * 256 + t] = x += t;
    }
    out[blockIdx.x * 256 + t] = x;
}
KERNEL guarded(const int* in, int* out, int n) {  // a scalar by its bits is changed by some of the lanes
    int t = thread(), row = t / 16, k = 0;
    if (in[t % 128] % 2) { row += n; k = row * 2; }
    #pragma unroll 1
    for (int j = 0; j < row % 5; ++j) k += in[(row + j) % 128];
    out[blockIdx.x * 256 + t] = k + row;
}
KERNEL tiled(const float* in, float* out, int n) {  // an unrolled tile
    __shared__ float as[8][64], bs[8][64];
    int t = thread(), tx = t % 8, ty = t / 8 % 8;
    float sum[8][8] = {};
    for (int k0 = 0; k0 < n; ++k0) {
        for (int i = t; i < 512; i += blockDim.x * blockDim.y) {
            as[i / 64][i % 64] = (int(((const int*)in)[(i + k0) % 256]) % 17) * 0.25f;
            bs[i / 64][i % 64] = (int(((const int*)in)[(i * 3 + k0) % 256]) % 13) * 0.5f;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            #pragma unroll
            for (int i = 0; i < 8; ++i)
                #pragma unroll
                for (int j = 0; j < 8; ++j) sum[i][j] += as[k][ty * 8 + i] * bs[k][tx * 8 + j] - sum[j][i] * 0.125f;
        __syncthreads();
    }
    float total = 0;
    #pragma unroll
    for (int i = 0; i < 64; ++i) total = total * 1.0625f + sum[i / 8][i % 8];
    out[blockIdx.x * 256 + t] = total;
}
KERNEL rows(const int* in, int* out, int n) {  // 16 lanes read a row each, by forms and without, all lanes or some
    __shared__ int tile[16][16];
    int t = thread(), x = t % 16, y = t / 16, sum = 0;
    for (int i = t; i < 256; i += blockDim.x * blockDim.y * blockDim.z) tile[i / 16][i % 16] = in[i * n & 255];
    __syncthreads();
    #pragma unroll 1
    for (int k = 0; k < 8; ++k) sum = sum * 3 + tile[k + n][x] + in[(y + k) * n + x] * 5 + tile[y + n][15 - x];
    if (x < n + y % 4) sum += in[y * (n + 1) + x] * 7;
    if (x > n) sum += tile[y % n][x] * 11;
    out[blockIdx.x * 256 + t] = sum;
}
KERNEL beyond(const int* in, int* out, int n) {  // the last lanes of a row read past the end
    out[thread()] = in[thread() % 16 * 17 + n];
}
"""
RIGHT = ("bits", "strided", "paired", "edges", "guarded", "tiled", "rows")
SHAPES = [(64, 1, 1), (16, 8, 1), (8, 4, 2), (4, 16, 1), (1, 64, 1), (100, 1, 1), (16, 5, 1), (24, 4, 1)]
N = 3


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("segments")
    source, output = folder / "kernels.cu", folder / "kernels.ptx"
    source.write_text(KERNELS, encoding="utf-8")
    toolchain = find_toolchain()
    command = [str(toolchain.nvcc), *toolchain.flags, "-ptx", "-lineinfo", "-gencode",
               "arch=compute_89,code=compute_89", str(source), "-o", str(output)]  # fmt: skip
    subprocess.run(command, check=True)
    return output.read_text(encoding="utf-8")


def launch(ptx: str, kernel: str, shape: tuple[int, int, int], samples: int = 0) -> tuple[np.ndarray, int]:
    """Results and instructions; with `samples`, some of the blocks are counted."""
    engine = Engine(DeviceOptions(threads=1, sample_blocks=samples, reuse_profiles=False))
    module = engine.load_module([ptx])
    values = np.random.default_rng(5).integers(0, 1000, 256, dtype=np.int32)
    out = np.zeros(3 * 256, np.int32)
    source, result = (engine.memory.allocate(structs.DEVICE, each.nbytes) for each in (values, out))
    c.memmove(source, values.ctypes.data, values.nbytes)
    c.memmove(result, out.ctypes.data, out.nbytes)
    engine.launch(module, kernel, (3, 1, 1), shape, 0, struct.pack("QQi", source, result, N))
    c.memmove(out.ctypes.data, result, out.nbytes)
    (image,) = module.images.values()
    assert image.request is not None
    return out, image.request.instructions


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("kernel", RIGHT)
def test_forms_do_not_show(
    ptx: str, kernel: str, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    optimised = launch(ptx, kernel, shape)
    counted = launch(ptx, kernel, shape, samples=2)
    monkeypatch.setattr(engine_module, "_LEAN_WORK", 0)
    whole = launch(ptx, kernel, shape)
    monkeypatch.setenv(MODE_VARIABLE, "varying")
    varying = launch(ptx, kernel, shape)
    assert optimised[0].any()
    for other in (counted, whole, varying):
        np.testing.assert_array_equal(optimised[0], other[0])
        assert optimised[1] == other[1]


def test_fast_code_of_a_small_launch_leaves_out_what_is_outside_of_loops(ptx: str) -> None:
    unit = build_program(link([ptx]), "edges", (64, 1, 1), "optimised", False, 128, False).units[0]
    once = left_out(unit, lean=True)
    assert left_out(unit, lean=False) == frozenset()
    assert sum(len(unit.flow.blocks[i].instrs) for i in once) > 300
    assert any(block.index not in once for block in unit.flow.blocks)


@pytest.mark.parametrize("shape", [(64, 1, 1), (16, 4, 1)], ids=["64", "16x4"])
def test_a_strided_access_past_the_end_names_its_lane(
    ptx: str, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DeviceError) as optimised:
        launch(ptx, "beyond", shape)
    monkeypatch.setenv(MODE_VARIABLE, "varying")
    with pytest.raises(DeviceError) as varying:
        launch(ptx, "beyond", shape)
    assert "thread (15,0,0)" in optimised.value.details
    first, second = (
        [line for line in error.value.details.splitlines() if "0x" not in line]
        for error in (optimised, varying)
    )
    assert first == second
