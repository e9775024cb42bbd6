"""The owner's side of a device process: what it learns, what it can change, and that it outlives its clients."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from evoengineer.card.name import DeviceName
from evoengineer.errors import DeviceError, EnvironmentFailure, UsageError
from evoengineer.sim.control import ControlledDevice
from evoengineer.sim.device import SimDevice, SimModule
from evoengineer.sim.options import DeviceOptions, Limits
from evoengineer.sim.timing.profile import LaunchProfile
from evoengineer.sim.timing.ptxas import find_ptxas
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import Op

OPTIONS = DeviceOptions(threads=1, limits=Limits(max_seconds=20.0), memory_bytes=24 << 30)
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"

# out[order of the block's turn] = block; every block takes a number.
ORDER = (
    HEAD
    + """
.visible .entry order(.param .u64 out, .param .u64 counter) {
    .reg .b32 %r<4>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [counter];
    mov.u32 %r1, %ctaid.x;
    atom.global.add.u32 %r2, [%rd2], 1;
    mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3;
    st.global.u32 [%rd4], %r1; ret;
}
.visible .entry copy(.param .u64 out, .param .u64 in) {
    .reg .b32 %r<4>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd2, %rd3; ld.global.u32 %r2, [%rd4];
    add.s64 %rd5, %rd1, %rd3; st.global.u32 [%rd5], %r2; ret;
}
.visible .entry if_small(.param .u64 out, .param .u64 in) {
    .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];
    ld.global.u32 %r2, [%rd2];
    setp.gt.s32 %p1, %r2, 4;
    @%p1 bra skip;
    st.global.u32 [%rd1], 1;
skip: ret;
}
.visible .entry follow(.param .u64 chain) {
    .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [chain];
    mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
again: ld.volatile.global.u32 %r2, [%rd3];
    setp.eq.s32 %p1, %r2, 0;
    @%p1 bra again;
    add.s32 %r3, %r2, 1; st.volatile.global.u32 [%rd3+4], %r3; ret;
}
.visible .entry tally(.param .u64 out, .param .u32 shift) {
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out]; ld.param.u32 %r3, [shift];
    mov.u32 %r1, %ctaid.x; shr.u32 %r1, %r1, %r3; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3]; add.s32 %r2, %r2, 1; st.global.u32 [%rd3], %r2; ret;
}
.visible .entry polling_tally(.param .u64 out, .param .u64 flag, .param .u32 shift) {
    .reg .b32 %r<4>; .reg .b64 %rd<5>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd4, [flag]; ld.param.u32 %r3, [shift];
again: ld.volatile.global.u32 %r2, [%rd4];
    setp.eq.s32 %p1, %r2, 0;
    @%p1 bra again;
    mov.u32 %r1, %ctaid.x; shr.u32 %r1, %r1, %r3; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3]; add.s32 %r2, %r2, 1; st.global.u32 [%rd3], %r2; ret;
}
.visible .entry unwritten(.param .u64 out) {
    .reg .b32 %r<4>; .reg .b64 %rd<4>; .shared .b32 room[2];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 8; add.s64 %rd3, %rd1, %rd2;
    ld.shared.u32 %r2, [room]; ld.shared.u32 %r3, [room+4];
    st.global.u32 [%rd3], %r2; st.global.u32 [%rd3+4], %r3; ret;
}
.visible .entry endless(.param .u64 out) {
    .reg .b32 %r<2>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
again: ld.volatile.global.u32 %r1, [%rd1]; bra again;
}
"""
)


@pytest.fixture(scope="module")
def process() -> Iterator[ControlledDevice]:
    with ControlledDevice(OPTIONS) as device:
        yield device


@pytest.fixture
def owner(process: ControlledDevice) -> ControlledDevice:
    """A device as new, in the process that all tests share."""
    process.new_client()
    process.configure(OPTIONS)
    return process


def connect(owner: ControlledDevice) -> tuple[SimDevice, SimModule]:
    client = SimDevice(OPTIONS, owner.client_fd)
    return client, client.load(ORDER)


def test_region_says_what_the_client_did(owner: ControlledDevice) -> None:
    client, module = connect(owner)
    data = client.upload(np.arange(32, dtype=np.int32))
    out = client.allocate(32, np.int32)
    before = owner.mark()
    assert before.module_loads == 1
    assert before.host_to_device_bytes == 128
    assert before.device_allocations == 2
    client.launch(module["copy"], 1, 32, [out, data])
    assert client.download(out)[31] == 31
    region = owner.mark()
    assert region.failure is None
    assert region.device_to_host_bytes == 128
    assert region.host_to_device_bytes == 0
    assert [(each.kernel, each.grid, each.block) for each in region.launches] == [
        ("copy", (1, 1, 1), (32, 1, 1))
    ]
    assert region.launches[0].elapsed_ns is not None
    assert region.elapsed_ns > region.launches[0].elapsed_ns > 0
    assert owner.mark().elapsed_ns == 0


def test_mark_counts_what_was_sent_and_never_awaited(owner: ControlledDevice) -> None:
    client, module = connect(owner)
    data = client.upload(np.arange(32, dtype=np.int32))
    for _ in range(50):
        client.launch(module["copy"], 1, 32, [data, data])
    assert owner.mark().launch_count == 50


def test_work_on_side_streams_counts(owner: ControlledDevice) -> None:
    client, module = connect(owner)
    data = client.upload(np.arange(32, dtype=np.int32))
    client.synchronize()
    owner.mark()
    client._post(Op.STREAM_CREATE, protocol.STREAM.pack(7, 1))
    parameters = data.address.to_bytes(8, "little") * 2
    launch = protocol.LAUNCH.pack(module["copy"].number, 7, 1, 1, 1, 32, 1, 1, 0, 0)
    client._post(Op.LAUNCH, launch + parameters)
    region = owner.mark()
    assert region.launches[0].elapsed_ns is not None
    assert region.elapsed_ns >= region.launches[0].elapsed_ns


def test_host_visible_memory_is_counted(owner: ControlledDevice) -> None:
    client, _ = connect(owner)
    owner.mark()
    for kind in (2, 3):
        client._call(Op.ALLOC, protocol.ALLOC.pack(4096, kind, 256))
    client._call(Op.HOST_REGISTER, protocol.PAIR.pack(0x7F0000000000, 8192))
    region = owner.mark()
    assert (region.host_visible_allocations, region.host_visible_bytes) == (3, 16384)
    assert {each.kind for each in owner.allocations()} == {"managed", "pinned"}


@pytest.mark.parametrize("order", ["ascending", "reversed"])
def test_order_of_blocks(owner: ControlledDevice, order: str) -> None:
    owner.configure(replace(OPTIONS, block_order=order))
    client, module = connect(owner)
    out, counter = client.upload(np.zeros(300, np.int32)), client.upload(np.zeros(1, np.int32))
    client.launch(module["order"], (5, 3, 2), 1, [out, counter])
    blocks = client.download(out)[:30]
    expected = np.tile(np.arange(5), 6)
    assert list(blocks) == list(expected if order == "ascending" else expected[::-1])


def test_another_order_is_one_that_a_card_may_choose(owner: ControlledDevice) -> None:
    """A chain of blocks, each waiting for the one before it: all of them run, though some come late."""
    owner.configure(replace(OPTIONS, block_order="drawn", order_seed=5))
    client, module = connect(owner)
    chain = client.upload(np.concatenate([[1], np.zeros(5000)]).astype(np.int32))
    client.launch(module["follow"], 5000, 1, [chain])
    assert owner.mark().failure is None
    assert client.download(chain)[5000] == 5001


def test_another_order_is_one_that_nobody_can_know(owner: ControlledDevice) -> None:
    client, module = connect(owner)
    seen = []
    for seed in (1, 2, 2):
        owner.configure(replace(OPTIONS, block_order="drawn", order_seed=seed))
        out, counter = client.upload(np.zeros(300, np.int32)), client.upload(np.zeros(1, np.int32))
        client.launch(module["order"], 300, 1, [out, counter])
        seen.append(list(client.download(out)))
    assert all(sorted(order) == list(range(300)) for order in seen)
    assert seen[0] != seen[1] == seen[2]


def test_blocks_in_which_races_are_looked_for_count_like_the_others(owner: ControlledDevice) -> None:
    """The time does not tell whether somebody looked."""
    client, module = connect(owner)
    times = []
    for spots in (0, 8):
        checks = frozenset({"race"} if spots else ())
        owner.configure(replace(OPTIONS, checks=checks, spot_blocks=spots, sample_blocks=12, sample_seed=3))
        out = client.upload(np.zeros(2048, np.int32))
        owner.mark()
        client.launch(module["tally"], 2048, 1, [out, np.uint32(0)])
        times.append(owner.mark().busy_ns)
        assert (client.download(out) == 1).all()
    assert times[0] == pytest.approx(times[1], rel=1e-12)  # differences of one clock's readings


@pytest.mark.parametrize("samples", [0, 12])
@pytest.mark.parametrize("shift", [1, 10])
def test_races_are_found_in_some_of_the_blocks(owner: ControlledDevice, shift: int, samples: int) -> None:
    """Neighbours add to the same place, or blocks a part of the grid apart do: no order shows it."""
    owner.configure(replace(OPTIONS, checks=frozenset({"race"}), spot_blocks=8, sample_blocks=samples))
    client, module = connect(owner)
    out = client.upload(np.zeros(2048, np.int32))
    client.launch(module["tally"], 2048, 1, [out, np.uint32(0)])
    assert owner.mark().failure is None
    assert (client.download(out) == 1).all(), "every block runs once, looked into or not"
    client.launch(module["tally"], 2048, 1, [out, np.uint32(shift)])
    failure = owner.mark().failure
    assert failure is not None
    assert failure.kind == "race"


def test_races_of_blocks_that_seem_to_wait_are_found_beforehand(owner: ControlledDevice) -> None:
    """They cannot run apart from the others. Some are tried, and nothing is left of that."""
    owner.configure(replace(OPTIONS, checks=frozenset({"race"}), spot_blocks=8, sample_blocks=12))
    client, module = connect(owner)
    out, flag = client.upload(np.zeros(4096, np.int32)), client.upload(np.ones(1, np.int32))
    client.launch(module["polling_tally"], 4096, 1, [out, flag, np.uint32(0)])
    assert owner.mark().failure is None
    assert (client.download(out) == 1).all(), "every block has run once, as far as anybody can tell"
    client.launch(module["polling_tally"], 4096, 1, [out, flag, np.uint32(1)])
    failure = owner.mark().failure
    assert failure is not None
    assert failure.kind == "race"


def test_billions_of_blocks_are_not_put_in_an_order(owner: ControlledDevice) -> None:
    """They run until their instructions are used up, and take no memory of ours."""
    limits = replace(OPTIONS.limits, max_work=2_000_000)
    owner.configure(
        replace(OPTIONS, block_order="drawn", checks=frozenset({"race"}), spot_blocks=8, limits=limits)
    )
    client, module = connect(owner)
    out = client.upload(np.zeros(1, np.int32))
    client.launch(module["tally"], (1 << 31) - 1, 1, [out, np.uint32(31)])
    failure = owner.mark().failure
    assert failure is not None
    assert failure.kind == "instruction_budget"


def test_what_nobody_wrote_cannot_be_recognised(owner: ControlledDevice) -> None:
    """Neither in global memory nor in shared memory are two words alike, whatever was there before."""
    owner.configure(replace(OPTIONS, poison=True, noise=77))
    client, module = connect(owner)
    fresh = client.download(client.allocate(4096, np.uint32))
    assert len(set(fresh)) > 4000
    out = client.allocate(200, np.uint32)
    client.launch(module["unwritten"], 100, 1, [out])
    assert len(set(client.download(out))) == 200


def test_a_failure_arrives_as_data(owner: ControlledDevice, capfd: pytest.CaptureFixture[str]) -> None:
    client, module = connect(owner)
    small = client.allocate(4, np.int32)
    client.launch(module["copy"], 1, 32, [small, small])
    with pytest.raises(DeviceError):
        client.synchronize()
    failure = owner.mark().failure
    assert failure is not None
    assert (failure.kind, failure.code) == ("out_of_bounds", 700)
    assert "Invalid __global__ read of size 4 bytes" in failure.report
    assert "by thread (4,0,0) in block (0,0,0)" in failure.report
    assert owner.mark().failure == failure, "it stays until a reset"
    assert capfd.readouterr().err == ""
    client._call(Op.RESET, b"")
    region = owner.mark()
    assert region.resets == 1
    assert owner.mark().failure is None


def test_checks_are_switched_between_launches(owner: ControlledDevice) -> None:
    client, module = connect(owner)
    fresh, out = client.allocate(32, np.int32), client.allocate(32, np.int32)
    client.launch(module["copy"], 1, 32, [out, fresh])
    assert owner.mark().failure is None
    owner.configure(replace(OPTIONS, checks=frozenset({"init"})))
    client.launch(module["copy"], 1, 32, [out, fresh])
    assert owner.mark().failure is None, "what exists already counts as written"
    fresh = client.allocate(32, np.int32)
    owner.configure(replace(OPTIONS, checks=frozenset()))
    client.launch(module["copy"], 1, 32, [out, fresh])
    assert owner.mark().failure is None
    owner.configure(replace(OPTIONS, checks=frozenset({"init"})))
    fresh = client.allocate(32, np.int32)
    client.launch(module["if_small"], 1, 32, [fresh, fresh])
    failure = owner.mark().failure
    assert failure is not None
    assert failure.kind == "uninitialised"


def test_undefined_results_are_found_where_they_are_asked_for(owner: ControlledDevice) -> None:
    client, module = connect(owner)
    owner.configure(replace(OPTIONS, checks=frozenset({"init"})))
    half = client.upload(np.arange(16, dtype=np.int32))
    fresh, out = client.allocate(32, np.int32), client.allocate(32, np.int32)
    assert owner.first_undefined(half.address, 64) is None
    untouched = owner.first_undefined(out.address, 128)
    assert untouched is not None
    assert (untouched.offset, untouched.report) == (0, "")
    client.launch(module["copy"], 1, 16, [fresh, half])
    client.launch(module["copy"], 1, 32, [out, fresh])
    assert owner.mark().failure is None, "a copy of undefined memory does no harm by itself"
    assert owner.first_undefined(out.address, 64) is None
    found = owner.first_undefined(out.address, 128)
    assert found is not None
    assert found.offset == 64
    assert "by thread (16,0,0) in block (0,0,0)" in found.report
    assert "PTX: ld.global.u32 %r2, [%rd4]" in found.report
    assert "PTX: st.global.u32 [%rd5], %r2" in found.report


def test_what_ptxas_refuses_is_not_loaded(owner: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, owner.client_fd)
    with pytest.raises(DeviceError):
        client.load(HEAD + ".visible .entry k() { .reg .b32 %r<3>; add.s32 %r1, %r2, %r2, %r2; ret; }")
    failure = owner.mark().failure
    if find_ptxas() is None:
        pytest.skip("no ptxas")
    assert failure is not None
    assert (failure.kind, failure.code) == ("ptxas", 218)
    assert "Arguments mismatch for instruction 'add'" in failure.report


def test_a_cooperative_launch_must_fit(owner: ControlledDevice) -> None:
    client, module = connect(owner)
    out = client.allocate(1024, np.int32)
    for blocks, launched in ((128, 1), (129, 0)):
        client.launch(module["copy"], blocks, 1024, [out, out], cooperative=True)
        assert owner.mark().launch_count == launched


def test_times_can_be_switched_on_after_loading(owner: ControlledDevice) -> None:
    owner.configure(replace(OPTIONS, sample_blocks=0))
    client, module = connect(owner)
    data = client.upload(np.arange(32, dtype=np.int32))
    client.launch(module["copy"], 1, 32, [data, data])
    assert owner.mark().launches[0].profile is None
    owner.configure(replace(OPTIONS, sample_blocks=12))
    client.launch(module["copy"], 1, 32, [data, data])
    launch = owner.mark().launches[0]
    assert launch.profile is not None
    assert launch.elapsed_ns == launch.profile.time_ns


def test_limits_stop_a_kernel_and_the_device_lives_on(owner: ControlledDevice) -> None:
    client, module = connect(owner)
    data = client.upload(np.zeros(1, np.int32))
    owner.configure(replace(OPTIONS, limits=Limits(max_seconds=0.3)))
    client.launch(module["endless"], 1, 32, [data])
    failure = owner.mark().failure
    assert failure is not None
    assert (failure.kind, failure.code) == ("wall_limit", 702)
    owner.new_client()
    owner.configure(replace(OPTIONS, limits=Limits(max_instructions=100_000, max_seconds=20.0)))
    client, module = connect(owner)
    data = client.upload(np.zeros(1, np.int32))
    client.launch(module["endless"], 1, 32, [data])
    failure = owner.mark().failure
    assert failure is not None
    assert failure.kind == "instruction_budget"
    owner.new_client()
    client, module = connect(owner)
    data = client.upload(np.arange(32, dtype=np.int32))
    client.launch(module["copy"], 1, 32, [data, data])
    assert owner.mark().failure is None


def test_memory_can_be_read_and_written(owner: ControlledDevice) -> None:
    client, module = connect(owner)
    data, out = client.upload(np.arange(32, dtype=np.int32)), client.allocate(32, np.int32)
    client.launch(module["copy"], 1, 32, [out, data])
    with tempfile.TemporaryFile() as file:
        assert owner.copy_out(out.address, 128, file.fileno(), 8)
        assert np.frombuffer(os.pread(file.fileno(), 128, 8), np.int32)[7] == 7
        file.write(b"\xff" * 8192)
        file.flush()
        assert owner.copy_in(out.address + 4, 4, file.fileno(), 5000)
        assert list(client.download(out)[:3]) == [0, -1, 2]
        for address, size in ((out.address, 129), (out.address - 1, 1), (0, 8), (1 << 62, 1 << 10)):
            assert not owner.copy_out(address, size, file.fileno(), 0)
            assert not owner.copy_in(address, size, file.fileno(), 0)
        assert owner.copy_out(4096, 0, file.fileno(), 0)
        assert owner.copy_in(4096, 0, file.fileno(), 0)
        with pytest.raises(EnvironmentFailure, match="cannot copy a tensor"):
            owner.copy_in(out.address, 128, file.fileno(), 8100)  # the file ends before that
    with open("/dev/full", "wb") as full, pytest.raises(EnvironmentFailure, match="No space"):
        owner.copy_out(out.address, 128, full.fileno(), 0)
    assert [(each.address, each.bytes) for each in owner.allocations()] == [
        (data.address, 128),
        (out.address, 128),
    ]


def test_a_new_client_finds_nothing_of_the_last_one(owner: ControlledDevice) -> None:
    client, _ = connect(owner)
    secret = client.upload(np.full(64, 0x5EC2E7, np.int32))
    client.record(3)
    owner.new_client()
    assert owner.allocations() == ()
    with tempfile.TemporaryFile() as file:
        assert not owner.copy_out(secret.address, 4, file.fileno(), 0)
    client, _ = connect(owner)
    again = client.allocate(64, np.int32)
    assert again.address == secret.address
    assert not client.download(again).any()
    with pytest.raises(DeviceError):
        client.elapsed_ms(3, 3)
    assert owner.mark().launch_count == 0


def test_a_client_that_dies_is_marked_afterwards(owner: ControlledDevice) -> None:
    script = (
        "import numpy as np, os, sys\n"
        "from evoengineer.sim.options import DeviceOptions\n"
        "from evoengineer.sim.device import SimDevice\n"
        "device = SimDevice(DeviceOptions(threads=1), int(sys.argv[1]))\n"
        "module = device.load(sys.stdin.read())\n"
        "data = device.upload(np.zeros(1, np.int32))\n"
        "device.synchronize()\n"
        "device.launch(module['endless'], 1, 32, [data])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(owner.client_fd)],
        pass_fds=[owner.client_fd],
        input=ORDER.encode(),
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    started = time.monotonic()
    owner.disconnect()
    region = owner.mark()
    assert time.monotonic() - started < 5, "the kernel runs for nobody"
    assert region.module_loads == 1
    assert region.launch_count <= 1
    if region.launch_count:
        assert region.failure is not None
        assert region.failure.kind == "interrupted"


def test_the_process_ends_with_its_owner() -> None:
    device = ControlledDevice(OPTIONS)
    client = SimDevice(OPTIONS, device.client_fd)
    process = device._process
    device.close()
    assert process.wait(5) == 0
    client.close()


def test_a_client_program(owner: ControlledDevice) -> None:
    environment = owner.client_environment()
    assert environment["EVOENGINEER_SIM_FD"] == str(owner.client_fd)
    assert environment["LD_PRELOAD"].endswith("libcudart.so.13")


def test_the_card_stays_the_same(owner: ControlledDevice) -> None:
    with pytest.raises(UsageError, match="device cannot change"):
        owner.configure(replace(OPTIONS, device=DeviceName.parse("sim:t4")))


def test_launches_that_repeat_share_a_profile(owner: ControlledDevice) -> None:
    client, module = connect(owner)
    data = client.upload(np.arange(32, dtype=np.int32))
    for _ in range(4):
        client.launch(module["copy"], 1, 32, [data, data])
    profiles = [launch.profile for launch in owner.mark().launches]
    assert len(profiles) == 4
    assert all(isinstance(profile, LaunchProfile) for profile in profiles)
    assert profiles[-1] is profiles[-2], "the same object, told once"


def test_options_hold_for_the_next_client_and_after_a_reset(owner: ControlledDevice) -> None:
    chosen = replace(OPTIONS, sample_seed=5, reuse_profiles=False, poison=True)
    owner.configure(chosen)
    client, _ = connect(owner)
    client._call(Op.RESET, b"")
    assert owner.options == chosen
    owner.new_client()
    assert owner.options == chosen


def test_a_process_that_hangs_is_replaced(process: ControlledDevice) -> None:
    with ControlledDevice(OPTIONS) as device:
        client, module = connect(device)
        data = client.upload(np.zeros(1, np.int32))
        client.launch(module["endless"], 1, 32, [data])
        with pytest.raises(DeviceError, match="restart"):
            device.mark(timeout_seconds=0.2)
        device.restart()
        assert device.options == OPTIONS
        client, module = connect(device)
        assert device.mark().module_loads == 1


def test_the_control_socket_is_not_the_clients(owner: ControlledDevice) -> None:
    """What a client sends in the control socket's form is refused, and the owner is told."""
    with socket.socket(fileno=os.dup(owner.client_fd)) as client:
        client.sendall(b"\x12\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" + b'{"request":"mark"}')
        failure = owner.mark().failure
    assert failure is not None
    assert failure.kind == "protocol"
