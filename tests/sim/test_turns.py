"""Warps that meet at barriers: whichever way they wait, nothing shows.

In FAST a warp that waits at a barrier is at rest, and the next one goes on in its place; elsewhere it keeps a stack of
its own. Every kernel runs both ways, in the optimised translation and in the "everything varying" one, and leaves the
same, also where that hangs on the order in which warps have their turns.
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
KERNEL order(int* out) {  // a line for each turn of a warp
    __shared__ int turns;
    int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) turns = 0;
    for (int round = 0; round < 5; ++round) {
        __syncthreads();
        if (threadIdx.x % 32 == 0) out[atomicAdd(&turns, 1)] = warp * 10 + round;
    }
}
KERNEL at_once(int* out) {  // a barrier is the first thing
    asm volatile("bar.sync 0;");
    out[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] += out[(threadIdx.x + 32) % blockDim.x] & 0xff;
}
KERNEL mixed(int* out) {  // lanes part, sleep and end between barriers, some warps more than others
    __shared__ int box[512], votes;
    int t = threadIdx.x, sum = 0;
    votes = 0;
    for (int round = 0; round < 6; ++round) {
        box[t] = t * round;
        if (t / 32 % 3 == round % 3 && t % 5 < round) {
            if (t % 2) __nanosleep(10);
            box[t] += 1000;
        }
        if (t / 64 == 1 && round == 4) return;
        sum += __syncthreads_count(box[t] > 500) * 7 + __syncthreads_or(t == round * 40);
        sum += box[(t + 32 * round) % blockDim.x] * 3;
        if (t / 32 == round) atomicAdd(&votes, sum);
        __syncthreads();
        sum += votes;
    }
    out[t] = sum;
}
KERNEL named(int* out) {  // warps hand over to each other; the rest meets elsewhere
    __shared__ int box[32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp == 0) {
        box[lane] = lane * 3;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else if (warp == 1) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[lane] = box[31 - lane];
    } else {
        asm volatile("bar.sync %0, %1;" ::"r"(blockDim.y + 1), "r"(blockDim.x - 64) : "memory");
    }
    __syncthreads();
    out[threadIdx.x + 32] = out[lane] + warp;
}
KERNEL lost(int* out) {  // one warp waits at a barrier of its own
    if (threadIdx.x / 32 == 1) asm volatile("bar.sync 3, 64;");
    out[threadIdx.x] = 1;
    asm volatile("bar.sync 4;");
}
"""


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("turns")
    source, output = folder / "kernels.cu", folder / "kernels.ptx"
    source.write_text(KERNELS, encoding="utf-8")
    toolchain = find_toolchain()
    command = [str(toolchain.nvcc), *toolchain.flags, "-ptx", "-lineinfo", "-gencode",
               "arch=compute_89,code=compute_89", str(source), "-o", str(output)]  # fmt: skip
    subprocess.run(command, check=True)
    return output.read_text(encoding="utf-8")


def launch(ptx: str, kernel: str, threads: int, order: str = "ascending") -> tuple[list[int], int]:
    """What two blocks leave, and instructions."""
    engine = Engine(DeviceOptions(threads=1, sample_blocks=0, block_order=order))
    module = engine.load_module([ptx])
    out = np.zeros(1024, np.int32)
    result = engine.memory.allocate(structs.DEVICE, out.nbytes)
    c.memmove(result, out.ctypes.data, out.nbytes)
    engine.launch(module, kernel, (2, 1, 1), (threads, 1, 1), 0, struct.pack("Q", result))
    c.memmove(out.ctypes.data, result, out.nbytes)
    (image,) = module.images.values()
    assert image.request is not None
    return out.tolist(), image.request.instructions


@pytest.mark.parametrize("order", ["ascending", "reversed"])
@pytest.mark.parametrize("kernel", ["order", "at_once", "mixed", "named"])
def test_warps_that_rest_and_warps_that_wait_do_the_same(
    ptx: str, kernel: str, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    resting = launch(ptx, kernel, 256, order)
    monkeypatch.setenv(MODE_VARIABLE, "varying")
    assert launch(ptx, kernel, 256, order) == resting


def test_who_comes_last_goes_on_first(ptx: str) -> None:
    """Sums of floating-point numbers in shared memory hang on it."""
    turns, _ = launch(ptx, "order", 128)
    assert turns[:20] == [30, 0, 10, 20, 21, 31, 1, 11, 12, 22, 32, 2, 3, 13, 23, 33, 34, 4, 14, 24]


def test_a_warp_that_rests_for_ever_is_reported(ptx: str) -> None:
    with pytest.raises(DeviceError) as error:
        launch(ptx, "lost", 128)
    assert "threads 32-63 wait at barrier 3, where 32 of 64 arrived" in error.value.details
