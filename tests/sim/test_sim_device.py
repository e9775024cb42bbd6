"""Kernels from Python: `SimDevice` over a device process."""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evoengineer.errors import DeviceError, UsageError
from evoengineer.sim import open_device
from evoengineer.sim.device import SimDevice

PTX = """
.version 8.0
.target sm_89
.address_size 64
.global .align 4 .u32 counter = 7;
.visible .entry scale(.param .u64 data, .param .f32 factor, .param .u32 count)
{
    .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [factor];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f2, [%rd3];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd3], %f3;
DONE:
    ret;
}
"""


@pytest.fixture(scope="module")
def device() -> Iterator[SimDevice]:
    with open_device("sim:rtx4090", threads=1) as opened:
        yield opened


def test_load_upload_launch_download(device: SimDevice) -> None:
    module = device.load(PTX)
    data = np.arange(1000, dtype=np.float32)
    buffer = device.upload(data)
    device.launch(module["scale"], grid=4, block=256, arguments=[buffer, 2.5, data.size])
    result = device.download(buffer)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, data * np.float32(2.5))
    device.free(buffer)


def test_load_from_file_and_bytes(device: SimDevice, tmp_path: Path) -> None:
    path = tmp_path / "scale.ptx"
    path.write_text(PTX)
    assert list(device.load(path).kernels) == list(device.load(PTX.encode()).kernels) == ["scale"]


def test_variables(device: SimDevice) -> None:
    counter = device.load(PTX).variables["counter"]
    assert struct.unpack("<I", device.download(counter).tobytes()) == (7,)


def test_large_arrays_in_pieces(device: SimDevice) -> None:
    data = np.random.default_rng(0).integers(0, 255, (5, 1 << 20, 9), dtype=np.uint8)
    buffer = device.upload(data)
    np.testing.assert_array_equal(device.download(buffer), data)
    device.free(buffer)


def test_shapes_and_types_survive(device: SimDevice) -> None:
    data = np.arange(24, dtype=np.int16).reshape(2, 3, 4)[:, ::-1]
    np.testing.assert_array_equal(device.download(device.upload(data)), data)
    assert device.allocate((3, 5), np.float64).nbytes == 120


def test_wrong_arguments_are_named(device: SimDevice) -> None:
    kernel = device.load(PTX)["scale"]
    buffer = device.allocate(16)
    with pytest.raises(UsageError, match="takes 3 arguments, 1 were given"):
        device.launch(kernel, 1, 32, [buffer])
    with pytest.raises(UsageError, match="argument 1 has 8 bytes"):
        device.launch(kernel, 1, 32, [buffer, np.float64(1), 4])
    with pytest.raises(UsageError, match="2048 threads per block"):
        device.launch(kernel, 1, 2048, [buffer, 1.0, 4])
    with pytest.raises(UsageError, match="grid must be"):
        device.launch(kernel, 0, 32, [buffer, 1.0, 4])
    with pytest.raises(UsageError, match="no kernel 'scal'"):
        device.load(PTX)["scal"]


def test_unknown_device() -> None:
    with pytest.raises(UsageError, match="valid devices: .*sim:rtx4090"):
        open_device("sim:rtx9999")
    with pytest.raises(UsageError, match="only simulated devices"):
        open_device("cuda:0")


def test_failing_kernel_raises_with_its_report() -> None:
    with open_device("sim:rtx4090", threads=1) as device:
        module = device.load(PTX)
        buffer = device.upload(np.zeros(8, np.float32))
        device.launch(module["scale"], 1, 32, [buffer, 1.0, 32])
        with pytest.raises(DeviceError, match="Invalid __global__ read") as caught:
            device.synchronize()
        assert caught.value.code == 700
        assert "32 bytes" in caught.value.report
        with pytest.raises(DeviceError):  # the context is poisoned
            device.allocate(16)


def test_unknown_instruction_is_named() -> None:
    code = (
        ".version 8.0\n.target sm_89\n.address_size 64\n.visible .entry k() { frobnicate.b32 %r1, %r2; ret; }"
    )

    def run(device: SimDevice) -> None:
        device.launch(device.load(code)["k"], 1, 32)
        device.synchronize()

    # By ptxas, on loading; without it, when it is reached.
    with open_device("sim:rtx4090", threads=1) as device, pytest.raises(DeviceError) as caught:
        run(device)
    assert "frobnicate" in caught.value.report + str(caught.value)


def test_machine_code_is_refused_and_harmless() -> None:
    with open_device("sim:rtx4090", threads=1) as device:
        with pytest.raises(DeviceError, match="cubin is machine code"):
            device.load(b"\x7fELF" + bytes(60))
        assert list(device.load(PTX).kernels) == ["scale"]


def test_simulated_time_is_reproducible() -> None:
    times = []
    for _ in range(2):
        with open_device("sim:rtx4090", threads=1) as device:
            assert isinstance(device, SimDevice)
            buffer = device.upload(np.zeros(1024, np.float32))
            kernel = device.load(PTX)["scale"]
            device.record(1)
            device.launch(kernel, 4, 256, [buffer, 1.0, 1024])
            device.record(2)
            times.append(device.elapsed_ms(1, 2))
    assert times[0] == times[1] > 0


def test_closing_ends_the_process() -> None:
    device = open_device("sim:rtx4090", threads=1)
    assert isinstance(device, SimDevice)
    process = device._server
    device.close()
    assert process.poll() is not None


SHARED_OUT = """
.version 8.0
.target sm_89
.address_size 64
.visible .entry shared_out(.param .u64 next, .param .u64 taken, .param .u32 count)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<5>; .shared .u32 mine;
    ld.param.u64 %rd1, [next];
    ld.param.u64 %rd2, [taken];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd2, %rd3;
    mov.u32 %r3, %tid.x;
    mov.u32 %r6, 0;
    setp.ne.u32 %p1, %r3, 0;
AGAIN:
    @%p1 bra MEET;
    atom.global.add.u32 %r4, [%rd1], 1;
    st.shared.u32 [mine], %r4;
MEET:
    bar.sync 0;
    ld.shared.u32 %r5, [mine];
    bar.sync 0;
    setp.ge.u32 %p2, %r5, %r1;
    @%p2 bra DONE;
    add.u32 %r6, %r6, 1;
    bra AGAIN;
DONE:
    st.global.u32 [%rd4], %r6;
    ret;
}
"""


def test_blocks_that_ask_a_counter_for_work_share_it(device: SimDevice) -> None:
    """As on a card, where all that fit ask at the same time: the first must not do everything."""
    blocks, pieces = 40, 1000
    counter, taken = device.upload(np.zeros(1, np.uint32)), device.upload(np.zeros(blocks, np.uint32))
    kernel = device.load(SHARED_OUT)["shared_out"]
    device.launch(kernel, grid=blocks, block=64, arguments=[counter, taken, pieces])
    shares = device.download(taken)
    assert shares.sum() == pieces
    assert shares.max() - shares.min() <= 2
